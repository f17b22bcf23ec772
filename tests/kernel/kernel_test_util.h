// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for tests: compiled from text or file, loaded, and run group by group through the ABI.
#pragma once

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::testing {

// A file of this text with a name of its own, removed with the object.
class TextFile {
 public:
  explicit TextFile(std::string_view text) {
    static int count = 0;
    path_ =
        (std::filesystem::temp_directory_path() /
         ("halyard-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".hyk"))
            .string();
    std::ofstream(path_) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Compiles a kernel file of this text for what every test machine runs.
inline Result<std::vector<std::byte>> compile_text(std::string_view text) {
  const TextFile file(text);
  return compiler::compile({.source = file.path(), .targets = {"x86-64"}});
}

// A loaded kernel file.
struct Kernels {
  explicit Kernels(const std::string& path,
                   std::vector<std::string> targets = {"x86-64-v3", "x86-64-v2"})
      : Kernels(compiler::compile({.source = path, .targets = std::move(targets)}).value(), path) {}
  Kernels(std::span<const std::byte> bytes, std::string_view name)
      : hyx(kernel::Hyx::parse(bytes, name).value()), image(kernel::CpuImage::load(hyx).value()) {}

  // Runs all groups of a launch, in order.
  void run(std::string_view name, std::array<std::size_t, 3> groups, std::vector<void*> buffers,
           const void* constants) const {
    const kernel::CpuEntry entry = image->entry(name).value();
    kernel::Workgroup group{{}, {groups[0], groups[1], groups[2]}};
    for (group.group[2] = 0; group.group[2] < groups[2]; ++group.group[2]) {
      for (group.group[1] = 0; group.group[1] < groups[1]; ++group.group[1]) {
        for (group.group[0] = 0; group.group[0] < groups[0]; ++group.group[0]) {
          entry(&group, buffers.data(), constants);
        }
      }
    }
  }

  kernel::Hyx hyx;
  Ref<kernel::CpuImage> image;
};

}  // namespace halyard::testing
