// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues of work and the threads that run it. All queues share a few threads. If all are busy and
// work waits, another thread starts, because running work may depend on waiting work.
//
// Any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "simulation/gpu/mutex.h"

namespace halyard::inline v0::sim::dispatch {

using Function = void (*)(void* context);

class Queue {
 public:
  // Reference-counted: the creator and all queued work hold references.
  static Queue* create(std::string label, bool is_concurrent);
  void retain() noexcept;
  void release() noexcept;

  void async(void* context, Function work, bool is_barrier = false);
  void sync(void* context, Function work);
  const std::string& label() const noexcept { return label_; }

 private:
  friend struct Pool;
  struct Item {
    void* context;
    Function work;
    bool is_barrier;
  };
  Queue(std::string label, bool is_concurrent);
  // True if the first item may run concurrently with the running items. The caller holds the pool's
  // lock.
  bool may_start() const noexcept;

  const std::string label_;
  const bool is_concurrent_;
  // Guarded by the pool's lock.
  std::size_t users_ = 1;
  std::deque<Item> items_;
  std::size_t running_ = 0;
  bool barrier_runs_ = false;
  bool is_ready_ = false;  // a serial queue waits for a thread
};

// Runs all queued work, then ends the threads. Later work starts new threads.
void end_threads();

}  // namespace halyard::inline v0::sim::dispatch
