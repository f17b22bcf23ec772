// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates clang's messages, which name C, OpenMP and the macros of halyard/kernel.h, into the
// terms of the kernel language.
#pragma once

#include <string>
#include <string_view>

namespace halyard::inline v0::compiler {

// The diagnostics of clang. In front of them, for each error that breaks a rule of the language, a
// line "file:line:column: error: ..." that names the rule. `source` is the kernel file's text.
std::string in_our_words(std::string_view diagnostics, std::string_view source);

}  // namespace halyard::inline v0::compiler
