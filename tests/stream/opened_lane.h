// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenedLane: a lane over the fake library, without an engine. Every call runs within its guard.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/failing_calls.h"
#include "base/leak.h"
#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/lane.h"
#include "hal/recording/command.h"
#include "lanes/lane_calls.h"
#include "simulation/stream/allocator.h"
#include "simulation/stream/fake_api.h"

namespace halyard::stream {

using testing::command;
using testing::CountingNotify;
using testing::FailingCalls;
using testing::fill;
using testing::kBarrier;
using testing::kGone;
using testing::range;
using timeline::Edge;

// A device's context, without the device.
struct OpenedContext {
  explicit OpenedContext(unsigned ordinal = 0, FakeApi with = {})
      : api(with), guard(ContextGuard<FakeApi>::create(api, ordinal).value()) {}
  Ref<hal::Memory> allocate(std::uint64_t size) {
    const timeline::Visit inside(*guard);
    return stream::allocate(api, guard, size, hal::MemoryType::kHostVisible).value();
  }

  const FakeApi api;
  const Ref<ContextGuard<FakeApi>> guard;
};

template <class Commands = StreamCommands<FakeApi>>
class OpenedLane {
 public:
  using Lane = stream::Lane<FakeApi, Commands>;

  explicit OpenedLane(OpenedContext& context, std::uint32_t max_in_flight = 64,
                      Commands commands = {})
      : unstoppable_(context.api.unstoppable),
        guard_(context.guard),
        lane_(
            std::make_unique<Lane>(context.api, std::move(commands), guard_.get(), max_in_flight)) {
    const timeline::Visit inside(*guard_);
    check(lane_->open());
  }
  ~OpenedLane() {
    const timeline::Visit inside(*guard_);
    const Status closed(StatusCode::kCancelled, "closed");
    const Nanoseconds waited = unstoppable_ ? kPatience : 0;
    timeline::Abandoned end = lane_->abandon(closed, waited);
    while (end == timeline::Abandoned::kStopping) end = lane_->abandon({}, waited);
    if (end == timeline::Abandoned::kStillRunning) base::leak(std::move(lane_));
    lane_.reset();
  }

  timeline::Entered<Lane> operator->() { return {*lane_, guard_.get()}; }
  Edge at(std::uint64_t sequence) { return {lane_.get(), sequence}; }

  timeline::IssueResult issue(const timeline::Issue& issue) {
    return (*this)->issue({&issue, 1}, timeline::Doorbell::kRing);
  }
  // Issues an operation with a marker, and expects that the lane accepts it.
  void issue(const hal::Operation& operation, std::uint64_t sequence,
             const std::vector<Edge>& waits = {}) {
    const auto result =
        issue({.waits = waits, .operation = &operation, .sequence = sequence, .want_marker = true});
    EXPECT_TRUE(result.count == 1 && !result.unmarked) << result.status.to_string();
  }

  // Precondition: there is a marker at or after `sequence`.
  void wait_until(std::uint64_t sequence) { testing::wait_until(*lane_, sequence); }

 private:
  const bool unstoppable_;
  const Ref<ContextGuard<FakeApi>> guard_;
  std::unique_ptr<Lane> lane_;
};

// A recording that fills one byte for each of its commands, with its number and 1.
struct Fills {
  Fills(const Ref<hal::Memory>& memory, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      commands.emplace_back(hal::FillCommand{range(memory, i, 1), i + 1, 1});
    }
    recording.commands = commands;
    native = CommandBuffer::create(recording, FakeApi::kDriver).value();
    operation.kind = hal::OperationKind::kExecute;
    operation.native = native.get();
  }
  std::vector<hal::Command> commands;
  hal::RecordedCommands recording;
  std::unique_ptr<hal::NativeCommands> native;
  hal::Operation operation;
};

// Gates, which block until a test opens them or ends. kGate is a kernel that then writes 64 times 1
// to `target`, unless that is null. kHostGate is a host function, which delays all other host
// functions of its context.
inline const hal::Operation kGate, kHostGate;
struct Gates {
  Gates() { current = this; }
  ~Gates() {
    open = host_open = true;
    while (inside != 0) base::spin_pause();
    current = nullptr;
  }
  static inline Gates* current = nullptr;
  std::atomic<bool> open{false}, host_open{false};
  std::atomic<int> entered{0}, inside{0};
  std::uint64_t target = 0;
};

struct GatedCommands : StreamCommands<FakeApi> {
  static bool is_empty(const timeline::Issue& issue) noexcept {
    return issue.operation != &kGate && issue.operation != &kHostGate &&
           StreamCommands::is_empty(issue);
  }
  Status put(const FakeApi& api, FakeApi::Stream stream, const timeline::Issue& issue,
             bool& started) noexcept {
    Status status;
    if (issue.operation == &kGate) {
      const auto kernel = [](const Workgroup*, void* const* buffers, const void*) {
        Gates& gates = *Gates::current;
        ++gates.inside;
        ++gates.entered;
        while (!gates.open) base::spin_pause();
        if (auto* const bytes = static_cast<std::byte*>(buffers[0])) {
          for (int i = 0; i < 64; ++i) std::atomic_ref(bytes[i]).store(std::byte{1});
        }
        --gates.inside;
      };
      const std::uint32_t groups[] = {1, 1, 1};
      status = api.launch(stream, {.entry = kernel, .binding_count = 1}, groups,
                          std::as_bytes(std::span(&Gates::current->target, 1)));
    } else if (issue.operation == &kHostGate) {
      const auto function = [](void*) {
        Gates& gates = *Gates::current;
        ++gates.inside;
        ++gates.entered;
        while (!gates.host_open) base::spin_pause();
        --gates.inside;
      };
      status = api.call_host(stream, function, nullptr);
    } else {
      return StreamCommands::put(api, stream, issue, started);
    }
    started = status.ok();
    return status;
  }
};
using GatedLane = OpenedLane<GatedCommands>;

}  // namespace halyard::stream
