// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/command_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/format.h"
#include "drivers/cpu/executable.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/slice.h"
#include "drivers/cpu/task_graph.h"
#include "drivers/cpu/task_plan.h"
#include "drivers/cpu/work.h"
#include "kernel/cpu_checked.h"
#include "trace/command_note.h"

namespace halyard::inline v0::cpu {
namespace {

// The number of tasks for each thread into which a dispatch of a graph is cut. A ring makes more.
// Here fewer suffice, since threads continue with another branch when one ends.
constexpr std::uint64_t kPiecesPerThread = 4;

constexpr Workgroup kOnly{{0, 0, 0}, {1, 1, 1}};

// A binding of a dispatch with slots. If it is direct, `offset` is an address.
struct Binding {
  static constexpr std::uint64_t kDirect = ~std::uint64_t{0};
  std::uint64_t slot;
  std::uint64_t offset;
};
static_assert(sizeof(Binding) == 2 * sizeof(std::uint64_t));

std::byte* address_of(const hal::BoundRange& bound) noexcept {
  return reinterpret_cast<std::byte*>(bound.memory->device_address()) + bound.offset;
}

std::byte* resolve(const Binding& binding, const hal::BoundRange* table) noexcept {
  return binding.slot == Binding::kDirect ? reinterpret_cast<std::byte*>(binding.offset)
                                          : address_of(table[binding.slot]) + binding.offset;
}

std::byte* resolve(const hal::CommandRange& range, const hal::BoundRange* table) noexcept {
  return range.memory != nullptr ? cpu::address_of(range)
                                 : address_of(table[range.slot]) + range.offset;
}

std::uint64_t length_of(const hal::CommandRange& range, const hal::BoundRange* table) noexcept {
  return range.length != hal::kWholeSize ? range.length : table[range.slot].length - range.offset;
}

bool runs_nothing(const hal::DispatchCommand& dispatch) noexcept {
  return dispatch.counts == nullptr &&
         std::find(dispatch.groups, dispatch.groups + 3, 0u) != dispatch.groups + 3;
}

const Executable& executable_of(const hal::DispatchCommand& dispatch) noexcept {
  return *static_cast<const Executable*>(dispatch.executable);
}

hcq::Kernel kernel_of(const hal::DispatchCommand& dispatch) noexcept {
  return executable_of(dispatch).entry(dispatch.function);
}

// Starts a dispatch of a checked kernel, which also gets the sizes of its bindings. Returns false
// if it became a job.
bool start_checked(Ring& ring, const hal::DispatchCommand& dispatch,
                   const hal::BoundRange* table) noexcept {
  static_assert(sizeof(kernel::CheckedCall) <= Ring::kScratchBytes);
  const Executable& executable = executable_of(dispatch);
  auto& call = *::new (static_cast<void*>(ring.scratch())) kernel::CheckedCall;
  call.entry = executable.entry(dispatch.function);
  call.kernel = &executable.file().kernels()[dispatch.function];
  call.faults = &executable.faults();
  for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) {
    const hal::BoundRange range = hal::bind(dispatch.bindings[i], table);
    call.buffers[i] = address_of(range);
    call.bytes[i] = range.length;
  }
  std::uint32_t groups[3];
  if (dispatch.counts != nullptr) {
    std::memcpy(groups, address_of(hal::bind(*dispatch.counts, table)), sizeof groups);
  } else {
    std::copy_n(dispatch.groups, 3, groups);
  }
  return ring.start_groups(&kernel::run_checked, groups, ring.scratch(),
                           hal::constants_of(dispatch, table));
}

// Whether some of its arguments are unknown before it runs.
bool is_late(const hal::DispatchCommand& dispatch) noexcept {
  return dispatch.counts != nullptr || dispatch.constant_use_count != 0 ||
         std::any_of(dispatch.bindings, dispatch.bindings + dispatch.binding_count,
                     [](const hal::CommandRange& range) { return range.memory == nullptr; });
}

std::size_t words_for(std::size_t bytes) noexcept { return (bytes + 7) / 8; }

std::size_t argument_words(const hal::DispatchCommand& dispatch) noexcept {
  const std::size_t per_binding = is_late(dispatch) ? 2 : 1;
  const std::size_t bindings = dispatch.binding_count + (dispatch.counts != nullptr ? 1u : 0u);
  const bool is_kept = dispatch.constant_use_count == 0;  // otherwise its table has them
  return bindings * per_binding + (is_kept ? words_for(dispatch.constants_size) : 0);
}

}  // namespace

