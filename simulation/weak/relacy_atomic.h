// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// base::Atomic of a build for Relacy (D. Vyukov, 2008), a checker that runs threads as fibers in
// its own order and returns for each load any value that the C++11 memory model allows. Every
// access is forwarded with its memory order and its place in the source. The functions are in
// simulation/weak/weak_memory.cpp, since Relacy's headers conflict with others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

namespace halyard::inline v0::base {

using Site = std::source_location;

// One atomic object of the model. A static, constant-initialised object is reset to 0 when a run
// first accesses it.
class ModelWord {
 public:
  constexpr explicit ModelWord(std::uint64_t value) noexcept
      : is_static_(std::is_constant_evaluated()) {
    if (!is_static_) construct(value);
  }
  ModelWord(const ModelWord&) = delete;
  ModelWord& operator=(const ModelWord&) = delete;
  ~ModelWord();

  std::uint64_t load(std::memory_order order, const Site& site) noexcept;
  void store(std::uint64_t value, std::memory_order order, const Site& site) noexcept;
  std::uint64_t exchange(std::uint64_t value, std::memory_order order, const Site& site) noexcept;
  std::uint64_t add(std::uint64_t value, std::memory_order order, const Site& site) noexcept;
  std::uint64_t bit_and(std::uint64_t value, std::memory_order order, const Site& site) noexcept;
  std::uint64_t bit_or(std::uint64_t value, std::memory_order order, const Site& site) noexcept;
  bool compare_exchange(std::uint64_t& expected, std::uint64_t value, std::memory_order success,
                        std::memory_order failure, bool weak, const Site& site) noexcept;
  // The last value in modification order; not an access of the model.
  std::uint64_t latest() noexcept;

 private:
  friend struct ModelAccess;
  void construct(std::uint64_t value) noexcept;

  static constexpr std::size_t kSize = 64;
  alignas(8) std::byte storage_[kSize]{};
  std::uint64_t run_ = 0;  // of a static: the run that initialised it
  const bool is_static_;
};

// Memory that is not atomic. Two unordered accesses, one of them a write, are a failure.
class ModelVariable {
 public:
  explicit ModelVariable(int value) noexcept;
  ModelVariable(const ModelVariable&) = delete;
  ModelVariable& operator=(const ModelVariable&) = delete;
  ~ModelVariable();
  int read(const Site& site) const noexcept;
  void write(int value, const Site& site) noexcept;

 private:
  alignas(8) mutable std::byte storage_[40];
};

void model_fence(std::memory_order order, const Site& site) noexcept;

// One round of a spin loop: lets other threads run first, whose writes become visible eventually.
void spin_pause() noexcept;
inline void spin_yield() noexcept { spin_pause(); }

template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept : word_(0) {}
  constexpr Atomic(T value) noexcept : word_(to_bits(value)) {}

  T load(std::memory_order order = std::memory_order_seq_cst,
         Site site = Site::current()) const noexcept {
    return from_bits(const_cast<ModelWord&>(word_).load(order, site));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst,
             Site site = Site::current()) noexcept {
    word_.store(to_bits(value), order, site);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst,
             Site site = Site::current()) noexcept {
    return from_bits(word_.exchange(to_bits(value), order, site));
  }
  bool compare_exchange_strong(T& expected, T value,
                               std::memory_order order = std::memory_order_seq_cst,
                               Site site = Site::current()) noexcept {
    return compare_exchange(expected, value, order, on_failure(order), false, site);
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order success,
                               std::memory_order failure, Site site = Site::current()) noexcept {
    return compare_exchange(expected, value, success, failure, false, site);
  }
  bool compare_exchange_weak(T& expected, T value,
                             std::memory_order order = std::memory_order_seq_cst,
                             Site site = Site::current()) noexcept {
    return compare_exchange(expected, value, order, on_failure(order), true, site);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order success,
                             std::memory_order failure, Site site = Site::current()) noexcept {
    return compare_exchange(expected, value, success, failure, true, site);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst,
              Site site = Site::current()) noexcept {
    return from_bits(word_.add(to_bits(value), order, site));
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst,
              Site site = Site::current()) noexcept {
    return from_bits(word_.add(-to_bits(value), order, site));
  }
  T fetch_or(T value, std::memory_order order = std::memory_order_seq_cst,
             Site site = Site::current()) noexcept {
    return from_bits(word_.bit_or(to_bits(value), order, site));
  }
  T fetch_and(T value, std::memory_order order = std::memory_order_seq_cst,
              Site site = Site::current()) noexcept {
    return from_bits(word_.bit_and(to_bits(value), order, site));
  }
  T peek() const noexcept { return from_bits(const_cast<ModelWord&>(word_).latest()); }

 private:
  static std::memory_order on_failure(std::memory_order order) noexcept {
    return order == std::memory_order_acq_rel   ? std::memory_order_acquire
           : order == std::memory_order_release ? std::memory_order_relaxed
                                                : order;
  }
  bool compare_exchange(T& expected, T value, std::memory_order success, std::memory_order failure,
                        bool weak, const Site& site) noexcept {
    std::uint64_t bits = to_bits(expected);
    const bool done = word_.compare_exchange(bits, to_bits(value), success, failure, weak, site);
    expected = from_bits(bits);
    return done;
  }
  static constexpr std::uint64_t to_bits(T value) noexcept {
    if constexpr (std::is_pointer_v<T>) {
      return value == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
  // Narrow words do not overflow in the programs that are run.
  static T from_bits(std::uint64_t bits) noexcept {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(bits);
    } else {
      return static_cast<T>(bits);
    }
  }

  ModelWord word_;
};

template <class T>
void only_when(const Atomic<T>&, std::type_identity_t<T>) noexcept {}

}  // namespace halyard::inline v0::base
