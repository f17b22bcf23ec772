// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue operations that reach the driver: checked first, then built in the submission's payload,
// whose first member is the Operation that the driver reads.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "hal/device/device.h"
#include "hal/executable/executable.h"
#include "hal/memory/pool.h"
#include "hal/object.h"
#include "hal/queue/queue.h"
#include "hal/recording/accesses.h"
#include "hal/recording/command_buffer.h"
#include "hal/recording/dispatch.h"
#include "hal/validate.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {
namespace {

struct TransferPayload {
  TransferPayload() noexcept {}

  bool can_issue(Status& cause) const noexcept {
    return hal::can_issue(source.get(), cause) && hal::can_issue(target.get(), cause);
  }

  Operation operation;
  Ref<Memory> source;
  Ref<Memory> target;
  // An update uses one of them.
  Block data;
  HostBlock host_data;
};

struct DispatchPayload {
  DispatchPayload() noexcept {}
  ~DispatchPayload() {
    const DispatchCommand& dispatch = operation.command.dispatch;
    for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) {
      dispatch.bindings[i].memory->release();
    }
    if (dispatch.counts != nullptr) dispatch.counts->memory->release();
  }
  bool can_issue(Status& cause) const noexcept {
    const DispatchCommand& dispatch = operation.command.dispatch;
    if (dispatch.counts != nullptr && !hal::can_issue(dispatch.counts->memory, cause)) return false;
    return std::all_of(dispatch.bindings, dispatch.bindings + dispatch.binding_count,
                       [&](const CommandRange& r) { return hal::can_issue(r.memory, cause); });
  }

  Operation operation;
  Ref<ExecutableImpl> executable;
  Block arguments;  // bindings and counts, each with a reference; constants
};

// Tables of at most this size are stored in the submission.
constexpr std::size_t kInlineTable = 4;

struct ExecutePayload {
  ExecutePayload() noexcept {}
  ~ExecutePayload() {
    if (!commands) return;  // refused before anything was kept
    if (!commands->instances().empty() && commands->instances().end()) {
      commands->device().retry_queues();
    }
    for (std::size_t i = 0; i < commands->range_count(); ++i) {
      if (Memory* memory = operation.table[i].memory; memory != nullptr) memory->release();
    }
  }
  bool can_issue(Status& cause) const noexcept {
    return std::all_of(operation.table, operation.table + commands->range_count(),
                       [&](const BoundRange& r) { return hal::can_issue(r.memory, cause); });
  }

  Operation operation;
  Ref<CommandBufferObject> commands;
  Ref<EventSetter> setter;    // its end can be reused when the payload is destroyed
  bool has_instance = false;  // and has not been issued yet
  union {
    BoundRange inline_table[kInlineTable];  // only used entries are initialized
  };
  Block table;
};

// The gate of operations on memory of pools: whether the memory is allocated and not deallocated.
template <class Payload>
constexpr timeline::Gate kMemoryGate{
    .ask = [](void* payload, timeline::IssueSite&, Status& cause) noexcept {
      return static_cast<Payload*>(payload)->can_issue(cause) ? timeline::Gate::Answer::kGo
                                                              : timeline::Gate::Answer::kFail;
    }};

// The same, and takes an instance of a recording that has instances.
constexpr timeline::Gate kExecuteGate{
    .ask =
        [](void* payload, timeline::IssueSite& site, Status& cause) noexcept {
          auto& self = *static_cast<ExecutePayload*>(payload);
          if (!self.can_issue(cause)) return timeline::Gate::Answer::kFail;
          Instances& instances = self.commands->instances();
          if (instances.empty()) return timeline::Gate::Answer::kGo;
          const timeline::Gate::Answer answer =
              instances.take(site, self.operation.instance, cause);
          self.has_instance = answer == timeline::Gate::Answer::kGo;
          return answer;
        },
    .issued =
        [](void* payload, const timeline::LanePoint& at) noexcept {
          auto& self = *static_cast<ExecutePayload*>(payload);
          if (!std::exchange(self.has_instance, false)) return;
          self.commands->instances().issued(self.operation.instance, at);
        },
    .undo =
        [](void* payload) noexcept {
          auto& self = *static_cast<ExecutePayload*>(payload);
          if (!std::exchange(self.has_instance, false)) return;
          self.commands->instances().undo(self.operation.instance);
        },
};

