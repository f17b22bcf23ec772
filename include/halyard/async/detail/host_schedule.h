// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostSchedule: the operation state of HostScheduler::Sender.
#pragma once

#include <memory>
#include <utility>

#include "halyard/async/device.h"
#include "halyard/async/execution.h"
#include "halyard/base/status.h"
#include "halyard/hal/host_call.h"
#include "halyard/hal/queue.h"

namespace halyard::inline v0::async::detail {

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
    // After the submission this may be destroyed. If it is refused, ~Call() reports that.
    const hal::Queue queue = device_.hal().queue();
    (void)queue.host_call(Call{Pending(this)}, {}, mode_);
  }

 private:
  // Runs if a Call is destroyed before it ran: the host call was refused or has failed.
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

}  // namespace halyard::inline v0::async::detail
