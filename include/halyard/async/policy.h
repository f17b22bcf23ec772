// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policies: which queue a tree of operations runs on that does not say so itself.
//
//   auto z = co_await schedule(add(x, y), global_policy(1));          on device 1
//   Runtime::open("cpu://?devices=4", {.policy = LocalityFirst()})    for all trees without one
//
//   global_policy(i)   queues of device i, one after another; what a Runtime has by default, i = 0
//   SingleQueue(q)     that one
//   RoundRobin         all queues, one after another
//   LocalityFirst      where most bytes of the inputs were written; without inputs: the first queue
//   LeastLoaded        where fewest trees are awaited now
//
// A policy of one's own is a class with pick(). One tree has one queue; its parts in join(), and
// what is within on() or schedule(), have their own.
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

// A tensor that the tree is given as a value, not by an operation; nor one of a future, a shared
// operation or a part with a queue of its own.
struct OpInput {
  QueueRef queue;  // of its last write, or where it was allocated
  std::uint64_t bytes = 0;
};

// Lives for the call.
struct OpInfo {
  std::span<const Device> devices;    // all of the runtime
  std::span<const QueueRef> queues;   // all of the runtime, device by device; at least one
  std::span<const OpInput> inputs{};  // the first 8
};

// pick() is called from any thread, also by several at once. A policy that does not look at the
// inputs may say so by `static constexpr bool kIgnoresInputs = true`, and spares their search.
template <class P>
concept SchedulingPolicy = requires(P& policy, const OpInfo& info) {
  { policy.pick(info) } noexcept -> std::same_as<QueueRef>;
};

template <class P>
concept IgnoresInputs = P::kIgnoresInputs;

// Any policy. The copies are one policy, and what it counts, it counts for all.
class Policy {
 public:
  template <class P>
    requires(SchedulingPolicy<std::decay_t<P>> && !std::same_as<std::decay_t<P>, Policy>)
  Policy(P&& policy)
      : policy_(std::make_shared<Erased<std::decay_t<P>>>(std::forward<P>(policy))) {}
  // A move is a copy: there is always a policy to ask.
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
  RoundRobin(const RoundRobin&) noexcept {}  // counts for itself
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

// Awaiting gives kOutOfRange where there is no such device.
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
