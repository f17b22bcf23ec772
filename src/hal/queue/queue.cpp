// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/queue/queue.h"

#include "hal/device/device.h"
#include "hal/object.h"
#include "hal/recording/command_buffer.h"
#include "hal/recording/dispatch.h"
#include "halyard/hal/launch.h"
#include "timeline/semaphore.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {
namespace {

// The payload of a host call: the user's callable.
struct CallPayload {
  CallPayload() noexcept {}
  ~CallPayload() { type->destroy(callable); }

  const detail::CallableType* type;
  alignas(16) std::byte callable[detail::kInlineCallable];
};

}  // namespace

Status QueueObject::open(timeline::Domain domain, std::string_view name) {
  HALYARD_ASSIGN_OR_RETURN(
      queue_, timeline::Queue::create(device_.timeline(), *this,
                                      {.name = full_name(name),
                                       .domain = domain,
                                       .clock = device_.driver()->clock(),
                                       .backlog_limit = device_.limits().max_backlog}));
  return {};
}

std::string QueueObject::full_name(std::string_view name) const {
  return base::format("{} {}", device_.name(), name.empty() ? to_string(kind_) : name);
}

Result<timeline::NativeQueue*> QueueObject::open_lane() {
  if (stream_ == nullptr) return device_.driver()->open_lane(kind_, priority_);
  if (std::exchange(has_lane_, true)) {
    return error(StatusCode::kUnavailable, "{}: its stream waits for a lost device", name());
  }
  return device_.driver()->native_interop()->import_lane(stream_);
}

void QueueObject::refuse(const Status& cause) noexcept {
  if (queue_) queue_->close(cause);
}

bool QueueObject::release(const Status& cause) noexcept {
  if (queue_ && !queue_->release_lanes(cause)) return false;
  queue_ = {};
  return true;
}

Status QueueObject::refused(const Status& status, const char* operation) const {
  return at(status, "queue {}: {}", name(), operation);
}

Status QueueObject::send(timeline::Submission& submission, const SubmitInfo& info,
                         timeline::LanePoint* issued) {
  timeline::Submission* handle = nullptr;
  // The stream's owner may order its work by calls that Halyard does not see.
  if (stream_ != nullptr && device_.engine().checker() != nullptr) [[unlikely]]
    submission.declare().is_external = true;
  Status status =
      queue_->submit(submission, {.waits = info.wait, .signals = info.signal, .room = info.room},
                     info.submission != nullptr ? &handle : nullptr, issued);
  if (handle != nullptr) [[unlikely]]
    *info.submission = Submission(handle);
  return status;
}

Status QueueObject::barrier(const SubmitInfo& info, timeline::LanePoint* issued) {
  return submit_barrier(trace::kBarrier, info, issued);
}

Status QueueObject::submit_barrier(trace::Name name, const SubmitInfo& info,
                                   timeline::LanePoint* issued) {
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  submission->emplace<Operation>();
  submission->set_name(name);
  return send(*submission, info, issued);
}

Status QueueObject::host_call(const detail::CallableType& type, void* callable, HostCallMode mode,
                              const SubmitInfo& info) {
  if (mode == HostCallMode::kShort) {
    Status status = device_.engine().work_source().ensure(base::Shell::kHost);
    if (!status.ok()) return refused(status, "host_call");
  }
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  auto& payload = submission->emplace<CallPayload>();
  type.move(payload.callable, callable);
  payload.type = &type;
  const auto run = [](void* memory) {
    auto& call = *static_cast<CallPayload*>(memory);
    return call.type->call(call.callable);
  };
  submission->set_host_call(run, mode == HostCallMode::kMayBlock);
  submission->set_name(trace::kHostCall);
  return send(*submission, info);
}

template <class F>
Status QueueObject::submit_and_wait(const char* call, SubmitInfo info, Deadline deadline,
                                    F&& submit) {
  timeline::LanePoint issued;
  const Nanoseconds until = deadline.resolve(device_.engine().clock());
  if (timeline::may_block(until) == timeline::MayBlock::kInCallback) {
    return error(StatusCode::kFailedPrecondition, "{}: {} within a callback, which must not block",
                 name(), call);
  }
  deadline = Deadline::at(until);  // the same for both waits
  info.room = deadline;
  if (!info.signal.empty()) {
    HALYARD_RETURN_IF_ERROR(submit(info, &issued));
    const Point last = info.signal[info.signal.size() - 1];
    return last.semaphore()->wait(last.value(), deadline, issued);
  }
  HALYARD_ASSIGN_OR_RETURN(HandleRef<timeline::Semaphore> semaphore, take_semaphore());
  const Point point(semaphore.get(), semaphore->value() + 1);
  info.signal = {&point, 1};
  HALYARD_RETURN_IF_ERROR(submit(info, &issued));
  HALYARD_RETURN_IF_ERROR(semaphore->wait(point.value(), deadline, issued));
  // Not after an error: the semaphore has failed, or will still be signalled.
  give_back(std::move(semaphore));
  return {};
}

