// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/recorder.h"

#include "async/context_checks.h"
#include "async/device_state.h"
#include "async/tree_recording.h"
#include "base/format.h"
#include "halyard/async/detail/submitter.h"

namespace halyard::inline v0::async::detail {

Recorder::Recorder(Context& whole, TreeRecording& recording)
    : Context(whole.queue_, whole.runtime_, whole.submitter_, &recording) {
  pool_ = whole.pool_;
  depth_ = whole.depth_;
}

Result<Ref<Storage>> Recorder::allocate(std::uint64_t, hal::MemoryType) {
  return Status(StatusCode::kFailedPrecondition, "a recording allocates nothing");
}

Result<Ref<Storage>> Recorder::scratch(std::uint64_t size) {
  const hal::Pool* const outer = submitter_.set_pool(pool_);
  Result<Ref<Storage>> storage = submitter_.scratch(size);
  submitter_.set_pool(outer);
  return storage;
}

Status Recorder::fill(Storage* target, std::uint32_t pattern, std::uint32_t pattern_size) {
  HALYARD_RETURN_IF_ERROR(check_here(*this, target, "fill"));
  return recording_->add(
      [&](auto&& use) { use(target, Use::kWrite); },
      [&](hal::Recorder& to) { to.fill(recording_->binding(target), pattern, pattern_size); });
}

Status Recorder::update(Storage* target, hal::Bytes source) {
  HALYARD_RETURN_IF_ERROR(check_here(*this, target, "update"));
  return recording_->add(
      [&](auto&& use) { use(target, Use::kWrite); },
      [&](hal::Recorder& to) { to.update(recording_->binding(target), source); });
}

Status Recorder::copy(const StorageRange& source, const StorageRange& target, const char* user) {
  HALYARD_RETURN_IF_ERROR(check_copied(*this, source, target, user));
  HALYARD_RETURN_IF_ERROR(submitter_.keep_open(source, target));
  return recording_->add(
      [&](auto&& use) {
        use(source.storage, Use::kRead);
        use(target.storage, Use::kWrite);
      },
      [&](hal::Recorder& to) {
        to.copy(recording_->binding(source), recording_->binding(target));
      });
}

Status Recorder::launch(const KernelSignature& kernel, hal::View<KernelArray> arrays,
                        hal::View<hal::Constant> scalars, const hal::Grid* grid) {
  HALYARD_RETURN_IF_ERROR(check_arrays(*this, kernel, arrays));
  HALYARD_ASSIGN_OR_RETURN(const BoundKernel* const bound, queue_.device().state()->bind(kernel));
  base::Array<hal::Argument> arguments;
  if (!arguments.make_room(arrays.size())) return no_memory();
  for (const KernelArray& array : arrays) {
    (void)arguments.push_back(argument_of(array, recording_->binding(array.memory)));
  }
  HALYARD_ASSIGN_OR_RETURN(hal::Launch launch,
                           bound->launch({arguments.data(), arguments.size()}, scalars));
  if (grid != nullptr) launch.over(*grid);
  return recording_->add([&](auto&& use) { for_each_use(arrays, use); },
                         [&](hal::Recorder& to) { to.dispatch(launch); });
}

Status Recorder::execute(RefCounted&, hal::View<ArrayRef>, hal::View<hal::Constant>) {
  return Status(StatusCode::kFailedPrecondition, "a recording within a recording");
}

Status Recorder::join(const Moment& moment) { return submitter_.join(moment); }

}  // namespace halyard::inline v0::async::detail
