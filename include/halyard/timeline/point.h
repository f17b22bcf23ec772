// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Point: a semaphore and a value of it, as submissions and waits are given them, from the call of a
// user down to the engine.
#pragma once

#include <concepts>
#include <cstdint>

namespace halyard::inline v0::timeline {

class Semaphore;

// A view, valid for the call it is passed to.
class Point {
 public:
  Point() noexcept = default;
  Point(Semaphore* semaphore, std::uint64_t value) noexcept
      : semaphore_(semaphore), value_(value) {}
  // Takes a handle: hal::Semaphore.
  template <class Handle>
    requires requires(const Handle& handle) {
      { handle.object() } -> std::same_as<Semaphore*>;
    }
  Point(const Handle& handle, std::uint64_t value) noexcept : Point(handle.object(), value) {}

  Semaphore* semaphore() const noexcept { return semaphore_; }
  std::uint64_t value() const noexcept { return value_; }

 private:
  Semaphore* semaphore_ = nullptr;
  std::uint64_t value_ = 0;
};

}  // namespace halyard::inline v0::timeline
