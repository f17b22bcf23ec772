// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clang 19 as a program: preprocesses texts and makes shared objects of kernels. Results are kept
// in a folder of the user below $TMPDIR, by a hash of all that goes in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/metal/msl/kernel_source.h"
#include "simulation/metal/msl/library.h"

namespace halyard::inline v0::sim::msl {

// A shared object that is loaded.
class Code {
 public:
  using Entry = void (*)(const Call* call);
  explicit Code(void* handle) noexcept : handle_(handle) {}
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  // Of function k of Rewritten::functions; null if it has no entry point here.
  Entry entry(std::size_t k) const;
  // What lies in the object's memory: constants and code.
  const TypeWords* types() const;
  // {id, size, alignment} of each `threadgroup` variable.
  std::span<const std::uint32_t> variables() const;
  // Where the object is loaded. Kernels may read there.
  std::pair<std::uint64_t, std::uint64_t> range() const noexcept { return range_; }
  void find_range();

 private:
  void* handle_;
  std::pair<std::uint64_t, std::uint64_t> range_{0, 0};
};

struct Preprocessed {
  bool ok = false;
  std::string text;
  std::string log;
};
// Runs the preprocessor on the text of a program.
Preprocessed preprocess(std::string_view source, const CompileOptions& options);

enum class Instrument : unsigned char {
  kSteps,   // counts basic blocks
  kMemory,  // also passes on each access to memory
  kSyntax,  // no code: only looks for errors
};

struct Compiled {
  std::shared_ptr<const Code> code;  // null with kSyntax, and if there are errors
  bool ok = false;
  std::string log;
};
Compiled compile_code(const std::string& source, const CompileOptions& options,
                      Instrument instrument);

}  // namespace halyard::inline v0::sim::msl
