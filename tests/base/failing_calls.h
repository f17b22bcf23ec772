// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <string_view>
#include <thread>

#include "base/native_call.h"

namespace halyard::testing {

// While it exists, and `on` is true, the native calls of one site fail. Also counts the sleeps.
class FailingCalls final : public base::CallObserver {
 public:
  explicit FailingCalls(std::string_view site = {}) : site_(site) { base::observe_calls(this); }
  ~FailingCalls() { base::observe_calls(nullptr); }
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  int before(const base::CallSite& site) noexcept override {
    if (site.name == "futex.wait") ++sleeps;
    if (!on || site.name != site_) return 0;
    ++failed;
    return site.error;
  }

  std::atomic<bool> on{true};
  std::atomic<int> failed{0};

  void wait_for_sleeps(int count) const {
    while (sleeps < count) std::this_thread::yield();
  }
  std::atomic<int> sleeps{0};

 private:
  const std::string_view site_;
};

}  // namespace halyard::testing
