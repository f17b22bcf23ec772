// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections of the workload for the CUDA driver, on the simulated libcuda.
#pragma once

#include <string>
#include <string_view>

#include "call_sites/workload.h"
#include "drivers/stream/completion.h"

namespace halyard::testing {

// A device of a library that is loaded and initialized anew.
std::string cuda_uri(std::string_view options);

Status run_kernel_on_cuda(const Workplace& workplace, bool whole);
Status use_cuda_memory(const Workplace& workplace, bool whole);
Status use_cuda_peers(const Workplace& workplace, bool whole);
Status use_cuda_stream(const Workplace& workplace, bool whole);
// What the completion thread asks of a lane with a sleeping waiter in which nothing moves.
Status look_after_cuda(stream::CompletionMode mode);

}  // namespace halyard::testing
