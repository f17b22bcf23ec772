// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections of the workload for drivers over a GPU's streams, each on its simulated library.
#pragma once

#include <string>
#include <string_view>

#include "call_sites/workload.h"
#include "drivers/stream/completion.h"

namespace halyard::testing {

// A driver, and the file of its simulated library.
struct Gpu {
  std::string_view driver;
  std::string_view library;
};
#ifdef HALYARD_SIM_CUDA_LIBRARY
inline constexpr Gpu kCuda{"cuda", HALYARD_SIM_CUDA_LIBRARY};
#endif
#ifdef HALYARD_SIM_HIP_LIBRARY
inline constexpr Gpu kHip{"hip", HALYARD_SIM_HIP_LIBRARY};
// HIP 5.6, in which some functions have other names.
inline constexpr Gpu kOldHip{"hip", HALYARD_SIM_OLD_HIP_LIBRARY};
#endif

// Device 0 of a library that is loaded and initialized anew.
std::string gpu_uri(const Gpu& gpu, std::string_view options = "");

// Patterns of all sizes, managed memory, memory of the library's pools, and memory of another user.
Status use_kinds_of_memory(const Gpu& gpu);
Status use_peers(const Gpu& gpu);

// A stream of the program.
Status use_cuda_stream(const Workplace& workplace, bool whole);
Status use_hip_stream(const Workplace& workplace, bool whole);
// The probe of the completion thread on a lane that has a sleeping waiter and makes no progress.
Status look_after_cuda(stream::CompletionMode mode);
Status look_after_hip(stream::CompletionMode mode);

// Compiles each time, because the folder of compiled images is empty.
Status run_kernel_on_cuda(const Workplace& workplace, bool whole);
// Also queries the kernel's resources.
Status run_kernel_on_hip(const Workplace& workplace, bool whole);

}  // namespace halyard::testing
