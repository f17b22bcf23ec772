// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "base/sanitizers.h"

#if HALYARD_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if HALYARD_TSAN
#include <sanitizer/tsan_interface.h>
#endif

// halyard_switch_stack(void** save, void* load): pushes the registers that a call preserves, stores
// the stack pointer to *save, continues with `load` (System V ABI for AMD64, 3.2.1; AAPCS64, 6.1).
extern "C" void halyard_switch_stack(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
.text
.globl halyard_switch_stack
.hidden halyard_switch_stack
.type halyard_switch_stack,@function
halyard_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size halyard_switch_stack,.-halyard_switch_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl halyard_switch_stack
.hidden halyard_switch_stack
.type halyard_switch_stack,%function
halyard_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size halyard_switch_stack,.-halyard_switch_stack
)");
#else
#error "sim: no switch of stacks for this processor"
#endif

namespace halyard::inline v0::sim {
namespace {

constinit thread_local Fiber* entering = nullptr;  // whose body starts after the switch
constinit thread_local Fiber* left = nullptr;      // switched to the fiber that runs now
#if HALYARD_ASAN
// A fiber may go on in another thread than that in which it left. A compiler that sees no call may
// keep the address that the variable has in the former.
[[gnu::noinline]] Fiber& left_in_this_thread() noexcept {
  asm volatile("");
  return *left;
}
#endif

}  // namespace

Fiber::Fiber() noexcept {
#if HALYARD_TSAN
  tsan_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(void (*body)(void*), void* argument) {
  void* const memory = ::mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  (void)::mprotect(memory, 4096, PROT_NONE);  // an overflow faults
  stack_ = static_cast<std::byte*>(memory);
  memory_size_ = kStackSize;
  owns_memory_ = true;
  stack_bottom_ = stack_ + 4096;
  stack_size_ = kStackSize - 4096;
  restart(body, argument);
}

Fiber::Fiber(void (*body)(void*), void* argument, std::byte* stack, std::size_t size)
    : stack_(stack), memory_size_(size) {
  stack_bottom_ = stack;
  stack_size_ = size;
  restart(body, argument);
}

void Fiber::restart(void (*body)(void*), void* argument) noexcept {
  body_ = body;
  argument_ = argument;
#if HALYARD_ASAN
  __asan_unpoison_memory_region(stack_bottom_, stack_size_);
#endif
#if HALYARD_TSAN
  if (tsan_ != nullptr) __tsan_destroy_fiber(tsan_);
  tsan_ = __tsan_create_fiber(0);
#endif
  auto* top = reinterpret_cast<std::uintptr_t*>(stack_ + memory_size_);
#if defined(__x86_64__)
  *--top = 0;  // so that enter() finds the stack as after a call
  *--top = reinterpret_cast<std::uintptr_t>(&enter);
  for (int i = 0; i < 6; ++i) *--top = 0;
#else
  for (int i = 0; i < 20; ++i) *--top = 0;
  top[11] = reinterpret_cast<std::uintptr_t>(&enter);  // x30
#endif
  stack_pointer_ = top;
}

Fiber::~Fiber() {
  if (stack_ == nullptr) return;
#if HALYARD_TSAN
  __tsan_destroy_fiber(tsan_);
#endif
  if (owns_memory_) ::munmap(stack_, memory_size_);
}

void Fiber::switch_to(Fiber& from, Fiber& to, [[maybe_unused]] bool last) noexcept {
  entering = &to;
  left = &from;
#if HALYARD_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack_, to.stack_bottom_,
                                 to.stack_size_);
#endif
#if HALYARD_TSAN
  __tsan_switch_to_fiber(to.tsan_, 0);
#endif
  halyard_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#if HALYARD_ASAN
  // The bounds of the thread's own stack are known only from here.
  Fiber& other = left_in_this_thread();
  __sanitizer_finish_switch_fiber(from.fake_stack_, &other.stack_bottom_, &other.stack_size_);
#endif
}

void Fiber::enter() noexcept {
  Fiber& self = *entering;
#if HALYARD_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &left->stack_bottom_, &left->stack_size_);
#endif
  self.body_(self.argument_);
  std::abort();  // a body switches away for the last time
}

}  // namespace halyard::inline v0::sim
