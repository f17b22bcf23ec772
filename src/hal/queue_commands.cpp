// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue operations that reach the driver: checked first, then built in the submission's payload, whose
// first member is the Operation that the driver finds.
#include <cstddef>
#include <cstring>

#include "hal/command_buffer.h"
#include "hal/device.h"
#include "hal/executable.h"
#include "hal/object.h"
#include "hal/queue.h"
#include "hal/validate.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {
namespace {

struct TransferPayload {
  TransferPayload() noexcept {}

  Operation operation;
  Ref<Memory> source;
  Ref<Memory> target;
  Block data;  // update
};

struct DispatchPayload {
  DispatchPayload() noexcept {}
  ~DispatchPayload() {
    const DispatchCommand& dispatch = operation.command.dispatch;
    for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) dispatch.bindings[i].memory->release();
  }

  Operation operation;
  Ref<ExecutableImpl> executable;
  Block arguments;  // bindings, each with a reference; constants
};

// A table that small lies in the submission itself.
constexpr std::size_t kInlineTable = 4;

struct ExecutePayload {
  ExecutePayload() noexcept {}
  ~ExecutePayload() {
    for (std::size_t i = 0; i < commands->slot_count(); ++i) {
      if (Memory* memory = operation.table[i].memory; memory != nullptr) memory->release();
    }
  }

  Operation operation;
  Ref<CommandBufferObject> commands;
  union {
    BoundRange inline_table[kInlineTable];  // as far as it is used
  };
  Block table;
};

Status no_memory(std::size_t bytes) {
  return error(StatusCode::kResourceExhausted, "no memory for {} bytes", bytes);
}

}  // namespace

Status QueueObject::try_fill(const BufferRange& target, std::uint32_t pattern,
                             std::uint32_t pattern_size, const Submit& submit) {
  BoundRange range;
  HALYARD_RETURN_IF_ERROR(resolve(device_, target, range));
  HALYARD_RETURN_IF_ERROR(check_fill(pattern_size, range.offset, range.length));
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<TransferPayload>();
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(FillCommand{as_command_range(range), pattern, pattern_size});
  payload.target = Ref<Memory>(range.memory);
  return send(*submission, submit);
}

Status QueueObject::try_update(const BufferRange& target, Bytes source, const Submit& submit) {
  BoundRange range;
  HALYARD_RETURN_IF_ERROR(resolve(device_, target, range));
  Block data = device_.blocks().allocate(source.size());
  if (!data) [[unlikely]] return no_memory(source.size());
  if (!source.empty()) std::memcpy(data.data(), source.data(), source.size());
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<TransferPayload>();
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(UpdateCommand{as_command_range(range), data.data()});
  payload.target = Ref<Memory>(range.memory);
  payload.data = std::move(data);
  return send(*submission, submit);
}

Status QueueObject::try_copy(const BufferRange& source, const BufferRange& target,
                             const Submit& submit) {
  BoundRange from;
  BoundRange to;
  if (Status status = resolve(device_, source, from); !status.ok()) return at(status, "source");
  if (Status status = resolve(device_, target, to); !status.ok()) return at(status, "target");
  HALYARD_RETURN_IF_ERROR(check_copy(as_command_range(from), as_command_range(to)));
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<TransferPayload>();
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(CopyCommand{as_command_range(from), as_command_range(to)});
  payload.source = Ref<Memory>(from.memory);
  payload.target = Ref<Memory>(to.memory);
  return send(*submission, submit);
}

