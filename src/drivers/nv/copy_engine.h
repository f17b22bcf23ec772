// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for the copy class of an NVIDIA GPU: copies, and semaphores that it releases.
//
// The rules and errors of methods.h hold here. Registers come from NVIDIA's open-gpu-doc,
// classes/dma-copy/clc6b5.h (Ampere), clc7b5.h and clc8b5.h (Hopper). Bind the class with
// bind_class() first.
#pragma once

#include <cstdint>

#include "drivers/nv/methods.h"

namespace halyard::inline v0::nv {

// The most bytes of one launch. LINE_LENGTH_IN has 32 bits; tinygrad splits here too.
inline constexpr std::uint64_t kMaxCopyBytes = std::uint64_t{1} << 31;

// Copies `bytes` bytes from `source` to `target`, which do not overlap. A copy of more than
// kMaxCopyBytes becomes several launches, a copy of 0 bytes none. If `bytes` is a symbol there is
// one launch, and the value must be 1 to kMaxCopyBytes. Later launches of the channel start after
// the copy.
//
// Fields: kTarget and kSource of each launch, which add its offset in the copy. kSize only if there
// is one launch.
[[nodiscard]] Status copy(hcq::WordList& list, const hcq::Operand& target,
                          const hcq::Operand& source, const hcq::Operand& bytes);

// Releases a semaphore, value and time, once all earlier copies of the channel are visible.
// 64 bits need a class from 0xc7b5 on. With `interrupt` the CPU is interrupted after the write.
[[nodiscard]] Status release_semaphore_by_copy(hcq::WordList& list, std::uint64_t address,
                                               const hcq::Operand& value, PayloadBits bits,
                                               Interrupt interrupt);

}  // namespace halyard::inline v0::nv
