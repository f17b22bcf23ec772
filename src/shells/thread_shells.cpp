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
    start_threads(shell);
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

void ThreadShells::start_threads(base::Shell shell) noexcept {
  base::LockGuard lock(mutex_);
  if (stopping_.load(std::memory_order_relaxed)) return;
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
  set_lacking(shell, started == 0);
  // Not one thread: the next wake-up must come here again.
  if (started == 0) kind.pending.store(false, std::memory_order_relaxed);
}

// Under mutex_.
void ThreadShells::set_lacking(base::Shell shell, bool lacking) noexcept {
  const std::uint32_t bit = 1u << static_cast<int>(shell);
  const std::uint32_t others = lacking_.load(std::memory_order_relaxed) & ~bit;
  lacking_.store(others | (lacking ? bit : 0), std::memory_order_seq_cst);
}

// Nobody tells those who sleep that a kind lacks its thread: they look now and then.
bool ThreadShells::park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept {
  for (;;) {
    if (lacking_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      stand_in(parker, epoch);
    const Nanoseconds look = clock().now() + kLookInterval;
    if (deadline <= look) return parker.park(epoch, deadline);
    if (parker.park(epoch, look)) return true;
  }
}

// Until there is nothing to do, or `parker` was woken.
void ThreadShells::stand_in(const base::Parker& parker, std::uint32_t epoch) noexcept {
  for (Kind& kind : kinds_) {
    const base::Shell shell = shell_of(kind);
    if (!lacks(shell)) continue;
    start_threads(shell);
    {
      base::LockGuard lock(mutex_);
      if (!lacks(shell) || kind.adopted || stopping_.load(std::memory_order_relaxed)) continue;
      kind.adopted = true;
      // Work announced before this point is seen by step(), later work sets the bit again.
      set_lacking(shell, false);
    }
    const base::FileSizeSignalGuard guard;  // as the file shell's
    bool more = true;
    while (more && parker.prepare() == epoch) more = work_->step(shell);
    // What is due later has no other thread either.
    more = more || work_->next_step(shell) != Deadline::kForeverTime;
    base::LockGuard lock(mutex_);
    kind.adopted = false;
    if (more) set_lacking(shell, true);
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
