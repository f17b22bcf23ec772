// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policies: pick the queue of a tree of operations that names none.
//
//   auto z = co_await schedule(add(x, y), global_policy(1));          on device 1
//   Runtime::open("cpu://?devices=4", {.policy = LocalityFirst()})    for all trees without one
//
//   global_policy(i)   queues of device i, round-robin; a Runtime's default, with i = 0
//   SingleQueue(q)     q
//   RoundRobin         all queues, round-robin
//   LocalityFirst      the queue that wrote most bytes of the inputs; without inputs the first
//   queue LeastLoaded        the queue on which the fewest trees are being awaited
//
// Any class with pick() is a policy. A tree has one queue, except for its parts: arguments of
// join(), and operations within on() or schedule(), have queues of their own.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "halyard/async/device.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async {

class Runtime;

// A tensor that is a value in the tree. Results of operations do not count, nor do values within a
// future, a shared operation or a part.
struct OpInput {
  QueueRef queue;  // which wrote it last, or else allocated it
  std::uint64_t bytes = 0;
};

// The argument of pick(), valid during the call.
struct OpInfo {
  std::span<const Device> devices;    // all devices of the runtime
  std::span<const QueueRef> queues;   // all their queues, device by device; at least one
  std::span<const OpInput> inputs{};  // the first 8
};

// Any thread may call pick(), several at once. A policy that does not use OpInfo::inputs can say
// `static constexpr bool kIgnoresInputs = true`, which saves collecting them.
template <class P>
concept SchedulingPolicy = requires(P& policy, const OpInfo& info) {
  { policy.pick(info) } noexcept -> std::same_as<QueueRef>;
};

template <class P>
concept IgnoresInputs = P::kIgnoresInputs;

// Any policy. Copies share one policy and its state.
class Policy {
 public:
  template <class P>
    requires(SchedulingPolicy<std::decay_t<P>> && !std::same_as<std::decay_t<P>, Policy>)
  Policy(P&& policy)
      : policy_(std::make_shared<Erased<std::decay_t<P>>>(std::forward<P>(policy))) {}
  // A move is a copy, so that a moved-from Policy still picks.
  Policy(const Policy&) noexcept = default;
  Policy& operator=(const Policy&) noexcept = default;

  QueueRef pick(const OpInfo& info) const noexcept { return policy_->pick(info); }
  bool ignores_inputs() const noexcept { return policy_->ignores_inputs; }

 private:
  struct Base {
    explicit Base(bool ignores) : ignores_inputs(ignores) {}
    virtual ~Base() = default;
    virtual QueueRef pick(const OpInfo& info) noexcept = 0;
    const bool ignores_inputs;
  };
  template <class P>
  struct Erased final : Base {
    template <class Q>
    explicit Erased(Q&& from) : Base(IgnoresInputs<P>), policy(std::forward<Q>(from)) {}
    QueueRef pick(const OpInfo& info) noexcept override { return policy.pick(info); }
    P policy;
  };
  std::shared_ptr<Base> policy_;
};

class SingleQueue {
 public:
  static constexpr bool kIgnoresInputs = true;
  explicit SingleQueue(QueueRef queue) noexcept : queue_(std::move(queue)) {}
  QueueRef pick(const OpInfo&) const noexcept { return queue_; }

 private:
  QueueRef queue_;
};

class RoundRobin {
 public:
  static constexpr bool kIgnoresInputs = true;
  RoundRobin() = default;
  RoundRobin(const RoundRobin&) noexcept {}  // a copy counts from 0
  QueueRef pick(const OpInfo& info) noexcept {
    return info.queues[next_.fetch_add(1, std::memory_order_relaxed) % info.queues.size()];
  }

 private:
  std::atomic<std::size_t> next_{0};
};

struct HALYARD_EXPORT LocalityFirst {
  QueueRef pick(const OpInfo& info) const noexcept;
};

struct HALYARD_EXPORT LeastLoaded {
  static constexpr bool kIgnoresInputs = true;
  QueueRef pick(const OpInfo& info) const noexcept;
};

// If the runtime has no such device, the await is kOutOfRange.
class HALYARD_EXPORT GlobalPolicy {
 public:
  static constexpr bool kIgnoresInputs = true;
  explicit GlobalPolicy(std::size_t device) noexcept : device_(device) {}
  QueueRef pick(const OpInfo& info) const noexcept;

 private:
  std::size_t device_;
};
inline GlobalPolicy global_policy(std::size_t device) noexcept { return GlobalPolicy(device); }

}  // namespace halyard::inline v0::async
