// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording decoded for the CPU, and the functions that run HAL commands in a
// ring.
//
// Decoding happens once: a dispatch becomes {code, pointers, constants} in one array, in the order
// of execution, with direct bindings resolved to pointers. Slots, and constants with slots, are
// read from the submission's binding table while it runs, into storage of the ring or of a thread.
// So nothing is patched, and any number of submissions may use a recording at once.
//
// A recording that runs in order needs no barriers, events or edges, so they are dropped. If its
// commands may overlap, it also has a task graph (drivers/cpu/task_graph.h), which all threads of
// the device run. It runs in order instead if earlier runs showed that to be faster, if another
// ring is running the graph, under a tracer, or with a checked kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "drivers/cpu/packet.h"
#include "drivers/cpu/ring.h"
#include "drivers/cpu/task_graph.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::cpu {

class CommandBuffer final : public hal::NativeCommands {
 public:
  // `threads`: how many threads may work for the device at once. Returns kResourceExhausted. The
  // result points into `recording`, which must outlive it.
  static Result<std::unique_ptr<CommandBuffer>> create(const hal::RecordedCommands& recording,
                                                       unsigned threads);

  ~CommandBuffer() override;

  // A custom packet. Words: this function, CommandBuffer*, hal::BoundRange[] (the binding table).
  static Outcome run(Ring& ring, const std::uint64_t* words, Slice& slice);
  // The same, but notes each command, for a recording with labels. One more word: trace::Stamps*.
  static Outcome run_traced(Ring& ring, const std::uint64_t* words, Slice& slice);

 private:
  struct Record;

  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept;
  Status make_graph(const hal::RecordedCommands& recording, unsigned threads);
  static std::uint32_t pieces_of(const Record& record, unsigned threads) noexcept;
  static void run_piece(const Task& task, const void* context);
  static bool start(Ring& ring, const Record& record, const hal::BoundRange* table);
  static Outcome run_checked(const CommandBuffer& self, Ring& ring, const hal::BoundRange* table,
                             Slice& slice);
  static const Status* fault_of(const Record& record) noexcept;

  // Values of the cursor. kGraph: the graph runs. kTimed, with the next record: the commands run in
  // order and are timed.
  static constexpr std::uint64_t kGraph = ~std::uint64_t{0};
  static constexpr std::uint64_t kTimed = std::uint64_t{1} << 63;

  std::unique_ptr<Record[]> records_;
  std::size_t count_ = 0;
  bool checked_ = false;                        // some record has a checked kernel
  std::unique_ptr<trace::Label[]> labels_;      // of each record, while tracing
  std::unique_ptr<std::uint64_t[]> arguments_;  // bindings and constants of each dispatch, in turn
  std::unique_ptr<TaskGraph> graph_;            // null: the commands are a chain
};

// One dispatch command without slots, as a custom packet. Words: this function,
// hal::DispatchCommand*.
Outcome run_dispatch(Ring& ring, const std::uint64_t* words, Slice& slice);

// The address of a range without a slot.
inline std::byte* address_of(const hal::CommandRange& range) noexcept {
  return reinterpret_cast<std::byte*>(range.memory->device_address()) + range.offset;
}

}  // namespace halyard::inline v0::cpu
