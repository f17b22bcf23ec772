// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The symbols of the texts of a module, and the lowering of its functions.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulation/cuda/ptx/lowering.h"

namespace halyard::inline v0::sim::ptx {

using Symbols = std::unordered_map<std::string_view, Symbol>;

// Bytes and alignment of a variable.
std::uint64_t bytes_of(const Declaration& declaration);
std::uint32_t alignment_of(const Declaration& declaration);

// Lowers the body of `syntax` into `program.functions[index]`. `symbols` are those of its text.
// `shared_bytes` is the offset at which its own shared variables begin; on return, their end.
class FunctionLowering {
 public:
  explicit FunctionLowering(Module::Program& program);
  ~FunctionLowering();
  void lower(const FunctionSyntax& syntax, std::uint32_t index, const Symbols& symbols,
             std::uint64_t& shared_bytes);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace halyard::inline v0::sim::ptx
