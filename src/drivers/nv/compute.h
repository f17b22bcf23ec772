// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for the compute class of an NVIDIA GPU: the set-up of a channel, launches of QMDs (qmd.h),
// invalidation of caches and semaphores that the class releases.
//
// The rules and errors of methods.h hold here. Registers come from NVIDIA's open-gpu-doc,
// classes/compute/clc6c0.h (Ampere) to clcdc0.h (Blackwell); which of them a channel needs was
// found by the public programs tinygrad (ops_nv.py) and libcuda-research (Hopper), and equals
// Mesa's NVK.
#pragma once

#include <cstdint>

#include "drivers/nv/methods.h"

namespace halyard::inline v0::nv {

// Memory that threads use as their own, for all threads that a GPU can run at once.
struct LocalMemory {
  std::uint64_t address = 0;        // a multiple of 2^17 below kCommandAddressLimit
  std::uint64_t bytes_per_tpc = 0;  // local_memory_bytes_per_tpc(); 0: no local memory
  // The third word of the size: the number of SMs to reserve for. tinygrad writes 0xff.
  std::uint32_t max_sms = 0xff;
};

// The local memory of one TPC (texture processing cluster) when each thread has `bytes_per_thread`
// bytes: rounded up to 512 bytes for a warp, and to 32 KiB for a TPC. The memory of the GPU is this
// times its number of TPCs, rounded up to 2^17.
std::uint64_t local_memory_bytes_per_tpc(std::uint32_t bytes_per_thread, std::uint32_t warps_per_sm,
                                         std::uint32_t sms_per_tpc) noexcept;

struct ComputeSetup {
  std::uint32_t class_id = 0;  // such as 0xcbc0
  // Addresses through which threads reach their shared and local memory. Each window covers 4 GiB,
  // is a multiple of that, and hides whatever else lies there: place them above all memory.
  std::uint64_t shared_window = 0;
  std::uint64_t local_window = 0;
  LocalMemory local_memory;
  // Invalidates the scheduler's cache of QMDs and the caches of samplers and texture headers, as
  // Hopper's set-up does.
  bool invalidate_caches = false;
};

// Binds the class and sets its windows and its local memory.
[[nodiscard]] Status set_up_compute(hcq::WordList& list, const ComputeSetup& setup);
// Replaces only the local memory. No kernel that uses the former memory may be in flight.
[[nodiscard]] Status set_local_memory(hcq::WordList& list, const LocalMemory& memory);

// What the scheduler does with a QMD (PCAS_ACTION of clcbc0.h). "Invalidate" drops an older copy
// that it may have in its cache.
enum class LaunchAction : std::uint8_t {
  kInvalidateCopySchedule = 3,
  kPrefetchSchedule = 9,
  kInvalidatePrefetchCopySchedule = 10,
};

// Schedules the QMD at `address`, a multiple of 256 below kCommandAddressLimit. The scheduler reads
// the QMD when the method is executed; until then it may change.
[[nodiscard]] Status launch(hcq::WordList& list, std::uint64_t address,
                            LaunchAction action = LaunchAction::kPrefetchSchedule);

// Invalidates the SMs' caches of instructions, global data and constants, without waiting for
// running kernels: kernels that start later see what the CPU and other engines have written.
void invalidate_shader_caches(hcq::WordList& list);

// Releases a semaphore once all earlier kernels of the class have completed and their writes are
// visible. 32 bits go by the registers of every class; 64 bits need a class from 0xc7c0 on.
// With `interrupt` the CPU is interrupted after the write.
[[nodiscard]] Status release_semaphore_by_compute(hcq::WordList& list, std::uint64_t address,
                                                  const hcq::Operand& value, PayloadBits bits,
                                                  Interrupt interrupt);

}  // namespace halyard::inline v0::nv
