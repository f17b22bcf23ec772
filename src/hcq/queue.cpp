// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/queue.h"

#include <limits>
#include <utility>

#include "base/format.h"
#include "hcq/command_list.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {
namespace {

std::uint64_t word(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void add(detail::CommandList& list, PacketKind kind, const Signal& signal, std::uint64_t value,
         std::string_view what) {
  if (!signal) {
    return list.fail(error(StatusCode::kInvalidArgument, "queue: {} with an empty signal", what));
  }
  detail::Command command{.kind = kind};
  command.words[0] = word(signal.object());
  command.words[1] = value;
  command.keeps = Ref<RefCounted>(signal.object());
  list.commands.push_back(std::move(command));
}

}  // namespace

CommandQueue::CommandQueue(QueueType type) : commands_(new detail::CommandList(type)) {}
CommandQueue::CommandQueue(CommandQueue&&) noexcept = default;
CommandQueue& CommandQueue::operator=(CommandQueue&&) noexcept = default;
CommandQueue::~CommandQueue() = default;

std::size_t CommandQueue::command_count() const noexcept { return commands_->commands.size(); }

Status CommandQueue::submit(Device& device) {
  HALYARD_RETURN_IF_ERROR(Status(commands_->status));
  if (commands_->commands.empty()) return {};
  return device.submit(commands_->type, *commands_);
}

void CommandQueue::add_signal(const Signal& signal, std::uint64_t value) {
  add(*commands_, PacketKind::kSignal, signal, value, "signal");
}

void CommandQueue::add_wait(const Signal& signal, std::uint64_t value) {
  add(*commands_, PacketKind::kWait, signal, value, "wait");
}

void CommandQueue::add_timestamp(const Signal& signal) {
  add(*commands_, PacketKind::kTimestamp, signal, 0, "timestamp");
}

ComputeQueue& ComputeQueue::memory_barrier() {
  commands().commands.push_back({.kind = PacketKind::kBarrier});
  return *this;
}

ComputeQueue& ComputeQueue::exec(const Program& program, const ArgsState& args, Size3 global_size,
                                 Size3 local_size) {
  detail::CommandList& list = commands();
  const auto fail = [&](Status status) -> ComputeQueue& {
    list.fail(std::move(status));
    return *this;
  };
  if (!program) return fail(error(StatusCode::kInvalidArgument, "queue: exec of an empty program"));
  if (!args.status().ok()) return fail(args.status());
  const ProgramInfo& info = program.object()->info();
  if (args.program_.get() != program.object()) {
    return fail(error(StatusCode::kInvalidArgument,
                      "queue: exec of '{}' with the arguments of another program", info.name));
  }
  if (local_size != info.local_size) {
    return fail(error(StatusCode::kInvalidArgument,
                      "queue: exec of '{}' with local size {}x{}x{}, the kernel has {}x{}x{}",
                      info.name, local_size.x, local_size.y, local_size.z, info.local_size.x,
                      info.local_size.y, info.local_size.z));
  }
  std::uint64_t total = std::uint64_t{global_size.x} * global_size.y;
  if (__builtin_mul_overflow(total, std::uint64_t{global_size.z}, &total)) {
    return fail(error(StatusCode::kInvalidArgument, "queue: exec of '{}' with {}x{}x{} workgroups",
                      info.name, global_size.x, global_size.y, global_size.z));
  }
  if (list.args.size() + args.words_.size() > std::numeric_limits<std::uint32_t>::max()) {
    return fail(error(StatusCode::kResourceExhausted, "queue: {} words of kernel arguments",
                      list.args.size()));
  }
  detail::Command command{.kind = PacketKind::kExec};
  command.words[0] = reinterpret_cast<std::uintptr_t>(program.object()->kernel());
  command.words[3] = global_size.x | std::uint64_t{global_size.y} << 32;
  command.words[4] = global_size.z;
  command.keeps = args.program_;
  command.args_begin = static_cast<std::uint32_t>(list.args.size());
  command.args_count = static_cast<std::uint32_t>(args.words_.size());
  command.buffer_count = info.buffer_count;
  list.args.insert(list.args.end(), args.words_.begin(), args.words_.end());
  list.args_blocks += command.args_blocks();
  list.commands.push_back(std::move(command));
  return *this;
}

CopyQueue& CopyQueue::copy(const Buffer& target, const Buffer& source, std::uint64_t size) {
  detail::CommandList& list = commands();
  if (size > target.size || size > source.size) {
    list.fail(error(StatusCode::kOutOfRange, "queue: copy of {} bytes from {} to {} bytes", size,
                    source.size, target.size));
    return *this;
  }
  detail::Command command{.kind = PacketKind::kCopy};
  command.words[0] = target.va_addr;
  command.words[1] = source.va_addr;
  command.words[2] = size;
  list.commands.push_back(std::move(command));
  return *this;
}

}  // namespace halyard::inline v0::hcq
