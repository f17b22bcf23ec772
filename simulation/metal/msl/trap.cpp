// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/trap.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "simulation/metal/msl/group.h"

namespace halyard::inline v0::sim::msl {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction before[std::size(kSignals)];

// The interrupted worker continues here, on its own stack.
void after_trap(Worker* worker, int signal, std::uint64_t address) {
  const char* what = "an illegal instruction, as __builtin_trap is";
  if (signal == SIGSEGV || signal == SIGBUS) {
    const std::uint64_t page = address - worker->stack_begin();
    what = page >= 4096 && page < 8192 ? "the stack is full" : "an address where no memory is";
  } else if (signal == SIGFPE) {
    what = "a division of an integer by zero";
  }
  worker->group->trap(*worker, what, address);
}

void handle(int signal, siginfo_t* info, void* context) {
  auto* const c = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  auto& program_counter = c->uc_mcontext.gregs[REG_RIP];
  auto& stack_pointer = c->uc_mcontext.gregs[REG_RSP];
#else
  auto& program_counter = c->uc_mcontext.pc;
  auto& stack_pointer = c->uc_mcontext.sp;
#endif
  Worker* const worker = Group::running();
  const auto sp = static_cast<std::uint64_t>(stack_pointer);
  if (worker != nullptr && sp >= worker->stack_begin() && sp < worker->stack_top()) {
    // A full stack has no room, and its contents are no longer needed.
    std::uint64_t to = sp;
    if (to < worker->stack_begin() + 16384) to = worker->stack_top() - 4096;
    to = ((to - 512) & ~std::uint64_t{15}) - 8;  // below the red zone, aligned as after a call
#if defined(__x86_64__)
    c->uc_mcontext.gregs[REG_RDI] = reinterpret_cast<greg_t>(worker);
    c->uc_mcontext.gregs[REG_RSI] = signal;
    c->uc_mcontext.gregs[REG_RDX] = reinterpret_cast<greg_t>(info->si_addr);
    program_counter = reinterpret_cast<greg_t>(&after_trap);
    stack_pointer = static_cast<greg_t>(to);
#else
    c->uc_mcontext.regs[0] = reinterpret_cast<std::uint64_t>(worker);
    c->uc_mcontext.regs[1] = static_cast<std::uint64_t>(signal);
    c->uc_mcontext.regs[2] = reinterpret_cast<std::uint64_t>(info->si_addr);
    program_counter = reinterpret_cast<std::uint64_t>(&after_trap);
    stack_pointer = to & ~std::uint64_t{15};
#endif
    return;
  }
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] != signal) continue;
    const struct sigaction& old = before[i];
    if ((old.sa_flags & SA_SIGINFO) != 0) {
      old.sa_sigaction(signal, info, context);
    } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
      old.sa_handler(signal);
    } else {
      ::signal(signal, SIG_DFL);  // the instruction then faults again
    }
  }
}

// The signal stack of a thread, unless the thread already has one.
struct HandlerStack {
  static constexpr std::size_t kSize = 64 * 1024;
  HandlerStack() {
    stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      memory = nullptr;
      return;
    }
    stack_t mine{};
    mine.ss_sp = memory;
    mine.ss_size = kSize;
    (void)::sigaltstack(&mine, nullptr);
  }
  ~HandlerStack() {
    if (memory == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    (void)::sigaltstack(&none, nullptr);
    ::munmap(memory, kSize);
  }
  void* memory = nullptr;
};

}  // namespace

void catch_traps() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      struct sigaction action{};
      action.sa_sigaction = &handle;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      (void)::sigaction(kSignals[i], &action, &before[i]);
    }
  });
  static thread_local HandlerStack stack;
  (void)stack;
}

}  // namespace halyard::inline v0::sim::msl