Status QueueObject::barrier_and_wait(const SubmitInfo& info, Deadline deadline) {
  return submit_and_wait(
      "barrier_and_wait", info, deadline,
      [&](const SubmitInfo& with, timeline::LanePoint* issued) { return barrier(with, issued); });
}

Status QueueObject::execute_and_wait(const CommandBuffer& commands, const SlotValues& values,
                                     const SubmitInfo& info, Deadline deadline) {
  return submit_and_wait("execute_and_wait", info, deadline,
                         [&](const SubmitInfo& with, timeline::LanePoint* issued) {
                           return execute(commands, values, with, issued);
                         });
}

Result<HandleRef<timeline::Semaphore>> QueueObject::take_semaphore() {
  {
    base::LockGuard lock(spare_mutex_);
    if (spare_count_ != 0) return std::move(spare_[--spare_count_]);
  }
  return timeline::Semaphore::create(device_.engine(), 0, "end of a submission", nullptr);
}

void QueueObject::give_back(HandleRef<timeline::Semaphore> semaphore) noexcept {
  base::LockGuard lock(spare_mutex_);
  if (spare_count_ != kMaxSpare) spare_[spare_count_++] = std::move(semaphore);
}

Status QueueObject::flush() {
  queue_->flush();
  return device_.timeline().status();
}

Submission::~Submission() {
  if (object_ != nullptr) object_->release_for_user();
}

bool Submission::cancel() const { return object_ != nullptr && object_->cancel(); }

Queue::Queue(QueueObject* object) noexcept
    : owner_(object != nullptr ? handle_base(&object->device()) : nullptr), object_(object) {}

QueueKind Queue::kind() const noexcept {
  return object_ != nullptr ? object_->kind() : QueueKind::kCompute;
}

Status Queue::barrier(const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "barrier"));
  return object_->barrier(info);
}

Status Queue::execute(const CommandBuffer& commands, const ExecuteInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "execute"));
  return object_->execute(commands, {info.bindings, info.constants}, info);
}

Status Queue::dispatch(const Function& function, const Grid& grid, View<BufferRange> bindings,
                       View<Constant> constants, const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "dispatch"));
  return object_->dispatch(
      {function.executable(), function.index(), &grid, nullptr, bindings, constants, {}}, info);
}

Status Queue::dispatch(const Launch& launch, const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "dispatch"));
  if (!launch.constant_uses().empty() || launch.has_slots()) [[unlikely]] {
    return error(StatusCode::kInvalidArgument,
                 "queue {}: dispatch of a launch with a {}; recordings have these", object_->name(),
                 launch.has_slots() ? "slot" : "constant slot");
  }
  return object_->dispatch({.executable = launch.executable(),
                            .function = launch.function_index(),
                            .grid = &launch.grid(),
                            .counts = nullptr,
                            .bindings = launch.bindings(),
                            .constants = {},
                            .packed = launch.constants(),
                            .tensors_fit = true},
                           info);
}

Status Queue::dispatch_indirect(const Function& function, const BufferRange& groups,
                                View<BufferRange> bindings, View<Constant> constants,
                                const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "dispatch_indirect"));
  return object_->dispatch(
      {function.executable(), function.index(), nullptr, &groups, bindings, constants, {}}, info);
}

Status Queue::fill(const BufferRange& target, std::uint32_t pattern, std::uint32_t pattern_size,
                   const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "fill"));
  return object_->fill(target, pattern, pattern_size, info);
}

Status Queue::update(const Buffer& target, std::uint64_t offset, Bytes source,
                     const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "update"));
  return object_->update(BufferRange(target, offset, source.size()), source, info);
}

Status Queue::copy(const BufferRange& source, const BufferRange& target,
                   const SubmitInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "copy"));
  return object_->copy(source, target, info);
}

Status Queue::host_call_erased(const detail::CallableType& type, void* callable,
                               const SubmitInfo& info, HostCallMode mode) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "host_call"));
  return object_->host_call(type, callable, mode, info);
}

Status Queue::barrier_and_wait(const SubmitInfo& info, Deadline deadline) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "barrier_and_wait"));
  return object_->barrier_and_wait(info, deadline);
}

Status Queue::wait_idle(Deadline deadline) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "wait_idle"));
  return object_->wait_idle(deadline);
}

Status Queue::flush() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "flush"));
  return object_->flush();
}

Status Queue::execute_and_wait(const CommandBuffer& commands, const ExecuteInfo& info,
                               Deadline deadline) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "execute_and_wait"));
  return object_->execute_and_wait(commands, {info.bindings, info.constants}, info, deadline);
}

}  // namespace halyard::inline v0::hal
