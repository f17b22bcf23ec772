// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The prologue of every exported function: counts the call, injects faults, and returns the errors
// that every function can return.
#pragma once

#include "simulation/gpu/report.h"
#include "simulation/gpu/state.h"

namespace halyard::inline v0::sim::gpu {

// A function's requirements of its caller; flags that are or'ed.
enum Need : unsigned {
  kAnytime = 0,          // works before cuInit
  kInitialized = 1,      // after cuInit
  kCurrent = 3,          // a context is current in this thread, and has no sticky error
  kCurrentFaulty = 5,    // a context is current; it may have a sticky error
  kUnsafeInCapture = 8,  // forbidden while a capture is in progress that is not relaxed
  kUnlocked = 16,        // uses only thread-local and atomic data, so the State is not locked
  // After cuInit. A handle or an address identifies the context, so no context need be current. If
  // a context is current, its sticky error is returned nevertheless.
  kNamed = 33,
};

class Call {
 public:
  // Locks the State, unless `needs` says otherwise.
  Call(Entry& entry, unsigned needs) {
    const bool locks = (needs & kUnlocked) == 0;
    if (locks) lock_ = Lock(state().mutex);
    const std::uint64_t number = locks ? entry.count_locked() : entry.count();
    ThreadState& thread = this_thread();
    if (thread.is_in_host_function || entry.may_fail()) [[unlikely]] {
      refusal_ = refuse(entry, number);
      if (refusal_ != kSuccess) return;
    }
    if ((needs & kInitialized) != 0) refusal_ = check(thread, needs);
  }

  bool is_refused() const { return refusal_ != kSuccess; }
  Result refusal() const { return refusal_; }
  Lock& lock() { return lock_; }
  // Precondition: kCurrent or kCurrentFaulty.
  ContextState& context() const { return *context_; }
  ContextState* context_or_null() const { return context_; }

  // The check of kUnsafeInCapture.
  static Result check_captures(const ThreadState& thread);

 private:
  // Injected faults, and calls inside host functions.
  static Result refuse(const Entry& entry, std::uint64_t number);
  Result check(const ThreadState& thread, unsigned needs) {
    const State& all = state();
    if (!all.is_initialized.load(std::memory_order_acquire)) return kNotInitialized;
    if (const Result lost = all.lost.load(std::memory_order_relaxed); lost != kSuccess) return lost;
    context_ = thread.current();
    if ((needs & (kCurrent | kCurrentFaulty)) != kInitialized) {
      if (context_ == nullptr) return kInvalidContext;
      if (context_->is_destroyed.load()) return kContextIsDestroyed;
      if ((needs & kCurrent) == kCurrent) {
        if (const Result fault = context_->sticky.load(); fault != kSuccess) return fault;
      }
    } else if ((needs & kNamed) == kNamed && context_ != nullptr) {
      const Result fault = context_->sticky.load();
      if (fault != kSuccess && !context_->is_destroyed.load()) return fault;
    }
    return (needs & kUnsafeInCapture) != 0 ? check_captures(thread) : kSuccess;
  }

  Lock lock_;
  ContextState* context_ = nullptr;
  Result refusal_ = kSuccess;
};

#define HALYARD_GPU_EXPORT extern "C" __attribute__((visibility("default")))

// The first statement of a function: counts it, and returns if it is refused.
#define HALYARD_GPU_CALL(name, needs)             \
  static constinit Entry call_entry(#name, true); \
  Call call(call_entry, needs);                   \
  if (call.is_refused()) return call.refusal()

#define HALYARD_GPU_REQUIRE(condition, result) \
  if (!(condition)) return result

}  // namespace halyard::inline v0::sim::gpu