struct CommandBuffer::Record {
  enum class Kind : std::uint8_t {
    kCall,      // one workgroup, no slots: the chain benchmarks' case
    kGroups,    // several workgroups, no slots
    kSlots,     // a dispatch with slots, of memory or numbers
    kIndirect,  // reads its group counts, an additional binding, when it runs
    kTransfer,  // fill, update or copy
    kChecked,   // a dispatch of a checked kernel
  };
  hcq::Kernel kernel;
  union {
    void* const* buffers;
    const Binding* bindings;
  };
  union {
    const void* constants;
    const hal::DispatchCommand* dispatch;  // has_constant_slots, or kChecked
    const hal::Command* transfer;
  };
  std::uint32_t groups[3];
  Kind kind;
  // Used by kSlots and kIndirect.
  std::uint8_t binding_count;
  bool has_constant_slots;

  const void* constants_in(const hal::BoundRange* table) const noexcept {
    return has_constant_slots ? hal::constants_of(*dispatch, table) : constants;
  }
};

CommandBuffer::CommandBuffer(const hal::RecordedCommands& recording) noexcept
    : hal::NativeCommands(recording) {}
CommandBuffer::~CommandBuffer() = default;

Result<std::unique_ptr<CommandBuffer>> CommandBuffer::create(const hal::RecordedCommands& recording,
                                                             unsigned threads) {
  std::size_t records = 0, words = 0;
  for (const hal::Command& command : recording.commands) {
    if (!hal::does_work(command.kind)) continue;
    if (command.kind == hal::CommandKind::kDispatch) {
      if (runs_nothing(command.dispatch)) continue;
      words += argument_words(command.dispatch);
    }
    ++records;
  }
  std::unique_ptr<CommandBuffer> result(new (std::nothrow) CommandBuffer(recording));
  if (result != nullptr) {
    result->records_.reset(new (std::nothrow) Record[records]);
    result->arguments_.reset(new (std::nothrow) std::uint64_t[words]);
    if (!recording.labels.empty()) {
      result->labels_.reset(new (std::nothrow) trace::Label[records]);
    }
  }
  if (result == nullptr || result->records_ == nullptr || result->arguments_ == nullptr ||
      (!recording.labels.empty() && result->labels_ == nullptr)) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for a recording of {} commands",
                 recording.commands.size());
  }
  std::uint64_t* word = result->arguments_.get();
  Record* record = result->records_.get();
  for (const hal::Command& command : recording.commands) {
    if (!hal::does_work(command.kind)) continue;
    if (result->labels_ != nullptr) {
      // If this command makes no record, the next command overwrites it.
      const std::ptrdiff_t index = &command - recording.commands.data();
      if (record - result->records_.get() < static_cast<std::ptrdiff_t>(records)) {
        result->labels_[record - result->records_.get()] = recording.labels[index];
      }
    }
    if (command.kind != hal::CommandKind::kDispatch) {
      record->kind = Record::Kind::kTransfer;
      record->transfer = &command;
      ++record;
      continue;
    }
    const hal::DispatchCommand& dispatch = command.dispatch;
    if (runs_nothing(dispatch)) continue;
    assert(dispatch.binding_count <= Ring::kScratchPointers);
    if (executable_of(dispatch).checked()) {
      record->kind = Record::Kind::kChecked;
      record->dispatch = &dispatch;
      result->checked_ = true;
      ++record;
      continue;
    }
    record->kernel = kernel_of(dispatch);
    std::copy_n(dispatch.groups, 3, record->groups);
    record->binding_count = static_cast<std::uint8_t>(dispatch.binding_count);
    const bool late = is_late(dispatch);
    const bool one = dispatch.groups[0] == 1 && dispatch.groups[1] == 1 && dispatch.groups[2] == 1;
    record->kind = dispatch.counts != nullptr ? Record::Kind::kIndirect
                   : late                     ? Record::Kind::kSlots
                   : one                      ? Record::Kind::kCall
                                              : Record::Kind::kGroups;
    if (late) {
      record->bindings = reinterpret_cast<const Binding*>(word);
    } else {
      record->buffers = reinterpret_cast<void* const*>(word);
    }
    const auto add_binding = [&](const hal::CommandRange& range) {
      const bool direct = range.memory != nullptr;
      if (late) *word++ = direct ? Binding::kDirect : range.slot;
      *word++ = direct ? reinterpret_cast<std::uintptr_t>(cpu::address_of(range)) : range.offset;
    };
    for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) add_binding(dispatch.bindings[i]);
    if (dispatch.counts != nullptr) add_binding(*dispatch.counts);
    record->has_constant_slots = dispatch.constant_use_count != 0;
    if (record->has_constant_slots) {
      record->dispatch = &dispatch;
    } else {
      record->constants = word;
    }
    if (!record->has_constant_slots && dispatch.constants_size != 0) {
      std::memcpy(word, dispatch.constants, dispatch.constants_size);
      word += words_for(dispatch.constants_size);
    }
    ++record;
  }
  result->count_ = records;
  // A trace shows one command of a queue at a time.
  if (threads > 1 && records > 1 && result->labels_ == nullptr && !result->checked_) {
    HALYARD_RETURN_IF_ERROR(result->make_graph(recording, threads));
  }
  return result;
}

