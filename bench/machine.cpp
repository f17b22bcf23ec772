// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness.h"

namespace halyard::bench {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel() {
  utsname names{};
  uname(&names);
  return fmt::format("{} {}", names.sysname, names.release);
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

// The smallest difference of two readings, and the cost of a reading, in nanoseconds.
std::pair<double, double> clock_step() {
  constexpr int kReadings = 20'000;
  double step = 1e9;
  const auto start = Clock::now();
  auto last = start;
  for (int i = 0; i < kReadings; ++i) {
    const auto now = Clock::now();
    const double difference = std::chrono::duration<double, std::nano>(now - last).count();
    if (difference > 0) step = std::min(step, difference);
    last = now;
  }
  return {step, std::chrono::duration<double, std::nano>(last - start).count() / kReadings};
}

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

}  // namespace

double two_thread_scaling() {
  constexpr auto kTime = std::chrono::milliseconds(10);
  const auto work = [&] {
    std::uint64_t rounds = 0, value = 1;
    for (const auto end = Clock::now() + kTime; Clock::now() < end; ++rounds) {
      for (int i = 0; i < 1000; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
      asm volatile("" ::"r"(value));
    }
    return static_cast<double>(rounds);
  };
  const double alone = work();
  double second = 0;
  std::barrier start(2);
  std::thread thread([&] {
    start.arrive_and_wait();
    second = work();
  });
  start.arrive_and_wait();
  const double first = work();
  thread.join();
  return (first + second) / alone;
}

Machine describe_machine() {
  const cpu_set_t set = affinity();
  const auto [step, cost] = clock_step();
  Machine machine;
  const auto add = [&](std::string name, std::string value) {
    machine.facts.emplace_back(std::move(name), std::move(value));
  };
  add("CPU", cpu_model());
  add("cores", fmt::format("{}", CPU_COUNT(&set)));
  add("kernel", kernel());
  add("compiler", compiler());
  add("clock", fmt::format("step {:.0f} ns, a reading {:.0f} ns", step, cost));
  add("date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr))));
  return machine;
}

std::vector<int> cores(int count) {
  const cpu_set_t set = affinity();
  std::vector<int> found;
  for (int core = 0; core < CPU_SETSIZE && std::ssize(found) < count; ++core) {
    if (CPU_ISSET(core, &set)) found.push_back(core);
  }
  if (std::ssize(found) < count) throw Unavailable(fmt::format("it needs {} cores", count));
  return found;
}

Pin::Pin(int core) : before_(affinity()) { pin_thread(0, core); }

Pin::~Pin() { sched_setaffinity(0, sizeof before_, &before_); }

std::vector<pid_t> threads_named(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string comm;
    if (std::getline(file, comm) && comm == name) {
      found.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void pin_thread(pid_t thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(thread, sizeof set, &set) != 0) {
    throw Unavailable(fmt::format("cannot pin a thread to core {}", core));
  }
}

}  // namespace halyard::bench