Status QueueObject::try_dispatch(const Function& function, const Grid& grid,
                                 View<BufferRange> bindings, View<Constant> constants,
                                 const Submit& submit) {
  if (kValidation && kind_ != QueueKind::kCompute) [[unlikely]] {
    return Status(StatusCode::kPermissionDenied, "a copy queue runs no kernels");
  }
  HALYARD_RETURN_IF_ERROR(check_function(device_, function));
  ExecutableImpl& executable = function.executable()->impl();
  const kernel::KernelInfo& kernel = function.executable()->kernels()[function.index()];
  HALYARD_RETURN_IF_ERROR(check_binding_count(kernel, bindings.size()));
  DispatchCommand command{};
  HALYARD_RETURN_IF_ERROR(resolve_grid(kernel, grid, command.groups));

  static_assert(sizeof(CommandRange) % alignof(std::max_align_t) == 0, "constants stand behind");
  const std::size_t bindings_bytes = bindings.size() * sizeof(CommandRange);
  Block arguments = device_.blocks().allocate(bindings_bytes + kernel.constants_bytes);
  if (!arguments) [[unlikely]] return no_memory(bindings_bytes + kernel.constants_bytes);
  auto* const ranges = reinterpret_cast<CommandRange*>(arguments.data());
  std::byte* const packed = arguments.data() + bindings_bytes;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    BoundRange range;
    Status status = resolve(device_, bindings[i], range);
    if (status.ok()) status = check_binding_alignment(kernel, i, range.offset);
    if (!status.ok()) [[unlikely]] {
      return at(status, "binding {} ({})", i, kernel.bindings[i].name);
    }
    ranges[i] = as_command_range(range);
  }
  HALYARD_RETURN_IF_ERROR(pack_constants(kernel, constants, packed));

  command.executable = &executable;
  command.function = function.index();
  command.bindings = ranges;
  command.binding_count = static_cast<std::uint32_t>(bindings.size());
  command.constants_size = kernel.constants_bytes;
  command.constants = packed;
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<DispatchPayload>();
  payload.operation.kind = OperationKind::kCommand;
  payload.operation.command = Command(command);
  payload.executable = Ref<ExecutableImpl>(&executable);
  payload.arguments = std::move(arguments);
  for (std::size_t i = 0; i < bindings.size(); ++i) ranges[i].memory->retain();
  return send(*submission, submit);
}

Status QueueObject::try_execute(const CommandBuffer& commands, View<BufferRange> bindings,
                                const Submit& submit) {
  if (!commands) [[unlikely]] return Status(StatusCode::kInvalidArgument, "empty command buffer");
  CommandBufferObject& recording = *commands.object();
  if (&recording.device() != &device_) [[unlikely]] {
    return error(StatusCode::kPermissionDenied, "the recording was made for {}",
                 recording.device().name());
  }
  if (kValidation && kind_ != QueueKind::kCompute && recording.needs_compute()) [[unlikely]] {
    return Status(StatusCode::kPermissionDenied, "a copy queue runs no kernels");
  }
  const std::size_t slots = recording.slot_count();
  if (bindings.size() < slots) [[unlikely]] {
    return error(StatusCode::kOutOfRange, "{} bindings given, the recording has {} slots",
                 bindings.size(), slots);
  }
  BoundRange inline_table[kInlineTable];
  BoundRange* table = inline_table;
  Block block;
  if (slots > kInlineTable) {
    block = device_.blocks().allocate(slots * sizeof(BoundRange));
    if (!block) [[unlikely]] return no_memory(slots * sizeof(BoundRange));
    table = reinterpret_cast<BoundRange*>(block.data());
  }
  HALYARD_RETURN_IF_ERROR(recording.bind(bindings, table));

  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<ExecutePayload>();
  payload.operation.kind = OperationKind::kExecute;
  payload.operation.native = &recording.native();
  payload.commands = Ref<CommandBufferObject>(&recording);
  if (table == inline_table) {
    std::memcpy(payload.inline_table, inline_table, slots * sizeof(BoundRange));
    table = payload.inline_table;
  }
  payload.operation.table = table;
  payload.table = std::move(block);
  for (std::size_t i = 0; i < slots; ++i) {
    if (table[i].memory != nullptr) table[i].memory->retain();
  }
  return send(*submission, submit);
}

Status QueueObject::fill(const BufferRange& target, std::uint32_t pattern,
                         std::uint32_t pattern_size, const Submit& submit) {
  return named(try_fill(target, pattern, pattern_size, submit), "fill");
}

Status QueueObject::update(const BufferRange& target, Bytes source, const Submit& submit) {
  return named(try_update(target, source, submit), "update");
}

Status QueueObject::copy(const BufferRange& source, const BufferRange& target,
                         const Submit& submit) {
  return named(try_copy(source, target, submit), "copy");
}

Status QueueObject::dispatch(const Function& function, const Grid& grid,
                             View<BufferRange> bindings, View<Constant> constants,
                             const Submit& submit) {
  Status status = try_dispatch(function, grid, bindings, constants, submit);
  if (status.ok()) [[likely]] return status;
  return at(status, "queue {}: dispatch of {}", name(), function ? function.name() : "nothing");
}

Status QueueObject::execute(const CommandBuffer& commands, View<BufferRange> bindings,
                            const Submit& submit) {
  return named(try_execute(commands, bindings, submit), "execute");
}

}  // namespace halyard::inline v0::hal
