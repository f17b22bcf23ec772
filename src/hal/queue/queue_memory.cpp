// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue operations that allocate and deallocate memory of pools. For the device they are barriers;
// their gates do the work when they are issued.
#include "base/build.h"
#include "hal/device/device.h"
#include "hal/memory/buffer.h"
#include "hal/memory/freed_memory.h"
#include "hal/memory/pool.h"
#include "hal/object.h"
#include "hal/queue/queue.h"
#include "hal/recording/accesses.h"
#include "hal/validate.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {

using Order = timeline::IssueSite::Order;

namespace {

using timeline::Gate;

struct AllocatePayload {
  explicit AllocatePayload(PoolMemory& pooled) noexcept : memory(&pooled) {}
  ~AllocatePayload() { memory->pool().end(request); }

  Operation operation;
  Ref<PoolMemory> memory;
  PoolRequest request;
};

constexpr Gate kAllocateGate{
    .ask =
        [](void* payload, timeline::IssueSite& site, Status& cause) noexcept {
          auto& self = *static_cast<AllocatePayload*>(payload);
          return self.memory->pool().ask(self.request, site, cause);
        },
    .issued =
        [](void* payload, const timeline::LanePoint& at) noexcept {
          auto& self = *static_cast<AllocatePayload*>(payload);
          self.memory->commit(*std::exchange(self.request.block, nullptr), at);
        },
    .undo =
        [](void* payload) noexcept {
          auto& self = *static_cast<AllocatePayload*>(payload);
          self.memory->pool().undo(self.request);
        },
    .describe =
        [](const void* payload) noexcept {
          const auto& self = *static_cast<const AllocatePayload*>(payload);
          return self.memory->pool().describe(self.request);
        },
};

struct DeallocatePayload {
  explicit DeallocatePayload(PoolMemory& pooled) noexcept : memory(&pooled) {
    memory->pool().begin_return();
  }
  ~DeallocatePayload() {
    if (deallocation.frontier.lane == nullptr) memory->cancel_deallocation();
    memory->pool().end(deallocation);
  }

  Operation operation;
  Ref<PoolMemory> memory;
  PoolReturn deallocation;
};

// This submission becomes the block's frontier. So it is ordered after the allocation, and thereby
// after the block's previous user, even if the caller does not wait for them.
Gate::Answer ask_deallocate(void* payload, timeline::IssueSite& site, Status& cause) noexcept {
  auto& self = *static_cast<DeallocatePayload*>(payload);
  const PoolMemory& memory = *self.memory;
  if (!can_issue(&memory, cause)) return Gate::Answer::kFail;
  const timeline::LanePoint& at = memory.allocated_at();
  const Order order = site.order_after(at);
  if (order == Order::kNone) {
    cause = error(StatusCode::kFailedPrecondition,
                  "{}: deallocation of {} bytes that does not wait for their allocation",
                  memory.pool().name(), memory.size());
    return Gate::Answer::kFail;
  }
  if (order == Order::kEdge) site.wait_for(at);
  if constexpr (base::kPoisonsFreedMemory) {
    const PoolBlock& block = memory.block();
    self.operation.kind = OperationKind::kCommand;
    self.operation.command = Command(
        FillCommand{{{block.slab->memory.get(), block.offset, block.size}}, kFreedPattern, 1});
  }
  return Gate::Answer::kGo;
}

constexpr Gate kDeallocateGate{
    .ask = &ask_deallocate,
    .issued =
        [](void* payload, const timeline::LanePoint& at) noexcept {
          auto& self = *static_cast<DeallocatePayload*>(payload);
          self.memory->pool().give(self.memory->release_block(), self.deallocation, at);
        },
};

}  // namespace

Result<Buffer> QueueObject::allocate(const Pool& pool, const BufferInfo& info,
                                     const SubmitInfo& submit) {
  if (Status status = check_handle(pool, "use"); !status.ok()) return refused(status, "allocate");
  PoolObject& from = *pool.object();
  Status status = check_buffer_info(device_.limits(), info);
  if (status.ok() && &from.device() != &device_) {
    status = error(StatusCode::kPermissionDenied, "{} is of another device", from.name());
  }
  if (status.ok() && info.exportable) {
    status = error(StatusCode::kInvalidArgument, "exportable memory is of Device::allocate alone");
  }
  if (status.ok() && info.memory != from.memory_type()) {
    status = error(StatusCode::kInvalidArgument, "{} memory of {}, which has {}",
                   to_string(info.memory), from.name(), to_string(from.memory_type()));
  }
  const std::uint64_t size = status.ok() ? PoolSpace::block_size(info.size, info.alignment) : 0;
  if (size > from.max_size()) {
    status = error(StatusCode::kResourceExhausted, "{} bytes of {}, which has at most {}", size,
                   from.name(), from.max_size());
  }
  if (!status.ok()) [[unlikely]]
    return refused(status, "allocate");

  HALYARD_ASSIGN_OR_RETURN(
      const Ref<PoolMemory> memory,
      PoolMemory::create(from, info.size, info.alignment, device_.memory_domain()));
  HALYARD_ASSIGN_OR_RETURN(Buffer buffer, BufferObject::create(device_, memory, 0, info.size));
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  submission->emplace<AllocatePayload>(*memory).request.size = size;
  submission->set_gate(kAllocateGate);
  submission->set_name(trace::kAllocate);
  if (device_.checks()) [[unlikely]] {
    memory->take_serial();
    declare(*submission, {memory.get(), 0, info.size}, timeline::AccessKind::kAllocate, "allocate");
  }
  HALYARD_RETURN_IF_ERROR(send(*submission, submit));
  return buffer;
}

Status QueueObject::deallocate(const Buffer& buffer, const SubmitInfo& info) {
  if (Status status = check_handle(buffer, "use"); !status.ok())
    return refused(status, "deallocate");
  const BufferObject& object = *buffer.object();
  if (!object.memory().of_pool()) {
    return refused(Status(StatusCode::kInvalidArgument, "the buffer is not of a pool"),
                   "deallocate");
  }
  auto& memory = static_cast<PoolMemory&>(object.memory());
  if (&memory.pool().device() != &device_) {
    return refused(
        error(StatusCode::kPermissionDenied, "the buffer is of {}", memory.pool().name()),
        "deallocate");
  }
  if (object.offset() != 0 || object.size() != memory.size()) {
    return refused(error(StatusCode::kInvalidArgument, "{} at offset {}, a part of {}",
                         base::counted(object.size(), "byte"), object.offset(), memory.size()),
                   "deallocate");
  }
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  if (!memory.begin_deallocation()) {
    queue_->discard(*submission);
    return refused(Status(StatusCode::kFailedPrecondition, "the buffer is deallocated already"),
                   "deallocate");
  }
  submission->emplace<DeallocatePayload>(memory);
  submission->set_gate(kDeallocateGate);
  submission->set_name(trace::kDeallocate);
  if (device_.checks()) [[unlikely]]
    declare(*submission, {&memory, 0, memory.size()}, timeline::AccessKind::kFree, "deallocate");
  return send(*submission, info);
}

Result<Buffer> Queue::allocate(const Pool& pool, const BufferInfo& buffer,
                               const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "allocate"));
  return object_->allocate(pool, buffer, info);
}

Status Queue::deallocate(const Buffer& buffer, const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "deallocate"));
  return object_->deallocate(buffer, info);
}

}  // namespace halyard::inline v0::hal
