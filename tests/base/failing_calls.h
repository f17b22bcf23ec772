// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <string_view>
#include <thread>

#include "base/native_call.h"

namespace halyard::testing {

struct FailingCallsObserver final : base::CallObserver {
  int before(const base::CallSite& its) noexcept override {
    if (its.name == "futex.wait") ++sleeps;
    if (!on || &its != site || (++calls != only && only != 0)) return 0;
    ++failed;
    return its.error;
  }
  std::atomic<const base::CallSite*> site{nullptr};
  std::atomic<bool> on{true};
  std::atomic<int> only{0}, calls{0}, failed{0}, sleeps{0};
};

// While an object exists and is on, native calls of one site fail: all of them, or only the n-th.
// Also counts the sleeps. Only one object may exist at a time. Threads may call the observer after
// its object is destroyed, so the observer is static.
class FailingCalls final {
 public:
  explicit FailingCalls(std::string_view site = {}, int only = 0) {
    observer.site = nullptr;
    observer.calls = observer.failed = observer.sleeps = 0;
    observer.only = only;
    observer.on = true;
    for (const base::CallSite* it : base::call_sites()) {
      if (it->name == site) observer.site = it;
    }
    base::observe_calls(&observer);
  }
  ~FailingCalls() {
    base::observe_calls(nullptr);
    observer.site = nullptr;
  }
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  void turn(bool on) { observer.on = on; }
  int failed() const { return observer.failed; }
  int sleeps() const { return observer.sleeps; }
  void wait_for_sleeps(int count) const {
    while (observer.sleeps < count) std::this_thread::yield();
  }

 private:
  static inline FailingCallsObserver observer;
};

}  // namespace halyard::testing
