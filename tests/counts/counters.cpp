// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "counts/counters.h"

#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdarg>

#include "base/sanitizers.h"

#if defined(__x86_64__) && !HALYARD_ASAN && !HALYARD_TSAN
#define HALYARD_CAN_STEP 1
#else
#define HALYARD_CAN_STEP 0
#endif

namespace {

constinit thread_local std::uint64_t own_calls = 0;
constinit std::atomic<std::uint64_t> all_calls{0};

void count_call() noexcept {
  ++own_calls;
  all_calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {
long __real_syscall(long number, ...);
int __real_sched_yield();

long __wrap_syscall(long number, ...) {
  count_call();
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                        arguments[4], arguments[5]);
}
int __wrap_sched_yield() {
  count_call();
  return __real_sched_yield();
}
}

namespace halyard::counts {

std::uint64_t system_calls() noexcept { return own_calls; }
std::uint64_t all_system_calls() noexcept { return all_calls.load(std::memory_order_relaxed); }

bool can_step() noexcept { return HALYARD_CAN_STEP != 0; }

#if HALYARD_CAN_STEP
namespace {

Steps counted;
struct sigaction previous;

// Classifies the next instruction: prefixes, then the opcode.
void classify(const unsigned char* code) noexcept {
  bool locked = false, wide = false;
  for (;; ++code) {
    if ((*code & 0xf0) == 0x40) {  // REX
      wide = (*code & 8) != 0;
      continue;
    }
    switch (*code) {
      case 0xf0:
        locked = true;
        continue;
      case 0x66:
      case 0x67:
      case 0xf2:
      case 0xf3:
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
        continue;
      default:
        break;
    }
    break;
  }
  const bool two_bytes = code[0] == 0x0f;
  const bool exchange = (code[0] == 0x86 || code[0] == 0x87) && code[1] >> 6 != 3;
  if (locked || exchange) ++counted.read_modify_writes;
  if (locked && two_bytes && code[1] == 0xb1 && !wide) ++counted.locks;
  if (two_bytes && code[1] == 0x05) ++counted.system_calls;
}

void on_trap(int, siginfo_t*, void* context) noexcept {
  ++counted.instructions;
  classify(reinterpret_cast<const unsigned char*>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
}

}  // namespace

// Sets the trap flag of the processor: a SIGTRAP after each instruction, none inside its handler.
// First moves the stack pointer past the red zone.
void detail::start_stepping() noexcept {
  counted = {};
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &previous);
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
      "leaq 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}

Steps detail::stop_stepping() noexcept {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n"
      "leaq 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  sigaction(SIGTRAP, &previous, nullptr);
  return counted;
}
#else
void detail::start_stepping() noexcept {}
Steps detail::stop_stepping() noexcept { return {}; }
#endif

}  // namespace halyard::counts
