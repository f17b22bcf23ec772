// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread: a thread of the system, or, in a simulation build, a simulated one (simulation/).
#pragma once

#include <pthread.h>

#include <cstdint>
#include <span>

namespace halyard::inline v0::base {

// An identifier that no other running thread has.
std::uint64_t this_thread() noexcept;

class Thread {
 public:
  Thread() noexcept = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Runs body(argument) on a thread called `name` (static, at most 15 characters), on `processors`
  // from its first instruction unless there are none. Returns 0, or the error of pthread_create(3);
  // ENOTSUP for processors on a system that binds no threads. Precondition: not started, or joined.
  int start(const char* name, void (*body)(void* argument), void* argument,
            std::span<const unsigned> processors = {}) noexcept;
  bool started() const noexcept { return started_; }

  // Precondition: started.
  void join() noexcept;
  // Joins the thread if it has ended; false if it still runs.
  bool try_join() noexcept;
  // Detaches the thread: it is not joined. Preconditions: started; this object outlives the start
  // of `body`.
  void detach() noexcept;

 private:
  struct Shared;  // of thread_posix.cpp, with its thread

  static void* run(void* self);

  const char* name_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  Shared* shared_ = nullptr;
  pthread_t handle_{};
  bool started_ = false;
};

}  // namespace halyard::inline v0::base
