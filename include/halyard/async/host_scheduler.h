// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostScheduler: threads of the runtime as a scheduler of std::execution (P2300, see execution.h).
// Not part of halyard/async.h.
//
//   const HostScheduler host(runtime.device());
//   starts_on(host, just(path) | then(read))                       runs read() on such a thread
//   as_sender(to_host(y) | on(runtime)) | continues_on(host) | then(f)    and f() here
//
// A continuation of schedule() runs as a host call (hal::Queue::host_call), outside of all queues,
// so no device waits for it.
//
//   kShort     any number of them share two threads, which start with the first one. They must not
//              block for long or wait for another host call.
//   kMayBlock  each has a thread of its own and may wait for anything.
//
// A queue is not a scheduler: devices do not run functions of the program, and a queue that waited
// for the host to run a function would be blocked. Work for a device is an operation; get_queue
// (sender.h) returns the queue of its sender.
#pragma once

#include <utility>

#include "halyard/async/detail/host_schedule.h"
#include "halyard/async/device.h"
#include "halyard/async/execution.h"
#include "halyard/base/status.h"
#include "halyard/hal/host_call.h"

namespace halyard::inline v0::async {

// A handle, safe from any thread. Schedulers of one device and mode are equal. They keep the device
// open. A lost device runs no more host calls.
class HostScheduler {
 public:
  using scheduler_concept = execution::scheduler_t;
  class Sender;

  explicit HostScheduler(Device device, hal::HostCallMode mode = hal::HostCallMode::kShort) noexcept
      : device_(std::move(device)), mode_(mode) {}

  Sender schedule() const noexcept;

  // Parallel: a host call that has started makes progress. Not concurrent: it may first wait for a
  // free thread.
  execution::forward_progress_guarantee query(
      execution::get_forward_progress_guarantee_t) const noexcept {
    return execution::forward_progress_guarantee::parallel;
  }

  friend bool operator==(const HostScheduler&, const HostScheduler&) noexcept = default;

 private:
  Device device_;
  hal::HostCallMode mode_;
};

// Completes with
//
//   set_value()        on the thread that runs the host call
//   set_stopped()      there too, if a stop was requested by then of the receiver's token
//   set_error(Status)  within start() or on a thread of the runtime: Device::status(), kDeviceLost,
//                      kResourceExhausted as hal::Queue::host_call()
class HostScheduler::Sender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures =
      execution::completion_signatures<execution::set_value_t(), execution::set_error_t(Status),
                                       execution::set_stopped_t()>;

  template <class Receiver>
  detail::HostSchedule<Receiver> connect(Receiver receiver) const {
    return {scheduler_.device_, scheduler_.mode_, std::move(receiver)};
  }

  struct Env {
    HostScheduler query(
        execution::get_completion_scheduler_t<execution::set_value_t>) const noexcept {
      return scheduler;
    }
    HostScheduler query(
        execution::get_completion_scheduler_t<execution::set_stopped_t>) const noexcept {
      return scheduler;
    }
    HostScheduler scheduler;
  };
  Env get_env() const noexcept { return {scheduler_}; }

 private:
  friend class HostScheduler;
  explicit Sender(const HostScheduler& scheduler) noexcept : scheduler_(scheduler) {}
  HostScheduler scheduler_;
};

inline HostScheduler::Sender HostScheduler::schedule() const noexcept { return Sender(*this); }

}  // namespace halyard::inline v0::async
