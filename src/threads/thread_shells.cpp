// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threads/thread_shells.h"

#include <string.h>

#include <cassert>
#include <optional>

#include "base/error_name.h"
#include "base/file.h"
#include "base/format.h"

namespace halyard::inline v0::threads {
namespace {

constexpr const char* kNames[base::kShellCount] = {"hy-issue", "hy-completion", "hy-host",
                                                   "hy-reclaim", "hy-file"};

// A spinner may hold the only core that the thread it waits for could run on.
constexpr unsigned kYieldEvery = 32;

Status shut_down() { return Status(StatusCode::kFailedPrecondition, "the runtime is shut down"); }

Status refused(int code) {
  return Status(StatusCode::kResourceExhausted, "the system starts no further thread",
                base::error_name(code));
}

}  // namespace

ThreadShells::ThreadShells() noexcept {
  for (Kind& kind : kinds_) kind.shells = this;
}

Status ThreadShells::ensure(base::Shell shell) noexcept {
  Kind& kind = kinds_[static_cast<int>(shell)];
  if (kind.started.load(std::memory_order_acquire) == threads_of(shell)) return {};
  base::LockGuard lock(mutex_);
  if (stopping_.load(std::memory_order_relaxed)) return shut_down();
  int code = 0;
  int started = kind.started.load(std::memory_order_relaxed);
  while (started < threads_of(shell) && code == 0) {
    const auto body = [](void* argument) {
      Kind& own = *static_cast<Kind*>(argument);
      own.shells->run(own);
    };
    code = kind.threads[started].start(kNames[static_cast<int>(shell)], body, &kind);
    if (code == 0) ++started;
  }
  kind.started.store(started, std::memory_order_release);
  return started != 0 ? Status() : refused(code);
}

void ThreadShells::wake(base::Shell shell) noexcept {
  Kind& kind = kinds_[static_cast<int>(shell)];
  assert(kind.started.load(std::memory_order_acquire) != 0 && "ensure() comes first");
  // Two pending host calls must find two threads, so their wake-ups are not merged.
  if (shell != base::Shell::kHost) {
    if (kind.pending.load(std::memory_order_seq_cst)) return;
    if (kind.pending.exchange(true, std::memory_order_seq_cst)) return;
  }
  kind.parker.wake();
}

void ThreadShells::pause(unsigned turns) noexcept {
  if (turns % kYieldEvery == kYieldEvery - 1) {
    base::spin_yield();
  } else {
    base::spin_pause();
  }
}

Status ThreadShells::start_thread(void (*call)(void* argument), void* argument) noexcept {
  base::LockGuard lock(mutex_);
  if (stopping_.load(std::memory_order_relaxed)) return shut_down();
  base::Thread* free = nullptr;
  for (base::Thread& own : own_) {
    if (!own.started() || own.try_join()) free = &own;
  }
  if (free == nullptr) {
    return error(StatusCode::kResourceExhausted,
                 "{} calls with a thread of their own are running, the most there can be",
                 kOwnThreads);
  }
  const int code = free->start("hy-host-call", call, argument);
  return code == 0 ? Status() : refused(code);
}

void ThreadShells::run(Kind& kind) noexcept {
  const base::Shell shell = shell_of(kind);
  std::optional<base::FileSizeSignalGuard> guard;  // for the life of the thread
  if (shell == base::Shell::kFile) guard.emplace();
  while (true) {
    const std::uint32_t epoch = kind.parker.prepare();
    kind.pending.store(false, std::memory_order_seq_cst);
    // Work announced before this point is seen by step(), later work raises the epoch.
    if (work_->step(shell)) continue;
    // Work that was announced before the shutdown has been done.
    if (stopping_.load(std::memory_order_seq_cst)) return;
    kind.parker.park(epoch, work_->next_step(shell));
  }
}

void ThreadShells::shutdown() noexcept {
  {
    base::LockGuard lock(mutex_);
    if (stopping_.exchange(true, std::memory_order_seq_cst)) return;
  }
  for (Kind& kind : kinds_) {
    // Wakes all sleepers; a thread that is about to sleep sees stopping_.
    for (int i = 0; i < kHostThreads; ++i) kind.parker.wake();
    const int started = kind.started.load(std::memory_order_acquire);
    for (int i = 0; i < started; ++i) kind.threads[i].join();
  }
  for (base::Thread& own : own_) {
    if (own.started()) own.join();
  }
  // Steps the work that the last threads announced for shells that had already ended.
  for (bool moved = true; moved;) {
    moved = false;
    for (Kind& kind : kinds_) {
      if (!kind.pending.exchange(false, std::memory_order_seq_cst)) continue;
      while (work_->step(shell_of(kind))) moved = true;
    }
  }
}

}  // namespace halyard::inline v0::threads
