// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ThreadShells: the threads of a runtime in a program. Each shell is a loop of a few lines:
//
//     step the work until there is none, sleep until woken or until its next time
//
// start_thread() starts further threads, each for one piece of work.
//
// Issue, completion, reclaim and files have one thread each, host calls two. A kind's threads start
// with ensure(); a runtime calls it before it accepts work for them, so that no work is ever left
// without a thread.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/thread.h"
#include "base/work_source.h"
#include "halyard/base/clock.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::threads {

// The work that the shells step.
class Work {
 public:
  // Called by one thread at a time per kind, except kHost. True if it made progress.
  virtual bool step(base::Shell shell) noexcept = 0;
  // When step() must be called again at the latest; Deadline::kForeverTime: after a wake-up only.
  virtual Nanoseconds next_step(base::Shell shell) noexcept = 0;

 protected:
  ~Work() = default;
};

class ThreadShells final : public base::WorkSource {
 public:
  static constexpr int kHostThreads = 2;
  static constexpr int kOwnThreads = 256;

  ThreadShells() noexcept;
  ~ThreadShells() { shutdown(); }
  ThreadShells(const ThreadShells&) = delete;
  ThreadShells& operator=(const ThreadShells&) = delete;

  // `work` is stepped until shutdown(). Call it before the first wake().
  void start(Work& work) noexcept { work_ = &work; }

  // Ends each thread when it finds no work, joins them, and steps the work that they have announced
  // to each other meanwhile. Later wake-ups do nothing. Call it once, and not on a shell.
  void shutdown() noexcept;

  Clock& clock() noexcept override { return Clock::steady(); }

  // Returns kResourceExhausted if the system refuses the thread. One of the two threads for host
  // calls is enough; the next call tries to start the other. Returns kFailedPrecondition after
  // shutdown().
  Status ensure(base::Shell shell) noexcept override;

  // Costs only one load if an earlier wake-up is still pending. Precondition: the caller has
  // published the work with a seq_cst store or a read-modify-write.
  void wake(base::Shell shell) noexcept override;

  // Returns kResourceExhausted if kOwnThreads are running, or the system refuses the thread. A
  // later start or shutdown() joins a thread that has ended.
  Status start_thread(void (*call)(void* argument), void* argument) noexcept override;

  void pause(unsigned turns) noexcept override;
  bool park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept override {
    return parker.park(epoch, deadline);
  }

 private:
  struct Kind {
    base::Parker parker;
    base::Atomic<bool> pending{false};
    base::Atomic<int> started{0};
    base::Thread threads[kHostThreads];
    ThreadShells* shells = nullptr;
  };
  static int threads_of(base::Shell shell) noexcept {
    return shell == base::Shell::kHost ? kHostThreads : 1;
  }
  base::Shell shell_of(const Kind& kind) const noexcept {
    return static_cast<base::Shell>(&kind - kinds_);
  }
  void run(Kind& kind) noexcept;

  Work* work_ = nullptr;
  base::Atomic<bool> stopping_{false};
  Kind kinds_[base::kShellCount];
  base::Mutex mutex_;  // guards starting and own_
  base::Thread own_[kOwnThreads];
};

}  // namespace halyard::inline v0::threads
