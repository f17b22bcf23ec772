// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole files, in and out. Blocking; from any thread. Errors name the file and carry errno's name
// for it: kNotFound, kPermissionDenied, kInvalidArgument (not a regular file), kResourceExhausted
// (memory, disk full), kDataLoss (ends early), kUnavailable (all else).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::tools {

// Of a regular file only: it never blocks on a pipe or a terminal.
Result<std::vector<std::byte>> read_file(const std::string& path);

// Writes the parts, one after the other. A regular file appears whole or not at all; it replaces
// what had its name. Anything else that has the name already (a device, a link) is written to.
Status write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace halyard::inline v0::tools
