// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration: a callback on a semaphore's value (rule 29). armed -> running -> done, or
// armed -> dead, each by compare-exchange.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "timeline/effects.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::timeline {

// The user's callable: called once or never, destroyed once, both without locks.
struct Callback {
  void* state;
  void (*call)(void* state, const Status& status);
  void (*destroy)(void* state);
};

class Registration final : public WorkItem {
 public:
  // Takes `callback` in every case, and calls it on a shell if that is wanted. The result is one
  // reference, to be given to drop().
  static Result<Registration*> create(Semaphore& semaphore, std::uint64_t value, Callback callback,
                                      bool on_shell = false);

  // When this returns, the callback is not running and will not run; except when called from within
  // it.
  void drop() noexcept;

 private:
  friend class Semaphore;
  enum class State : std::uint32_t { kArmed, kRunning, kDone, kDead };

  Registration(Semaphore& semaphore, std::uint64_t value, Callback callback,
               bool on_shell) noexcept;
  ~Registration() = default;
  void run(bool shell) noexcept override;
  void fire(Status status) noexcept;  // popped from the semaphore, or never linked
  void destroy_callback() noexcept;
  void release() noexcept;

  Ref<Semaphore> semaphore_;
  const bool on_shell_;
  Callback callback_;
  Status outcome_;
  WaitNode node_;
  base::Atomic<std::uint32_t> references_{1};
  base::Atomic<State> state_{State::kArmed};
  base::Atomic<std::uint64_t> runner_{0};  // the thread that runs the callback
};

}  // namespace halyard::inline v0::timeline
