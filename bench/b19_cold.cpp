// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B19: a process that starts, opens a device, loads a kernel, runs it, checks its result and ends;
// and the size of the library.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "kernel/cpu_image.h"
#include "kernel/hyx.h"
#include "world.h"

namespace halyard::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kStarts = 10;

// The machine code of bench.hyx for this CPU in a separate file, for dlopen.
struct Image {
  explicit Image(const fs::path& hyx_path) {
    std::ifstream file(hyx_path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    const auto hyx = kernel::Hyx::parse(std::as_bytes(std::span(bytes)), "bench.hyx");
    if (!hyx.ok()) throw Unavailable("kernels: " + hyx.status().to_string());
    for (const std::string_view target : kernel::cpu_targets()) {
      for (const auto& image : hyx->images()) {
        if (image.target != target) continue;
        std::ofstream out(path, std::ios::binary);
        out.write(reinterpret_cast<const char*>(image.bytes.data()),
                  static_cast<std::streamsize>(image.bytes.size()));
        return;
      }
    }
    throw Unavailable("kernels: bench.hyx has no image for this CPU");
  }
  ~Image() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  fs::path path =
      fs::temp_directory_path() / ("halyard-bench-" + std::to_string(::getpid()) + ".so");
};

// Runs the program, whose exit status is its result.
void start(const fs::path& program, const fs::path& argument) {
  std::string name = program, file = argument;
  char* arguments[] = {name.data(), file.data(), nullptr};
  pid_t child;
  verify(posix_spawn(&child, name.c_str(), nullptr, nullptr, arguments, environ) == 0,
         "posix_spawn");
  int status = -1;
  verify(waitpid(child, &status, 0) == child && status == 0, "the result of a new process");
}

Arms cold_row(World&) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path kernels = folder / "kernels" / "bench.hyx";
  const auto image = std::make_shared<Image>(kernels);
  const auto starts = [](const fs::path& program, const fs::path& argument) {
    Sample sample;
    for (int i = 0; i < kStarts; ++i) {
      sample.times.push_back(time_each(1, [&] { start(program, argument); }));
    }
    return sample;
  };
  const auto run = [=] {
    Sample sample = starts(folder / "halyard-bench-cold", kernels);
    sample.metrics["MiB stripped"] =
        static_cast<double>(fs::file_size(folder / "libhalyard-bench-stripped.so")) / (1 << 20);
    return sample;
  };
  const auto limit = [=] { return starts(folder / "halyard-bench-cold-limit", image->path); };
  return {{"halyard: process", run}, Arm{"process, dlopen, thread", limit}, {}};
}

}  // namespace

std::vector<Row> cold_rows() {
  using Kind = Target::Kind;
  return {{"B19",
           "a process: start, device, first kernel, first result, end; and the shared library",
           {{Kind::kLimit, 1.05}, {Kind::kMetric, 1, "MiB stripped"}},
           cold_row}};
}

}  // namespace halyard::bench