// A command of several workgroups, or of many bytes, is cut as a ring would cut it.
std::uint32_t CommandBuffer::pieces_of(const Record& record, unsigned threads) noexcept {
  std::uint64_t work = 0, least = 1;
  if (record.kind != Record::Kind::kTransfer) {
    work = std::uint64_t{record.groups[0]} * record.groups[1] * record.groups[2];
  } else {
    const hal::Command& command = *record.transfer;
    const hal::CommandRange& target = command.kind == hal::CommandKind::kFill ? command.fill.target
                                      : command.kind == hal::CommandKind::kUpdate
                                          ? command.update.target
                                          : command.copy.target;
    least = kChunkBytes;
    if (target.length != hal::kWholeSize) work = target.length;
  }
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(work / least, 1, kPiecesPerThread * threads));
}

// Only a ring can cut a dispatch whose size is known only when it runs, so a recording with such a
// dispatch has no graph.
Status CommandBuffer::make_graph(const hal::RecordedCommands& recording, unsigned threads) {
  const Record* const end = &records_[count_];
  if (std::any_of(records_.get(), const_cast<Record*>(end),
                  [](const Record& record) { return record.kind == Record::Kind::kIndirect; })) {
    return {};
  }
  hal::Array<Task> work;
  const Record* record = records_.get();
  for (const hal::Command& command : recording.commands) {
    Task task;
    const bool nothing =
        command.kind == hal::CommandKind::kDispatch && runs_nothing(command.dispatch);
    if (hal::does_work(command.kind) && !nothing) {
      if (record->kind == Record::Kind::kCall) {
        task = {
            .kernel = record->kernel, .buffers = record->buffers, .argument = record->constants};
      } else {
        task.argument = record;
        task.pieces = pieces_of(*record, threads);
      }
      ++record;
    }
    if (!work.push_back(task)) {
      return Status(StatusCode::kResourceExhausted, "cpu: no memory to order a recording");
    }
  }
  HALYARD_ASSIGN_OR_RETURN(const TaskPlan plan, plan_tasks(recording, {work.data(), work.size()}));
  if (!plan.parallel) return {};
  HALYARD_ASSIGN_OR_RETURN(
      graph_, TaskGraph::create({plan.tasks.data(), plan.tasks.size()},
                                {plan.edges.data(), plan.edges.size()}, threads, &run_piece));
  return {};
}

