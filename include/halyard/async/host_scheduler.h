// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostScheduler: the threads of the runtime as a scheduler for std::execution (P2300; execution.h
// says which). Not part of halyard/async.h.
//
//   const HostScheduler host(runtime.device());
//   starts_on(host, just(path) | then(read))                       read() runs on such a thread
//   as_sender(to_host(y) | on(runtime)) | continues_on(host) | then(f)    and f() does
//
// What follows runs as a host call (hal::Queue::host_call), beside all queues, so no device waits
// for it. kShort, and as many as there are, share two threads, which start with the first; there
// is no other thread, so what follows must not block for long, nor wait for another host call.
// kMayBlock: it has a thread of its own, may wait for anything, and holds up nobody.
//
// A queue is no scheduler. What follows schedule() is a function of the program, which no device
// runs; a queue that waited until the host had run it would be blocked by it. What a device is to
// do is an operation, and its sender says where that runs: get_queue (sender.h).
#pragma once

#include <memory>
#include <utility>

#include "halyard/async/device.h"
#include "halyard/async/execution.h"
#include "halyard/base/status.h"
#include "halyard/hal/host_call.h"
#include "halyard/hal/queue.h"

namespace halyard::inline v0::async {

namespace detail {

template <class Receiver>
class HostSchedule {
 public:
  using operation_state_concept = execution::operation_state_t;

  HostSchedule(const Device& device, hal::HostCallMode mode, Receiver&& receiver)
      : device_(device), mode_(mode), receiver_(std::move(receiver)) {}
  HostSchedule(const HostSchedule&) = delete;
  HostSchedule& operator=(const HostSchedule&) = delete;

  void start() & noexcept {
    if (Status status = device_.status(); !status.ok()) return fail(std::move(status));
    // Once it is submitted this may be gone. Where it is refused, `Call` tells of it.
    const hal::Queue queue = device_.hal().queue();
    (void)queue.host_call(Call{Pending(this)}, {}, mode_);
  }

 private:
  // Destroyed without having run: the host call was refused, or has failed first.
  struct Refuse {
    void operator()(HostSchedule* self) const noexcept { self->refuse(); }
  };
  using Pending = std::unique_ptr<HostSchedule, Refuse>;
  struct Call {
    void operator()() noexcept { pending.release()->run(); }
    Pending pending;
  };

  void run() noexcept {
    if (stop_token_of(receiver_).stop_requested()) {
      execution::set_stopped(std::move(receiver_));
    } else {
      execution::set_value(std::move(receiver_));
    }
  }
  void refuse() noexcept {
    Status lost = device_.hal().status();
    fail(lost.ok() ? Status(StatusCode::kResourceExhausted, "schedule: no room for a host call")
                   : std::move(lost));
  }
  void fail(Status status) noexcept {
    execution::set_error(std::move(receiver_), std::move(status));
  }

  const Device device_;
  const hal::HostCallMode mode_;
  Receiver receiver_;
};

}  // namespace detail

// A handle; safe from any thread. Equal ones are of one device and mode. A device that is lost runs
// no host calls any more, and is kept open by its schedulers.
class HostScheduler {
 public:
  using scheduler_concept = execution::scheduler_t;
  class Sender;

  explicit HostScheduler(Device device, hal::HostCallMode mode = hal::HostCallMode::kShort) noexcept
      : device_(std::move(device)), mode_(mode) {}

  Sender schedule() const noexcept;

  // One that has begun goes on; not concurrent, since those that share threads wait for one.
  execution::forward_progress_guarantee query(
      execution::get_forward_progress_guarantee_t) const noexcept {
    return execution::forward_progress_guarantee::parallel;
  }

  friend bool operator==(const HostScheduler&, const HostScheduler&) noexcept = default;

 private:
  Device device_;
  hal::HostCallMode mode_;
};

// Completes with set_value() on the thread that runs the host call; with set_stopped(), there too,
// if a stop was requested of the receiver's token by then; with set_error(Status) within start() or
// on a thread of the runtime: Device::status(), kDeviceLost, kResourceExhausted as host_call().
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
