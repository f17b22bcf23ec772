// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that no function at file scope can have in Metal.
#pragma once

#include <string_view>

namespace halyard::inline v0::compiler {

// True for keywords of C++ and Metal, for types of Metal without a namespace, and for macros of its
// standard library: Metal Shading Language Specification 3.0, sections 1.5, 2, 4 and 6. Words of C
// are left out: no kernel has such a name anyway.
bool is_metal_word(std::string_view name) noexcept;

}  // namespace halyard::inline v0::compiler
