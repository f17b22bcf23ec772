// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for tests: compiled from text or a file, loaded, and run in the memory of the test.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/format.h"
#include "compiler/compile.h"
#include "compiler/compile_cached.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::testing {

// A file with this text and a unique name, removed with the object.
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

// Compiles a kernel file with this text, by default for a target that every test machine can run.
inline Result<std::vector<std::byte>> compile_text(std::string_view text,
                                                   const std::string& target = "x86-64") {
  const TextFile file(text);
  return compiler::compile({.source = file.path(), .targets = {target}});
}

// Like compile(), but reuses results of other tests of this build: each case is a separate process,
// and most of them only need the compiled kernels.
inline Result<std::vector<std::byte>> compile_shared(const compiler::CompileOptions& options) {
  const auto cache = base::DiskCache::open(HALYARD_TEST_CACHE, base::DiskCache::kDefaultMaxBytes);
  if (!cache.ok()) return compiler::compile(options);
  HALYARD_ASSIGN_OR_RETURN(compiler::CachedResult result,
                           compiler::compile_cached(options, *cache));
  return std::move(result.bytes);
}

inline Result<std::vector<std::byte>> compile_text_shared(std::string_view text,
                                                          const std::string& target) {
  // The cache identifies results by the source's path, so the text is in a permanent file.
  const base::ContentHash hash = base::content_hash({text});
  const std::string folder = HALYARD_TEST_CACHE "-sources";
  const std::string path = fmt::format("{}/{:016x}{:016x}.hyk", folder, hash.high, hash.low);
  std::filesystem::create_directories(folder);
  if (!std::filesystem::exists(path)) {
    const std::string part = fmt::format("{}.{}", path, ::getpid());
    std::ofstream(part) << text;
    std::filesystem::rename(part, path);  // readers see a whole file
  }
  return compile_shared({.source = path, .targets = {target}});
}

// An object or array of the test as the memory of a kernel's buffer.
struct HostMemory {
  template <class T>
    requires(!std::same_as<std::remove_cv_t<T>, HostMemory>)
  HostMemory(T& object) {
    if constexpr (std::ranges::contiguous_range<T&>) {
      bytes = std::as_bytes(std::span(object));
    } else {
      bytes = std::as_bytes(std::span(&object, 1));
    }
  }
  // Kernels write only to memory that the test may write.
  std::byte* data() const { return const_cast<std::byte*>(bytes.data()); }

  std::span<const std::byte> bytes;
};

using Groups = std::array<std::size_t, 3>;

// Runs the kernels of one file.
class HostKernels {
 public:
  explicit HostKernels(kernel::Hyx hyx) : hyx_(std::move(hyx)) {}
  virtual ~HostKernels() = default;
  const kernel::Hyx& hyx() const { return hyx_; }
  virtual void run(std::string_view kernel, const Groups& groups,
                   const std::vector<HostMemory>& buffers, const void* constants,
                   std::size_t threads) const = 0;

 private:
  kernel::Hyx hyx_;
};

// Kernels on this CPU, called through the ABI.
class CpuKernels final : public HostKernels {
 public:
  explicit CpuKernels(kernel::Hyx file)
      : HostKernels(std::move(file)), image_(kernel::CpuImage::load(hyx()).value()) {}
  // Runs the image for `target`, which the file must contain and this CPU must support.
  CpuKernels(kernel::Hyx file, std::string_view target) : HostKernels(std::move(file)) {
    const auto image = std::ranges::find(hyx().images(), target, &kernel::ImageInfo::target);
    image_ = kernel::CpuImage::load(image->bytes, hyx().name()).value();
  }

  void run(std::string_view kernel, const Groups& groups, const std::vector<HostMemory>& buffers,
           const void* constants, std::size_t threads) const override {
    const kernel::CpuEntry entry = image_->entry(kernel).value();
    std::vector<void*> pointers;
    for (const HostMemory& buffer : buffers) pointers.push_back(buffer.data());
    const auto [width, height, depth] = groups;
    // Runs every `threads`-th group from `first` on.
    const auto run_groups = [&](std::size_t first) {
      for (std::size_t i = first; i < width * height * depth; i += threads) {
        const Workgroup group{{i % width, i / width % height, i / width / height},
                              {width, height, depth}};
        entry(&group, pointers.data(), constants);
      }
    };
    std::vector<std::jthread> others;
    for (std::size_t first = 1; first < threads; ++first) others.emplace_back(run_groups, first);
    run_groups(0);
  }

 private:
  Ref<kernel::CpuImage> image_;
};

// A test program links kernels_on_cpu.cpp or kernels_on_vulkan.cpp, which define the target and the
// runner of kernel tests. Both can run a file for this CPU.
std::string tested_target();
std::unique_ptr<HostKernels> load_kernels(kernel::Hyx hyx);

// A loaded kernel file.
class Kernels {
 public:
  static Kernels of_text(std::string_view text, const std::string& target = tested_target()) {
    return Kernels(compile_text_shared(text, target).value(), "text");
  }
  explicit Kernels(const std::string& path, const std::string& target = tested_target())
      : Kernels(compile_shared({.source = path, .targets = {target}}).value(), path) {}
  Kernels(std::span<const std::byte> bytes, std::string_view name)
      : kernels_(load_kernels(kernel::Hyx::parse(bytes, name).value())) {}

  const kernel::Hyx& hyx() const { return kernels_->hyx(); }
  // Returns when all groups have run; a CPU runs them in order, divided among `threads`.
  void run(std::string_view kernel, const Groups& groups, const std::vector<HostMemory>& buffers,
           const void* constants, std::size_t threads = 1) const {
    kernels_->run(kernel, groups, buffers, constants, threads);
  }

 private:
  std::unique_ptr<HostKernels> kernels_;
};

}  // namespace halyard::testing
