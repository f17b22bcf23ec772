// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "hal/device/driver.h"
#include "hal/executable/executable.h"
#include "hal/object.h"
#include "hal/recording/bound_state.h"
#include "hal/recording/command_buffer.h"
#include "hal/recording/dispatch.h"
#include "hal/validate.h"
#include "halyard/hal/device.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::hal {

// The recording so far, or the first error.
class RecorderState {
 public:
  RecorderState(const Device& device, RecordingUse use) : bound_(device.object()) {
    if (!device) {
      first_error_ =
          Status(StatusCode::kInvalidArgument, "recorder: its device is an empty handle");
      return;
    }
    device_ = device;
    commands_ = CommandBufferObject::create(*device.object(), use);
    if (!commands_) first_error_ = Status(StatusCode::kResourceExhausted, "recorder: no memory");
  }

  // Calls `command()`, which records, unless there was an error.
  template <class F>
  void record(const char* name, F&& command) {
    if (!first_error_.ok()) return;
    if (Status status = command(); !status.ok()) {
      first_error_ = at(status, "recorder for {}: command {} ({}){}{:.64}",
                        device_.object()->name(), commands_->command_count(), name,
                        groups_.empty() ? "" : " in group ", innermost_group());
    }
  }

  // Stores the first error.
  void fail(Status status) {
    if (first_error_.ok()) first_error_ = std::move(status);
  }
  Status two_threads() const {
    return error(StatusCode::kFailedPrecondition, "recorder for {}: used by two threads at once",
                 device_ ? device_.object()->name() : std::string_view("no device"));
  }

  Status dispatch(const DispatchRequest<BindingRef>& request);
  Status dispatch(const Launch& launch);
  // With what is bound.
  Status dispatch_bound(const Function& function, const Grid* grid, const BindingRef* counts);
  BoundState& bound() noexcept { return bound_; }
  Status fill(const BindingRef& target, std::uint32_t pattern, std::uint32_t pattern_size);
  Status update(const BindingRef& target, Bytes source);
  Status copy(const BindingRef& source, const BindingRef& target);
  Status barrier() { return commands_->add(Command()); }
  Status event(CommandKind kind, const Event& event);
  Status after(View<CommandId> commands);
  CommandId last() const noexcept;
  Status begin_debug_group(std::string_view name);
  Status end_debug_group();

  Result<CommandBuffer> finish() {
    if (!first_error_.ok()) return std::move(first_error_);
    if (!groups_.empty()) {
      return error(StatusCode::kFailedPrecondition,
                   "recorder for {}: finish: {}, the innermost is {:.64}", device_.object()->name(),
                   base::counted(groups_.size(), "open debug group"), innermost_group());
    }
    Result<CommandBuffer> result = commands_->finish();
    if (result.ok()) return result;
    return at(result.status(), "recorder for {}: finish", device_.object()->name());
  }

 private:
  Status note_slots(const kernel::KernelInfo& kernel, const Array<ConstantUse>& uses,
                    DispatchCommand& command);
  void name_group();  // for traces
  std::string_view innermost_group() const noexcept {
    return groups_.empty() ? std::string_view() : groups_[groups_.size() - 1];
  }

  Device device_;  // keeps the device open until the recording has a handle
  Ref<CommandBufferObject> commands_;
  BoundState bound_;
  Arena names_;                     // names of groups; not needed after finish()
  Array<std::string_view> groups_;  // open groups
  Status first_error_;
};

namespace {

// Limit in bytes of a path of debug groups in a trace. The path is built for each group, while
// names may have any length and nest to any depth.
constexpr std::size_t kMaxGroupPath = 1024;

}  // namespace

Status RecorderState::dispatch(const DispatchRequest<BindingRef>& request) {
  DispatchCommand command{};
  Array<ConstantUse> uses;
  Status status = build_dispatch(
      commands_->device(), request, command,
      [&](std::size_t bytes) { return commands_->arena().allocate(bytes); },
      [&](const BindingRef& binding, CommandRange& range) {
        return commands_->range_of(binding, range);
      },
      &uses);
  if (status.ok())
    status = note_slots(request.executable->kernels()[request.function], uses, command);
  if (!status.ok()) return at(status, "{}", request.kernel_name());
  commands_->set_needs_compute();
  HALYARD_RETURN_IF_ERROR(commands_->retain_until_end(*command.executable));
  return commands_->add(Command(command));
}

