// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeCalls: counts the calls of this driver while it lives, and makes them fail. Only one may
// exist at a time. Threads of the runtime may call the observer after a test, so the observer is
// static.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/native_call.h"
#include "base/thread.h"

namespace halyard::cuda {

struct NativeCallsObserver final : base::CallObserver {
  int before(const base::CallSite& site) noexcept override {
    if (site.area() != "cuda") return 0;
    const auto sites = base::call_sites();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (sites[i] == &site) ++counts[i];
    }
    if (base::this_thread() != thread) ++elsewhere;
    if (left == 0 || &site != failing) return 0;
    --left;
    return error;
  }
  std::array<std::atomic<int>, 512> counts{};  // by the index in base::call_sites()
  std::atomic<std::uint64_t> thread{0};
  std::atomic<int> elsewhere{0}, error{0}, left{0};
  std::atomic<const base::CallSite*> failing{nullptr};
};

class NativeCalls {
 public:
  NativeCalls() {
    observer.thread = base::this_thread();
    reset();
    base::observe_calls(&observer);
  }
  ~NativeCalls() {
    base::observe_calls(nullptr);
    observer.left = 0;
  }
  NativeCalls(const NativeCalls&) = delete;
  NativeCalls& operator=(const NativeCalls&) = delete;

  void reset() {
    for (auto& count : observer.counts) count = 0;
    observer.elsewhere = 0;
  }
  // The calls of all functions whose names begin with `prefix`.
  int count(std::string_view prefix) const {
    const auto sites = base::call_sites();
    const std::string name = "cuda." + std::string(prefix);
    bool found = false;
    int sum = 0;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (!sites[i]->name.starts_with(name)) continue;
      found = true;
      sum += observer.counts.at(i);
    }
    EXPECT_TRUE(found) << "no site " << name;
    return sum;
  }
  // The calls since the last take().
  int take(std::string_view prefix) {
    const int calls = count(prefix);
    reset();
    return calls;
  }
  // The calls on other threads than the creating thread.
  int elsewhere() const { return observer.elsewhere; }

  // The next `times` calls of `function` fail with `error`.
  void fail(std::string_view function, int error, int times) {
    for (const base::CallSite* const site : base::call_sites()) {
      if (site->name == "cuda." + std::string(function)) observer.failing = site;
    }
    observer.error = error;
    observer.left = times;
  }

 private:
  static inline NativeCallsObserver observer;
};

}  // namespace halyard::cuda
