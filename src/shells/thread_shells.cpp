// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shells/thread_shells.h"

#include <string.h>

#include <optional>

#include "base/file.h"
#include "base/format.h"

namespace halyard::inline v0::shells {
namespace {

constexpr const char* kNames[base::kShellCount] = {"hy-issue", "hy-completion", "hy-host",
                                                   "hy-reclaim", "hy-file"};

// A spinner may hold the only core that the thread it waits for could run on.
constexpr unsigned kYieldEvery = 32;

}  // namespace

ThreadShells::ThreadShells() noexcept {
  for (Kind& kind : kinds_) kind.shells = this;
}

void ThreadShells::wake(base::Shell shell) noexcept {
  Kind& kind = kinds_[static_cast<int>(shell)];
  // Two pending host calls must find two threads, so their wake-ups are not merged.
  if (shell != base::Shell::kHost) {
    if (kind.pending.load(std::memory_order_seq_cst)) return;
    if (kind.pending.exchange(true, std::memory_order_seq_cst)) return;
  }
  if (kind.started.load(std::memory_order_acquire) != threads_of(shell)) [[unlikely]] {
    // Only here: those who stand in try to start it too, and would wake each other for ever.
    if (!start_threads(shell)) base::ParkerPool::wake_all();
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

// False: the kind has not one.
bool ThreadShells::start_threads(base::Shell shell) noexcept {
  base::LockGuard lock(mutex_);
  if (stopping_.load(std::memory_order_relaxed)) return true;  // shutdown() does what is left
  Kind& kind = kinds_[static_cast<int>(shell)];
  int started = kind.started.load(std::memory_order_relaxed);
  for (; started < threads_of(shell); ++started) {
    const auto body = [](void* argument) {
      Kind& own = *static_cast<Kind*>(argument);
      own.shells->run(own);
    };
    const char* const name = kNames[static_cast<int>(shell)];
    if (kind.adopted || kind.threads[started].start(name, body, &kind) != 0) break;
  }
  kind.started.store(started, std::memory_order_release);
  const std::uint32_t bit = 1u << static_cast<int>(shell);
  const std::uint32_t others = lacking_.load(std::memory_order_relaxed) & ~bit;
  lacking_.store(others | (started == 0 ? bit : 0), std::memory_order_seq_cst);
  // Not one thread: the next wake-up must come here again. Work whose wake-up was merged into this
  // one is seen by those who are woken now.
  if (started == 0) kind.pending.store(false, std::memory_order_seq_cst);
  return started != 0;
}

// No wake_all() is lost: it follows the store of lacking_, and the epoch was taken before the load.
bool ThreadShells::park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept {
  while (lacking_.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    stand_in(parker, epoch);
    const Nanoseconds look = clock().now() + kLookInterval;
    if (deadline <= look) break;
    if (parker.park(epoch, look)) return true;
  }
  return parker.park(epoch, deadline);
}

// Until there is nothing to do, or `parker` was woken.
void ThreadShells::stand_in(const base::Parker& parker, std::uint32_t epoch) noexcept {
  for (Kind& kind : kinds_) {
    const base::Shell shell = shell_of(kind);
    if (!lacks(shell) || start_threads(shell)) continue;
    {
      base::LockGuard lock(mutex_);
      if (!lacks(shell) || kind.adopted || stopping_.load(std::memory_order_relaxed)) continue;
      kind.adopted = true;
    }
    {
      const base::FileSizeSignalGuard guard;  // as the file shell's
      while (parker.prepare() == epoch && work_->step(shell)) {
      }
    }
    base::LockGuard lock(mutex_);
    kind.adopted = false;
  }
}

Status ThreadShells::start_thread(void (*call)(void* argument), void* argument) noexcept {
  base::LockGuard lock(mutex_);
  if (stopping_.load(std::memory_order_relaxed)) {
    return Status(StatusCode::kFailedPrecondition, "the runtime is shut down");
  }
  base::Thread* free = nullptr;
  for (base::Thread& own : own_) {
    if (!own.started() || own.try_join()) free = &own;
  }
  if (free == nullptr) {
    return error(StatusCode::kResourceExhausted,
                 "{} calls with a thread of their own are running, the most there can be",
                 kOwnThreads);
  }
  if (const int code = free->start("hy-host-call", call, argument); code != 0) {
    return Status(StatusCode::kResourceExhausted, "the system starts no further thread",
                  strerrorname_np(code));
  }
  return {};
}

void ThreadShells::run(Kind& kind) noexcept {
  const base::Shell shell = shell_of(kind);
  std::optional<base::FileSizeSignalGuard> guard;  // as long as the thread: it does nothing else
  if (shell == base::Shell::kFile) guard.emplace();
  while (true) {
    const std::uint32_t epoch = kind.parker.prepare();
    kind.pending.store(false, std::memory_order_seq_cst);
    // Work announced before this point is seen by step(), later work raises the epoch.
    if (work_->step(shell)) continue;
    // What was announced before the end is done before it.
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
    // A wake() reaches one sleeper; each thread that is still to sleep sees stopping_.
    for (int i = 0; i < kHostThreads; ++i) kind.parker.wake();
    const int started = kind.started.load(std::memory_order_acquire);
    for (int i = 0; i < started; ++i) kind.threads[i].join();
  }
  for (base::Thread& own : own_) {
    if (own.started()) own.join();
  }
  // What the last threads left to those that had ended before them.
  for (bool moved = true; moved;) {
    moved = false;
    for (Kind& kind : kinds_) {
      const base::Shell shell = shell_of(kind);
      if (!kind.pending.exchange(false, std::memory_order_seq_cst) && !lacks(shell)) continue;
      while (work_->step(shell)) moved = true;
    }
  }
}

}  // namespace halyard::inline v0::shells
