// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers: the threads that serve the rings of one device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/thread.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/topology.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::cpu {

inline constexpr unsigned kMaxWorkers = 256;

class Workers {
 public:
  // `group` outlives the threads.
  explicit Workers(RingGroup& group) noexcept : group_(group) {}
  // Precondition: stop() was called, or nothing was started.
  ~Workers();

  // `on`: the processors of each thread, or empty. Returns kResourceExhausted if the system cannot
  // start all threads on those processors; threads that were started have ended then.
  Status start(unsigned count, std::span<const Processors> on = {}) noexcept;
  // Ends the threads and waits for them; each finishes the piece of work it runs. Call once.
  void stop() noexcept;

 private:
  RingGroup& group_;
  std::unique_ptr<base::Thread[]> threads_;
  unsigned count_ = 0;
};

}  // namespace halyard::inline v0::cpu
