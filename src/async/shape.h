// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and tiles: their text and their size in memory.
#pragma once

#include <cstdint>
#include <string>

#include "halyard/base/result.h"
#include "halyard/hal/launch.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

// "16 x 16"; "()" without dimensions
std::string text_of(const hal::Extents& extents, const char* between = " x ");
// The size of a dense array. kOutOfRange for 2^64 bytes or more, kInvalidArgument for more than
// hal::kMaxTensorRank dimensions.
Result<std::uint64_t> byte_size(const hal::Extents& shape, kernel::ElementType type);

}  // namespace halyard::inline v0::async::detail
