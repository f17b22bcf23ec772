// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/functions.h"

#include "drivers/hip/loader.h"
#include "drivers/hip/physical_device.h"

namespace halyard::inline v0::hip {
namespace {

#define HALYARD_HIP_LIST(function, error, parameters) \
  HALYARD_LIST_CALL_SITE(function##_listed, call_site::function);
HALYARD_HIP_NEWEST(HALYARD_HIP_LIST)
HALYARD_HIP_FUNCTIONS(HALYARD_HIP_LIST)
HALYARD_HIP_OPTIONAL(HALYARD_HIP_LIST)
HALYARD_HIP_ENDING(HALYARD_HIP_LIST)
#undef HALYARD_HIP_LIST

}  // namespace

hipError_t Functions::end() const noexcept {
  const int result = fault.load(std::memory_order_relaxed);
  return result != hipSuccess ? static_cast<hipError_t>(result)
         : has_ended()        ? hipErrorDeinitialized
                              : hipSuccess;
}

const char* Functions::load(void* library) noexcept {
#define HALYARD_HIP_FIND(function, error, parameters) \
  function.pointer = reinterpret_cast<hipError_t(*) parameters>(find_symbol(library, #function));
#define HALYARD_HIP_NEED(function, error, parameters) \
  HALYARD_HIP_FIND(function, error, parameters)       \
  if (function.pointer == nullptr) return #function;
  HALYARD_HIP_OPTIONAL(HALYARD_HIP_FIND)
  HALYARD_HIP_NEWEST(HALYARD_HIP_NEED)
  HALYARD_HIP_FUNCTIONS(HALYARD_HIP_NEED)
  HALYARD_HIP_ENDING(HALYARD_HIP_NEED)
#undef HALYARD_HIP_NEED
#undef HALYARD_HIP_FIND
  return nullptr;
}

}  // namespace halyard::inline v0::hip
