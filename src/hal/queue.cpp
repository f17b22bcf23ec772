// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/queue.h"

#include "hal/device.h"
#include "hal/object.h"
#include "hal/points.h"
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
                                       .clock = device_.impl().clock(),
                                       .backlog_limit = device_.limits().max_backlog}));
  return {};
}

std::string QueueObject::full_name(std::string_view name) const {
  return base::format("{} {}", device_.name(), name.empty() ? to_string(kind_) : name);
}

Result<timeline::NativeQueue*> QueueObject::open_lane() {
  return device_.impl().open_lane(kind_, priority_);
}

void QueueObject::refuse(const Status& cause) noexcept {
  if (queue_) queue_->close(cause);
}

void QueueObject::release(const Status& cause) noexcept {
  if (queue_) queue_->release_lanes(cause);
  queue_ = {};
}

Status QueueObject::refused(const Status& status, const char* operation) const {
  return at(status, "queue {}: {}", name(), operation);
}

Status QueueObject::send(timeline::Submission& submission, const Submit& submit) {
  if (submit.wait.size() > kInlinePoints || submit.signal.size() > kInlinePoints) [[unlikely]] {
    return send_many(submission, submit);
  }
  const InlinePoints waits(submit.wait);
  const InlinePoints signals(submit.signal);
  return send(submission, submit, {waits.data, submit.wait.size()},
              {signals.data, submit.signal.size()});
}

Status QueueObject::send_many(timeline::Submission& submission, const Submit& submit) {
  const std::size_t count = submit.wait.size() + submit.signal.size();
  constexpr std::size_t kLimit = std::size_t{1} << 48;  // so that the product does not overflow
  Block block;
  if (count < kLimit) block = device_.blocks().allocate(count * sizeof(timeline::Point));
  if (!block) {
    queue_->discard(submission);
    return error(StatusCode::kResourceExhausted, "queue {}: no memory for {} points", name(),
                 count);
  }
  auto* const points = reinterpret_cast<timeline::Point*>(block.data());
  copy_points(submit.wait, points);
  copy_points(submit.signal, points + submit.wait.size());
  return send(submission, submit, {points, submit.wait.size()},
              {points + submit.wait.size(), submit.signal.size()});
}

Status QueueObject::send(timeline::Submission& submission, const Submit& submit,
                         std::span<const timeline::Point> waits,
                         std::span<const timeline::Point> signals) {
  timeline::Submission* handle = nullptr;
  Status status = queue_->submit(submission,
                                 {.waits = waits.data(),
                                  .wait_count = waits.size(),
                                  .signals = signals.data(),
                                  .signal_count = signals.size(),
                                  .doorbell = submit.doorbell,
                                  .room = submit.room},
                                 submit.submission != nullptr ? &handle : nullptr, submit.issued);
  if (handle != nullptr) [[unlikely]]
    *submit.submission = Submission(handle);
  return status;
}

Status QueueObject::barrier(const Submit& submit) {
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  submission->emplace<Operation>();
  submission->set_name(trace::kBarrier);
  return send(*submission, submit);
}

Status QueueObject::host_call(const detail::CallableType& type, void* callable, HostCallMode mode,
                              const Submit& submit) {
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
  return send(*submission, submit);
}

template <class F>
Status QueueObject::submit_and_wait(Submit& submit, Deadline deadline, F&& submit_it) {
  timeline::IssuedAt issued;
  deadline = Deadline::at(deadline.resolve(device_.engine().clock()));  // one for both waits
  submit.room = deadline;
  submit.doorbell = timeline::Doorbell::kDefer;
  submit.issued = &issued;
  if (!submit.signal.empty()) {
    HALYARD_RETURN_IF_ERROR(submit_it());
    const Point last = submit.signal[submit.signal.size() - 1];
    return last.semaphore()->wait(last.value(), deadline, issued);
  }
  HALYARD_ASSIGN_OR_RETURN(HandleRef<timeline::Semaphore> semaphore, take_semaphore());
  const Semaphore handle(semaphore.get());
  const Point point(handle, semaphore->value() + 1);
  submit.signal = {&point, 1};
  HALYARD_RETURN_IF_ERROR(submit_it());
  HALYARD_RETURN_IF_ERROR(semaphore->wait(point.value(), deadline, issued));
  // Not after an error: it has failed, or will still be signalled.
  give_back(std::move(semaphore));
  return {};
}

Status QueueObject::barrier_and_wait(Submit submit, Deadline deadline) {
  return submit_and_wait(submit, deadline, [&] { return barrier(submit); });
}

Status QueueObject::execute_and_wait(const CommandBuffer& commands, View<BufferRange> bindings,
                                     Submit submit, Deadline deadline) {
  return submit_and_wait(submit, deadline, [&] { return execute(commands, bindings, submit); });
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
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "barrier");
  return object_->barrier(info);
}

Status Queue::execute(const CommandBuffer& commands, const ExecuteInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "execute");
  return object_->execute(commands, info.bindings, info);
}

Status Queue::dispatch(const Function& function, const Grid& grid, View<BufferRange> bindings,
                       View<Constant> constants, const SubmitInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "dispatch");
  return object_->dispatch(
      {function.executable(), function.index(), &grid, nullptr, bindings, constants}, info);
}

Status Queue::dispatch(const Launch& launch, const SubmitInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "dispatch");
  return object_->dispatch({launch.executable(),
                            launch.function_index(),
                            &launch.grid(),
                            nullptr,
                            launch.bindings(),
                            {},
                            launch.constants()},
                           info);
}

Status Queue::dispatch_indirect(const Function& function, const BufferRange& groups,
                                View<BufferRange> bindings, View<Constant> constants,
                                const SubmitInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "dispatch_indirect");
  return object_->dispatch(
      {function.executable(), function.index(), nullptr, &groups, bindings, constants}, info);
}

Status Queue::fill(const BufferRange& target, std::uint32_t pattern, std::uint32_t pattern_size,
                   const SubmitInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "fill");
  return object_->fill(target, pattern, pattern_size, info);
}

Status Queue::update(const Buffer& target, std::uint64_t offset, Bytes source,
                     const SubmitInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "update");
  return object_->update(BufferRange(target, offset, source.size()), source, info);
}

Status Queue::copy(const BufferRange& source, const BufferRange& target,
                   const SubmitInfo& info) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "copy");
  return object_->copy(source, target, info);
}

Status Queue::host_call_erased(const detail::CallableType& type, void* callable,
                               const SubmitInfo& info, HostCallMode mode) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "host_call");
  return object_->host_call(type, callable, mode, info);
}

Status Queue::barrier_and_wait(const SubmitInfo& info, Deadline deadline) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "barrier_and_wait");
  return object_->barrier_and_wait(info, deadline);
}

Status Queue::wait_idle(Deadline deadline) const {
  if (object_ == nullptr) return empty_handle("queue", "wait_idle");
  return object_->wait_idle(deadline);
}

Status Queue::flush() const {
  if (object_ == nullptr) return empty_handle("queue", "flush");
  return object_->flush();
}

Status Queue::execute_and_wait(const CommandBuffer& commands, const ExecuteInfo& info,
                               Deadline deadline) const {
  if (object_ == nullptr) [[unlikely]]
    return empty_handle("queue", "execute_and_wait");
  return object_->execute_and_wait(commands, info.bindings, info, deadline);
}

}  // namespace halyard::inline v0::hal
