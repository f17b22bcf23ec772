// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording decoded for the CPU, and how hal commands run in a ring.
//
// Decoding happens once: a dispatch becomes {code, pointers, constants} in one array, in the order
// of execution; direct bindings are pointers by then. Slots are looked up in the binding table of
// the submission while it runs, into storage of the ring or of a thread, and constants with slots
// are read there, so nothing is patched and any number of submissions may use a recording at once.
//
// Run in order, a recording needs no barriers, events and edges: they vanish. One whose commands
// may overlap has a graph of tasks besides (hcq/task_graph.h), by which all threads of the device
// run it, unless earlier runs showed that it is faster in order, or another ring is running it.
// Under a tracer, or with a checked kernel, it runs in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "halyard/hcq/program.h"
#include "hcq/packet.h"
#include "hcq/ring.h"
#include "hcq/task_graph.h"

namespace halyard::inline v0::cpu {

class CommandBuffer final : public hal::NativeCommands {
 public:
  // `threads`: how many may work for the device at once. kResourceExhausted. Points into
  // `recording`, which outlives it.
  static Result<std::unique_ptr<CommandBuffer>> create(const hal::RecordedCommands& recording,
                                                       unsigned threads);

  ~CommandBuffer() override;

  // A custom packet. Words: this function, CommandBuffer*, hal::BoundRange[] (the binding table).
  static hcq::Outcome run(hcq::Ring& ring, const std::uint64_t* words, hcq::Slice& slice);
  // The same, noting each command; of a recording with labels. One word more: trace::Stamps*.
  static hcq::Outcome run_traced(hcq::Ring& ring, const std::uint64_t* words, hcq::Slice& slice);

 private:
  struct Record;

  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept;
  Status make_graph(const hal::RecordedCommands& recording, unsigned threads);
  static std::uint32_t pieces_of(const Record& record, unsigned threads) noexcept;
  static void run_piece(const hcq::Task& task, const void* context);
  static bool start(hcq::Ring& ring, const Record& record, const hal::BoundRange* table);
  static hcq::Outcome run_checked(const CommandBuffer& self, hcq::Ring& ring,
                                  const hal::BoundRange* table, hcq::Slice& slice);
  static const Status* fault_of(const Record& record) noexcept;

  // A cursor: the graph runs; this, with the next record, goes in order and is timed.
  static constexpr std::uint64_t kGraph = ~std::uint64_t{0};
  static constexpr std::uint64_t kTimed = std::uint64_t{1} << 63;

  std::unique_ptr<Record[]> records_;
  std::size_t count_ = 0;
  bool checked_ = false;                        // some record is a checked kernel's
  std::unique_ptr<trace::Label[]> labels_;      // of each record, while tracing
  std::unique_ptr<std::uint64_t[]> arguments_;  // bindings and constants of each dispatch, in turn
  std::unique_ptr<hcq::TaskGraph> graph_;       // null: the commands are a chain
};

// One dispatch command without slots, as a custom packet. Words: this function,
// hal::DispatchCommand*.
hcq::Outcome run_dispatch(hcq::Ring& ring, const std::uint64_t* words, hcq::Slice& slice);

// Where a range without slot is.
inline std::byte* address_of(const hal::CommandRange& range) noexcept {
  return reinterpret_cast<std::byte*>(range.memory->device_address()) + range.offset;
}

}  // namespace halyard::inline v0::cpu