// Retains `memory` (may be null) until the payload releases it.
template <class Payload>
void keep(timeline::Submission& submission, Memory* memory) noexcept {
  if (memory == nullptr) return;
  memory->retain();
  if (!memory->of_pool()) [[likely]]
    return;
  if constexpr (std::is_same_v<Payload, ExecutePayload>) {
    submission.set_gate(kExecuteGate);
  } else {
    submission.set_gate(kMemoryGate<Payload>);
  }
}

// The same for a payload that keeps a Ref.
Ref<Memory> keep_transfer(timeline::Submission& submission, Memory* memory) noexcept {
  keep<TransferPayload>(submission, memory);
  return Ref<Memory>::adopt(memory);
}

}  // namespace

Status QueueObject::fill(const BufferRange& target, std::uint32_t pattern,
                         std::uint32_t pattern_size, const SubmitInfo& info) {
  CommandRange range;
  Status status = resolve(device_, target, range);
  if (status.ok()) status = check_fill(pattern_size, range.offset, range.length);
  if (!status.ok()) [[unlikely]]
    return refused(status, "fill");

  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<TransferPayload>();
  submission->set_name(trace::kFill);
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(FillCommand{range, pattern, pattern_size});
  payload.target = keep_transfer(*submission, range.memory);
  if (device_.checks()) [[unlikely]]
    (void)declare(*submission, payload.operation.command);
  return send(*submission, info);
}

Status QueueObject::update(const BufferRange& target, Bytes source, const SubmitInfo& info) {
  CommandRange range;
  Block data;
  HostBlock host_data;
  Status status = resolve(device_, target, range);
  UpdateCommand command{range, nullptr};
  if (status.ok()) status = copy_bytes(source, command, data, host_data);
  if (!status.ok()) [[unlikely]]
    return refused(status, "update");

  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<TransferPayload>();
  submission->set_name(trace::kUpdate);
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(command);
  payload.target = keep_transfer(*submission, range.memory);
  payload.data = std::move(data);
  payload.host_data = std::move(host_data);
  if (device_.checks()) [[unlikely]]
    (void)declare(*submission, payload.operation.command);
  return send(*submission, info);
}

// Precondition: this device can use both ranges.
Status QueueObject::copy_directly(const BoundRange& source, const BoundRange& target,
                                  const CopyCommand& declared, const SubmitInfo& info) {
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<TransferPayload>();
  submission->set_name(trace::kCopy);
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(CopyCommand{{source}, {target}});
  payload.source = keep_transfer(*submission, source.memory);
  payload.target = keep_transfer(*submission, target.memory);
  if (device_.checks()) [[unlikely]]
    (void)declare(*submission, Command(declared));
  return send(*submission, info);
}

Status QueueObject::dispatch(const DispatchRequest<BufferRange>& request, const SubmitInfo& info) {
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<DispatchPayload>();
  submission->set_name(trace::kDispatch);
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(DispatchCommand{});
  // Built in place: a copy would load 16 bytes at a time from stores of 4 and 8 bytes, which
  // stalls.
  DispatchCommand& command = payload.operation.command.dispatch;
  Status status = check_kernels_allowed();
  if (status.ok()) {
    status = build_dispatch(
        device_, request, command,
        [&](std::size_t bytes) {
          payload.arguments = device_.blocks().allocate(bytes);
          return payload.arguments ? payload.arguments.data() : nullptr;
        },
        [&](const BufferRange& binding, CommandRange& range) {
          range.slot = 0;
          return resolve(device_, binding, range);
        });
  }
  if (device_.checks() && status.ok()) [[unlikely]]
    status = declare(*submission, payload.operation.command);
  if (!status.ok()) [[unlikely]] {
    command = {};  // nothing of it is kept
    queue_->discard(*submission);
    return at(status, "queue {}: {} of {}", name(),
              request.counts != nullptr ? "dispatch_indirect" : "dispatch", request.kernel_name());
  }
  payload.executable = Ref<ExecutableImpl>(command.executable);
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    keep<DispatchPayload>(*submission, command.bindings[i].memory);
  }
  if (command.counts != nullptr) keep<DispatchPayload>(*submission, command.counts->memory);
  return send(*submission, info);
}