// Adds the dispatch's requirements on the binding table.
Status RecorderState::note_slots(const kernel::KernelInfo& kernel, const Array<ConstantUse>& uses,
                                 DispatchCommand& command) {
  const View<ConstantUse> used(uses.data(), uses.size());
  HALYARD_RETURN_IF_ERROR(commands_->use_constants(used, command));
  if (has_slot_of_tensor(kernel, used)) HALYARD_RETURN_IF_ERROR(commands_->check_tensors_at_bind());
  for (std::size_t i = 0; i < command.binding_count; ++i) {
    const auto element = static_cast<std::uint32_t>(kernel::size_of(kernel.bindings[i].type));
    HALYARD_RETURN_IF_ERROR(commands_->need(command.bindings[i], element, 1));
  }
  return command.counts == nullptr ? Status()
                                   : commands_->need(*command.counts, sizeof(std::uint32_t), 1);
}

Status RecorderState::dispatch(const Launch& launch) {
  const std::size_t count = launch.bindings().size();
  BindingRef bindings[kernel::kMaxBindings];
  for (std::size_t i = 0; i < count; ++i) bindings[i] = launch.binding(i);
  return dispatch({.executable = launch.executable(),
                   .function = launch.function_index(),
                   .grid = &launch.grid(),
                   .counts = nullptr,
                   .bindings = {bindings, count},
                   .constants = {},
                   .packed = launch.constants(),
                   .uses = launch.constant_uses(),
                   .tensors_fit = true});
}

Status RecorderState::dispatch_bound(const Function& function, const Grid* grid,
                                     const BindingRef* counts) {
  HALYARD_RETURN_IF_ERROR(
      check_function(commands_->device(), function.executable(), function.index()));
  const kernel::KernelInfo& kernel = function.executable()->kernels()[function.index()];
  BindingRef bindings[kMaxDescriptors];
  if (Status status = bound_.resolve_for(kernel, bindings); !status.ok()) {
    return at(status, "{}", kernel.name);
  }
  return dispatch({function.executable(),
                   function.index(),
                   grid,
                   counts,
                   {bindings, kernel.bindings.size()},
                   {},
                   {bound_.constants(), kernel.constants_bytes}});
}

Status RecorderState::fill(const BindingRef& target, std::uint32_t pattern,
                           std::uint32_t pattern_size) {
  CommandRange range;
  HALYARD_RETURN_IF_ERROR(commands_->range_of(target, range));
  HALYARD_RETURN_IF_ERROR(check_fill(pattern_size, range.offset, range.length));
  HALYARD_RETURN_IF_ERROR(commands_->need(range, pattern_size, pattern_size));
  return commands_->add(Command(FillCommand{range, pattern, pattern_size}));
}

Status RecorderState::update(const BindingRef& target, Bytes source) {
  BindingRef exact = target;
  std::uint64_t& length = exact.indirect ? exact.slot.length : exact.range.length;
  if (length == kWholeSize) length = source.size();
  if (length != source.size()) {
    return error(StatusCode::kInvalidArgument, "{} for a target of {}",
                 base::counted(source.size(), "byte"), length);
  }
  CommandRange range;
  HALYARD_RETURN_IF_ERROR(commands_->range_of(exact, range));
  HALYARD_RETURN_IF_ERROR(commands_->need(range, 1, 1));
  UpdateCommand command{range, nullptr};
  HALYARD_RETURN_IF_ERROR(commands_->keep_bytes(source, command));
  return commands_->add(Command(command));
}

Status RecorderState::copy(const BindingRef& source, const BindingRef& target) {
  CommandRange from;
  CommandRange to;
  if (Status status = commands_->range_of(source, from); !status.ok()) return at(status, "source");
  if (Status status = commands_->range_of(target, to); !status.ok()) return at(status, "target");
  // Here only the length of a slot can be unknown.
  if (from.length == kWholeSize) from.length = to.length;
  if (to.length == kWholeSize) to.length = from.length;
  if (from.length == kWholeSize) {
    return Status(StatusCode::kInvalidArgument,
                  "between two slots without a length; give one of them");
  }
  HALYARD_RETURN_IF_ERROR(check_copy(from, to));
  HALYARD_RETURN_IF_ERROR(commands_->need(from, 1, 1));
  HALYARD_RETURN_IF_ERROR(commands_->need(to, 1, 1));
  HALYARD_RETURN_IF_ERROR(commands_->add(Command(CopyCommand{from, to})));
  if (from.memory != nullptr && to.memory != nullptr) return {};
  return commands_->check_copy_at_bind();
}

