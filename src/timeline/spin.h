// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spin: how long a waiting thread looks again before it sleeps (rule 22). spin_turns() turns, and
// then as long as the lanes that it waits for say; all anew when something has moved.
#pragma once

#include "base/work_source.h"

namespace halyard::inline v0::timeline {

class Spin {
 public:
  explicit Spin(base::WorkSource& work_source) noexcept : work_source_(work_source) {}

  void restart() noexcept { turns_ = 0; }

  // Whether to look again, after a pause(), without sleep. `poll_time`: the largest
  // QueueCapabilities::poll_time of those lanes.
  bool again(Nanoseconds poll_time) noexcept {
    const unsigned most = work_source_.spin_turns();
    if (turns_++ < most) return true;
    if (poll_time == 0) return false;
    const Nanoseconds now = work_source_.clock().now();
    if (turns_ == most + 1) until_ = now + poll_time;
    return now < until_;
  }
  void pause() noexcept { work_source_.pause(turns_); }

 private:
  base::WorkSource& work_source_;
  unsigned turns_ = 0;
  Nanoseconds until_ = 0;
};

}  // namespace halyard::inline v0::timeline
