// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that the host unit of an NVIDIA GPU executes: method headers, GP entries, semaphores,
// interrupts and barriers.
//
// A pushbuffer consists of methods: a header, which names a register of the class that is bound to
// a subchannel, and the data for it. The host unit executes methods below 0x100 itself and passes
// the others to the engine. A GP entry tells it where a segment of a pushbuffer is.
//
// The functions append to a WordList and call nothing of the system. One thread at a time for each
// list. Places of fields belong to the command that the caller began last. On an error, nothing was
// appended. Errors:
//     kInvalidArgument   a misaligned address, or an input that no value can make right
//     kOutOfRange        a number that does not fit into its field
// Values of symbols are unknown here: the code that binds them ensures that they fit.
//
// Registers and bits are those of Ampere to Blackwell. They come from NVIDIA's open-gpu-doc
// (classes/host/clc46f.h, manuals/ampere/ga100/dev_pbdma.ref.txt) and open-gpu-kernel-modules
// (class/clc86f.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/hcq/symbol.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::nv {

// Memory with commands, QMDs and semaphores lies below: a GP entry, a QMD and a semaphore of Ampere
// have 40 bits for an address.
inline constexpr std::uint64_t kCommandAddressLimit = std::uint64_t{1} << 40;
// Copies reach 49 bits (OFFSET_IN_UPPER 16:0 of clc6b5.h and clc7b5.h).
inline constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 49;

// By convention of NVIDIA's drivers; the host unit ignores the subchannel of its own methods.
enum class Subchannel : std::uint8_t { kHost = 0, kCompute = 1, kCopy = 4 };

// Bits 31:29 of a header (DMA_SEC_OP of clc46f.h).
enum class MethodKind : std::uint8_t {
  kIncrementing = 1,     // each word of data goes to the next register
  kNonIncrementing = 3,  // all words go to one register
  kImmediate = 4,        // the header holds 13 bits of data in place of the count
  kIncrementOnce = 5,    // the first word goes to the register, all others to the next one
};

inline constexpr std::uint32_t kMethodLimit = 0x4000;    // offsets in bytes; 12 bits, in words
inline constexpr std::uint32_t kMaxMethodData = 0x1fff;  // words of data, or an immediate datum
inline constexpr std::uint32_t kNop = 0;                 // a header without effect

// Precondition: `method` is a multiple of 4 below kMethodLimit, `count` at most kMaxMethodData.
constexpr std::uint32_t method_header(MethodKind kind, Subchannel subchannel, std::uint32_t method,
                                      std::uint32_t count) noexcept {
  return static_cast<std::uint32_t>(kind) << 29 | count << 16 |
         static_cast<std::uint32_t>(subchannel) << 13 | method >> 2;
}
constexpr std::uint32_t incrementing(Subchannel subchannel, std::uint32_t method,
                                     std::uint32_t count) noexcept {
  return method_header(MethodKind::kIncrementing, subchannel, method, count);
}

// Appends a header and its data. An immediate method has one word of data.
[[nodiscard]] Status append_method(hcq::WordList& list, MethodKind kind, Subchannel subchannel,
                                   std::uint32_t method, std::span<const std::uint32_t> data);

// Makes later methods of the subchannel be those of `class_id`, such as 0xcbc0.
[[nodiscard]] Status bind_class(hcq::WordList& list, Subchannel subchannel, std::uint32_t class_id);

// Whether the host unit may fetch a segment before it has executed the previous segment.
enum class GpFetch : std::uint8_t { kAhead, kAfterPreceding };

// Returns the entry of a segment of `words` words at `address`. Refuses an address that is not a
// multiple of 4 or not below kCommandAddressLimit, and 0 or more than 2^21 - 1 words: an entry of
// length 0 is a control entry.
[[nodiscard]] Result<std::uint64_t> gp_entry(std::uint64_t address, std::uint64_t words,
                                             GpFetch fetch);
// Writes the entries of the non-empty segments and returns their number. The segments are in memory
// from `address` on, one after the other. Each but the first is fetched after the preceding one has
// been executed, so that the words after a wait may change during the wait.
// Precondition: `entries` has room for segment_count() entries.
[[nodiscard]] Result<std::size_t> write_gp_entries(const hcq::WordList& list, std::uint64_t address,
                                                   std::span<std::uint64_t> entries);

// A semaphore: two 64-bit words, the value and the time in nanoseconds of its last release.
// `address` is a multiple of 16 below kCommandAddressLimit. The value of a wait or release is a
// field kSignal.
enum class PayloadBits : std::uint8_t { k32, k64 };
enum class Interrupt : std::uint8_t { kNone, kNonStall };

// Returns an error unless `address` can be that of a semaphore.
[[nodiscard]] Status check_semaphore(std::uint64_t address);
// Returns kOutOfRange for a constant that does not fit.
[[nodiscard]] Status check_payload(const hcq::Operand& value, PayloadBits bits);

// Waits until the semaphore's value - `value` is not negative as a signed 64-bit number. Ends the
// segment. With `switch_group` the GPU may run channels of other groups meanwhile.
[[nodiscard]] Status wait_semaphore(hcq::WordList& list, std::uint64_t address,
                                    const hcq::Operand& value, bool switch_group = false);
// Waits until the engines of the channel are idle, then writes the time, then the 64-bit value.
[[nodiscard]] Status release_semaphore(hcq::WordList& list, std::uint64_t address,
                                       const hcq::Operand& value, Interrupt interrupt);
// Releases with value 0, to obtain the time.
[[nodiscard]] Status write_timestamp(hcq::WordList& list, std::uint64_t address);
// Waits until the engines are idle, then writes `bytes` bytes, 4 or 8, of `value` (kValue) to
// `target` (kTarget), a multiple of `bytes`.
[[nodiscard]] Status write_value(hcq::WordList& list, const hcq::Operand& target,
                                 const hcq::Operand& value, unsigned bytes);

// Interrupts the CPU when the host unit executes this method; engines may still be busy.
void interrupt_cpu(hcq::WordList& list);

enum class BarrierScope : std::uint8_t { kSystem = 0, kDevice = 1 };  // MEM_OP_C_MEMBAR_TYPE
// Orders the memory accesses of earlier methods before those of later ones.
void memory_barrier(hcq::WordList& list, BarrierScope scope);

}  // namespace halyard::inline v0::nv
