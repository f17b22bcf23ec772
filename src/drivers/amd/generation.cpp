// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/amd/generation.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace halyard::inline v0::amd {

Result<Generation> generation_of(std::string_view processor) {
  if (processor == "gfx942") return Generation::kGfx942;
  constexpr std::array<std::string_view, 4> gfx11{"gfx1100", "gfx1101", "gfx1102", "gfx1103"};
  if (std::ranges::find(gfx11, processor) != gfx11.end()) return Generation::kGfx11;
  return error(StatusCode::kUnimplemented,
               "amd: no packets for {}; there are those of gfx942 and of gfx1100 to gfx1103",
               processor);
}

Status check_address(const hcq::Operand& address, std::uint64_t alignment, std::string_view what) {
  if (address.symbolic()) return Status();
  const std::uint64_t value = address.resolve();
  if (value % alignment != 0) {
    return error(StatusCode::kInvalidArgument, "amd: {} {:#x} is not a multiple of {}", what, value,
                 alignment);
  }
  if (value >> 48 != 0)
    return error(StatusCode::kOutOfRange, "amd: {} {:#x} has more than 48 bits", what, value);
  return Status();
}

Status check_at_most(const hcq::Operand& value, std::uint64_t maximum, std::string_view what) {
  if (value.symbolic() || value.resolve() <= maximum) return Status();
  return error(StatusCode::kOutOfRange, "amd: {} {} exceeds {}", what, value.resolve(), maximum);
}

}  // namespace halyard::inline v0::amd
