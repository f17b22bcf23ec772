// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel compiler: compiles a .hyk source to the bytes of a verified .hyx file. Passes sources
// in other languages to their compilers (foreign.h).
//
// A thin driver around clang. The check pass comes first: clang's own diagnostics, then the rules
// of halyard/kernel.h that C cannot express, which it reads from the syntax tree together with the
// reflection. Then it builds one image per target. The same source and compiler give the same
// bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

struct CompileOptions {
  std::string source;    // path of the .hyk file
  std::string manifest;  // path of the manifest of a foreign source, or empty
#if defined(__aarch64__)
  std::vector<std::string> targets = {"aarch64"};
#else
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v2"};
#endif
  std::vector<std::string> include_dirs;  // for the source's own headers
  std::string clang;  // a path, or a name in PATH; empty: $HALYARD_CLANG, else clang-19 or another
  int optimization = 3;  // clang's -O level, 0 to 3
  bool debug = false;    // keep symbols and line tables in the images
  // A CPU's image reports an access outside a binding, tile or array (kernel/cpu_checked.h), a
  // GPU's traps an index outside a tensor.
  bool checked = false;
  bool checked_cpu = false;                    // `checked` only for the images for CPUs
  std::string* warnings = nullptr;             // receives clang's warnings, if any
  std::vector<std::string>* inputs = nullptr;  // receives the paths of all files that were read
};

// Every target of .hyk files.
std::vector<std::string_view> known_targets();

// Blocks for about 0.2 s per target. Any thread. Errors:
//   kNotFound         no such source
//   kInvalidArgument  the source breaks a rule or does not compile (the message is the diagnostics,
//                     with the source's lines), or an option is wrong
//   kUnavailable      clang, halyard/kernel.h or a program that a target needs is missing
//   kUnimplemented    `checked` for a target that has no trap
Result<std::vector<std::byte>> compile(const CompileOptions& options);

// The programs and headers that compile() uses.
struct Toolchain {
  std::string clang;        // path
  std::string include_dir;  // contains halyard/kernel.h
};
// Errors: kUnavailable, as compile().
Result<Toolchain> find_toolchain(const CompileOptions& options);

}  // namespace halyard::inline v0::compiler
