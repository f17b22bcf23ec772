// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context: an operation's execute() submits to it. It stands for a queue, and for a single tree of
// operations.
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

#include <cstddef>
#include <cstdint>
#include <utility>

#include "halyard/async/detail/storage.h"
#include "halyard/async/device.h"
#include "halyard/async/runtime.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/launch.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::async {

namespace detail {
struct ArrayRef;
struct KernelSignature;
class Moment;
class Nesting;
class Recorder;
class Submitter;
class TreeRecording;
}  // namespace detail

// The argument of an operation's execute(): a detail::Submitter submits, a detail::Recorder records
// (recorded.h). Used by one thread at a time; calls submit in their order. Errors of hal::Queue;
// kInvalidArgument for a null storage and, except in copy(), for a storage of another device.
class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // In a recording it is kFailedPrecondition.
  virtual Result<Ref<detail::Storage>> allocate(
      std::uint64_t size, hal::MemoryType memory = hal::MemoryType::kDeviceLocal) = 0;
  // As allocate(); a recording allocates once, for all its replays.
  virtual Result<Ref<detail::Storage>> scratch(std::uint64_t size) = 0;
  virtual Status fill(detail::Storage* target, std::uint32_t pattern,
                      std::uint32_t pattern_size) = 0;
  virtual Status update(detail::Storage* target, hal::Bytes source) = 0;
  // Ranges of equal length. One may be of another device of the same hal runtime, which stays open
  // until the whole tree has ended. `user` is the function in its messages.
  virtual Status copy(const detail::StorageRange& source, const detail::StorageRange& target,
                      const char* user = "copy") = 0;
  // Dispatches over `grid`; if that is null, over the tiles of the arrays that the kernel writes.
  virtual Status launch(const detail::KernelSignature& kernel,
                        hal::View<detail::KernelArray> arrays, hal::View<hal::Constant> scalars,
                        const hal::Grid* grid) = 0;
  // Submits a finished recording with these arrays and numbers in its slots.
  virtual Status execute(RefCounted& recording, hal::View<detail::ArrayRef> slots,
                         hal::View<hal::Constant> numbers) = 0;
  // Makes `moment` a part of the end of this tree. Later submissions do not wait for it.
  virtual Status join(const detail::Moment& moment) = 0;

  // If not ok, nothing can be submitted: QueueRef::status(), or a part within a recording.
  const Status& status() const noexcept { return status_; }
  const QueueRef& queue() const noexcept { return queue_; }
  const Runtime* runtime() const noexcept { return runtime_; }
  // Null unless this records.
  detail::TreeRecording* recording() const noexcept { return recording_; }
  // Sets the pool for memory of its type, in parts on the same device too; null: the device's
  // default pools. The pool outlives its use here. Returns the previous one.
  const hal::Pool* set_pool(const hal::Pool* pool) noexcept { return std::exchange(pool_, pool); }

 private:
  friend class detail::Nesting;
  friend class detail::Recorder;
  friend class detail::Submitter;
  Context(QueueRef queue, const Runtime* runtime, detail::Submitter& submitter,
          detail::TreeRecording* recording = nullptr)
      : queue_(std::move(queue)),
        runtime_(runtime),
        status_(queue_.status()),
        submitter_(submitter),
        recording_(recording) {}
  // The context of a tree that submits nothing.
  explicit Context(detail::Submitter& submitter) noexcept : submitter_(submitter) {}
  virtual ~Context() = default;

  const QueueRef queue_;
  const Runtime* const runtime_ = nullptr;
  Status status_;
  detail::Submitter& submitter_;  // this, or that of a recorder's tree
  detail::TreeRecording* const recording_ = nullptr;
  const hal::Pool* pool_ = nullptr;
  std::uint32_t depth_ = 0;  // of the boxed and shared operations that are executing
};

}  // namespace halyard::inline v0::async
