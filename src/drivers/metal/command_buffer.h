// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording for lanes. An MTLCommandBuffer is used once, so each replay encodes
// the commands again. What it keeps are the argument blocks of the dispatches:
//
//     no slots    one set of blocks, encoded when the recording is made; any number of submissions
//                 use it at once
//     slots       instances: each has blocks, in which a submission writes the bindings whose slots
//                 have changed since the instance's last use
//
// A recording of many commands goes into several MTLCommandBuffers: one that runs for long is
// stopped by the system, since it holds up the display. A part of a submission has some of them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/array.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/encoder.h"
#include "hal/recording/command.h"
#include "hal/recording/slots.h"
#include "hal/recording/walk.h"
#include "halyard/base/result.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::metal {

class CommandBuffer final : public hal::NativeCommands {
 public:
  static constexpr std::uint32_t kInstances = 4;

  // `recording` outlives the result. kResourceExhausted.
  static Result<std::unique_ptr<hal::NativeCommands>> create(
      const ArgumentHeap& heap, const hal::RecordedCommands& recording);
  ~CommandBuffer() override = default;

  std::uint32_t depth() const noexcept override { return depth_; }
  hal::InstanceInfo instances() const noexcept override;

  // Commands that do work.
  std::uint32_t work_count() const noexcept { return work_count_; }

  // Encodes the blocks of an instance for a submission with this table, which has the instance for
  // itself. Before the submission's first part is encoded.
  void write_arguments(std::uint32_t instance, const hal::BoundRange* table) const;

  // Encodes the commands [first, first + count) of those that do work, with the barriers between
  // them. `before(k)` is called before the k-th, and may have the encoder begin another buffer;
  // `after(k, index)` after it, with its index in the recording. Both return a Status.
  template <class Before, class After>
  Status encode(Encoder& encoder, std::uint32_t instance, const hal::BoundRange* table,
                timeline::CommandSpan span, Before&& before, After&& after) const {
    const Instance& its = instances_[instance];
    std::uint32_t at = 0, dispatch = 0;
    return hal::walk_with_barriers(
        recording(), [&] { encoder.barrier(); },
        [&](std::uint32_t index, const hal::Command& command) -> Status {
          const std::uint32_t k = at++;
          hal::ArgumentBlock block;
          if (command.kind == hal::CommandKind::kDispatch) block = its.blocks[dispatch++];
          if (k < span.first || k - span.first >= span.count) return {};
          HALYARD_RETURN_IF_ERROR(before(k));
          HALYARD_RETURN_IF_ERROR(encoder.add(command, table, block));
          return after(k, index);
        });
  }

  // The commands that do work in these native commands.
  timeline::CommandSpan work_in(timeline::CommandSpan native) const noexcept;

 private:
  struct Instance {
    Arguments arguments;
    base::Array<hal::ArgumentBlock> blocks;  // one for each dispatch
    base::Array<hal::SlotValue> written;     // of bindings that are slots, in their order
    bool encoded = false;
  };

  CommandBuffer(const ArgumentHeap& heap, const hal::RecordedCommands& recording) noexcept
      : NativeCommands(recording), heap_(heap) {}
  Status open();

  const ArgumentHeap heap_;
  std::uint32_t work_count_ = 0;
  std::uint32_t depth_ = 1;
  std::uint32_t per_buffer_ = 0;  // commands of one native command
  std::uint32_t instance_count_ = 0;
  std::unique_ptr<Instance[]> instances_;
};

}  // namespace halyard::inline v0::metal
