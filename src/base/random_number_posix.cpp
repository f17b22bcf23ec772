// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/random_number.h"

#include <stdlib.h>

#include "base/native_call.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kRandom, "cache.random", 0, Failing::kErrno, "arc4random_buf(3) has no error");

}  // namespace

// arc4random_buf(3) exists on the BSDs, macOS and iOS, and on Linux since glibc 2.36.
bool random_number(std::uint64_t& number) noexcept {
  native_call(kRandom, [&] { ::arc4random_buf(&number, sizeof number); });
  return true;
}

}  // namespace halyard::inline v0::base