void CommandBuffer::run_piece(const Task& task, const void* context) {
  const auto& record = *static_cast<const Record*>(task.argument);
  const auto* table = static_cast<const hal::BoundRange*>(context);
  const auto part = [&](std::uint64_t total) {
    const std::uint64_t each = (total + task.pieces - 1) / task.pieces;
    const std::uint64_t first = std::min(total, each * task.piece);
    return std::pair(first, std::min(each, total - first));
  };
  if (record.kind != Record::Kind::kTransfer) {
    void* scratch[Ring::kScratchPointers];
    void* const* buffers = record.buffers;
    const void* constants = record.constants;
    if (record.kind == Record::Kind::kSlots) {
      constants = record.constants_in(table);
      for (std::uint8_t i = 0; i < record.binding_count; ++i) {
        scratch[i] = resolve(record.bindings[i], table);
      }
      buffers = scratch;
    }
    const auto [first, count] =
        part(std::uint64_t{record.groups[0]} * record.groups[1] * record.groups[2]);
    run_groups(record.kernel, buffers, constants, record.groups, first, count);
    return;
  }
  const hal::Command& command = *record.transfer;
  if (command.kind == hal::CommandKind::kFill) {
    // Cut in words, which hold whole patterns of 1 or 2 bytes; the last piece may end within a
    // word.
    const std::uint64_t length = length_of(command.fill.target, table);
    const auto [first, count] = part((length + 3) / 4);
    fill_bytes(resolve(command.fill.target, table) + 4 * first,
               std::min(4 * count, length - std::min(length, 4 * first)), command.fill.pattern,
               command.fill.pattern_size);
    return;
  }
  const bool update = command.kind == hal::CommandKind::kUpdate;
  const hal::CommandRange& target = update ? command.update.target : command.copy.target;
  const std::byte* source = update ? command.update.source : resolve(command.copy.source, table);
  const auto [first, count] = part(length_of(target, table));
  if (count != 0) std::memcpy(resolve(target, table) + first, source + first, count);
}

// Returns false if it became a job.
bool CommandBuffer::start(Ring& ring, const Record& record, const hal::BoundRange* table) {
  switch (record.kind) {
    case Record::Kind::kCall:
    case Record::Kind::kGroups:
      return ring.start_groups(record.kernel, record.groups, record.buffers, record.constants);
    case Record::Kind::kSlots:
    case Record::Kind::kIndirect: {
      void** buffers = ring.scratch();
      for (std::uint8_t i = 0; i < record.binding_count; ++i) {
        buffers[i] = resolve(record.bindings[i], table);
      }
      const void* const constants = record.constants_in(table);
      if (record.kind == Record::Kind::kSlots) {
        return ring.start_groups(record.kernel, record.groups, buffers, constants);
      }
      std::uint32_t groups[3];
      std::memcpy(groups, resolve(record.bindings[record.binding_count], table), sizeof groups);
      return ring.start_groups(record.kernel, groups, buffers, constants);
    }
    case Record::Kind::kChecked:
      return start_checked(ring, *record.dispatch, table);
    case Record::Kind::kTransfer:
      break;
  }
  const hal::Command& command = *record.transfer;
  switch (command.kind) {
    case hal::CommandKind::kFill:
      return ring.start_fill(resolve(command.fill.target, table),
                             length_of(command.fill.target, table), command.fill.pattern,
                             command.fill.pattern_size);
    case hal::CommandKind::kUpdate:
      return ring.start_copy(resolve(command.update.target, table), command.update.source,
                             length_of(command.update.target, table));
    case hal::CommandKind::kCopy:
      return ring.start_copy(resolve(command.copy.target, table),
                             resolve(command.copy.source, table),
                             length_of(command.copy.source, table));
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kDispatch:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;
  }
  assert(false && "decoded before");
  return true;
}

Outcome CommandBuffer::run(Ring& ring, const std::uint64_t* words, Slice& slice) {
  const auto& self = *reinterpret_cast<const CommandBuffer*>(words[1]);
  const auto* table = reinterpret_cast<const hal::BoundRange*>(words[2]);
  if (self.checked_) [[unlikely]] return run_checked(self, ring, table, slice);
  std::uint64_t& cursor = ring.cursor();
  TaskGraph* const graph = self.graph_.get();
  if (graph != nullptr && cursor == 0) {
    const RunChoice::How how = graph->choose();
    if (how == RunChoice::How::kShared && graph->begin(table)) {
      cursor = kGraph;
      ring.start_tasks(*graph);
      return Outcome::kJob;
    }
    if (how == RunChoice::How::kInOrderTimed && graph->begin_in_order()) cursor = kTimed;
  }
  if (cursor == kGraph) {
    graph->end();
    return Outcome::kDone;
  }
  const std::uint64_t timed = cursor & kTimed;
  while (cursor < (self.count_ | timed)) {
    const std::uint64_t allowance = slice.allowance();
    if (allowance == 0) return Outcome::kYield;
    const std::uint64_t at = cursor - timed;
    const Record* const first = &self.records_[at];
    const Record* const end = first + std::min(allowance, self.count_ - at);
    const Record* record = first;
    for (; record != end && record->kind == Record::Kind::kCall; ++record) {
      record->kernel(&kOnly, record->buffers, record->constants);
    }
    const bool more = record != end;  // and `record` is not a plain call
    const auto count = static_cast<std::uint64_t>(record - first) + (more ? 1 : 0);
    // Written before start(), since a job may pass this role to another thread at once.
    cursor += count;
    slice.spend(static_cast<std::uint32_t>(count));
    if (more && !start(ring, *record, table)) return Outcome::kJob;
  }
  if (timed != 0) graph->end_in_order();
  return Outcome::kDone;
}

