// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generations of AMD GPUs whose queues differ, and the checks that their encoders share.
#pragma once

#include <cstdint>
#include <string_view>

#include "halyard/base/result.h"
#include "halyard/hcq/symbol.h"

namespace halyard::inline v0::amd {

enum class Generation : std::uint8_t {
  kGfx942,  // CDNA 3: SDMA 4.4
  kGfx11,   // RDNA 3: SDMA 6.0
};

// The generation of a processor of LLVM's names. Errors: kUnimplemented, naming the processor, for
// all others than gfx942 and gfx1100 to gfx1103.
Result<Generation> generation_of(std::string_view processor);

// Checks of a command's operands; `what` names them in messages ("signal: the address"). A symbol
// is not checked: the code that sets its value checks it.
//   kInvalidArgument    the address is not a multiple of `alignment`
//   kOutOfRange         it does not fit 48 bits, or the value exceeds `maximum`
Status check_address(const hcq::Operand& address, std::uint64_t alignment, std::string_view what);
Status check_at_most(const hcq::Operand& value, std::uint64_t maximum, std::string_view what);

// Where a signal says which event it raises: it writes the event's number there and interrupts.
// KFD's CREATE_EVENT returns both (Linux, include/uapi/linux/kfd_ioctl.h).
struct Mailbox {
  std::uint64_t address = 0;
  std::uint32_t event = 0;
};

}  // namespace halyard::inline v0::amd
