// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU as a hardware-queue device. All functions are safe from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"

namespace halyard::inline v0::hcq {

// A kernel in machine code for the CPU. It runs one workgroup and must not throw. A kernel that
// faults (SIGSEGV, SIGFPE) ends the process.
using Kernel = void (*)(const Workgroup* workgroup, void* const* buffers, const void* constants);

// Opens a device with `workers` threads (0 to 256; 0: one per core this process may use). The
// device's destructor joins them, so it must not run in a custom command of the device. Errors:
// kInvalidArgument for more workers; kResourceExhausted.
HALYARD_EXPORT Result<std::unique_ptr<Device>> open_cpu(unsigned workers = 0);

// A program from a function of this process, which must stay loaded while the program exists.
// Programs belong to no device, and any cpu device runs them. Errors:
//   kInvalidArgument    no function; a constant that is not aligned or beyond constants_size; more
//                       than 64 buffers or 4096 bytes of constants
//   kResourceExhausted
HALYARD_EXPORT Result<Program> cpu_program(Kernel kernel, ProgramInfo info);

// Loads a kernel of a .hyx file in memory, from the best image that this CPU runs. Copies `hyx`.
// `name` names the file in messages. Errors:
//   kDataLoss           damaged, or not a .hyx file
//   kUnavailable        no image for this CPU
//   kNotFound           no such kernel
//   kUnimplemented      a constant of a type that Value does not have
//   kResourceExhausted
HALYARD_EXPORT Result<Program> load_cpu_program(std::span<const std::byte> hyx,
                                                std::string_view name, std::string_view kernel);

}  // namespace halyard::inline v0::hcq
