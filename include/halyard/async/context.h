// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context: submits the operations of one tree to one queue.
//
// The submissions of a tree run one after another. Between trees, queues and devices the data
// decides: a submission runs after the last write of the memory that it uses and, if it writes that
// memory, also after the reads since. So trees that use the same memory may be submitted by any
// thread, and memory may be freed before its last use has run.
//
// A failure fails the rest of its tree. In other trees it fails the submissions that use memory
// which the failed tree was still to write. It also fails writes, if submitted before the failure,
// over memory which that tree was still to read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "halyard/async/detail/moment.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/device.h"
#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/launch.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::async {

namespace detail {
struct ArrayRef;
struct KernelSignature;
class Nesting;
class TreeRecording;
class TreeTimeline;
class WaitList;
}  // namespace detail

// The argument of an operation's execute(). Used by one thread at a time; calls submit in their
// order. Errors of hal::Queue; kInvalidArgument for a null storage and, except in copy(), for a
// storage of another device.
class HALYARD_EXPORT Context {
 public:
  // `runtime` may be null; schedule() needs it.
  explicit Context(QueueRef queue, const Runtime* runtime = nullptr);
  // For a tree that submits nothing (detail::SubmitsNothing).
  struct ForNothing {};
  explicit Context(ForNothing) noexcept : runtime_(nullptr) {}
  // A part of the tree `whole` on a queue of its own; only the data orders it with the rest. The
  // end of the whole includes the end of the part. Destroyed before `whole`.
  Context(Context& whole, QueueRef queue);
  // Records instead of submitting (recorded.h); allocate() is kFailedPrecondition, and scratch()
  // allocates by `whole`.
  Context(Context& whole, RefCounted& recording);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // If not ok, nothing can be submitted: QueueRef::status(), or a part within a recording.
  const Status& status() const noexcept { return status_; }
  const QueueRef& queue() const noexcept { return queue_; }
  const Runtime* runtime() const noexcept { return runtime_; }

  Result<Ref<detail::Storage>> allocate(std::uint64_t size,
                                        hal::MemoryType memory = hal::MemoryType::kDeviceLocal);
  // As allocate(); a recording allocates once, for all its replays.
  Result<Ref<detail::Storage>> scratch(std::uint64_t size);
  Status fill(detail::Storage* target, std::uint32_t pattern, std::uint32_t pattern_size);
  Status update(detail::Storage* target, hal::Bytes source);
  // Ranges of equal length. One may be of another device of the same hal runtime, which stays open
  // until the whole tree's Context is destroyed. `user` is the function in its messages.
  Status copy(const detail::StorageRange& source, const detail::StorageRange& target,
              const char* user = "copy");
  // Dispatches over `grid`; if that is null, over the tiles of the arrays that the kernel writes.
  Status launch(const detail::KernelSignature& kernel, hal::View<detail::KernelArray> arrays,
                hal::View<hal::Constant> scalars, const hal::Grid* grid);

  // Sets the pool for memory of its type, in parts on the same device too; null: the device's
  // default pools. The pool outlives its use here. Returns the previous one.
  const hal::Pool* set_pool(const hal::Pool* pool) noexcept { return std::exchange(pool_, pool); }

  // Null unless this records.
  detail::TreeRecording* recording() const noexcept { return recording_; }
  // Submits a finished recording with these arrays and numbers in its slots.
  Status execute(RefCounted& recording, hal::View<detail::ArrayRef> slots,
                 hal::View<hal::Constant> numbers);

  // Makes `moment` a part of the end of this tree. Later submissions do not wait for it.
  Status join(const detail::Moment& moment);
  // The moment when all that was submitted and joined is done.
  Result<detail::Moment> end();
  // Whether all of it has ended or failed.
  bool finished() const;
  // Blocks until the end; returns the first failure.
  Status wait() const;
  // The same, but returns StopTokens::check() at once when that fails. The submitted work runs to
  // its end.
  Status wait(const detail::StopTokens& stop);
  // Declares that nothing waits for the end. Submitted work runs to its end all the same. But an
  // allocation that waits for memory fails (hal::Semaphore::give_up), and with it the rest of the
  // tree: the tree itself might hold the memory that it waits for.
  void give_up() const noexcept;
  // As Semaphore::on_reach() of the end, always on a thread of the runtime: the thread that notices
  // the end may be submitting a tree, and may hold locks that `fn` needs.
  template <class F>
  Result<hal::Registration> on_finish(F&& fn) {
    Result<detail::Moment> moment = end();
    if (!moment.ok()) return std::move(moment).status();
    return moment->semaphore().on_reach(moment->value(), std::forward<F>(fn),
                                        hal::CallbackThread::kRuntime);
  }

 private:
  friend class detail::Nesting;
  static constexpr std::size_t kMaxJoined = 3;

  Result<detail::TreeTimeline*> timeline();
  Result<detail::TreeTimeline*> start_chain();
  template <class F>
  Status submit_after(detail::WaitList& waits, F&& call);
  template <class Uses, class F>
  Status submit(Uses&& uses, F&& call);
  template <class Uses, class Submit, class Record>
  Status submit_or_record(Uses&& uses, Submit&& submit, Record&& record);
  Status join_chain();
  Status check(const detail::StopTokens& stop) const;
  void forget_joined(const detail::WaitList& waits) noexcept;
  Status keep_open(const detail::Storage* storage);
  Status check_usable(const detail::Storage* storage, const char* user) const;
  Status check_here(const detail::Storage* storage, const char* user) const;
  void end_part() noexcept;

  const QueueRef queue_;
  const Runtime* const runtime_;
  Context* const whole_ = nullptr;
  detail::TreeRecording* const recording_ = nullptr;
  const hal::Pool* pool_ = nullptr;
  const Status status_;
  detail::Moment chain_;  // the end of the last submission
  std::array<detail::Moment, kMaxJoined> joined_;
  std::size_t joined_count_ = 0;
  std::uint32_t depth_ = 0;  // of the boxed and shared operations that are executing
  Status join_error_;  // a part could not be joined, so the end of this tree is unknown
  struct Part;
  Part* parts_ = nullptr;  // those that were destroyed
  struct KeptOpen;
  KeptOpen* kept_open_ = nullptr;  // devices of other runtimes; the whole tree's
};

}  // namespace halyard::inline v0::async
