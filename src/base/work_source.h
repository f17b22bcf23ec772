// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WorkSource: the threads and the clock that an owner supplies to code that has no threads.
//
// The engine and the drivers are state machines. Their owner supplies a WorkSource: shells of real
// threads in a program, the test itself in a stepped test, a seeded scheduler in a simulation.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/parker.h"
#include "halyard/base/clock.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::base {

// The kinds of work that a state machine leaves to other threads.
enum class Shell : std::uint8_t {
  kIssue,       // ready submissions beyond the bound of a caller
  kCompletion,  // lanes with waiters; effects that callers must not run
  kHost,        // host calls, except those with a thread of their own
  kReclaim,     // objects whose last handle is gone
  kFile,        // transfers between files and memory
};
inline constexpr int kShellCount = 5;

class WorkSource {
 public:
  virtual ~WorkSource() = default;

  virtual Clock& clock() noexcept = 0;

  // Ensures that a thread of `shell` runs from now on; returns kResourceExhausted if the system
  // refuses it. Called before work for the shell is accepted. From any thread, under no lock.
  virtual Status ensure(Shell shell) noexcept = 0;

  // `shell` has work, and its thread was ensured. May be called from any thread, under no lock;
  // wake-ups may be merged.
  virtual void wake(Shell shell) noexcept = 0;

  // Calls call(argument) once, soon, on its own thread, which it may block. On an error it is not
  // called. From any thread, under no lock.
  virtual Status start_thread(void (*call)(void* argument), void* argument) noexcept = 0;

  // One round of a spin loop; `turns` counts the earlier ones.
  virtual void pause(unsigned turns) noexcept = 0;

  // Number of such rounds before a host thread sleeps. By default about two microseconds: longer
  // than a cache line takes, shorter than a futex wake (performance.md, section 6.2).
  virtual unsigned spin_turns() noexcept { return 64; }

  // Sleeps until `parker`, one of the ParkerPool, is woken after `epoch`, or `deadline` on clock().
  // False only after the deadline. Callers must re-check: a late wake for an earlier user of the
  // parker also wakes it.
  virtual bool park(Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept = 0;
};

}  // namespace halyard::inline v0::base
