// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Since macOS 14.4 and iOS 17.4 the system has calls on addresses (<os/os_sync_wait_on_address.h>
// in Apple's SDK). They are looked up, so that the library runs on earlier systems: there, threads
// sleep in the table. One of the two serves the whole process.
#include "base/futex.h"

#include <dlfcn.h>

#include <cerrno>
#include <climits>
#include <cstddef>

#include "base/futex_table.h"
#include "base/native_call.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kFind, "futex.find", ENOENT);
HALYARD_CALL_SITE(kWait, "futex.wait_on_address", EINTR);
HALYARD_CALL_SITE(kWake, "futex.wake_by_address", 0, Failing::kErrno,
                  "a wake fails only if no thread sleeps, or for an invalid address");

// Values of <os/os_sync_wait_on_address.h> and <os/clock.h>.
constexpr std::uint32_t kThisProcess = 0;        // OS_SYNC_WAIT_ON_ADDRESS_NONE
constexpr std::uint32_t kMachAbsoluteTime = 32;  // OS_CLOCK_MACH_ABSOLUTE_TIME
constexpr std::size_t kWordSize = sizeof(std::uint32_t);

struct AddressCalls {
  int (*wait)(void*, std::uint64_t value, std::size_t, std::uint32_t flags);
  int (*wait_for)(void*, std::uint64_t value, std::size_t, std::uint32_t flags, std::uint32_t clock,
                  std::uint64_t nanoseconds);
  int (*wake_any)(void*, std::size_t, std::uint32_t flags);
  int (*wake_all)(void*, std::size_t, std::uint32_t flags);

  bool complete() const noexcept {
    return wait != nullptr && wait_for != nullptr && wake_any != nullptr && wake_all != nullptr;
  }
};

template <class F>
void find(F*& function, const char* name) noexcept {
  function = reinterpret_cast<F*>(native_call(kFind, [&] { return ::dlsym(RTLD_DEFAULT, name); }));
}

// Null if the system lacks one of them.
const AddressCalls* address_calls() noexcept {
  static const AddressCalls calls = [] {
    AddressCalls found;
    find(found.wait, "os_sync_wait_on_address");
    find(found.wait_for, "os_sync_wait_on_address_with_timeout");
    find(found.wake_any, "os_sync_wake_by_address_any");
    find(found.wake_all, "os_sync_wake_by_address_all");
    return found;
  }();
  return calls.complete() ? &calls : nullptr;
}

void* address_of(const Atomic<std::uint32_t>& word) noexcept {
  return const_cast<Atomic<std::uint32_t>*>(&word);
}

}  // namespace

bool futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                Nanoseconds deadline) noexcept {
  const AddressCalls* const calls = address_calls();
  if (calls == nullptr) return futex_table_wait(word, expected, deadline);
  full_fence();  // the caller's announcement is visible before its word is read
  void* const address = address_of(word);
  if (deadline == Deadline::kForeverTime) {
    native_call(kWait, [&] { return calls->wait(address, expected, kWordSize, kThisProcess); });
    return true;
  }
  // Passes the remaining time, because the deadline and the call use different clocks. A time of 0
  // is an error (EINVAL).
  if (deadline <= 0) return false;
  const Nanoseconds left = deadline - Clock::steady().now();
  if (left <= 0) return false;
  const int result = native_call(kWait, [&] {
    return calls->wait_for(address, expected, kWordSize, kThisProcess, kMachAbsoluteTime,
                           static_cast<std::uint64_t>(left));
  });
  return result >= 0 || Clock::steady().now() < deadline;
}

void futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  const AddressCalls* const calls = address_calls();
  if (calls == nullptr) return futex_table_wake(word, count);
  void* const address = address_of(word);
  if (count == INT_MAX) {
    native_call(kWake, [&] { return calls->wake_all(address, kWordSize, kThisProcess); });
    return;
  }
  // The call fails with ENOENT once no thread sleeps on the address.
  while (count-- > 0 && native_call(kWake, [&] {
                          return calls->wake_any(address, kWordSize, kThisProcess);
                        }) >= 0) {
  }
}

}  // namespace halyard::inline v0::base
