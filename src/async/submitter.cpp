// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/submitter.h"

#include <algorithm>
#include <memory>
#include <span>

#include "async/context_checks.h"
#include "async/device_state.h"
#include "async/launch_cache.h"
#include "async/stop_request.h"
#include "async/tree_recording.h"
#include "base/format.h"
#include "halyard/async/detail/array_ref.h"
#include "halyard/async/detail/frame_pool.h"
#include "halyard/async/detail/record.h"

namespace halyard::inline v0::async::detail {
namespace {

Status barrier(const hal::Queue& queue, const hal::SubmitInfo& info) { return queue.barrier(info); }

}  // namespace

Submitter::Submitter(QueueRef queue, const Runtime* runtime)
    : Context(std::move(queue), runtime, *this) {}

Submitter::Submitter(Context& whole, QueueRef queue)
    : Context(std::move(queue), whole.runtime_, *this), whole_(&whole.submitter_) {
  if (whole.recording_ != nullptr) {
    status_ = Status(StatusCode::kFailedPrecondition, "a recording is on one queue");
  }
  if (queue_.device() == whole.queue_.device()) pool_ = whole.pool_;
  depth_ = whole.depth_;
}

// A destroyed part: it counts towards the load of its queue until the whole tree has ended.
struct Submitter::Part {
  QueueRef queue;
  Moment end;
  Part* next;
};

struct Submitter::KeptOpen {
  Device device;
  KeptOpen* next;
};

Submitter::~Submitter() {
  while (kept_open_ != nullptr) {
    KeptOpen* const next = kept_open_->next;
    kept_open_->~KeptOpen();
    free_frame(std::exchange(kept_open_, next), sizeof(KeptOpen));
  }
  const bool has_work = chain_ || joined_count_ != 0 || parts_ != nullptr || !join_error_.ok();
  if (whole_ != nullptr && has_work) end_part();
  for (Part* part = parts_; part != nullptr;) {
    part->queue.state()->active_trees.fetch_sub(1, std::memory_order_relaxed);
    Part* const next = part->next;
    part->~Part();
    free_frame(std::exchange(part, next), sizeof(Part));
  }
  if (!chain_) return;
  if (whole_ == nullptr) queue_.state()->active_trees.fetch_sub(1, std::memory_order_relaxed);
  queue_.state()->timelines.release(Ref<TreeTimeline>(&chain_.timeline()));
}

void Submitter::end_part() noexcept {
  const auto keep_error = [&](Status status) {
    if (whole_->join_error_.ok()) whole_->join_error_ = std::move(status);
  };
  keep_error(std::move(join_error_));
  keep_error(whole_->join(chain_));
  for (std::size_t i = 0; i < joined_count_; ++i) keep_error(whole_->join(joined_[i]));
  if (chain_) {
    if (void* const frame = allocate_frame(sizeof(Part))) {
      parts_ = ::new (frame) Part{queue_, chain_, parts_};
    } else {
      queue_.state()->active_trees.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  while (parts_ != nullptr) {
    Part* const next = std::exchange(parts_->next, whole_->parts_);
    whole_->parts_ = std::exchange(parts_, next);
  }
}

Result<TreeTimeline*> Submitter::timeline() {
  if (chain_) [[likely]]
    return &chain_.timeline();
  return start_chain();
}

Result<TreeTimeline*> Submitter::start_chain() {
  HALYARD_RETURN_IF_ERROR(status_);
  HALYARD_ASSIGN_OR_RETURN(Ref<TreeTimeline> timeline,
                           queue_.device().state()->acquire_timeline(*queue_.state()));
  queue_.state()->active_trees.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t reached = timeline->last();
  chain_ = {std::move(timeline), reached};
  return &chain_.timeline();
}

template <class F>
Status Submitter::submit_after(WaitList& waits, F&& call) {
  TreeTimeline& timeline = chain_.timeline();
  const auto submit_next = [&](const hal::Queue& queue, const WaitList& points,
                               auto&& next) -> Status {
    const hal::Point signal = timeline.next();
    HALYARD_RETURN_IF_ERROR(
        next(queue, hal::SubmitInfo{.wait = points.points(), .signal = {&signal, 1}}));
    chain_.advance();
    return {};
  };
  for (const hal::Queue* const queue : waits.queues()) {
    WaitList last;
    last.add(chain_);
    const Status status = submit_next(*queue, last, &barrier);
    // Does not wait for work of a lost device.
    if (!status.ok() && status.code() != StatusCode::kDeviceLost) return status;
  }
  waits.add(chain_);
  if (!waits.is_complete()) [[unlikely]]
    return no_memory();
  return submit_next(timeline.queue(), waits, std::forward<F>(call));
}

// `uses` calls its argument with each storage that `call` will use and with the kind of use. `call`
// submits with the hal::SubmitInfo that it receives.
template <class Uses, class F>
Status Submitter::submit(Uses&& uses, F&& call) {
  HALYARD_ASSIGN_OR_RETURN(const TreeTimeline* const timeline, this->timeline());
  WaitList waits;
  uses([&](Storage* storage, Use use) {
    tracked(storage)->add_waits_before(use, *timeline, waits);
  });
  HALYARD_RETURN_IF_ERROR(submit_after(waits, std::forward<F>(call)));
  for (Submitter* tree = this; tree != nullptr; tree = tree->whole_) {
    if (tree->joined_count_ != 0) tree->forget_joined(waits);
  }
  uses([&](Storage* storage, Use use) { tracked(storage)->note_use(use, chain_); });
  return {};
}

// A submission has waited for these moments, so its end includes them.
void Submitter::forget_joined(const WaitList& waits) noexcept {
  const auto joined = std::span(joined_).first(joined_count_);
  const auto left = std::remove_if(joined.begin(), joined.end(),
                                   [&](const Moment& moment) { return waits.includes(moment); });
  while (joined.data() + joined_count_ != std::to_address(left)) joined_[--joined_count_] = {};
}

// This tree's queue keeps the devices of its own runtime open. A device of another runtime may be
// open only because of the array, whose last owner may be an operation that is consumed before its
// work is issued.
Status Submitter::keep_open(const StorageRange& source, const StorageRange& target) {
  const auto& own = queue_.device().state()->info().devices;
  Submitter* whole = this;
  while (whole->whole_ != nullptr) whole = whole->whole_;
  for (const Storage* const storage : {source.storage, target.storage}) {
    if (tracked(storage)->is_slot() ||
        std::ranges::find(own, tracked(storage)->device()->device()) != own.end()) {
      continue;
    }
    Device device = tracked(storage)->last_queue().device();
    const KeptOpen* kept = whole->kept_open_;
    while (kept != nullptr && !(kept->device == device)) kept = kept->next;
    if (kept != nullptr) continue;
    void* const frame = allocate_frame(sizeof(KeptOpen));
    if (frame == nullptr) return no_memory();
    whole->kept_open_ = ::new (frame) KeptOpen{std::move(device), whole->kept_open_};
  }
  return {};
}

Result<Ref<Storage>> Submitter::allocate(std::uint64_t size, hal::MemoryType memory) {
  Ref<TrackedStorage> storage;
  HALYARD_RETURN_IF_ERROR(submit(
      [](auto&&) {},
      [&](const hal::Queue&, const hal::SubmitInfo& info) -> Status {
        DeviceState& device = *queue_.device().state();
        const bool fits = pool_ != nullptr && pool_->memory_type() == memory;
        HALYARD_ASSIGN_OR_RETURN(
            storage,
            device.allocate(*queue_.state(), fits ? *pool_ : device.device().default_pool(memory),
                            {.size = size, .memory = memory}, info));
        return {};
      }));
  storage->note_use(Use::kWrite, chain_);
  return Ref<Storage>(std::move(storage));
}

Result<Ref<Storage>> Submitter::scratch(std::uint64_t size) {
  return allocate(size, hal::MemoryType::kDeviceLocal);
}

Status Submitter::fill(Storage* target, std::uint32_t pattern, std::uint32_t pattern_size) {
  HALYARD_RETURN_IF_ERROR(check_here(*this, target, "fill"));
  return submit([&](auto&& use) { use(target, Use::kWrite); },
                [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
                  return queue.fill(target->buffer(), pattern, pattern_size, info);
                });
}

Status Submitter::update(Storage* target, hal::Bytes source) {
  HALYARD_RETURN_IF_ERROR(check_here(*this, target, "update"));
  return submit([&](auto&& use) { use(target, Use::kWrite); },
                [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
                  return queue.update(target->buffer(), 0, source, info);
                });
}

Status Submitter::copy(const StorageRange& source, const StorageRange& target, const char* user) {
  HALYARD_RETURN_IF_ERROR(check_copied(*this, source, target, user));
  HALYARD_RETURN_IF_ERROR(keep_open(source, target));
  return submit(
      [&](auto&& use) {
        use(source.storage, Use::kRead);
        use(target.storage, Use::kWrite);
      },
      [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
        return queue.copy(source.of_buffer(), target.of_buffer(), info);
      });
}

Status Submitter::launch(const KernelSignature& kernel, hal::View<KernelArray> arrays,
                         hal::View<hal::Constant> scalars, const hal::Grid* grid) {
  HALYARD_RETURN_IF_ERROR(check_arrays(*this, kernel, arrays));
  HALYARD_ASSIGN_OR_RETURN(TreeTimeline* const timeline, this->timeline());
  hal::Launch* launch = timeline->launches().find(kernel, arrays, scalars);
  if (launch == nullptr) [[unlikely]] {
    HALYARD_ASSIGN_OR_RETURN(
        launch, timeline->launches().make(*queue_.device().state(), kernel, arrays, scalars));
  }
  if (grid != nullptr) launch->over(*grid);
  return submit([&](auto&& use) { for_each_use(arrays, use); },
                [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
                  return queue.dispatch(*launch, info);
                });
}

Status Submitter::execute(RefCounted& recorded, hal::View<ArrayRef> slots,
                          hal::View<hal::Constant> numbers) {
  for (const ArrayRef& array : slots) {
    HALYARD_RETURN_IF_ERROR(check_here(*this, array.memory.storage, "replay"));
  }
  const auto& recording = static_cast<TreeRecording&>(recorded);
  HALYARD_RETURN_IF_ERROR(recording.check(slots));
  std::array<hal::BufferRange, kMaxSlots> table;
  std::ranges::transform(slots, table.begin(),
                         [](const ArrayRef& array) { return array.memory.of_buffer(); });
  // A function may not use its last numbers.
  const hal::View<hal::Constant> used(
      numbers.data(), std::min(numbers.size(), recording.commands().constant_slot_count()));
  return submit([&](auto&& use) { recording.for_each_use(slots, use); },
                [&](const hal::Queue& queue, const hal::SubmitInfo& info) {
                  return queue.execute(recording.commands(),
                                       {.bindings = {table.data(), slots.size()},
                                        .constants = used,
                                        .wait = info.wait,
                                        .signal = info.signal});
                });
}

Status Submitter::join(const Moment& moment) {
  if (!moment) return {};
  if (joined_count_ == kMaxJoined) HALYARD_RETURN_IF_ERROR(join_chain());
  joined_[joined_count_++] = moment;
  return {};
}

// Orders the chain after all joined moments.
Status Submitter::join_chain() {
  HALYARD_RETURN_IF_ERROR(timeline().status());
  WaitList waits;
  for (std::size_t i = 0; i < joined_count_; ++i) waits.add(joined_[i]);
  HALYARD_RETURN_IF_ERROR(submit_after(waits, &barrier));
  while (joined_count_ != 0) joined_[--joined_count_] = {};
  return {};
}

Result<Moment> Submitter::end() {
  HALYARD_RETURN_IF_ERROR(join_error_);
  if (joined_count_ == 1 && !chain_) return joined_[0];
  if (joined_count_ != 0) HALYARD_RETURN_IF_ERROR(join_chain());
  return chain_;
}

bool Submitter::finished() const {
  const auto ended = [](const Moment& moment) { return moment.state() != Moment::State::kPending; };
  return !join_error_.ok() ||
         (ended(chain_) && std::all_of(joined_.begin(), joined_.begin() + joined_count_, ended));
}

Status Submitter::wait() const {
  HALYARD_RETURN_IF_ERROR(join_error_);
  HALYARD_RETURN_IF_ERROR(chain_.wait());
  for (std::size_t i = 0; i < joined_count_; ++i) HALYARD_RETURN_IF_ERROR(joined_[i].wait());
  return {};
}

// StopTokens::check(). If a deadline has passed, the error also names a semaphore that is still
// pending.
Status Submitter::check(const StopTokens& stop) const {
  Status status = stop.check();
  if (status.code() != StatusCode::kDeadlineExceeded) return status;
  constexpr auto kPassed = Deadline::at(0);  // a poll (kNow) does not name the missing signal
  Status late = chain_.wait(kPassed);
  for (std::size_t i = 0; i < joined_count_ && late.ok(); ++i) late = joined_[i].wait(kPassed);
  if (late.code() != StatusCode::kDeadlineExceeded) return status;
  return error(StatusCode::kDeadlineExceeded, "{}: {}", status.message(), late.message());
}

Status Submitter::wait(const StopTokens& stop) {
  if (!stop.may_end_early() || finished()) return wait();
  HALYARD_RETURN_IF_ERROR(check(stop));
  HALYARD_ASSIGN_OR_RETURN(const Moment end, this->end());
  const auto deadline = Deadline::at(stop.deadline());
  const hal::Point point = end.point();
  // wait() returns failures.
  if (stop.stop_possible()) {
    StopRequest request;
    HALYARD_RETURN_IF_ERROR(request.open(queue_));
    if (!request.watch(stop)) return no_memory();
    (void)hal::wait_any({point, request.point()}, deadline);
  } else {
    (void)hal::wait_any({&point, 1}, deadline);
  }
  if (!finished()) HALYARD_RETURN_IF_ERROR(check(stop));
  return wait();
}

void Submitter::give_up() const noexcept {
  chain_.give_up();
  for (const Part* part = parts_; part != nullptr; part = part->next) part->end.give_up();
}

}  // namespace halyard::inline v0::async::detail
