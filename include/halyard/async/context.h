// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context: one tree of operations on its way into a device's queue. Storage: a tensor's memory.
//
// Everything that a queue of a Runtime runs is one chain: each submission waits for the one before
// and signals the next value of the queue's timeline semaphore. So what a tree needs of another on
// the same queue is there when it runs, whichever threads submitted them, and memory can be given
// back behind its last use, before anything has run. A submission that fails (memory is exhausted)
// fails those behind it; what is awaited after that starts anew.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/launch.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::async {

namespace detail {

class Timeline;
struct KernelSignature;

// Memory of a queue's pool, which gets it back behind what was submitted before the last reference
// went. Values are of the queue's timeline.
class HALYARD_EXPORT Storage final : public RefCounted {
 public:
  const hal::Buffer& buffer() const noexcept { return buffer_; }
  // The value of its last write.
  std::uint64_t written() const noexcept { return written_; }
  void set_written(std::uint64_t value) noexcept { written_ = value; }  // by its only owner

 private:
  friend class DeviceQueue;
  Storage() = default;
  ~Storage() override = default;
  void destroy() noexcept override;  // back to its queue; blocks for nothing

  Ref<RefCounted> queue_;
  hal::Buffer buffer_;
  std::uint64_t written_ = 0;
  Storage* next_ = nullptr;  // while it is free
};

}  // namespace detail

// What an operation's execute() is given: submits to one queue, in the order of its calls. One
// thread at a time. Errors are queue.h's; kInvalidArgument for storage that is null or of another
// device; and the failure of what was to write it.
class HALYARD_EXPORT Context {
 public:
  // After a failure of the device's queue: waits for what still runs there.
  explicit Context(const Device& device);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Result<Ref<detail::Storage>> allocate(std::uint64_t size,
                                        hal::MemoryType memory = hal::MemoryType::kDeviceLocal);
  Status fill(detail::Storage* target, std::uint32_t pattern, std::uint32_t pattern_size);
  Status update(detail::Storage* target, hal::Bytes source);
  Status copy(detail::Storage* source, detail::Storage* target);

  // `arguments[i]` is in `storages[i]`. Over `grid`, or, where there is none, over the tiles of the
  // arguments that are written.
  Status launch(const detail::KernelSignature& kernel, hal::View<detail::Storage*> storages,
                std::span<hal::Argument> arguments, hal::View<hal::Constant> scalars,
                const hal::Grid* grid);

  // How far it is. Ok once all that was submitted is done; else the failure of the queue.
  bool finished() const;
  Status wait() const;
  // As Semaphore::on_reach.
  template <class F>
  Result<hal::Registration> on_finish(F&& fn) const {
    return semaphore().on_reach(last_, std::forward<F>(fn));
  }

 private:
  const hal::Semaphore& semaphore() const noexcept;
  Status use(const detail::Storage* storage, const char* what) const;
  template <class F>
  Status submit(F&& call);

  Status status_;  // why nothing can be submitted
  Device device_;
  detail::Timeline* timeline_ = nullptr;
  std::uint64_t last_ = 0;  // its last submission's value; 0: none
};

}  // namespace halyard::inline v0::async
