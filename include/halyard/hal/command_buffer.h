// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorder and CommandBuffer: record once, submit often.
//
// Commands between two barriers may run in any order and overlap; a barrier makes everything before
// it complete and visible to everything after it, an event (event.h) to what follows a wait for it,
// and Recorder::after() some commands to one: a recording may be any graph.
//
//   hal::Recorder r{device};
//   const auto a = r.dispatch(left, ...).last(), b = r.dispatch(right, ...).last();
//   r.after({a, b}).dispatch(join, ...);
//
// A recording refers to memory directly, or to slots of the binding table that is given with each
// submit. It is immutable after finish(); any number of submissions of it may be in flight, on any
// queue of its device that has its commands.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/event.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/pipeline_layout.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class CommandBufferObject;
class Device;
class Launch;
class RecorderState;

// Slots have indices below this.
inline constexpr std::uint32_t kMaxSlots = 4096;

// How often a recording will be submitted, as its author expects. It decides what preparing and
// submitting it cost, never what it does.
enum class RecordingUse : std::uint8_t {
  kOnce,   // cheap to finish()
  kOften,  // cheap to submit: drivers may prepare native graphs or command buffers
};

// A handle; safe from any thread. Keeps alive what was recorded.
class HALYARD_EXPORT CommandBuffer {
 public:
  CommandBuffer() noexcept = default;
  explicit CommandBuffer(CommandBufferObject* object) noexcept;

  std::size_t command_count() const noexcept;
  // One more than the highest slot the recording uses: what execute() needs at least.
  std::size_t slot_count() const noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const CommandBuffer& a, const CommandBuffer& b) noexcept = default;
  CommandBufferObject* object() const noexcept {
    return reinterpret_cast<CommandBufferObject*>(object_.get());
  }

 private:
  HandleRef<RefCounted> object_;
};

// A dispatch, fill, update or copy of a recording: for Recorder::after(). A plain value, of use
// only while it is recorded.
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

// Move-only; one thread at a time. Errors stick: the first one is returned by finish(), and the
// commands after it are ignored. Codes as in queue.h; memory and functions are kept alive,
// constants and bindings copied.
class HALYARD_EXPORT Recorder {
 public:
  explicit Recorder(const Device& device, RecordingUse use = RecordingUse::kOften);
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;
  ~Recorder();

  // Runs `function` over `grid`. `bindings` and `constants` in the order of its reflection; their
  // number and types must agree, and a binding's offset must be a multiple of its element size.
  Recorder& dispatch(const Function& function, const Grid& grid, View<BindingRef> bindings,
                     View<Constant> constants = {});
  Recorder& dispatch(const Launch& launch);

  // The same over as many workgroups as `groups` says: three uint32 (x, y, z), 4-aligned, that the
  // device reads when the command runs, after what is ordered before it. Any zero runs nothing.
  // kUnimplemented as in Queue::dispatch_indirect.
  Recorder& dispatch_indirect(const Function& function, const BindingRef& groups,
                              View<BindingRef> bindings, View<Constant> constants = {});

  // The same two with what is bound by the calls below, which are no commands. The bindings and
  // constants are those of the latest of these calls' layout (pipeline_layout.h).
  // kFailedPrecondition: a set of it is not bound, or a constant not pushed; kPermissionDenied: the
  // kernel reads or writes a binding that the layout does not allow to; kInvalidArgument: another
  // number of bindings than the kernel has, or fewer push constants.
  Recorder& dispatch(const Function& function, const Grid& grid);
  Recorder& dispatch_indirect(const Function& function, const BindingRef& groups);

  // Binds a set until another takes its place, or until one of these calls comes with a layout that
  // differs from this one in this set or one below. kInvalidArgument: a set of another layout;
  // kOutOfRange: the layout has no such set; kPermissionDenied: of another device.
  Recorder& bind_descriptor_set(const PipelineLayout& layout, std::uint32_t set,
                                const DescriptorSet& descriptors);
  // The same with a set made here. Errors of Device::create_descriptor_set besides.
  Recorder& push_descriptor_set(const PipelineLayout& layout, std::uint32_t set,
                                View<Descriptor> descriptors);
  // Sets the push constants [offset, offset + bytes.size()), for all dispatches that follow, until
  // one of these calls comes with a layout with another size of them. kInvalidArgument: no
  // multiples of 4; kOutOfRange.
  Recorder& push_constants(const PipelineLayout& layout, std::uint32_t offset, Bytes bytes);

  // As Queue::fill.
  Recorder& fill(const BindingRef& target, std::uint32_t pattern, std::uint32_t pattern_size = 4);

  // Copies `source` into the recording now, and to the target when it runs. The target's length is
  // the source's size, or kWholeSize for just that.
  Recorder& update(const BindingRef& target, Bytes source);

  // Equal lengths; the ranges must not overlap. kWholeSize of a slot means the other's length; it
  // cannot stand on both sides.
  Recorder& copy(const BindingRef& source, const BindingRef& target);

  Recorder& barrier();

  // The next command runs after these of the same recording, and sees what they wrote: besides what
  // barriers and events order, and what further calls before that command add. That command is a
  // dispatch, fill, update or copy, else kFailedPrecondition, also at finish().
  // kInvalidArgument: no command of this recording.
  Recorder& after(View<CommandId> commands);
  // The latest dispatch, fill, update or copy; no command if there is none, or after an error.
  CommandId last() const noexcept;

  // See event.h. kPermissionDenied: an event of another device; kFailedPrecondition: a wait after a
  // reset.
  Recorder& set_event(const Event& event);
  Recorder& reset_event(const Event& event);
  Recorder& wait_event(const Event& event);

  // A name for the commands up to the matching end, for people: an error names the innermost group.
  // Groups nest; they are no commands, order nothing and cost nothing when the recording runs.
  // kFailedPrecondition: an end without a begin, or at finish() a group that is still open.
  Recorder& begin_debug_group(std::string_view name);
  Recorder& end_debug_group();

  // The finished recording, or the first error. The recorder is empty afterwards: it ignores
  // further commands, and a second finish() is kFailedPrecondition.
  Result<CommandBuffer> finish();

 private:
  std::unique_ptr<RecorderState> state_;
  bool has_no_memory_ = false;  // for a state: finish() says so
};

}  // namespace halyard::inline v0::hal
