// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/arena.h"

#include <cerrno>

#include "base/native_call.h"

namespace halyard::inline v0::hal {
namespace {

HALYARD_CALL_SITE(kResize, "arena.resize", ENOMEM);

}  // namespace

void* detail::resize(void* memory, std::size_t size) noexcept {
  return base::native_call(kResize, [&] { return std::realloc(memory, size); });
}

}  // namespace halyard::inline v0::hal
