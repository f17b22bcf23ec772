// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Senders: operations for std::execution (P2300, see execution.h). Not part of halyard/async.h.
//
//   auto [y] = stdexec::sync_wait(as_sender(to_host(add(x, x)) | on(runtime)) | then(f)).value();
//
// Completes with
//
//   set_value(T)
//   set_error(Status)              the error that as_result() returns
//   set_error(std::exception_ptr)  if a function of the operation throws
//   set_stopped()                  after a stop request of the receiver's token
//
// It completes
//
//   within start()                   if the work is done already
//   on the thread requesting a stop  if that ends the await
//   on a thread of the runtime       otherwise; continuations must not block there
//
// So it has no completion scheduler. continues_on() sets one: a HostScheduler (host_scheduler.h) or
// any scheduler of the program. Any thread may call start(), which never waits for a device.
#pragma once

#include <exception>
#include <utility>

#include "halyard/async/detail/await.h"
#include "halyard/async/detail/sender_operation.h"
#include "halyard/async/device.h"
#include "halyard/async/execution.h"
#include "halyard/async/future.h"
#include "halyard/async/operation.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// Queries a sender's environment for the queue of its operation. Not a forwarding query, because
// continuations of the operation do not run on that queue.
struct get_queue_t {
  template <class Env>
  QueueRef operator()(const Env& env) const noexcept {
    return env.query(*this);
  }
};
inline constexpr get_queue_t get_queue{};

// The sender of a DeviceFuture. Move-only; connected once.
template <DeviceOperation Op>
class DeviceSender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures = execution::completion_signatures<
      execution::set_value_t(typename detail::Await<Op>::Value), execution::set_error_t(Status),
      execution::set_error_t(std::exception_ptr), execution::set_stopped_t()>;

  explicit DeviceSender(DeviceFuture<Op>&& future) : future_(std::move(future)) {}

  // Returns the operation state, whose start() submits. Do not move it before it has completed.
  template <class Receiver>
  detail::SenderOperation<Op, Receiver> connect(Receiver receiver) && {
    return {std::move(future_).take(), std::move(receiver)};
  }

  struct Env {
    QueueRef query(get_queue_t) const noexcept { return queue; }
    QueueRef queue;
  };
  Env get_env() const noexcept { return {future_.queue()}; }

 private:
  DeviceFuture<Op> future_;
};

template <class Op>
DeviceSender<Op> as_sender(DeviceFuture<Op>&& future) {
  return DeviceSender<Op>(std::move(future));
}

}  // namespace halyard::inline v0::async
