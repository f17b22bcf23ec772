// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clang speaks of C, of OpenMP and of what halyard/kernel.h is made of; users know the dialect.
#pragma once

#include <string>
#include <string_view>

namespace halyard::inline v0::compiler {

// What clang has printed, and in front of it, for each error that is a breach of the dialect's
// rules, a line "file:line:column: error: ..." that says which. `source` is the kernel file's text.
std::string in_our_words(std::string_view diagnostics, std::string_view source);

}  // namespace halyard::inline v0::compiler
