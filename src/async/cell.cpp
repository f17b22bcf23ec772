// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/cell.h"

#include "async/tree_recording.h"
#include "async/tree_timeline.h"
#include "base/format.h"
#include "base/mutex.h"
#include "halyard/async/detail/submitter.h"

namespace halyard::inline v0::async::detail {

struct Cell::State {
  static void* operator new(std::size_t size) noexcept { return allocate_frame(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { free_frame(memory, size); }

  // Held during the submission, in which functions of the operation run. Other threads block on it.
  base::Mutex mutex;
  bool ran = false;
  Status status;
  Moment end;
  Ref<TreeRecording> recording;  // null unless the operation was recorded
};

Cell::State* Cell::create_state() noexcept { return new State; }

void Cell::destroy_state(State* state) noexcept { delete state; }

Status Cell::run(Context& context) {
  if (state_ == nullptr) return no_memory();
  {
    base::LockGuard lock(state_->mutex);
    if (!state_->ran && context.recording() != nullptr) {
      const Nesting nesting(context);
      HALYARD_RETURN_IF_ERROR(nesting.status());
      state_->recording = Ref<TreeRecording>(context.recording());
      state_->status = execute(context);
      state_->ran = true;
    } else if (!state_->ran) {
      Submitter own(context.queue(), context.runtime());
      const Nesting nesting(context, own);
      HALYARD_RETURN_IF_ERROR(nesting.status());  // it has not run, so it can still be awaited
      state_->status = execute(own);
      if (!state_->status.ok()) own.give_up();
      Result<Moment> end = own.end();
      if (end.ok()) {
        state_->end = *std::move(end);
      } else if (state_->status.ok()) {
        state_->status = end.status();
      }
      state_->ran = true;
    }
  }
  HALYARD_RETURN_IF_ERROR(state_->status);  // constant once `ran` is set
  if (state_->recording && state_->recording.get() != context.recording()) {
    return Status(StatusCode::kFailedPrecondition, "an operation that is part of a recording");
  }
  if (!state_->recording && state_->end.state() == Moment::State::kReached) {
    finished_.store(true, std::memory_order_release);
    return {};
  }
  return context.join(state_->end);
}

}  // namespace halyard::inline v0::async::detail
