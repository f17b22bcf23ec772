// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceQueue: a device of a Runtime: its queue, the chain of what was submitted to it, its memory
// and its kernels.
//
// A submission takes a ticket, the next value of the timeline, waits for the one before and signals
// its own. Nothing is locked meanwhile: since waits may come before their signals, two threads may
// submit in the other order than that of their tickets. A ticket whose submission is refused is
// signalled by a barrier, or else the timeline fails with the reason.
//
// A timeline that has failed is replaced by a new one, whose values go on where the old one's end,
// once all that was submitted has ended. A tensor from before is used again if its last write was
// reached; else what is given it has the old timeline's failure.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "base/mutex.h"
#include "halyard/async/context.h"
#include "halyard/async/kernel_signature.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::async::detail {

// "16 x 16"
std::string text_of(const hal::Extents& extents);

class Timeline {
 public:
  Timeline(hal::Semaphore semaphore, std::uint64_t first)
      : semaphore_(std::move(semaphore)), first_(first), last_(first) {}

  const hal::Semaphore& semaphore() const noexcept { return semaphore_; }
  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t last() const noexcept { return last_.load(std::memory_order_relaxed); }
  std::uint64_t take_ticket() noexcept { return last_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  const hal::Semaphore semaphore_;
  const std::uint64_t first_;  // its values are above
  base::Atomic<std::uint64_t> last_;
};

// A kernel of this device whose reflection agrees with its declaration.
struct BoundKernel {
  KernelSignature signature;
  hal::Function function;

  // As hal::Launch wants them: an array that is flat in the kernel without its shape, an output
  // whose tile is static without a tile, which is to be the same.
  Status adapt(std::span<hal::Argument> arguments) const;
};

class DeviceQueue final : public RefCounted {
 public:
  static Result<Ref<DeviceQueue>> create(hal::Device device, std::vector<std::string> folders);

  const hal::Device& device() const noexcept { return device_; }

  // The timeline for what is submitted now. Waits for what still runs if it has failed.
  Result<Timeline*> timeline();
  // Ok if `storage` (may be null) is of this queue, and has been written, or will be before what is
  // submitted to `now` next runs. `user` is for the message.
  Status check_use(const Storage* storage, const Timeline& now, std::string_view user);

  // `call` submits with the hal::SubmitInfo that it is given.
  template <class F>
  Result<std::uint64_t> submit(Timeline& timeline, F&& call) {
    const std::uint64_t ticket = timeline.take_ticket();
    const hal::Point wait(timeline.semaphore(), ticket - 1);
    const hal::Point signal(timeline.semaphore(), ticket);
    const hal::SubmitInfo info{.wait = {&wait, 1}, .signal = {&signal, 1}};
    if (Status status = call(queue_, info); !status.ok()) {
      if (!queue_.barrier(info).ok()) timeline.semaphore().fail(status);
      return status;
    }
    return ticket;
  }

  Result<Ref<Storage>> allocate(Timeline& timeline, std::uint64_t size, hal::MemoryType memory);
  void give_back(Storage& storage) noexcept;

  // Loaded and compared on first use.
  Result<const BoundKernel*> bind(const KernelSignature& signature);

 private:
  DeviceQueue(hal::Device device, hal::Queue queue, std::vector<std::string> folders);
  ~DeviceQueue() override;
  // Whether the write with that value is reached, or before `now` in its chain; else why not.
  Status reached(std::uint64_t value, const Timeline& now);
  Storage* new_storage() noexcept;
  Result<hal::Executable> load(const KernelSignature& signature) const;

  const hal::Device device_;
  const hal::Queue queue_;
  const std::vector<std::string> folders_;
  base::Atomic<Timeline*> timeline_{nullptr};

  base::Mutex mutex_;               // guards the rest
  std::deque<Timeline> timelines_;  // kept: storage may have values of any
  Storage* free_ = nullptr;
  std::vector<std::unique_ptr<BoundKernel>> kernels_;
};

}  // namespace halyard::inline v0::async::detail
