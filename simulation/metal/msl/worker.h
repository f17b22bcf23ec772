// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worker: a stack on which threads of kernels run, one after the other. At its lowest address is
// what a kernel finds by its stack pointer.
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
  // What is at the lowest address. Kernels read `call` there without being looked at.
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
  // The worker whose stack has `address`, if it is one: the caller knows that it is.
  static Worker& at(std::uint64_t address) noexcept {
    return *reinterpret_cast<Base*>(address & ~(__HY_STACK_SIZE - 1))->worker;
  }
  std::uint64_t stack_begin() const noexcept { return reinterpret_cast<std::uint64_t>(memory_); }
  std::uint64_t stack_top() const noexcept { return stack_begin() + __HY_STACK_SIZE; }
  // Begins anew after a thread that will not go on.
  void restart() noexcept;

  Group* group = nullptr;
  std::uint32_t thread = 0;  // of the group, that runs here
  bool broken = false;       // a thread stopped in the middle

  // From and to a store of idle workers, for launches to come.
  static std::unique_ptr<Worker> take();
  static void give(std::unique_ptr<Worker> worker);

 private:
  static void body(void* worker);

  std::byte* memory_ = nullptr;
  std::unique_ptr<Fiber> fiber_;
};

}  // namespace halyard::inline v0::sim::msl