Status RecorderState::event(CommandKind kind, const Event& event) {
  if (!event) return Status(StatusCode::kInvalidArgument, "empty event");
  if (const DeviceObject& device = event.object()->device(); &device != &commands_->device()) {
    return error(StatusCode::kPermissionDenied, "the event is of {}", device.name());
  }
  return commands_->add_event(kind, *event.object());
}

Status RecorderState::after(View<CommandId> commands) {
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].recording_ != commands_.get()) {
      return error(StatusCode::kInvalidArgument, "entry {} is no command of this recording", i);
    }
    HALYARD_RETURN_IF_ERROR(commands_->add_edge(commands[i].index_));
  }
  return {};
}

CommandId RecorderState::last() const noexcept {
  const bool some = first_error_.ok() && commands_->last_work() != CommandBufferObject::kNoCommand;
  return some ? CommandId(commands_.get(), commands_->last_work()) : CommandId();
}

Status RecorderState::begin_debug_group(std::string_view name) {
  auto* const copy = reinterpret_cast<char*>(names_.allocate(name.size()));
  if (copy == nullptr) return no_memory(name.size());
  if (!name.empty()) std::memcpy(copy, name.data(), name.size());
  if (!groups_.push_back({copy, name.size()})) return no_memory(sizeof(std::string_view));
  name_group();
  return {};
}

Status RecorderState::end_debug_group() {
  if (groups_.empty()) return Status(StatusCode::kFailedPrecondition, "no debug group is open");
  groups_.shrink(groups_.size() - 1);
  name_group();
  return {};
}

void RecorderState::name_group() {
  trace::Tracer* const tracer = device_.object()->engine().tracer();
  if (tracer == nullptr) return;
  std::string path;
  for (const std::string_view group : groups_) {
    path.append(path.empty() ? "" : " / ").append(group.substr(0, kMaxGroupPath));
    if (path.size() <= kMaxGroupPath) continue;
    path.replace(kMaxGroupPath, path.npos, "...");
    break;
  }
  commands_->set_group(tracer->add_name(path));
}

