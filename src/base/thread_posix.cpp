// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/thread.h"

#include <atomic>
#include <cerrno>
#include <new>

#include "base/native_call.h"
#include "base/thread_name.h"

namespace halyard::inline v0::base {

namespace {

HALYARD_CALL_SITE(kStart, "thread.start", EAGAIN, Failing::kCode);
HALYARD_CALL_SITE(kJoin, "thread.join", 0, Failing::kCode,
                  "pthread_join(3) fails only for an invalid thread, or one that is joined twice");

}  // namespace

// POSIX has no call that joins a thread only if it has ended. So the thread sets a flag last. A
// detached thread may outlive its Thread, so the flag is allocated separately; the last of the two
// frees it.
struct Thread::Shared {
  enum State : int { kRuns, kEnded, kDetached };
  const char* name;
  void (*body)(void*);
  void* argument;
  std::atomic<int> state{kRuns};
};

std::uint64_t this_thread() noexcept {
  static constinit thread_local char anchor = 0;
  return reinterpret_cast<std::uintptr_t>(&anchor);
}

int Thread::start(const char* name, void (*body)(void*), void* argument,
                  std::span<const unsigned> processors) noexcept {
  if (!processors.empty()) return ENOTSUP;  // POSIX binds no threads
  auto* const shared = new (std::nothrow) Shared{name, body, argument};
  if (shared == nullptr) return ENOMEM;
  const int code =
      native_call(kStart, [&] { return pthread_create(&handle_, nullptr, &run, shared); });
  if (code != 0) {
    delete shared;
    return code;
  }
  shared_ = shared;
  started_ = true;
  return 0;
}

// The thread sets its own name: on macOS no other thread can.
void* Thread::run(void* self) {
  auto* const shared = static_cast<Shared*>(self);
  set_thread_name(shared->name);
  shared->body(shared->argument);
  if (shared->state.exchange(Shared::kEnded, std::memory_order_acq_rel) == Shared::kDetached) {
    delete shared;
  }
  return nullptr;
}

void Thread::join() noexcept {
  native_call(kJoin, [&] { return pthread_join(handle_, nullptr); });
  delete shared_;
  shared_ = nullptr;
  started_ = false;
}

bool Thread::try_join() noexcept {
  if (shared_->state.load(std::memory_order_acquire) != Shared::kEnded) return false;
  join();  // waits for a few instructions of the thread at most
  return true;
}

void Thread::detach() noexcept {
  pthread_detach(handle_);  // fails only as pthread_join(3) does
  if (shared_->state.exchange(Shared::kDetached, std::memory_order_acq_rel) == Shared::kEnded) {
    delete shared_;
  }
  shared_ = nullptr;
  started_ = false;
}

}  // namespace halyard::inline v0::base
