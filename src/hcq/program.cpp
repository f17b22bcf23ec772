// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/program.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/queue.h"
#include "hcq/command_list.h"

namespace halyard::inline v0::hcq {
namespace {

const char* name_of(Value::Type type) noexcept {
  constexpr const char* kNames[] = {"int32", "uint32", "int64", "uint64", "float32", "float64"};
  return kNames[static_cast<int>(type)];
}

}  // namespace

ArgumentsLayout ArgumentsLayout::packed(const ProgramInfo& info) {
  ArgumentsLayout layout;
  layout.initial.resize(info.buffer_count + (info.constants_size + 7) / 8);
  layout.buffers.resize(info.buffer_count);
  std::iota(layout.buffers.begin(), layout.buffers.end(), 0u);
  layout.constants = info.buffer_count;
  return layout;
}

Program::Program(Ref<ProgramObject> object) noexcept : object_(std::move(object)) {}

ProgramObject* Program::object() const noexcept {
  return static_cast<ProgramObject*>(object_.get());
}

std::string_view Program::name() const noexcept {
  return object_ ? std::string_view(object()->info().name) : std::string_view();
}

Size3 Program::local_size() const noexcept {
  return object_ ? object()->info().local_size : Size3();
}

std::size_t Program::kernargs_size() const noexcept {
  return object_ ? object()->layout().initial.size() * sizeof(std::uint64_t) : 0;
}

ArgsState Program::fill_kernargs(std::span<const BufferOperand> buffers,
                                 std::span<const Value> values) const {
  ArgsState args;
  const auto fail = [&](Status status) {
    args.status_ = std::move(status);
    return args;
  };
  if (!object_) return fail(error(StatusCode::kInvalidArgument, "program: an empty handle"));
  const ProgramInfo& info = object()->info();
  if (buffers.size() != info.buffer_count || values.size() != info.constants.size()) {
    return fail(
        error(StatusCode::kInvalidArgument, "program '{}': {} and {} given, it takes {} and {}",
              info.name, base::counted(buffers.size(), "buffer"),
              base::counted(values.size(), "value"), info.buffer_count, info.constants.size()));
  }
  args.program_ = object_;
  const ArgumentsLayout& layout = object()->layout();
  args.words_ = layout.initial;
  const auto set = [&](std::uint32_t word, const Operand& operand, unsigned shift, unsigned width) {
    if (operand.symbolic()) {
      args.patches_.push_back(
          {operand, word, static_cast<std::uint8_t>(shift), static_cast<std::uint8_t>(width)});
    } else {
      args.words_[word] |= operand.resolve() << shift;
    }
  };
  for (std::size_t i = 0; i < buffers.size(); ++i)
    set(layout.buffers[i], buffers[i].va_addr, 0, 64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ProgramInfo::Constant& constant = info.constants[i];
    if (values[i].type() != constant.type) {
      return fail(error(StatusCode::kInvalidArgument, "program '{}': '{}' is {}, {} was given",
                        info.name, constant.name, name_of(constant.type),
                        name_of(values[i].type())));
    }
    // Offsets are multiples of the size, so a value lies within a word.
    set(layout.constants + constant.offset / 8, values[i].bits(), constant.offset % 8 * 8,
        static_cast<unsigned>(Value::size_of(constant.type) * 8));
  }
  return args;
}

ArgsState Program::fill_kernargs(std::span<const BufferOperand> buffers,
                                 std::span<const Value> values, std::span<std::byte> memory) const {
  ArgsState args = fill_kernargs(buffers, values);
  if (!args.status_.ok()) return args;
  const auto fail = [&](Status status) {
    args.status_ = std::move(status);
    return args;
  };
  if (memory.size() < kernargs_size()) {
    return fail(error(StatusCode::kOutOfRange, "program '{}': arguments of {} bytes in {}", name(),
                      kernargs_size(), memory.size()));
  }
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % sizeof(std::uint64_t) != 0) {
    return fail(error(StatusCode::kInvalidArgument,
                      "program '{}': memory for arguments that is not aligned to 8 bytes", name()));
  }
  if (!args.patches_.empty()) {
    return fail(error(StatusCode::kInvalidArgument,
                      "program '{}': a symbol among arguments in the caller's memory", name()));
  }
  if (!args.words_.empty()) std::memcpy(memory.data(), args.words_.data(), kernargs_size());
  args.words_.clear();
  args.memory_ = reinterpret_cast<const std::uint64_t*>(memory.data());
  return args;
}

Status Program::launch(Device& device, const ArgsState& args, Size3 global_size) const {
  TimelineTurn turn(device);
  ComputeQueue q;
  q.wait(turn.last()).exec(*this, args, global_size, local_size()).signal(turn.next());
  HALYARD_RETURN_IF_ERROR(q.submit(device));
  turn.commit();
  return {};
}

Result<Nanoseconds> Program::launch_and_wait(Device& device, const ArgsState& args,
                                             Size3 global_size, Deadline deadline) const {
  HALYARD_ASSIGN_OR_RETURN(const Signal begin, device.create_signal());
  HALYARD_ASSIGN_OR_RETURN(const Signal end, device.create_signal());
  Point done;
  {
    TimelineTurn turn(device);
    ComputeQueue q;
    q.wait(turn.last()).timestamp(begin).exec(*this, args, global_size, local_size());
    q.timestamp(end).signal(turn.next());
    HALYARD_RETURN_IF_ERROR(q.submit(device));
    done = turn.next();
    turn.commit();
  }
  HALYARD_RETURN_IF_ERROR(done.wait(deadline));
  return end.timestamp() - begin.timestamp();
}

}  // namespace halyard::inline v0::hcq