// One call of a recorder. If another thread is inside a call, this call only sets a flag, because
// of which the next call fails the recording.
class Recorder::Call {
 public:
  explicit Call(const Recorder& recorder) noexcept
      : recorder_(recorder),
        entered_(!recorder.in_call_.exchange(true, std::memory_order_acquire)) {
    if (!entered_) [[unlikely]] {
      recorder.overlapped_.store(true, std::memory_order_relaxed);
    } else if (recorder.overlapped_.load(std::memory_order_relaxed) && state() != nullptr)
        [[unlikely]] {
      state()->fail(state()->two_threads());
    }
  }
  ~Call() {
    if (entered_) recorder_.in_call_.store(false, std::memory_order_release);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool entered() const noexcept { return entered_; }
  // Null if the call was not entered or the recorder is finished.
  RecorderState* state() const noexcept { return entered_ ? recorder_.state_.get() : nullptr; }

 private:
  const Recorder& recorder_;
  const bool entered_;
};

template <class F>
Recorder& Recorder::record(const char* name, F&& command) {
  const Call call(*this);
  if (RecorderState* const state = call.state(); state != nullptr) [[likely]] {
    state->record(name, [&] { return command(*state); });
  }
  return *this;
}

Recorder::Recorder(const Device& device, RecordingUse use)
    : state_(new (std::nothrow) RecorderState(device, use)), has_no_memory_(state_ == nullptr) {}
Recorder::Recorder(Recorder&& other) noexcept { *this = std::move(other); }
Recorder& Recorder::operator=(Recorder&& other) noexcept {
  if (this == &other) return *this;
  state_ = std::move(other.state_);
  has_no_memory_ = other.has_no_memory_;
  overlapped_.store(other.overlapped_.exchange(false, std::memory_order_relaxed),
                    std::memory_order_relaxed);
  return *this;
}
Recorder::~Recorder() = default;

Recorder& Recorder::dispatch(const Function& function, const Grid& grid, View<BindingRef> bindings,
                             View<Constant> constants) {
  return record("dispatch", [&](RecorderState& state) {
    return state.dispatch(
        {function.executable(), function.index(), &grid, nullptr, bindings, constants, {}});
  });
}

Recorder& Recorder::dispatch(const Launch& launch) {
  return record("dispatch", [&](RecorderState& state) { return state.dispatch(launch); });
}

Recorder& Recorder::dispatch_indirect(const Function& function, const BindingRef& groups,
                                      View<BindingRef> bindings, View<Constant> constants) {
  return record("dispatch_indirect", [&](RecorderState& state) {
    return state.dispatch(
        {function.executable(), function.index(), nullptr, &groups, bindings, constants, {}});
  });
}

Recorder& Recorder::dispatch(const Function& function, const Grid& grid) {
  return record("dispatch", [&](RecorderState& state) {
    return state.dispatch_bound(function, &grid, nullptr);
  });
}

Recorder& Recorder::dispatch_indirect(const Function& function, const BindingRef& groups) {
  return record("dispatch_indirect", [&](RecorderState& state) {
    return state.dispatch_bound(function, nullptr, &groups);
  });
}

Recorder& Recorder::bind_descriptor_set(const PipelineLayout& layout, std::uint32_t set,
                                        const DescriptorSet& descriptors) {
  return record("bind_descriptor_set", [&](RecorderState& state) {
    return state.bound().bind(layout, set, descriptors);
  });
}

Recorder& Recorder::push_descriptor_set(const PipelineLayout& layout, std::uint32_t set,
                                        View<Descriptor> descriptors) {
  return record("push_descriptor_set", [&](RecorderState& state) {
    return state.bound().push_set(layout, set, descriptors);
  });
}

Recorder& Recorder::push_constants(const PipelineLayout& layout, std::uint32_t offset,
                                   Bytes bytes) {
  return record("push_constants", [&](RecorderState& state) {
    return state.bound().push_constants(layout, offset, bytes);
  });
}

Recorder& Recorder::fill(const BindingRef& target, std::uint32_t pattern,
                         std::uint32_t pattern_size) {
  return record(
      "fill", [&](RecorderState& state) { return state.fill(target, pattern, pattern_size); });
}

Recorder& Recorder::update(const BindingRef& target, Bytes source) {
  return record("update", [&](RecorderState& state) { return state.update(target, source); });
}

Recorder& Recorder::copy(const BindingRef& source, const BindingRef& target) {
  return record("copy", [&](RecorderState& state) { return state.copy(source, target); });
}

Recorder& Recorder::barrier() {
  return record("barrier", [](RecorderState& state) { return state.barrier(); });
}

Recorder& Recorder::after(View<CommandId> commands) {
  return record("after", [&](RecorderState& state) { return state.after(commands); });
}

CommandId Recorder::last() const noexcept {
  const Call call(*this);
  return call.state() != nullptr ? call.state()->last() : CommandId();
}

Recorder& Recorder::set_event(const Event& event) {
  return record("set_event", [&](RecorderState& state) {
    return state.event(CommandKind::kSetEvent, event);
  });
}

Recorder& Recorder::reset_event(const Event& event) {
  return record("reset_event", [&](RecorderState& state) {
    return state.event(CommandKind::kResetEvent, event);
  });
}

Recorder& Recorder::wait_event(const Event& event) {
  return record("wait_event", [&](RecorderState& state) {
    return state.event(CommandKind::kWaitEvent, event);
  });
}

Recorder& Recorder::begin_debug_group(std::string_view name) {
  return record("begin_debug_group",
                [&](RecorderState& state) { return state.begin_debug_group(name); });
}

Recorder& Recorder::end_debug_group() {
  return record("end_debug_group", [](RecorderState& state) { return state.end_debug_group(); });
}

Result<CommandBuffer> Recorder::finish() {
  const Call call(*this);
  if (!call.entered()) {
    return Status(StatusCode::kFailedPrecondition,
                  "recorder: finish: used by two threads at once");
  }
  if (has_no_memory_) return no_memory(sizeof(RecorderState));
  if (!state_) {
    return Status(StatusCode::kFailedPrecondition, "recorder: finish of a finished recorder");
  }
  const std::unique_ptr<RecorderState> state = std::move(state_);
  Result<CommandBuffer> result = state->finish();
  if (result.ok() && overlapped_.load(std::memory_order_relaxed)) return state->two_threads();
  return result;
}

}  // namespace halyard::inline v0::hal
