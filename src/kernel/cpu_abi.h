// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calling convention hy-cpu-1: how the host calls a kernel that was compiled for a CPU.
//
// One call runs one whole workgroup, on any thread, and keeps no reference to its arguments. Groups
// of one launch may run at the same time and in any order. include/halyard/kernel.h is the callee's
// side.
#pragma once

#include <string_view>

#include "halyard/base/workgroup.h"

namespace halyard::inline v0::kernel {

inline constexpr std::string_view kCpuConvention = "hy-cpu-1";

// `buffers`: one pointer per binding, in binding order, aligned to its element. `constants`: one
// struct, fields in list order at natural alignment, aligned to 8. Either may be null if there are
// none.
using CpuEntry = void (*)(const Workgroup* workgroup, void* const* buffers, const void* constants);

}  // namespace halyard::inline v0::kernel
