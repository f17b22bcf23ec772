// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/context.h"

#include "async/device_queue.h"
#include "base/format.h"

namespace halyard::inline v0::async {

using detail::BoundKernel;
using detail::DeviceQueue;
using detail::KernelParameter;
using detail::Storage;

Context::Context(const Device& device) : status_(device.status()), device_(device) {
  if (!status_.ok()) return;
  Result<detail::Timeline*> timeline = device_.queue()->timeline();
  if (timeline.ok()) {
    timeline_ = *timeline;
  } else {
    status_ = std::move(timeline).status();
  }
}

const hal::Semaphore& Context::semaphore() const noexcept { return timeline_->semaphore(); }

template <class F>
Status Context::submit(F&& call) {
  HALYARD_ASSIGN_OR_RETURN(last_, device_.queue()->submit(*timeline_, std::forward<F>(call)));
  return {};
}

// That `storage` can be used by what is submitted next.
Status Context::use(const Storage* storage, const char* what) const {
  HALYARD_RETURN_IF_ERROR(status_);
  return device_.queue()->check_use(storage, *timeline_, what);
}

Result<Ref<Storage>> Context::allocate(std::uint64_t size, hal::MemoryType memory) {
  HALYARD_RETURN_IF_ERROR(status_);
  HALYARD_ASSIGN_OR_RETURN(Ref<Storage> storage,
                           device_.queue()->allocate(*timeline_, size, memory));
  last_ = storage->written();
  return storage;
}

Status Context::fill(Storage* target, std::uint32_t pattern, std::uint32_t pattern_size) {
  HALYARD_RETURN_IF_ERROR(use(target, "fill"));
  HALYARD_RETURN_IF_ERROR(submit([&](const hal::Queue& queue, const hal::SubmitInfo& info) {
    return queue.fill(target->buffer(), pattern, pattern_size, info);
  }));
  target->set_written(last_);
  return {};
}

Status Context::update(Storage* target, hal::Bytes source) {
  HALYARD_RETURN_IF_ERROR(use(target, "update"));
  HALYARD_RETURN_IF_ERROR(submit([&](const hal::Queue& queue, const hal::SubmitInfo& info) {
    return queue.update(target->buffer(), 0, source, info);
  }));
  target->set_written(last_);
  return {};
}

Status Context::copy(Storage* source, Storage* target) {
  HALYARD_RETURN_IF_ERROR(use(source, "copy"));
  HALYARD_RETURN_IF_ERROR(use(target, "copy"));
  HALYARD_RETURN_IF_ERROR(submit([&](const hal::Queue& queue, const hal::SubmitInfo& info) {
    return queue.copy(source->buffer(), target->buffer(), info);
  }));
  target->set_written(last_);
  return {};
}

Status Context::launch(const detail::KernelSignature& kernel, hal::View<Storage*> storages,
                       std::span<hal::Argument> arguments, hal::View<hal::Constant> scalars,
                       const hal::Grid* grid) {
  HALYARD_RETURN_IF_ERROR(status_);
  for (const Storage* const storage : storages) {
    HALYARD_RETURN_IF_ERROR(use(storage, kernel.name));
  }
  HALYARD_ASSIGN_OR_RETURN(const BoundKernel* const bound, device_.queue()->bind(kernel));
  HALYARD_RETURN_IF_ERROR(bound->adapt(arguments));
  HALYARD_ASSIGN_OR_RETURN(const hal::Launch launch,
                           hal::Launch::create(bound->function, arguments, scalars));
  HALYARD_RETURN_IF_ERROR(submit([&](const hal::Queue& to, const hal::SubmitInfo& info) {
    return to.dispatch(bound->function, grid != nullptr ? *grid : launch.grid(), launch.bindings(),
                       launch.constants(), info);
  }));
  std::size_t i = 0;
  for (const KernelParameter& parameter : kernel.parameters) {
    if (parameter.kind == KernelParameter::Kind::kOutput) storages[i]->set_written(last_);
    if (parameter.kind != KernelParameter::Kind::kScalar) ++i;
  }
  return {};
}

bool Context::finished() const {
  if (last_ == 0) return true;
  const Result<std::uint64_t> value = semaphore().query();
  return !value.ok() || *value >= last_;
}

Status Context::wait() const { return last_ == 0 ? Status() : semaphore().wait(last_); }

}  // namespace halyard::inline v0::async
