// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a prepared recording. An MTLCommandBuffer can be used only once, so each replay
// encodes the commands again. The recording keeps the argument blocks of its dispatches:
//
//     no slots    one set of blocks, encoded when the recording is made; any number of submissions
//                 share it at the same time
//     slots       several instances, each with its own blocks: a submission rewrites the bindings
//                 whose slots have changed since the instance was last used
//
// A long recording goes into several MTLCommandBuffers, because the system stops a buffer that
// holds up the display. A part of a submission has some of these buffers.
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

  // `recording` outlives the result. Returns kResourceExhausted if there is no memory for the
  // blocks.
  static Result<std::unique_ptr<hal::NativeCommands>> create(
      const ArgumentHeap& heap, const hal::RecordedCommands& recording);
  ~CommandBuffer() override = default;

  std::uint32_t depth() const noexcept override { return depth_; }
  hal::InstanceInfo instances() const noexcept override;

  // The number of commands that do work.
  std::uint32_t work_count() const noexcept { return work_count_; }

  // Encodes the blocks of an instance for a submission with this table. Called before the
  // submission's first part is encoded. Precondition: no other submission uses the instance.
  void write_arguments(std::uint32_t instance, const hal::BoundRange* table) const;

  // Encodes the working commands [span.first, span.first + span.count), with the barriers between
  // them. Calls `before(k)` before the k-th command, which may begin another buffer in the encoder,
  // and `after(k, index)` after it, with its index in the recording. Both return a Status.
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

  // The working commands in a span of native commands.
  timeline::CommandSpan work_in(timeline::CommandSpan native) const noexcept;

 private:
  struct Instance {
    Arguments arguments;
    base::Array<hal::ArgumentBlock> blocks;  // for each dispatch
    base::Array<hal::SlotValue> written;     // for each slot binding, in order
    bool encoded = false;
  };

  CommandBuffer(const ArgumentHeap& heap, const hal::RecordedCommands& recording) noexcept
      : NativeCommands(recording), heap_(heap) {}
  Status open();

  const ArgumentHeap heap_;
  std::uint32_t work_count_ = 0;
  std::uint32_t depth_ = 1;
  std::uint32_t per_buffer_ = 0;  // working commands in a native command
  std::uint32_t instance_count_ = 0;
  std::unique_ptr<Instance[]> instances_;
};

}  // namespace halyard::inline v0::metal
