// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: takes submissions, {waits, operation, signals}, and runs them on a device.
//
//   - Submitting never blocks, unless SubmitInfo::room says so.
//   - Only semaphores order submissions. The order of submission does not, and a parked submission
//     never delays a later one that is ready. Exception: issued work of a queue runs in order on
//     the device. If it waits there for other work, everything issued to the same queue later waits
//     as well. Put independent work on a queue of its own.
//   - A wait may be submitted before the work that will signal it.
//   - A submission keeps everything that it touches alive until it ends. The caller's views need to
//     live for the call only.
//   - A submission ends in exactly one way (submission.h).
//
// If a submitting function returns an error, it has queued nothing and signals nothing:
//   kInvalidArgument    empty handle, wrong argument; a signal value not above the current one; a
//                       wait (s, v) together with a signal (s, u <= v); a value above 2^63-1; more
//                       constants than the kernel or the recording takes
//   kOutOfRange         a range beyond its buffer; elements of a tensor parameter beyond its range;
//                       a table shorter than the recording's slots, or fewer constants; more
//                       workgroups than limits.max_groups; less than 12 bytes of group counts
//   kPermissionDenied   the queue's kind does not have the operation; a semaphore or memory of a
//                       foreign runtime, a function or recording of another device; memory that
//                       the device cannot use (Device::can_access), which only copy() reaches
//   kFailedPrecondition the recording waits for an event that is not set (event.h)
//   kResourceExhausted  no memory; the system refuses a thread that the operation needs; the
//                       queue's backlog of ready work is still full when `room` has passed
//   kDeviceLost         the device is lost
//
// Checked only on a device that was opened with `?check=1`, the default of debug builds of the
// library (docs/checking.md):
//   - that work which accesses the same memory is ordered: kFailedPrecondition
//   - that a binding that a dispatch writes does not overlap another binding of it (rule 7 in
//     halyard/kernel.h), unless the kernel is declared with HY_MAY_OVERLAP: kInvalidArgument
// If a wait was submitted before its signal, the submission itself fails, when it is issued.
//
// Not checked:
//   - that a flat buffer has the elements that a kernel indexes (docs/kernels.md, "Checked
//     builds"). Tensor parameters are checked, by their constants. halyard/hal/launch.h makes these
//     constants, and checks ranks, types, tiles and sizes that must be equal.
//
// A submission that fails when it is issued may have run in part, and that part may still run when
// its signals fail. So memory that it writes is used again after wait_idle() of its queue, or by
// work of the same queue. Its handles may be dropped at once, as everywhere.
//
// A submission may signal a failed semaphore: the work runs, the other signals advance, and that
// semaphore keeps its failure. Of several waits for the same semaphore, and of several signals of
// it, the largest value counts. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/command_buffer.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/file.h"
#include "halyard/hal/host_call.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/submission.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class Launch;
class QueueObject;

// A further queue, besides the device's own queue of each kind.
struct QueueInfo {
  QueueKind kind = QueueKind::kCompute;
  QueuePriority priority = QueuePriority::kNormal;
  std::string_view name = {};  // in messages and dumps, after the device's
};

// A handle of a device and of one of its queues.
// The deadline forms submit and then wait for the last point of `signal`, or without one for the
// submission itself. Before that they wait for room in a full backlog; the deadline holds for both.
// On a cpu device the calling thread runs the work, and no other thread is woken.
class HALYARD_EXPORT Queue {
 public:
  Queue() noexcept = default;
  explicit Queue(QueueObject* object) noexcept;
  // `owner` keeps the queue while a handle of it exists.
  Queue(HandleRef<RefCounted> owner, QueueObject* object) noexcept
      : owner_(std::move(owner)), object_(object) {}

  QueueKind kind() const noexcept;  // kCompute when empty

  // Does nothing, in order: completes when its waits are reached.
  Status barrier(const SubmitInfo& info) const;

  Status execute(const CommandBuffer& commands, const ExecuteInfo& info) const;
  Status dispatch(const Function& function, const Grid& grid, View<BufferRange> bindings,
                  View<Constant> constants, const SubmitInfo& info) const;
  // Also fails with kInvalidArgument for a launch without a grid or a moved-from launch.
  Status dispatch(const Launch& launch, const SubmitInfo& info) const;
  // Dispatches as many workgroups as `groups` contains: three uint32 (x, y, z) at a multiple of 4
  // from the start of the allocation. The device reads them when the waits are reached; the host
  // never does. Any zero runs nothing. kUnimplemented: the device does not read group counts
  // (DeviceLimits::indirect_dispatch).
  Status dispatch_indirect(const Function& function, const BufferRange& groups,
                           View<BufferRange> bindings, View<Constant> constants,
                           const SubmitInfo& info) const;

  // Repeats the low 1, 2 or 4 bytes of `pattern`. The target's length, and its offset from the
  // start of the allocation, are multiples of that.
  Status fill(const BufferRange& target, std::uint32_t pattern, std::uint32_t pattern_size,
              const SubmitInfo& info) const;
  // Copies `source` before it returns; the device writes it to `target` at `offset` later.
  Status update(const Buffer& target, std::uint64_t offset, Bytes source,
                const SubmitInfo& info) const;
  // Copies between ranges of equal length that do not overlap. One of them must be memory that this
  // queue's device can use (Device::can_access); the other may be memory of any device of the same
  // runtime. If the device cannot use it, the copy goes through host memory in pieces: this queue
  // does one half of each, and the other device's copy queue, at its normal priority, the other
  // half. It is still one submission, with these additions:
  //   - cancel() can withdraw it until its first piece is handed to a device.
  //   - The loss of either device fails it. Its signals then fail when no piece is written to the
  //     target any more, except that a queue whose wait on the lost device is native fails at once.
  //   - If the last handle of either device is dropped, a copy that has begun ends first; a parked
  //     one fails with kCancelled.
  //   - wait_idle() of this queue includes it.
  // Errors of the call, besides those above:
  //   kPermissionDenied   the device can use neither range
  //   kDeviceLost         either device
  //   kUnimplemented      the host sees no memory of one of the devices
  //   kResourceExhausted  no memory to stage it
  Status copy(const BufferRange& source, const BufferRange& target, const SubmitInfo& info) const;

