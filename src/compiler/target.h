// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The targets of the kernel compiler.
#pragma once

#include <span>
#include <string_view>

namespace halyard::inline v0::compiler {

enum class Family { kCpu, kPtx, kHsaco, kSpirv, kMsl };

struct Target {
  std::string_view name;  // as in .hyx files
  Family family;
  std::string_view triple;     // clang's
  std::string_view arch = {};  // clang's -march or -mcpu
  // PTX: the version of the language, which sets the oldest driver that loads the image. Hsaco: the
  // version of the code object; empty for clang's default.
  std::string_view version = {};
};

// True if its code starts as text that is translated from the syntax tree.
constexpr bool is_shader(const Target& target) noexcept {
  return target.family == Family::kSpirv || target.family == Family::kMsl;
}

std::span<const Target> targets() noexcept;
// Null if there is no target of this name.
const Target* find_target(std::string_view name) noexcept;

}  // namespace halyard::inline v0::compiler
