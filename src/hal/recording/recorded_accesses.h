// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecordedAccesses: the accesses of a recording's commands and their order, for the checking mode
// (timeline/access_checker.h). Finds pairs of commands that access the same memory, of which at
// least one writes, without a barrier, event or Recorder::after() between them.
//
// The memory in slots is known when a submission supplies its table; until then two slots count as
// different memory. Immutable, safe from any thread. Allocates; the process terminates if out of
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hal/recording/accesses.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "timeline/order_clock.h"

namespace halyard::inline v0::hal {

class RecordedAccesses {
 public:
  // Returns kFailedPrecondition, naming both commands, if nothing orders them; kInvalidArgument if
  // bindings of a dispatch overlap; kResourceExhausted. The commands and their memory must outlive
  // the result.
  static Result<std::unique_ptr<RecordedAccesses>> create(const RecordedCommands& recording);

  // Checks again with the memory of the slots, for entries that overlap.
  Status check(const BoundRange* table) const;
  // Declares the accesses of a submission with this table.
  void declare(timeline::Submission& submission, const BoundRange* table) const;

 private:
  // A command's place in the order: after all commands below `after_all`, and after the commands in
  // its clock.
  struct Place {
    std::uint32_t after_all = 0;
    timeline::OrderEvent event;
    timeline::OrderClock clock;
  };
  // A range, [begin, end) of a memory or of a slot.
  struct Range {
    Memory* memory;
    std::uint32_t slot;
    std::uint64_t begin;
    std::uint64_t end;  // kWholeSize: to the end of the slot
    timeline::AccessKind kind;
    std::uint32_t command;
    std::uint32_t binding;
    std::shared_ptr<const std::string> what;
  };

  explicit RecordedAccesses(std::span<const Command> commands) noexcept : commands_(commands) {}
  Status order(const RecordedCommands& recording);
  void collect();
  void merge();
  // Without a table, each slot counts as a separate memory.
  static timeline::Access bind(const Range& range, const BoundRange* table) noexcept;
  Status compare(const BoundRange* table) const;

  const std::span<const Command> commands_;
  std::vector<Place> places_;   // of each command
  std::vector<Range> ranges_;   // of all commands, in their order
  std::vector<Range> summary_;  // the same, with adjacent ranges merged
};

}  // namespace halyard::inline v0::hal
