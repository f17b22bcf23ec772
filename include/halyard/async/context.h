// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context: one tree of operations on its way into a queue. Storage: a tensor's memory.
//
// What a tree submits is a chain: each submission waits for the one before, and signals the next
// value of a timeline semaphore that the tree has for itself. Between trees, queues and devices the
// order comes from the data: a submission waits for the last write of what it uses, and, if it
// writes it, for the reads since. So it does not matter which threads submit, and memory can be
// given back behind its last use before anything has run. A failure reaches the rest of its tree
// and who waits for a value of its timeline: for what it was to write, or had still to read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/launch.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async {

namespace detail {

class Recording;
class Timeline;
struct ArrayRef;
class Waits;
struct KernelSignature;

// When something is done: `timeline` has reached `value`. Without a timeline: it is.
struct Moment {
  Ref<RefCounted> timeline;
  std::uint64_t value = 0;
};

// Memory of a device's pool, which gets it back behind its last use when the last reference goes.
class HALYARD_EXPORT Storage : public RefCounted {
 public:
  const hal::Buffer& buffer() const noexcept { return buffer_; }

 protected:
  Storage() = default;
  ~Storage() override = default;
  hal::Buffer buffer_;
};

// The bytes [offset, offset + length) of a storage: what an array occupies of it. A view.
struct StorageRange {
  StorageRange(Storage* storage_ = nullptr, std::uint64_t offset_ = 0,
               std::uint64_t length_ = hal::kWholeSize) noexcept
      : storage(storage_), offset(offset_), length(length_) {}
  // Precondition: there is a storage.
  hal::BufferRange of_buffer() const noexcept { return {storage->buffer(), offset, length}; }

  Storage* storage;
  std::uint64_t offset, length;
};

// An array that a kernel is given. A view.
struct KernelArray {
  StorageRange memory;
  const hal::Extents* shape = nullptr;  // null: as a flat array
  const hal::Extents* tile = nullptr;   // of a partition
  kernel::ElementType type{};
  bool is_written = false;
};

// Who may stop an await: who has built the future, and who awaits it.
struct StopTokens {
  bool stop_possible() const noexcept { return own.stop_possible() || outer.stop_possible(); }
  bool stop_requested() const noexcept { return own.stop_requested() || outer.stop_requested(); }

  std::stop_token own{};    // stop_with()'s, or what the Task has whose operation it is
  std::stop_token outer{};  // of the Task, the Asio slot or the receiver that awaits the future
};

// What an await gives that was stopped.
inline Status stopped() { return Status(StatusCode::kCancelled, "a stop was requested"); }

// The most arrays that a replay brings.
inline constexpr std::size_t kMaxSlots = 16;

}  // namespace detail

// What an operation's execute() is given: submits to one queue, in the order of its calls. One
// thread at a time. Errors are queue.h's; kInvalidArgument for storage that is null, or of another
// device but for copy().
class HALYARD_EXPORT Context {
 public:
  // With the runtime, for schedule(), that it is awaited with, if there is one.
  explicit Context(QueueRef queue, const Runtime* runtime = nullptr);
  // Of a tree that submits nothing (operation.h).
  struct ForNothing {};
  explicit Context(ForNothing) noexcept : runtime_(nullptr) {}
  // A part of the tree `whole`, on a queue of its choice and not in whole's chain. Who awaits the
  // whole awaits the part. Ends before `whole`.
  Context(Context& whole, QueueRef queue);
  // Records what it is given instead of submitting it (recorded.h), but for allocate(), which is
  // kFailedPrecondition. What has to be done once for it is `whole`'s to do.
  Context(Context& whole, RefCounted& recording);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Why nothing can be submitted, if so: QueueRef::status() above all.
  const Status& status() const noexcept { return status_; }
  const QueueRef& queue() const noexcept { return queue_; }
  const Runtime* runtime() const noexcept { return runtime_; }
  // Null where it submits.
  detail::Recording* recording() const noexcept { return recording_; }

  Result<Ref<detail::Storage>> allocate(std::uint64_t size,
                                        hal::MemoryType memory = hal::MemoryType::kDeviceLocal);
  // The same, but in a recording once, for all its replays.
  Result<Ref<detail::Storage>> scratch(std::uint64_t size);
  // Where these two take memory of the pool's type from; null: the device's default pools. Parts on
  // the same device do too. It outlives its use. Gives what was there before.
  const hal::Pool* set_pool(const hal::Pool* pool) noexcept { return std::exchange(pool_, pool); }
  Status fill(detail::Storage* target, std::uint32_t pattern, std::uint32_t pattern_size);
  Status update(detail::Storage* target, hal::Bytes source);
  // Of equal lengths. One of them may be of another device of the same hal runtime.
  Status copy(const detail::StorageRange& source, const detail::StorageRange& target);

  // Over `grid`, or, where there is none, over the tiles of the arrays that are written.
  Status launch(const detail::KernelSignature& kernel, hal::View<detail::KernelArray> arrays,
                hal::View<hal::Constant> scalars, const hal::Grid* grid);

  // What was recorded, once more, with these arrays in its slots.
  Status execute(RefCounted& recording, hal::View<detail::ArrayRef> slots);

  // Who awaits this awaits that too; what is submitted here is not ordered behind it.
  Status join(const detail::Moment& moment);
  // When all that was submitted here, and joined, is done: one moment.
  Result<detail::Moment> end();

  // How far all that is. Ok once it is done; else the first failure.
  bool finished() const;
  Status wait() const;
  // kCancelled as soon as a stop is requested; what was submitted goes on.
  Status wait(const detail::StopTokens& stop);
  // As Semaphore::on_reach, of end(), on a thread of the runtime: the caller of a submission may be
  // in the midst of a tree, and hold what the callback wants.
  template <class F>
  Result<hal::Registration> on_finish(F&& fn) {
    Result<detail::Moment> moment = end();
    if (!moment.ok()) return std::move(moment).status();
    return semaphore(*moment).on_reach(moment->value, std::forward<F>(fn),
                                       hal::CallbackThread::kRuntime);
  }

 private:
  static constexpr std::size_t kMaxJoined = 3;

  static const hal::Semaphore& semaphore(const detail::Moment& moment) noexcept;
  Result<detail::Timeline*> timeline();
  Result<detail::Timeline*> start_chain();
  template <class F>
  Status submit_behind(detail::Waits& waits, F&& call);
  template <class Uses, class F>
  Status submit(Uses&& uses, F&& call);
  template <class Uses, class Submit, class Record>
  Status do_next(Uses&& uses, Submit&& submit, Record&& record);
  Status join_chain();
  void forget_joined(const detail::Waits& waits) noexcept;
  Status check_usable(const detail::Storage* storage, const char* user) const;
  Status check_here(const detail::Storage* storage, const char* user) const;
  void end_part() noexcept;

  const QueueRef queue_;
  const Runtime* const runtime_;
  Context* const whole_ = nullptr;
  detail::Recording* const recording_ = nullptr;
  const hal::Pool* pool_ = nullptr;
  const Status status_;
  detail::Moment chain_;  // its last submission
  std::array<detail::Moment, kMaxJoined> joined_;
  std::size_t joined_count_ = 0;
  Status lost_;  // why a part could not be joined: then this does not know how it ends
  struct Part;
  Part* parts_ = nullptr;  // that have ended, but are awaited with this
};

}  // namespace halyard::inline v0::async
