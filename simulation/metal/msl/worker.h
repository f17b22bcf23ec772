// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worker: a stack on which threads of kernels run, one after the other. Its lowest address holds
// the state that a kernel finds from its stack pointer.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "simulation/fiber.h"
#include "simulation/metal/msl/kernel_source.h"
#include "simulation/metal/msl/shim/abi.h"

namespace halyard::inline v0::sim::msl {

class Group;

class Worker {
 public:
  // The state at the lowest address. Kernels read `call` without a check.
  struct Base {
    __hy_state state;
    Worker* worker;
    Call call;
  };
  static_assert(sizeof(Base) <= 4096);

  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Base& base() noexcept { return *reinterpret_cast<Base*>(memory_); }
  Fiber& fiber() noexcept { return *fiber_; }
  static Worker& of(__hy_state* state) noexcept { return *reinterpret_cast<Base*>(state)->worker; }
  // The worker whose stack contains `address`. Precondition: `address` is on a worker's stack.
  static Worker& at(std::uint64_t address) noexcept {
    return *reinterpret_cast<Base*>(address & ~(__HY_STACK_SIZE - 1))->worker;
  }
  std::uint64_t stack_begin() const noexcept { return reinterpret_cast<std::uint64_t>(memory_); }
  std::uint64_t stack_top() const noexcept { return stack_begin() + __HY_STACK_SIZE; }
  // Resets the stack after a thread that does not continue.
  void restart() noexcept;

  Group* group = nullptr;
  std::uint32_t thread = 0;  // the thread of the group that runs here
  bool broken = false;       // a thread stopped in the middle

  // Take and return workers from a store of idle workers.
  static std::unique_ptr<Worker> take();
  static void give(std::unique_ptr<Worker> worker);

 private:
  static void body(void* worker);

  std::byte* memory_ = nullptr;
  std::unique_ptr<Fiber> fiber_;
};

}  // namespace halyard::inline v0::sim::msl
