// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StreamGate: a Gate of lanes/open_lanes.h for lanes of streams, which wait for recorded events
// only. So its work is in a stream already: host functions, each of which waits until it is opened.
// They may delay all host functions of their context, so that is not the context of the lanes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/lane.h"
#include "lanes/open_lanes.h"

namespace halyard::testing {

template <class Api>
class StreamGate final : public Gate {
 public:
  StreamGate(const Api& api, Ref<timeline::EntryGuard> guard)
      : api_(api), guard_(std::move(guard)) {
    const timeline::Visit inside(*guard_);
    check(api_.create_stream(stream_, 0));
    lane_ = std::make_unique<Lane>(api_, stream::StreamCommands<Api>(), guard_.get(), 64);
    check(lane_->open(stream_));
  }
  ~StreamGate() override {
    EXPECT_EQ(stop(*lane_), Abandoned::kStopped);
    const timeline::Visit inside(*guard_);
    lane_.reset();
    api_.destroy(stream_);
  }

  Edge at(std::uint64_t n) override {
    for (; given_ < n; ++given_) {
      const timeline::Visit inside(*guard_);
      check(api_.call_host(stream_, &hold, this));
      EXPECT_EQ(issue(*lane_, kBarrier, given_ + 1).count, 1u);
    }
    return {lane_.get(), n};
  }
  void open(std::uint64_t n) override {
    opened_ = n;
    opened_.notify_all();
  }

 private:
  using Lane = stream::Lane<Api, stream::StreamCommands<Api>>;

  static void hold(void* argument) {
    auto& gate = *static_cast<StreamGate*>(argument);
    const std::uint64_t n = ++gate.entered_;
    for (std::uint64_t opened; (opened = gate.opened_) < n;) gate.opened_.wait(opened);
  }

  const Api api_;
  const Ref<timeline::EntryGuard> guard_;
  typename Api::Stream stream_{};
  std::unique_ptr<Lane> lane_;
  std::uint64_t given_ = 0;
  std::atomic<std::uint64_t> opened_{0}, entered_{0};
};

}  // namespace halyard::testing
