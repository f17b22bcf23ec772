// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/random_number.h"

#include <sys/random.h>

#include <cerrno>

#include "base/native_call.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kRandom, "cache.random", ENOSYS);

}  // namespace

bool random_number(std::uint64_t& number) noexcept {
  return native_call(kRandom, [&] { return ::getrandom(&number, sizeof number, 0); }) ==
         sizeof number;
}

}  // namespace halyard::inline v0::base
