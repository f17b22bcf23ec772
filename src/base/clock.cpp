// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/base/clock.h"

#include <cstddef>
#include <new>

namespace halyard::inline v0 {
namespace {

class SteadyClock final : public Clock {
 public:
  Nanoseconds now() noexcept override {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

}  // namespace

Clock& Clock::steady() noexcept {
  // Never destroyed: threads may read the time while the program ends.
  alignas(SteadyClock) static std::byte memory[sizeof(SteadyClock)];
  static Clock* const clock = ::new (memory) SteadyClock;
  return *clock;
}

}  // namespace halyard::inline v0
