// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates clang's messages, which name C, OpenMP and the macros of halyard/kernel.h, into the
// terms of the kernel language.
#pragma once

#include <string>
#include <string_view>

namespace halyard::inline v0::compiler {

// The first error of clang's diagnostics that names a place in a source, with its excerpt, as
// "file:line:column: error: ...", but without its notes and consequential errors. Returns all of
// the diagnostics if no error names a place.
std::string first_error(std::string_view diagnostics);

// As first_error(), but the first error that breaks a rule of the language, named in the terms of
// the language, unless another error is on an earlier line. `source` is the kernel file's text.
std::string in_our_words(std::string_view diagnostics, std::string_view source);

}  // namespace halyard::inline v0::compiler
