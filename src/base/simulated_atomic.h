// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// base::Atomic of a simulation build: std::atomic whose every access is a schedule point, where the
// simulation may let another thread run. Sequentially consistent, whatever order is named: weak
// memory is not simulated.
#pragma once

#include <atomic>
#include <cstdint>

namespace halyard::inline v0::base {

// Schedule points until the scheduler decides anew. Outside a simulation nobody counts.
extern constinit std::int64_t schedule_points_left;
// Lets the scheduler decide. Defined by src/sim.
void decide_schedule() noexcept;
// Whether a compare_exchange_weak fails although the value is the expected one.
bool weak_exchange_fails() noexcept;
// A turn of a spin loop: others run first.
void spin_pause() noexcept;
inline void spin_yield() noexcept { spin_pause(); }

inline void schedule_point() noexcept {
  if (--schedule_points_left < 0) [[unlikely]]
    decide_schedule();
}

template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const noexcept {
    schedule_point();
    return value_.load();
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point();
    value_.store(value);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point();
    return value_.exchange(value);
  }
  template <class... Orders>
  bool compare_exchange_strong(T& expected, T value, Orders...) noexcept {
    schedule_point();
    return value_.compare_exchange_strong(expected, value);
  }
  template <class... Orders>
  bool compare_exchange_weak(T& expected, T value, Orders...) noexcept {
    schedule_point();
    if (weak_exchange_fails()) {
      expected = value_.load();
      return false;
    }
    return value_.compare_exchange_strong(expected, value);
  }
  template <class U>
  T fetch_add(U value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point();
    return value_.fetch_add(value);
  }
  template <class U>
  T fetch_sub(U value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point();
    return value_.fetch_sub(value);
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point();
    return value_.fetch_or(value);
  }
  T fetch_and(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point();
    return value_.fetch_and(value);
  }

  // The value, without a schedule point.
  T peek() const noexcept { return value_.load(); }

 private:
  std::atomic<T> value_{};
};

}  // namespace halyard::inline v0::base
