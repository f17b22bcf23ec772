// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fiber: runs a function on its own stack, on the thread that resumes it. A switch takes a few
// nanoseconds, because it makes no system call, unlike swapcontext(3). Each switch is announced to
// AddressSanitizer and ThreadSanitizer.
#pragma once

#include <cstddef>

namespace halyard::inline v0::sim {

class Fiber {
 public:
  // The calling thread itself, to switch away from and back to.
  Fiber() noexcept;
  // Starts body(argument) when it is first switched to; body never returns, but switches away for
  // the last time. Aborts if there is no memory for the stack.
  Fiber(void (*body)(void* argument), void* argument);
  // The same, but on memory of the caller, which outlives the fiber. `size` is a multiple of 16.
  Fiber(void (*body)(void* argument), void* argument, std::byte* stack, std::size_t size);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Sets another body on the same stack. Precondition: the previous body has switched away for the
  // last time.
  void restart(void (*body)(void* argument), void* argument) noexcept;

  // Whether `address` is in its stack, but not in the frame of an active function. Precondition: it
  // does not run now.
  bool has_left(const void* address) const noexcept {
    return address >= stack_ && address < stack_pointer_;
  }
  bool owns(const void* address) const noexcept {
    return stack_ != nullptr && address >= stack_ && address < stack_ + memory_size_;
  }

  // Switches from `from`, which runs now, to `to`; returns when a fiber switches back. With `last`,
  // `from` will not run again.
  static void switch_to(Fiber& from, Fiber& to, bool last = false) noexcept;

 private:
  static constexpr std::size_t kStackSize = 256 * 1024;  // touched pages only
  static void enter() noexcept;

  void* stack_pointer_ = nullptr;
  std::byte* stack_ = nullptr;   // null: the thread's own
  std::size_t memory_size_ = 0;  // of stack_, with its guard page
  bool owns_memory_ = false;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  // The sanitizers' records of the fiber.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* stack_bottom_ = nullptr;
  [[maybe_unused]] std::size_t stack_size_ = 0;
  [[maybe_unused]] void* tsan_ = nullptr;
};

}  // namespace halyard::inline v0::sim
