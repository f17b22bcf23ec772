// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues of work and the threads that run it. Queues share a few threads: one more starts where work waits
// and all of them are busy, as work may wait for other work.
//
// Any thread may call any of it.
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
  // Counted by the work in it, beside its owner.
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
  // Of the pool's lock: whether the first item may run beside what runs.
  bool may_start() const noexcept;

  const std::string label_;
  const bool is_concurrent_;
  // Under the pool's lock.
  std::size_t users_ = 1;
  std::deque<Item> items_;
  std::size_t running_ = 0;
  bool barrier_runs_ = false;
  bool is_ready_ = false;  // a serial queue waits for a thread
};

// Ends the threads; the work that is queued runs first. Later work starts new ones.
void end_threads();

}  // namespace halyard::inline v0::sim::dispatch
