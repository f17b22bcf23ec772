// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording decoded for the CPU, and how hal commands run in a ring.
//
// Decoding happens once: a dispatch becomes {code, pointers, constants} in one array, in the order
// of execution; direct bindings are pointers by then. Slots are looked up in the binding table of
// the submission while it runs, into storage of the ring, so nothing is patched and any number of
// submissions may use a recording at once. Barriers and events vanish: a ring runs commands in
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "hal/command.h"
#include "halyard/base/result.h"
#include "halyard/hcq/program.h"
#include "hcq/packet.h"
#include "hcq/ring.h"

namespace halyard::inline v0::cpu {

class CommandBuffer final : public hal::NativeCommands {
 public:
  // kResourceExhausted. Points into `recording`, which outlives it.
  static Result<std::unique_ptr<CommandBuffer>> create(const hal::Recording& recording);

  ~CommandBuffer() override;

  // A custom packet. Words: this function, CommandBuffer*, hal::BoundRange[] (the binding table).
  static hcq::Outcome run(hcq::Ring& ring, const std::uint64_t* words, hcq::Slice& slice);
  // The same, noting each command; of a recording with labels. One word more: trace::Stamps*.
  static hcq::Outcome run_traced(hcq::Ring& ring, const std::uint64_t* words, hcq::Slice& slice);

 private:
  struct Record;

  CommandBuffer() = default;
  static bool start(hcq::Ring& ring, const Record& record, const hal::BoundRange* table);

  std::unique_ptr<Record[]> records_;
  std::size_t count_ = 0;
  std::unique_ptr<trace::Label[]> labels_;      // of each record, while tracing
  std::unique_ptr<std::uint64_t[]> arguments_;  // bindings and constants of each dispatch, in turn
};

// One dispatch command without slots, as a custom packet. Words: this function,
// hal::DispatchCommand*.
hcq::Outcome run_dispatch(hcq::Ring& ring, const std::uint64_t* words, hcq::Slice& slice);

// Notes that a command of this submission has just run, since stamps.command_begin.
void note_command(const trace::Stamps& stamps, const trace::Label& label) noexcept;

// Where a range without slot is.
inline std::byte* address_of(const hal::CommandRange& range) noexcept {
  return range.memory->host_pointer() + range.offset;
}

}  // namespace halyard::inline v0::cpu
