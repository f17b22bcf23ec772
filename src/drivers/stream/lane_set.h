// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaneSet: the lanes of one device.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/leak.h"
#include "base/mutex.h"
#include "drivers/stream/command_buffer.h"
#include "drivers/stream/lane.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

struct LaneOptions {
  std::uint32_t max_in_flight = 0;
  CompletionMode mode = CompletionMode::kHostCallback;
  Nanoseconds poll_time = 0;
  int priority = 0;  // of the lane's streams
};

template <CommandApi Api>
class LaneSet {
 public:
  // Opens a lane on a new stream of `api`, or on `borrowed`, within `guard`. Returns
  // kResourceExhausted and the library's errors.
  Result<timeline::NativeQueue*> open(const Api& api, timeline::EntryGuard* guard,
                                      const LaneOptions& options,
                                      typename Api::Stream borrowed = {}) {
    base::LockGuard lock(mutex_);
    if (count_ == kMaxLanes) {
      return error(StatusCode::kResourceExhausted, "{}: a device has at most {} lanes",
                   Api::kDriver, kMaxLanes);
    }
    std::unique_ptr<ItsLane> lane(
        new (std::nothrow) ItsLane(api, StreamCommands<Api>(count_), guard, options.max_in_flight,
                                   options.mode, options.poll_time, options.priority));
    if (lane == nullptr) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for a lane", Api::kDriver);
    }
    if (Status status = lane->open(borrowed); !status.ok()) {
      (void)lane->abandon(status, 0);
      return status;
    }
    lanes_[count_] = std::move(lane);
    return static_cast<timeline::NativeQueue*>(lanes_[count_++].get());
  }

  // Called within the guard. May be called again. Lanes that do not stop are leaked.
  void close() {
    base::LockGuard lock(mutex_);
    for (std::unique_ptr<ItsLane>& lane : lanes_) {
      if (lane == nullptr) continue;
      const Status closed = error(StatusCode::kCancelled, "{}: the lane is closed", Api::kDriver);
      // The engine has already waited for the lanes to stop.
      if (lane->abandon(closed, kPatience) == timeline::Abandoned::kStillRunning) {
        base::leak(std::move(lane));
      }
      lane.reset();
    }
  }

 private:
  using ItsLane = Lane<Api, StreamCommands<Api>>;

  base::Mutex mutex_;  // guards the following members
  std::unique_ptr<ItsLane> lanes_[kMaxLanes];
  unsigned count_ = 0;
};

}  // namespace halyard::inline v0::stream
