// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorder and CommandBuffer: record once, submit often.
//
// Commands between two barriers may run in any order and overlap. Three things order commands, so
// that a recording may be any graph:
//   - A barrier makes all commands before it complete and visible to all commands after it.
//   - An event (event.h) does so for the commands that follow a wait for it.
//   - Recorder::after() orders one command after some others.
//
//   hal::Recorder r{device};
//   const auto a = r.dispatch(left, ...).last(), b = r.dispatch(right, ...).last();
//   r.after({a, b}).dispatch(join, ...);
//
// A recording refers to memory directly, or to slots of the binding table that each submission
// brings; and so to numbers:
//
//   r.dispatch(scale, grid, {hal::slot(0), y}, {hal::constant_slot(0)});
//   queue.execute(commands, {.bindings = {x}, .constants = {0.5f}, .signal = {{done, 1}}});
//
// It is immutable after finish(). Any number of submissions of it may be in flight, on any
// queue of its device that has its commands.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/event.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/pipeline_layout.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class CommandBufferObject;
class Device;
class Launch;
class RecorderState;

// Slots have indices below this.
inline constexpr std::uint32_t kMaxSlots = 4096;

// The expected number of submissions of a recording. It affects the cost of preparing and
// submitting the recording, never its results.
enum class RecordingUse : std::uint8_t {
  kOnce,   // cheap to finish()
  kOften,  // cheap to submit: drivers may prepare native graphs or command buffers
};

// A handle; safe from any thread. Keeps alive the memory and code that its commands use.
class HALYARD_EXPORT CommandBuffer : public Handle<CommandBufferObject> {
 public:
  using Handle::Handle;

  std::size_t command_count() const noexcept;
  // One more than the highest slot that the recording uses: the least size of execute()'s table.
  // The table may be longer, so that one table serves several recordings.
  std::size_t slot_count() const noexcept;
  // One more than the highest constant slot: the number of constants that execute() takes.
  std::size_t constant_slot_count() const noexcept;
};

// A dispatch, fill, update or copy of a recording, for Recorder::after(). A plain value, meaningful
// only during that recording.
class CommandId {
 public:
  CommandId() noexcept = default;  // no command
  friend bool operator==(const CommandId&, const CommandId&) noexcept = default;

 private:
  friend class RecorderState;
  CommandId(const void* recording, std::uint32_t index) noexcept
      : recording_(recording), index_(index) {}
  const void* recording_ = nullptr;
  std::uint32_t index_ = 0;
};

// Move-only. Errors stick: finish() returns the first one, and the recorder ignores the commands
// after it. Codes as in queue.h. A recorder keeps memory and functions alive and copies constants
// and bindings.
// One thread at a time uses a recorder. A call during a call of another thread is ignored and fails
// the recording: finish() returns kFailedPrecondition. Nothing detects a move, an assignment or a
// destructor during a call.
class HALYARD_EXPORT Recorder {
 public:
  explicit Recorder(const Device& device, RecordingUse use = RecordingUse::kOften);
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;
  ~Recorder();

  // Runs `function` over `grid`. `bindings` and `constants` are in the order of its reflection.
  // Their number and types must agree, and a binding's offset must be a multiple of its element
  // size. All uses of a constant slot have one type.
  Recorder& dispatch(const Function& function, const Grid& grid, View<BindingRef> bindings,
                     View<Constant> constants = {});
  Recorder& dispatch(const Launch& launch);

  // Runs as many workgroups as `groups` contains: three uint32 (x, y, z), 4-aligned. The device
  // reads them when the command runs, after the commands that precede it in order. Any zero runs
  // nothing. kUnimplemented as in Queue::dispatch_indirect.
  Recorder& dispatch_indirect(const Function& function, const BindingRef& groups,
                              View<BindingRef> bindings, View<Constant> constants = {});

  // The same two with the bindings and constants that the calls below bind; those calls are not
  // commands. The layout is that of the latest of those calls (pipeline_layout.h). Errors:
  //   kFailedPrecondition  a set of the layout is not bound, or a constant is not pushed
  //   kPermissionDenied    the kernel has more access to a binding than the layout allows
  //   kInvalidArgument     another number of bindings than the kernel has, or fewer push constants
  Recorder& dispatch(const Function& function, const Grid& grid);
  Recorder& dispatch_indirect(const Function& function, const BindingRef& groups);

  // Binds a set. It stays bound until another set replaces it, or until one of these calls has a
  // layout that differs from this one in this set or a lower one. Errors:
  //   kInvalidArgument   a set of another layout
  //   kOutOfRange        the layout has no such set
  //   kPermissionDenied  of another device
  Recorder& bind_descriptor_set(const PipelineLayout& layout, std::uint32_t set,
                                const DescriptorSet& descriptors);
  // Binds a set that is created here. Also has the errors of Device::create_descriptor_set.
  Recorder& push_descriptor_set(const PipelineLayout& layout, std::uint32_t set,
                                View<Descriptor> descriptors);
  // Sets the push constants [offset, offset + bytes.size()) for all dispatches that follow, until
  // one of these calls has a layout with another size of them. Errors: kInvalidArgument unless both
  // are multiples of 4; kOutOfRange.
  Recorder& push_constants(const PipelineLayout& layout, std::uint32_t offset, Bytes bytes);

  // As Queue::fill.
  Recorder& fill(const BindingRef& target, std::uint32_t pattern, std::uint32_t pattern_size = 4);

  // Copies `source` into the recording now, and to the target when the command runs. The target's
  // length is the source's size, or kWholeSize for the same.
  Recorder& update(const BindingRef& target, Bytes source);

  // Copies between ranges of equal length that do not overlap. kWholeSize of a slot means the other
  // range's length; only one side may use it.
  Recorder& copy(const BindingRef& source, const BindingRef& target);

  Recorder& barrier();

  // Orders the next command after these commands of the same recording, and makes their writes
  // visible to it. Adds to the order of barriers and events, and of earlier calls for that command.
  // The next command must be a dispatch, fill, update or copy; otherwise it, or finish(), fails
  // with kFailedPrecondition. kInvalidArgument: not a command of this recording.
  Recorder& after(View<CommandId> commands);
  // The latest dispatch, fill, update or copy. An empty id before the first of them, and after an
  // error.
  CommandId last() const noexcept;

  // Record an event's operations (event.h). Errors: kPermissionDenied for an event of another
  // device; kFailedPrecondition for a wait after a reset.
  Recorder& set_event(const Event& event);
  Recorder& reset_event(const Event& event);
  Recorder& wait_event(const Event& event);

  // Names the commands up to the matching end, for people: an error names the innermost group.
  // Groups nest. They are not commands, order nothing and cost nothing when the recording runs.
  // kFailedPrecondition: an end without a begin, or at finish() a group that is still open.
  Recorder& begin_debug_group(std::string_view name);
  Recorder& end_debug_group();

  // Returns the finished recording, or the first error. Afterwards the recorder is empty: it
  // ignores further commands, and a second finish() is kFailedPrecondition.
  Result<CommandBuffer> finish();

 private:
  class Call;
  template <class F>
  Recorder& record(const char* name, F&& command);

  std::unique_ptr<RecorderState> state_;
  bool has_no_memory_ = false;  // no state could be allocated: finish() returns that error
  // Here, as the state ends in a call: finish().
  mutable std::atomic<bool> in_call_{false};
  mutable std::atomic<bool> overlapped_{false};  // by a call of another thread
};

}  // namespace halyard::inline v0::hal
