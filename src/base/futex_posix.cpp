// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/futex.h"

#include "base/futex_table.h"

namespace halyard::inline v0::base {

bool futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                Nanoseconds deadline) noexcept {
  return futex_table_wait(word, expected, deadline);
}

void futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  futex_table_wake(word, count);
}

}  // namespace halyard::inline v0::base
