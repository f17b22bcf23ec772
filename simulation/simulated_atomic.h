// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// base::Atomic of a simulation build: a std::atomic whose every access is a schedule point, where
// the simulation may switch to another thread. Every access is sequentially consistent, regardless
// of its order argument: weak memory is not simulated.
//
// simulation/scheduler.h decides at some of the points and ignores the accesses.
// simulation/explore/explorer.h decides at every point, by the accesses that the threads are about
// to make.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace halyard::inline v0::base {

enum class Touch : std::uint8_t { kRead, kWrite };

// Schedule points until the scheduler's next decision; negative while exploring. Unused outside a
// simulation.
extern constinit std::int64_t schedule_points_left;
// Lets the simulation choose a thread before `address` is accessed. Defined by simulation/.
void decide_schedule(const void* address, Touch touch) noexcept;
// True if a compare_exchange_weak is to fail spuriously.
bool weak_exchange_fails() noexcept;
// A round of a spin loop: lets other threads run first.
void spin_pause() noexcept;
inline void spin_yield() noexcept { spin_pause(); }

inline void schedule_point(const void* address, Touch touch) noexcept {
  if (--schedule_points_left < 0) [[unlikely]]
    decide_schedule(address, touch);
}

// True if the word at `address` holds `value`.
using Holds = bool (*)(const void* address, std::uint64_t value) noexcept;
// Defined by simulation/; for only_when().
void delay_next_access(const void* address, Holds holds, std::uint64_t value) noexcept;

template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const noexcept {
    schedule_point(this, Touch::kRead);
    return value_.load();
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point(this, Touch::kWrite);
    value_.store(value);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point(this, Touch::kWrite);
    return value_.exchange(value);
  }
  template <class... Orders>
  bool compare_exchange_strong(T& expected, T value, Orders...) noexcept {
    schedule_point(this, Touch::kWrite);
    return value_.compare_exchange_strong(expected, value);
  }
  template <class... Orders>
  bool compare_exchange_weak(T& expected, T value, Orders...) noexcept {
    schedule_point(this, Touch::kWrite);
    if (weak_exchange_fails()) {
      expected = value_.load();
      return false;
    }
    return value_.compare_exchange_strong(expected, value);
  }
  template <class U>
  T fetch_add(U value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point(this, Touch::kWrite);
    return value_.fetch_add(value);
  }
  template <class U>
  T fetch_sub(U value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point(this, Touch::kWrite);
    return value_.fetch_sub(value);
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point(this, Touch::kWrite);
    return value_.fetch_or(value);
  }
  T fetch_and(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
    schedule_point(this, Touch::kWrite);
    return value_.fetch_and(value);
  }

  // The value, without a schedule point.
  T peek() const noexcept { return value_.load(); }

 private:
  std::atomic<T> value_{};
};

// Lets the explorer skip orders in which the next access would only find that it has to wait.
template <class T>
void only_when(const Atomic<T>& word, std::type_identity_t<T> value) noexcept {
  if (schedule_points_left >= 0) [[likely]]
    return;
  const auto holds = [](const void* address, std::uint64_t expected) noexcept {
    return static_cast<std::uint64_t>(static_cast<const Atomic<T>*>(address)->peek()) == expected;
  };
  delay_next_access(&word, holds, static_cast<std::uint64_t>(value));
}

}  // namespace halyard::inline v0::base
