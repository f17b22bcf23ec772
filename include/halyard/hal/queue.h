// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: where work is submitted. A submission is {waits, operation, signals}.
//
//   - Submitting never blocks, unless SubmitInfo::room says so.
//   - Only semaphores order submissions; submission order alone orders nothing, and a submission
//     that waits never delays a later one that is ready.
//   - A wait may be submitted before anything that will signal it.
//   - Everything a submission touches is kept alive until it ends; the caller's views need to live
//     for the call only.
//   - It ends in exactly one way (submission.h).
//
// An error returned by a submitting function means: nothing was queued, and no signal comes of it.
//   kInvalidArgument    empty handle, wrong argument; a signal value not above the current one; a
//                       wait (s, v) together with a signal (s, u <= v); a value above 2^63-1
//   kOutOfRange         a range beyond its buffer; a table shorter than the recording's slots; more
//                       workgroups than limits.max_groups; less than 12 bytes of group counts
//   kPermissionDenied   the queue's kind does not have the operation; a semaphore or memory of a
//                       foreign runtime, a function or recording of another device
//   kFailedPrecondition the recording waits for an event that is not set (event.h)
//   kResourceExhausted  memory, or the queue's backlog of ready work is full, until `room` has
//                       passed
//   kDeviceLost         the device is lost
//
// Not checked: that bindings of one dispatch do not overlap where one is written, which is wrong
// (rule 7 in halyard/kernel.h), and whether a flat buffer has the elements that a kernel indexes
// (docs/kernels.md, "Checked builds"; halyard/hal/launch.h checks tensors).
//
// A semaphore that has failed may be signalled: the work runs, the other signals advance, and that
// one keeps its failure.
//
// Duplicate waits or signals of one semaphore keep the largest. Safe from any thread.
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

// A further queue, beside the one of each kind that a device has.
struct QueueInfo {
  QueueKind kind = QueueKind::kCompute;
  QueuePriority priority = QueuePriority::kNormal;
  std::string_view name = {};  // in messages and dumps, behind the device's
};

// A handle: of a device, and which of its queues.
// The deadline forms submit and then wait for the last point of `signal` (or, without one, for the
// submission itself), and before that for room in a full backlog, both until the deadline. On a cpu
// device the calling thread runs the work; no other thread is woken.
class HALYARD_EXPORT Queue {
 public:
  Queue() noexcept = default;
  explicit Queue(QueueObject* object) noexcept;
  // `owner` has the queue for as long as a handle of it exists.
  Queue(HandleRef<RefCounted> owner, QueueObject* object) noexcept
      : owner_(std::move(owner)), object_(object) {}

  QueueKind kind() const noexcept;  // kCompute when empty

  // Nothing, in order: completes when its waits are reached.
  Status barrier(const SubmitInfo& info) const;

  Status execute(const CommandBuffer& commands, const ExecuteInfo& info) const;
  Status dispatch(const Function& function, const Grid& grid, View<BufferRange> bindings,
                  View<Constant> constants, const SubmitInfo& info) const;
  // kInvalidArgument also: a launch that has no grid, or whose arguments were moved from it.
  Status dispatch(const Launch& launch, const SubmitInfo& info) const;
  // Over as many workgroups as `groups` says: three uint32 (x, y, z) from a multiple of 4 on,
  // counted from the start of the allocation. The device reads them when the waits are reached; the
  // host never does. Any zero runs nothing.
  Status dispatch_indirect(const Function& function, const BufferRange& groups,
                           View<BufferRange> bindings, View<Constant> constants,
                           const SubmitInfo& info) const;