  // Copy between a range of a buffer and as many bytes of the file, from `offset` on. A write
  // beyond the file's end makes the file longer. Threads of the runtime and the system transfer,
  // beside the work of all queues, once the waits are reached. The file's end counts at that
  // moment: a read may be submitted before the write that makes the file long enough.
  // Errors of the call:
  //   kPermissionDenied   the file was opened for the other direction only
  //   kOutOfRange         beyond 2^63-1
  //   kUnimplemented      memory that the host does not see
  //   kResourceExhausted  the system refuses the thread for files
  // Failures of the submission, after which its range is undefined:
  //   kOutOfRange        a read beyond the file's end
  //   kResourceExhausted (ENOSPC ...), kDataLoss (EIO)  with the name of the system's error
  // Every reader of the file sees the new bytes; the system decides when they reach the disk.
  Status read(const File& file, std::uint64_t offset, const BufferRange& target,
              const SubmitInfo& info) const;
  Status write(const BufferRange& source, const File& file, std::uint64_t offset,
               const SubmitInfo& info) const;

  // Allocates a buffer of `pool` and returns it at once. It has memory once the device may run the
  // work that waits for `info.signal`. Before that it can be put into submissions that wait so, and
  // map() is kFailedPrecondition. buffer.memory must be the pool's memory type. Waits in a pool and
  // their errors: halyard/hal/pool.h. Also fails with kResourceExhausted if the pool can never have
  // the memory, and with kPermissionDenied for another device's pool.
  Result<Buffer> allocate(const Pool& pool, const BufferInfo& buffer, const SubmitInfo& info) const;

  // Returns the memory of such a buffer to its pool once the waits are reached; they are to cover
  // every use of the buffer. From this call on every use is refused with kFailedPrecondition. If
  // the deallocation fails before it is issued, it has had no effect, and the buffer is usable
  // again. If the last handle is dropped without deallocate(), the memory returns when the last
  // submission that uses it ends. Returns kInvalidArgument for a buffer that is not of a pool, or a
  // part of such a buffer.
  Status deallocate(const Buffer& buffer, const SubmitInfo& info) const;

  // Runs fn on a thread of the runtime once the waits are reached. fn returns void (success) or
  // Status; an error, or an exception, becomes the submission's failure. fn may submit and signal.
  //   kShort     must not wait for other host calls, nor for long: it delays the other host calls.
  //              host_call fails with kResourceExhausted if the system refuses their thread.
  //   kMayBlock  may wait for anything. If 256 of them run already in this runtime, or the system
  //              refuses a thread, the submission fails with kResourceExhausted.
  // fn is destroyed after it has run. It is destroyed without running if the submission fails
  // before, or if host_call itself fails.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  Status host_call(F&& fn, const SubmitInfo& info, HostCallMode mode = HostCallMode::kShort) const {
    using Fn = std::decay_t<F>;
    if constexpr (sizeof(Fn) <= detail::kInlineCallable && alignof(Fn) <= 16 &&
                  std::is_nothrow_move_constructible_v<Fn>) {
      Fn callable(std::forward<F>(fn));
      return host_call_erased(detail::callable_type<Fn>, &callable, info, mode);
    } else {
      return host_call([boxed = std::make_unique<Fn>(std::forward<F>(fn))] { return (*boxed)(); },
                       info, mode);
    }
  }

  // Submit as barrier or execute, then wait: see above. They also return the failure of the
  // submission. After kDeadlineExceeded it stays submitted. info.room is ignored. In a callback
  // they submit nothing, unless the deadline is kNow: kFailedPrecondition.
  Status barrier_and_wait(const SubmitInfo& info, Deadline deadline = kForever) const;
  Status execute_and_wait(const CommandBuffer& commands, const ExecuteInfo& info,
                          Deadline deadline = kForever) const;

  // Waits until every earlier submission, parked ones included, is complete, failed or cancelled.
  // Returns ok even if work has failed or the device is lost; the semaphores have those failures.
  // The message of kDeadlineExceeded lists the unfinished submissions. The calling thread may run
  // work of a cpu device. Not in a callback, as Semaphore::wait, nor in a host call of this queue,
  // which would wait for itself.
  Status wait_idle(Deadline deadline = kForever) const;
  // Hands ready work to the device and reports its progress, now. Submitting does the former and
  // waiting the latter; flush() is for code that does neither for a while. Never blocks. Callbacks
  // may run in it, as in a submission. Fails with kDeviceLost.
  Status flush() const;

  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Queue& a, const Queue& b) noexcept = default;
  QueueObject* object() const noexcept { return object_; }

 private:
  Status host_call_erased(const detail::CallableType& type, void* callable, const SubmitInfo& info,
                          HostCallMode mode) const;

  HandleRef<RefCounted> owner_;  // the device, or the lease of a created queue
  QueueObject* object_ = nullptr;
};

}  // namespace halyard::inline v0::hal
