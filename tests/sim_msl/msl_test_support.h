// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a text and runs a kernel of it on vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/metal/msl/launch.h"
#include "simulation/metal/msl/library.h"

namespace halyard::sim::msl::test {

inline std::shared_ptr<const Library> compile(std::string_view text,
                                              const CompileOptions& options = {}) {
  const Library::Result result = Library::compile(
      "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(text), options);
  EXPECT_NE(result.library, nullptr) << result.log;
  return result.library;
}

inline std::shared_ptr<const Function> kernel(std::string_view text, std::string_view name = "k",
                                              std::span<const ConstantValue> values = {},
                                              const CompileOptions& options = {}) {
  const std::shared_ptr<const Library> library = compile(text, options);
  if (library == nullptr) return nullptr;
  FunctionResult result = library->function(name, values);
  EXPECT_NE(result.function, nullptr) << result.log;
  return result.function;
}

// Buffers by index in their order.
template <class T>
BufferBinding bind(std::uint32_t index, std::vector<T>& v, bool writable = true) {
  return {index, reinterpret_cast<std::uint64_t>(v.data()), v.size() * sizeof(T), writable};
}

class Recorder : public Observer {
 public:
  MemoryRange memory_at(std::uint64_t address) noexcept override {
    for (const MemoryRange& range : ranges) {
      if (address >= range.begin && address < range.end) return range;
    }
    return {};
  }
  bool report(const Report& report) noexcept override {
    reports.push_back(report);
    return true;
  }
  template <class T>
  void allow(std::vector<T>& v, Residency residency) {
    const auto begin = reinterpret_cast<std::uint64_t>(v.data());
    ranges.push_back({begin, begin + v.size() * sizeof(T), residency});
  }
  std::vector<MemoryRange> ranges;
  std::vector<Report> reports;
};

inline Outcome run(const std::shared_ptr<const Function>& function, Size grid, Size group,
                   std::vector<BufferBinding> buffers, Launch launch = {},
                   Observer* observer = nullptr,
                   std::vector<ThreadgroupBinding> threadgroups = {}) {
  if (function == nullptr) return {};
  launch.grid = grid;
  launch.group = group;
  launch.buffers = buffers;
  launch.threadgroups = threadgroups;
  return msl::run(*function, launch, observer);
}

}  // namespace halyard::sim::msl::test
