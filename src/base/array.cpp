// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/array.h"

#include <cerrno>

#include "base/native_call.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kResize, "array.resize", ENOMEM);

}  // namespace

void* resize(void* memory, std::size_t size) noexcept {
  return native_call(kResize, [&] { return std::realloc(memory, size); });
}

}  // namespace halyard::inline v0::base
