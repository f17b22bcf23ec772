// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An unpredictable random number.
#pragma once

#include <cstdint>

namespace halyard::inline v0::base {

// Returns false, with the error in errno, if the system has no random number. From any thread.
bool random_number(std::uint64_t& number) noexcept;

}  // namespace halyard::inline v0::base
