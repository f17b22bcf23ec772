// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/managed.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::gpu {
namespace {

struct Range {
  DevicePointer begin;
  std::size_t size;
};
std::vector<Range>& guarded() {
  static std::vector<Range>* ranges = nullptr;  // guarded by the State's lock
  if (ranges == nullptr) {
    ranges = new std::vector<Range>;
    at_end_of_process([] { delete std::exchange(ranges, nullptr); });
  }
  return *ranges;
}
struct sigaction previous_action;

void protect(const Range& range, int protection) {
  mprotect(reinterpret_cast<void*>(range.begin), range.size, protection);
}

// The lock is held.
void open_all() {
  for (const Range& range : guarded()) protect(range, PROT_READ | PROT_WRITE);
  guarded().clear();
}

// Returns the lock; not owned if the library itself faulted while it held the lock.
Lock lock_in_handler() {
  constexpr int kMostTries = 100'000;
  Lock lock(state().mutex, std::try_to_lock);
  for (int tries = 0; !lock.owns_lock() && tries < kMostTries; ++tries) {
    base::spin_yield();
    (void)lock.try_lock();
  }
  return lock;
}

// A thread of the program touched memory. The fault comes from an instruction of the program, so
// this handler never interrupts the library's own work.
void on_fault(int number, siginfo_t* info, void* where) {
  const auto address = reinterpret_cast<DevicePointer>(info->si_addr);
  Lock lock = lock_in_handler();
  const bool is_guarded =
      lock.owns_lock() && std::ranges::any_of(guarded(), [&](const Range& range) {
        return address >= range.begin && address < range.begin + range.size;
      });
  if (is_guarded) {
    report_misuse(
        "managed-memory-touched",
        "the host touched managed memory while the device, which has no concurrent managed "
        "access, was working or before the host had synchronized with it");
    write_report();
    if (options().strict) return open_all();
  }
  // Call the handler of another simulated library or of the program.
  if (!is_guarded && (previous_action.sa_flags & SA_SIGINFO) != 0) {
    if (lock.owns_lock()) lock.unlock();
    return previous_action.sa_sigaction(number, info, where);
  }
  sigaction(SIGSEGV, &previous_action, nullptr);  // and the instruction faults again
}

}  // namespace

void guard_managed_memory() {
  if (!options().adversarial) return;
  static const bool is_installed = [] {
    struct sigaction action{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGSEGV, &action, &previous_action) == 0;
  }();
  if (!is_installed) return;
  for (const Allocation& managed : memory().managed()) {
    // cuda.h, cuMemAllocManaged and cuStreamAttachMemAsync: the host may access memory that is
    // attached to the host, or to a stream, while other streams work.
    const bool is_known = std::ranges::any_of(
        guarded(), [&](const Range& range) { return range.begin == managed.begin; });
    if (managed.flags != kAttachGlobal || managed.is_freed || is_known) continue;
    const Range range{managed.begin, managed.size};
    protect(range, PROT_NONE);
    guarded().push_back(range);
  }
}

void open_managed_memory() { open_all(); }

void forget_managed_memory(DevicePointer begin) {
  std::erase_if(guarded(), [&](const Range& range) { return range.begin == begin; });
}

void return_managed_memory() {
  if (guarded().empty()) return;
  for (const auto& context : state().contexts) {
    if (!context->is_destroyed.load() && !is_idle(*context)) return;
  }
  open_all();
}

}  // namespace halyard::inline v0::sim::gpu
