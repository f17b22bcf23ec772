// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks a CUDA driver the questions of the probes and prints its answers next to those of the
// simulated libcuda. Exits with 0 whatever the answers are, and with 77 without a GPU.
//
// usage: gpu-probes [POINT...]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "gpu/probe.h"

namespace halyard::testing::probe {
namespace {

constexpr int kNoGpu = 77;
constexpr unsigned kMostSeconds = 20;

// Runs the probe in a separate process, because some probes end a process's use of CUDA, or the
// process.
std::string ask(const Probe& probe) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMostSeconds);
    answer_file = ends[1];
    call("cuInit", 0U);
    const std::string answer = probe.ask();
    const bool is_written =
        write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  char part[256];
  for (ssize_t size = 0; (size = read(ends[0], part, sizeof part)) > 0;) {
    answer.append(part, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "no answer in 20 seconds"
                                       : "ends with signal " + std::to_string(WTERMSIG(status));
  }
  return answer;
}

// The driver's description of itself. A process of its own asks for it, so that no later child
// inherits the driver's state.
std::string describe() {
  return ask({"", "", "", [] {
                char name[256] = {};
                int version = 0, count = 0;
                call("cuDeviceGetCount", &count);
                if (count == 0) return std::string();
                call("cuDeviceGetName", static_cast<char*>(name), 255, 0);
                call("cuDriverGetVersion", &version);
                return std::string(name) + ", sm_" + attribute(75) + attribute(76) +
                       ", the driver knows CUDA " + std::to_string(version / 1000) + "." +
                       std::to_string(version % 1000 / 10);
              }});
}

bool is_asked(const Probe& probe, int count, char** arguments) {
  return count < 2 || std::any_of(arguments + 1, arguments + count, [&](const char* argument) {
           return std::string_view(argument) == probe.point;
         });
}

int run(int count, char** arguments) {
  const std::string device = find_function("cuInit") != nullptr ? describe() : "";
  if (device.empty()) {
    std::printf("no NVIDIA GPU\n");
    return kNoGpu;
  }
  std::printf("# %s\n\n| point | question | simulated libcuda | this driver | |\n", device.c_str());
  std::printf("|---|---|---|---|---|\n");
  int differing = 0;
  for (const std::span<const Probe> probes : {order_probes(), memory_probes(), context_probes()}) {
    for (const Probe& probe : probes) {
      if (!is_asked(probe, count, arguments)) continue;
      const std::string answer = ask(probe);
      const bool is_same = answer == probe.simulated;
      differing += is_same ? 0 : 1;
      std::printf("| %s | %s | %s | %s | %s |\n", probe.point, probe.question, probe.simulated,
                  answer.c_str(), is_same ? "" : "DIFFERS");
    }
  }
  std::printf("\n%d answers differ\n", differing);
  return 0;
}

}  // namespace
}  // namespace halyard::testing::probe

int main(int count, char** arguments) { return halyard::testing::probe::run(count, arguments); }
