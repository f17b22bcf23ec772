// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library: a text in the Metal Shading Language (Apple, "Metal Shading Language Specification",
// version 3.2), compiled for this processor. The text is unchanged; clang 19 compiles it as C++
// for OpenCL against a `metal_stdlib` of our own. docs/simulated-metal.md lists what differs.
//
// Libraries and functions are immutable: several threads may use them at once, and compilation
// locks inside. A Function keeps its Library alive.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/metal/msl/reflection.h"

namespace halyard::inline v0::sim::msl {

// As MTLMathMode.
enum class MathMode : std::uint8_t { kSafe = 0, kRelaxed = 1, kFast = 2 };

struct CompileOptions {
  std::uint32_t language_version = 0;  // (major << 16) + minor as MTLLanguageVersion; 0: 3.2
  // kSafe: IEEE 754 without contraction. kFast: no NaN, no infinity, reassociation, as `fastMath`.
  MathMode math_mode = MathMode::kFast;
  // As MTLMathFloatingPointFunctionsPrecise: sin, exp and the others without a namespace are
  // `precise::`. Otherwise they are `fast::`.
  bool precise_functions = false;
  // Results of `fast::` functions differ in their last bit from the nearest value, by a function of
  // the value: for tests of programs that compare bits.
  bool perturb_fast_functions = false;
  // Also rejects code that Metal rejects and C++ for OpenCL accepts: `constant` passed as `device`,
  // pointers without an address space. Needs one more pass of the compiler.
  bool strict = false;
  std::vector<std::pair<std::string, std::string>> macros;  // preprocessorMacros
};

class Function;
struct FunctionImage;  // a Function's code; private
class LibraryImage;    // a Library's text and code; private

// A value for a function constant, by index or by name (index < 0).
struct ConstantValue {
  std::int32_t index = -1;
  std::string name;
  DataType type = DataType::kNone;
  std::array<std::byte, 32> bytes{};  // as many as the type has
};

// A function, or a log with the reason that there is none. Both are empty if the library does not
// have the function.
struct FunctionResult {
  std::shared_ptr<const Function> function;
  std::string log;
};

class Library {
 public:
  struct Result;
  // Compiles `source`. Never throws and never ends the process. Takes as long as the compiler, a
  // few tenths of a second; the same text with the same options comes from a cache.
  static Result compile(std::string_view source, const CompileOptions& options);

  explicit Library(std::shared_ptr<const LibraryImage> image) noexcept : image_(std::move(image)) {}

  // In the order of the text. `static_threadgroup_bytes` and `Argument::active` apply without
  // values for constants; a Function has its own. The former is 0 here if the library is so large
  // that its functions are compiled one by one.
  std::span<const FunctionInfo> functions() const noexcept;
  std::span<const FunctionConstant> constants() const noexcept;

  // The function `name`, with values for constants. A value for an index or name that the library
  // does not have is ignored. A required constant without a value is an error, and a log. Compiles
  // if there is no code for these values yet.
  FunctionResult function(std::string_view name, std::span<const ConstantValue> values = {}) const;

 private:
  std::shared_ptr<const LibraryImage> image_;
};

struct Library::Result {
  std::shared_ptr<const Library> library;  // null if the text has errors
  // Errors and warnings of the compiler, with lines of the text ("program_source:12:7: error:
  // ..."). May be non-empty although there is a library.
  std::string log;
};

class Function {
 public:
  Function(std::shared_ptr<const FunctionImage> image) noexcept : image_(std::move(image)) {}
  const FunctionInfo& info() const noexcept;
  const FunctionImage& image() const noexcept { return *image_; }

 private:
  std::shared_ptr<const FunctionImage> image_;
};

}  // namespace halyard::inline v0::sim::msl
