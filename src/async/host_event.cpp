// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/host_event.h"

#include <new>
#include <utility>

#include "async/device_state.h"
#include "async/tree_timeline.h"
#include "base/format.h"

namespace halyard::inline v0::async {
namespace {

using detail::Moment;
using detail::TreeTimeline;

// The event is set when its timeline has this value.
constexpr std::uint64_t kSet = 1;

class EventObject final : public RefCounted {
 public:
  explicit EventObject(Ref<TreeTimeline> timeline) noexcept : set_{std::move(timeline), kSet} {}

  const Moment& moment() const noexcept { return set_; }

 private:
  ~EventObject() override {
    if (set_.state() != Moment::State::kPending) return;
    set_.semaphore().fail(
        Status(StatusCode::kCancelled, "the last handle of a HostEvent was dropped before set()"));
  }
  const Moment set_;
};

const Moment& moment_of(const Ref<RefCounted>& object) noexcept {
  return static_cast<EventObject&>(*object).moment();
}

}  // namespace

Result<HostEvent> HostEvent::create(const Runtime& runtime) {
  const QueueRef queue = runtime.device();
  HALYARD_RETURN_IF_ERROR(queue.status());
  HALYARD_ASSIGN_OR_RETURN(hal::Semaphore semaphore,
                           queue.device().hal().create_semaphore(0, "host event"));
  auto timeline = Ref<TreeTimeline>::adopt(
      new (std::nothrow) TreeTimeline(std::move(semaphore), queue.state()->queue));
  if (!timeline) return detail::no_memory();
  auto* const object = new (std::nothrow) EventObject(std::move(timeline));
  if (object == nullptr) return detail::no_memory();
  return HostEvent(Ref<RefCounted>::adopt(object));
}

void HostEvent::set() const noexcept {
  if (object_)
    (void)moment_of(object_).semaphore().signal(kSet);  // refused if it was set or failed
}

void HostEvent::fail(const Status& status) const noexcept {
  if (object_ && !is_set()) moment_of(object_).semaphore().fail(status);
}

bool HostEvent::is_set() const noexcept {
  return object_ && moment_of(object_).state() == Moment::State::kReached;
}

Result<HostEvent::Output> HostEvent::execute(Context& context) && {
  const Ref<RefCounted> object = std::exchange(object_, nullptr);
  if (!object) return Status(StatusCode::kFailedPrecondition, "a HostEvent that was moved from");
  HALYARD_RETURN_IF_ERROR(context.join(moment_of(object)));
  return Output();
}

}  // namespace halyard::inline v0::async
