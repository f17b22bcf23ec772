// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs clang 19 to preprocess texts and to compile kernels into shared objects. Results are cached
// in a folder of the user below $TMPDIR, by a hash of all inputs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/metal/msl/kernel_source.h"
#include "simulation/metal/msl/library.h"

namespace halyard::inline v0::sim::msl {

// A loaded shared object.
class Code {
 public:
  using Entry = void (*)(const Call* call);
  explicit Code(void* handle) noexcept : handle_(handle) {}
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  // The entry point of function k of Rewritten::functions; null if it is not in this object.
  Entry entry(std::size_t k) const;
  // The tables of types, in the memory of the object.
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
  kSyntax,  // no code: only checks for errors
};

struct Compiled {
  std::shared_ptr<const Code> code;  // null with kSyntax, and if there are errors
  bool ok = false;
  std::string log;
};
Compiled compile_code(const std::string& source, const CompileOptions& options,
                      Instrument instrument);

}  // namespace halyard::inline v0::sim::msl