// Returns null if there is no fault.
const Status* CommandBuffer::fault_of(const Record& record) noexcept {
  if (record.kind != Record::Kind::kChecked) return nullptr;
  const kernel::FaultRecord& faults = executable_of(*record.dispatch).faults();
  return faults.found() ? &faults.cause() : nullptr;
}

// Runs the records in order, as run_traced(). Nothing runs after a fault.
Outcome CommandBuffer::run_checked(const CommandBuffer& self, Ring& ring,
                                   const hal::BoundRange* table, Slice& slice) {
  std::uint64_t& cursor = ring.cursor();
  while (cursor < 2 * self.count_) {
    const Record& record = self.records_[cursor / 2];
    if (cursor % 2 == 0) {
      if (slice.allowance() == 0) return Outcome::kYield;
      slice.spend(1);
      ++cursor;  // before start(), as in run()
      if (!start(ring, record, table)) return Outcome::kJob;
    }
    if (const Status* fault = fault_of(record); fault != nullptr) return ring.fault(*fault);
    ++cursor;
  }
  return Outcome::kDone;
}

// Runs the records in order. The cursor is twice the index of the record, plus one while it runs as
// a job.
Outcome CommandBuffer::run_traced(Ring& ring, const std::uint64_t* words, Slice& slice) {
  const auto& self = *reinterpret_cast<const CommandBuffer*>(words[1]);
  const auto* table = reinterpret_cast<const hal::BoundRange*>(words[2]);
  auto& stamps = *reinterpret_cast<trace::Stamps*>(words[3]);
  std::uint64_t& cursor = ring.cursor();
  while (cursor < 2 * self.count_) {
    const std::uint64_t at = cursor / 2;
    if (cursor % 2 == 0) {
      if (slice.allowance() == 0) return Outcome::kYield;
      slice.spend(1);
      stamps.tracer->prepare_thread();  // the role may have passed to another thread
      stamps.command_begin = stamps.tracer->now();
      ++cursor;  // before start(), as in run()
      if (!start(ring, self.records_[at], table)) return Outcome::kJob;
    }
    if (const Status* fault = fault_of(self.records_[at]); fault != nullptr) {
      return ring.fault(*fault);
    }
    trace::note_command(stamps, self.labels_[at]);
    ++cursor;
  }
  return Outcome::kDone;
}

Outcome run_dispatch(Ring& ring, const std::uint64_t* words, Slice&) {
  constexpr std::uint64_t kStarted = 1, kCheckedStarted = 2;
  const auto& dispatch = *reinterpret_cast<const hal::DispatchCommand*>(words[1]);
  std::uint64_t& cursor = ring.cursor();
  const auto end_checked = [&] {
    const kernel::FaultRecord& faults = executable_of(dispatch).faults();
    return faults.found() ? ring.fault(faults.cause()) : Outcome::kDone;
  };
  if (cursor != 0) return cursor == kStarted ? Outcome::kDone : end_checked();
  if (executable_of(dispatch).checked()) [[unlikely]] {
    cursor = kCheckedStarted;
    return start_checked(ring, dispatch, nullptr) ? end_checked() : Outcome::kJob;
  }
  cursor = kStarted;
  std::uint32_t groups[3];
  if (dispatch.counts != nullptr) {
    std::memcpy(groups, cpu::address_of(*dispatch.counts), sizeof groups);
  } else {
    std::copy_n(dispatch.groups, 3, groups);
  }
  void** buffers = ring.scratch();
  for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) {
    buffers[i] = cpu::address_of(dispatch.bindings[i]);
  }
  return ring.start_groups(kernel_of(dispatch), groups, buffers, dispatch.constants)
             ? Outcome::kDone
             : Outcome::kJob;
}

}  // namespace halyard::inline v0::cpu
