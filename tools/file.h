// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes whole files. Blocking; from any thread. Errors name the file and carry errno's
// name for it: kNotFound, kPermissionDenied, kInvalidArgument (not a regular file),
// kResourceExhausted (memory, disk full), kDataLoss (ends early), kUnavailable (all others).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::tools {

// Reads a regular file only: it never blocks on a pipe or a terminal.
Result<std::vector<std::byte>> read_file(const std::string& path);

// Writes the parts in order. A regular file is created or replaced whole, or not at all. If the
// name exists and is anything else (a device, a link), writes to it.
Status write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace halyard::inline v0::tools