Status QueueObject::check(const CommandBuffer& commands) const {
  if (!commands) [[unlikely]]
    return Status(StatusCode::kInvalidArgument, "empty command buffer");
  const CommandBufferObject& recording = *commands.object();
  if (&recording.device() != &device_) [[unlikely]] {
    return error(StatusCode::kPermissionDenied, "the recording was made for {}",
                 recording.device().name());
  }
  if (recording.needs_compute()) HALYARD_RETURN_IF_ERROR(check_kernels_allowed());
  return {};
}

Status QueueObject::execute(const CommandBuffer& commands, const SlotValues& values,
                            const SubmitInfo& info, timeline::LanePoint* issued) {
  if (Status status = check(commands); !status.ok()) [[unlikely]]
    return refused(status, "execute");
  CommandBufferObject& recording = *commands.object();
  const std::size_t size = recording.table_size();

  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<ExecutePayload>();
  BoundRange* table = payload.inline_table;
  Status status;
  if (size > kInlineTable) {
    status = allocate_block(size * sizeof(BoundRange), payload.table);
    table = reinterpret_cast<BoundRange*>(payload.table.data());
  }
  if (status.ok()) status = recording.bind(values, table);
  if (device_.checks() && status.ok()) [[unlikely]] {
    status = recording.accesses().check(table);
    recording.accesses().declare(*submission, table);
  }
  if (!status.ok()) [[unlikely]] {
    queue_->discard(*submission);
    return refused(status, "execute");
  }
  payload.commands = Ref<CommandBufferObject>(&recording);
  submission->set_name(trace::kExecute);
  payload.operation.kind = OperationKind::kExecute;
  payload.operation.native = &recording.native();
  submission->set_depth(recording.native().depth());
  if (!recording.instances().empty()) submission->set_gate(kExecuteGate);
  payload.operation.table = table;
  for (std::size_t i = 0; i < recording.range_count(); ++i) {
    keep<ExecutePayload>(*submission, table[i].memory);
  }
  if (!recording.events().empty()) [[unlikely]]
    return send_with_events(*submission, recording, payload.setter, info, issued);
  return send(*submission, info, issued);
}

Status QueueObject::allocate_block(std::size_t bytes, Block& block) {
  block = device_.blocks().allocate(bytes);
  if (block) [[likely]]
    return {};
  return no_memory(bytes);
}

// Copies an update's bytes to memory that the device copies from.
Status QueueObject::copy_bytes(Bytes source, UpdateCommand& command, Block& data,
                               HostBlock& host_data) {
  std::byte* bytes = nullptr;
  if (device_.needs_host_blocks() && !source.empty()) {
    HALYARD_ASSIGN_OR_RETURN(host_data, device_.allocate_host_block(source.size()));
    bytes = host_data.data();
    command.source_memory = &host_data.memory();
    command.source_offset = host_data.offset();
  } else {
    HALYARD_RETURN_IF_ERROR(allocate_block(source.size(), data));
    bytes = data.data();
  }
  if (!source.empty()) std::memcpy(bytes, source.data(), source.size());
  command.source = bytes;
  return {};
}

Status QueueObject::check_kernels_allowed() const {
  if (!kValidation || kind_ == QueueKind::kCompute) [[likely]]
    return {};
  return Status(StatusCode::kPermissionDenied, "a copy queue runs no kernels");
}

}  // namespace halyard::inline v0::hal
