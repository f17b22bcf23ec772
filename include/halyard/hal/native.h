// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and memory of the native library beneath a device, which belong to the program
// that made them: on cuda:// a CUstream and a CUevent, as void*, and a CUdeviceptr. Other devices
// return kUnimplemented.
//
//     Queue theirs = import_stream(device, stream).value();
//     theirs.barrier({.signal = {{s, 1}}});         s reaches 1 once the present work of the stream
//                                                   is done; work that waits for s is ordered on
//                                                   the device, not by the host
//     make_stream_wait(theirs, {{t, 5}});           later work of the stream runs after t has
//                                                   reached 5
//
//     wait_for_event(queue, event, {.signal = {{s, 2}}});     s reaches 2 once the event is reached
//     record_event(queue, event, {{t, 6}});                   for cuStreamWaitEvent
//
// Streams and events are of the device's primary context, and valid handles; not checked: a handle
// that was destroyed. No call makes the host, or a stream, wait for the host.
//
// Do not make a stream wait for Halyard work that is submitted later: Halyard's lanes wait for the
// stream on the device, and the two would deadlock. All functions are safe from any thread.
//
// The owner may capture an imported stream (cuStreamBeginCapture). Until the capture ends,
// submissions to the stream's queue fail with kFailedPrecondition and name the capture: they would
// become part of the owner's graph. The capture stays valid; the device, its other queues and work
// that was submitted before go on, and the queue takes submissions again afterwards. The same holds
// for CU_STREAM_LEGACY while a stream that it waits for is captured. If a capture begins while
// another thread submits, that submission fails, too, and its commands may be in the graph. An event
// that was recorded in a capture is given to none of these functions; this is not checked.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/device.h"
#include "halyard/hal/queue.h"
#include "halyard/hal/submission.h"

namespace halyard::inline v0::hal {

// Returns a queue whose submissions run in `stream`, in the order in which they are issued,
// interleaved with the work that the stream's owner puts there. A submission without waits, or
// whose values are all reached or promised by work of devices, is in the stream when the submitting
// call returns, unless another thread submits to the same queue at that time; then it follows
// shortly.
//
// The stream stays the owner's. It must live until its queue's work has ended and the queue's last
// handle is gone; no call uses it afterwards. Importing it again gives a queue of the same kind.
// Once the queue waits for a lost device, its later submissions fail with kUnavailable. Errors:
//   kInvalidArgument    an empty device; null and CU_STREAM_PER_THREAD; CU_STREAM_LEGACY is allowed
//   kPermissionDenied   a stream of another context
//   kResourceExhausted  as Device::create_queue
//   kDeviceLost
HALYARD_EXPORT Result<Queue> import_stream(const Device& device, void* stream,
                                           std::string_view name = {});

// Has the stream of `queue`, from import_stream(), wait until all points are reached. Ordering by a
// device needs work on the way: each value is reached, or a submission that a device is to run
// promises it already. A value that only the host will signal, or that parked work will, is
// kFailedPrecondition: wait for it on the host first (wait_all). Errors besides:
//   kFailedPrecondition  also: the queue is full, another device's lanes have no native edges to
//                        this one's, or the stream is being captured
//   kInvalidArgument     a queue on no imported stream
//   those of a submission; a failed semaphore's failure
HALYARD_EXPORT Status make_stream_wait(const Queue& queue, Points points);

// Submits the wait of a queue's lane for `event`: for its latest record at the time when the waits
// of `info` are reached. It is reached when the record is; an event that was never recorded is
// reached at once. Later work of the same queue may have to wait as well, so give events that are
// recorded much later a queue of their own (Device::create_queue). Do not record it again before a
// signal of `info` is reached, if it matters which record counts. Errors: those of a submission;
// kUnimplemented.
HALYARD_EXPORT Status wait_for_event(const Queue& queue, void* event, const SubmitInfo& info);

// Records `event` in the queue's lane, after `waits`, before it returns. Waiting for the event, by
// cuStreamWaitEvent or cuEventSynchronize, then implies that these points are reached and that all
// earlier submissions of the queue are done. Errors as make_stream_wait, for any queue of the
// device; kInvalidArgument for an event of another context.
HALYARD_EXPORT Status record_event(const Queue& queue, void* event, Points waits);

namespace detail {
HALYARD_EXPORT Result<Buffer> import_address(const Device& device, std::uint64_t address,
                                             std::uint64_t size, MemoryRelease release);
}

// Wraps `size` bytes at `address`, memory of this device that its owner allocated with the native
// library, as a buffer of MemoryType::kDeviceLocal. The memory must stay valid until `released` is
// called, as for Device::import_memory. Order its first use after the owner's work, by the
// functions above. Errors:
//   kInvalidArgument an empty device; an address that is not a multiple of
//   Device::kImportAlignment;
//                     bytes that are not memory of this device
//   kResourceExhausted
template <class F>
  requires std::is_invocable_v<F&>
Result<Buffer> import_address(const Device& device, std::uint64_t address, std::uint64_t size,
                              F&& released) {
  using Fn = std::decay_t<F>;
  return detail::import_address(
      device, address, size,
      {new Fn(std::forward<F>(released)), [](void* state) { (*static_cast<Fn*>(state))(); },
       [](void* state) { delete static_cast<Fn*>(state); }});
}

}  // namespace halyard::inline v0::hal
