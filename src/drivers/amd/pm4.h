// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pm4Encoder: appends commands to a list as PM4 packets of a compute queue.
//
//     hcq::WordList list;
//     Pm4Encoder encoder(list, Generation::kGfx11);
//     list.begin_command();
//     status = encoder.wait(signal_address, 5);
//
// A signal is a 32-bit value that the device compares and writes, at a multiple of 4. Fields belong
// to the list's command that began last; all operands are fields unless a function says otherwise.
// A wait ends the segment. Functions that return an error append nothing; all of them return the
// errors of check_address() and check_at_most() (generation.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "drivers/amd/generation.h"
#include "drivers/amd/kernel_descriptor.h"
#include "halyard/base/result.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::amd {

class Pm4Encoder {
 public:
  // `list` outlives the encoder. If a queue has several XCCs, each of them executes all words; only
  // the first one then signals, writes and takes times. The words must be in indirect buffers, as
  // firmware supports such predication (PRED_EXEC) only there.
  Pm4Encoder(hcq::WordList& list, Generation generation, std::uint32_t xccs = 1) noexcept
      : list_(list), generation_(generation), xccs_(xccs) {}

  // Waits until the signal is at least `value`.
  Status wait(const hcq::Operand& address, const hcq::Operand& value);
  // Writes `value` when all work before it is complete and its writes are visible to the system;
  // then raises the mailbox's event, unless the mailbox is null.
  Status signal(const hcq::Operand& address, const hcq::Operand& value,
                const Mailbox* mailbox = nullptr);
  // Writes the clock's 64-bit value, at a multiple of 8, when all work before it is complete. The
  // field's role is kTarget.
  Status timestamp(const hcq::Operand& address);
  // Makes the host's writes before it visible to the work after it.
  void barrier();
  // Runs a kernel, and waits for its end before later packets. The scratch memory serves the whole
  // list. If the kernel reads its dispatch packet, the list needs memory for blocks, and the fields
  // and errors are those of append_dispatch() (aql.h). Other errors, besides check_launch()'s:
  //   kFailedPrecondition  `scratch` is too small for the kernel
  //   kUnimplemented       the kernel wants another user value than its arguments and dispatch
  //                        packet; several XCCs (use append_dispatch)
  Status exec(const Kernel& kernel, const Launch& launch, const Scratch& scratch);
  // Writes the low `bytes` bytes of `value`, 4 or 8, at a multiple of 4. Errors: kInvalidArgument
  // for another number of bytes.
  Status write(const hcq::Operand& target, const hcq::Operand& value, unsigned bytes);
  // Appends whole packets as they are, without fields. Errors: kInvalidArgument if a packet is not
  // of type 3 or is longer than the words.
  Status raw(std::span<const std::uint32_t> words);

 private:
  // Only the first XCC executes the next words.
  void on_first_xcc(std::uint32_t words);
  void set_registers(std::uint32_t first, std::initializer_list<std::uint32_t> values);
  void acquire(bool all);
  void release(std::uint32_t event, std::uint32_t select);

  hcq::WordList& list_;
  const Generation generation_;
  const std::uint32_t xccs_;
};

// The packet that executes `words` words at `address`, a multiple of 4. Errors, besides those of
// check_address():
//   kInvalidArgument    there are no words
//   kOutOfRange         there are more than 0xfffff
Result<std::array<std::uint32_t, 4>> indirect_buffer(std::uint64_t address, std::size_t words);

// Overwrites words with packets that do nothing.
void fill_with_nops(std::span<std::uint32_t> words) noexcept;

}  // namespace halyard::inline v0::amd