  // Repeats the low 1, 2 or 4 bytes of `pattern`; the target's length, and its offset counted from
  // the start of the allocation, are multiples of that.
  Status fill(const BufferRange& target, std::uint32_t pattern, std::uint32_t pattern_size,
              const SubmitInfo& info) const;
  // Copies `source` before it returns; the device writes it to `target` at `offset` later.
  Status update(const Buffer& target, std::uint64_t offset, Bytes source,
                const SubmitInfo& info) const;
  // Equal lengths, no overlap. The source or the target may be memory of another device of the same
  // runtime.
  Status copy(const BufferRange& source, const BufferRange& target, const SubmitInfo& info) const;

  // Between a range of a buffer and as many bytes of the file, from `offset` on. A file grows when
  // it is written beyond its end. Threads of the runtime and the system do it, beside the work of
  // all queues, once the waits are reached. The end of the file counts then, so a read may be
  // submitted before the write that makes the file long enough. kPermissionDenied: the file was
  // opened for the other direction only; kOutOfRange: beyond 2^63-1; kUnimplemented: memory that
  // the host does not see; kResourceExhausted: the system refuses the thread for files.
  // The submission fails with kOutOfRange for a read beyond the end, and with the name of the
  // system's error for what the system refuses: kResourceExhausted (ENOSPC ...), kDataLoss (EIO).
  // Its range is undefined then. What was written can be read by everybody; it is on the disk when
  // the system puts it there.
  Status read(const File& file, std::uint64_t offset, const BufferRange& target,
              const SubmitInfo& info) const;
  Status write(const BufferRange& source, const File& file, std::uint64_t offset,
               const SubmitInfo& info) const;

  // A buffer of `pool`, at once. It has memory from the moment when the device may run what waits
  // for `info.signal`; before, it can be put into submissions that wait for that, and map() is
  // kFailedPrecondition. buffer.memory must be the pool's. Pools in halyard/hal/pool.h; besides:
  // kResourceExhausted when the pool can never have it, kPermissionDenied for another device's
  // pool.
  Result<Buffer> allocate(const Pool& pool, const BufferInfo& buffer, const SubmitInfo& info) const;

  // The memory of such a buffer goes back to its pool once the waits hold, which are to cover every
  // use of it. From this call on the buffer is refused with kFailedPrecondition everywhere, except
  // if the deallocation fails without having been issued: then nothing has happened to it. Memory
  // of a buffer whose last handle goes without deallocate() returns with the end of the last
  // submission that uses it. kInvalidArgument: not of a pool, or a part of a buffer.
  Status deallocate(const Buffer& buffer, const SubmitInfo& info) const;

  // Runs fn on a thread of the runtime once the waits are reached. fn returns void (success) or
  // Status; an error, or an exception, becomes the submission's failure. It may submit and signal.
  // A kShort one must not wait for other host calls, nor long for anything: it would hold them up.
  // A kMayBlock one may wait for anything and holds up nobody; if 256 of them run already in this
  // runtime, or the system refuses a thread, the submission fails with kResourceExhausted. fn is
  // destroyed after it has run, or without having run when the submission fails first, also when
  // host_call itself does: kResourceExhausted, the system refuses the thread for kShort ones.
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

  // As barrier / execute, then wait for it: see above. Also the failure of what is waited for.
  // kDeadlineExceeded leaves it submitted; info.room means nothing. Not in a callback.
  Status barrier_and_wait(const SubmitInfo& info, Deadline deadline = kForever) const;
  Status execute_and_wait(const CommandBuffer& commands, const ExecuteInfo& info,
                          Deadline deadline = kForever) const;

  // Waits until every submission made before has ended, in whatever way: what waits for semaphores
  // too. So it is ok although work has failed or the device is lost; who wants to know asks the
  // semaphores. kDeadlineExceeded says what is left. The calling thread may run work of a cpu
  // device. Not in a callback, nor in a host call of this queue, which would wait for itself.
  Status wait_idle(Deadline deadline = kForever) const;
  // Has ready work handed to the device and its progress reported now. Submitting does the first by
  // itself and waiting the second; for code that does neither for a while. Waits for nothing;
  // callbacks may run in it, as in submit. kDeviceLost.
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
