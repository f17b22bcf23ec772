// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The targets of the kernel compiler.
#pragma once

#include <span>
#include <string_view>

namespace halyard::inline v0::compiler {

enum class Family { kCpu, kPtx, kHsaco };

struct Target {
  std::string_view name;  // as in .hyx files
  Family family;
  std::string_view triple;  // clang's
  std::string_view arch;    // and its -march or -mcpu
  // PTX: the language's version, the oldest of a driver that may load the image.
  std::string_view version = {};
};

std::span<const Target> targets() noexcept;
// Null if there is none of this name.
const Target* find_target(std::string_view name) noexcept;

}  // namespace halyard::inline v0::compiler
