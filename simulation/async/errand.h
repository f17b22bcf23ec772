// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errand: a coroutine outside Halyard, such as those of a user's executor. It starts at once and
// resumes on the thread that resumes it. Any other thread can destroy it whenever it is suspended,
// even while a thread is about to resume it. Therefore an awaiter gets the handle of a Relay
// instead of the errand's own; the Relay checks that the errand still exists.
//
// It locks nothing: in a simulation no other thread runs between two schedule points. Awaiters are
// in public headers, whose atomics are not schedule points; an explicit schedule point precedes and
// follows each await.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <utility>

#include "base/atomic.h"
#include "halyard/async.h"
#include "simulation/scheduler.h"

namespace halyard::inline v0::sim {

class Errand {
 public:
  struct Promise;
  // The return type of a coroutine whose first parameter is its Errand&.
  struct Started {
    using promise_type = Promise;
  };

  Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  // Precondition: it has ended, and nothing can resume it any more.
  ~Errand() {
    if (coroutine_) coroutine_.destroy();
  }

  bool ended() const noexcept { return phase_ == Phase::kEnded; }
  // Returns false if it runs or has ended.
  bool destroy() {
    if (phase_ != Phase::kSuspended) return false;
    phase_ = Phase::kEnded;
    std::exchange(coroutine_, nullptr).destroy();
    return true;
  }
  void wait_for_end() const {
    while (!ended()) (void)Scheduler::current()->sleep(this, Deadline::kForeverTime);
  }

 private:
  enum class Phase : std::uint8_t { kRuns, kSuspended, kEnded };

  // The relay of a single await: resumed at most once.
  class Relay {
   public:
    struct promise_type {
      Relay get_return_object() {
        return Relay(std::coroutine_handle<promise_type>::from_promise(*this));
      }
      std::suspend_always initial_suspend() const noexcept { return {}; }
      std::suspend_always final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay() { handle.destroy(); }

    const std::coroutine_handle<> handle;

   private:
    explicit Relay(std::coroutine_handle<> coroutine) noexcept : handle(coroutine) {}
  };
  struct Await {
    explicit Await(Errand& errand) : relay(resume(errand, *this)) {}
    bool resumed = false;
    Relay relay;
  };
  static Relay resume(Errand& errand, Await& await) {
    base::schedule_point(&errand, base::Touch::kWrite);
    await.resumed = true;
    if (!errand.ended()) {
      errand.phase_ = Phase::kRuns;
      errand.coroutine_.resume();
    }
    co_return;
  }

  template <class Awaiter>
  struct Interruptible {
    bool await_ready() { return awaiter.await_ready(); }
    // Before this returns another thread may have resumed the errand, and destroyed this.
    bool await_suspend(std::coroutine_handle<> coroutine) {
      Errand& self = errand;
      self.coroutine_ = coroutine;
      Await& await = self.awaits_.emplace_back(self);
      const bool suspended = awaiter.await_suspend(await.relay.handle);
      base::schedule_point(&self, base::Touch::kWrite);
      if (suspended && !await.resumed) self.phase_ = Phase::kSuspended;
      return suspended;
    }
    decltype(auto) await_resume() { return awaiter.await_resume(); }

    Errand& errand;
    Awaiter awaiter;
  };

  std::coroutine_handle<> coroutine_;
  Phase phase_ = Phase::kRuns;
  std::deque<Await> awaits_;  // kept: a resume may come late
};

struct Errand::Promise {
  template <class... Args>
  explicit Promise(Errand& self, Args&&...) noexcept : errand(self) {}

  Started get_return_object() const noexcept { return {}; }
  std::suspend_never initial_suspend() const noexcept { return {}; }
  auto final_suspend() noexcept {
    struct End {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> coroutine) const noexcept {
        errand.coroutine_ = coroutine;
        errand.phase_ = Phase::kEnded;
        Scheduler::current()->wake(&errand, 1);
      }
      void await_resume() const noexcept {}
      Errand& errand;
    };
    return End{errand};
  }
  void return_void() const noexcept {}
  void unhandled_exception() const noexcept { std::terminate(); }

  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable) {
    using Awaiter = decltype(std::forward<Awaitable>(awaitable).operator co_await());
    return Interruptible<Awaiter>{errand, std::forward<Awaitable>(awaitable).operator co_await()};
  }

  Errand& errand;
};

}  // namespace halyard::inline v0::sim
