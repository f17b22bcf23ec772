// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/native_call.h"

// The linker collects the pointers of HALYARD_CALL_SITE in a section, and names its ends.
extern "C" {
[[gnu::visibility(
    "hidden")]] extern const halyard::base::CallSite* const __start_halyard_call_sites[];
[[gnu::visibility(
    "hidden")]] extern const halyard::base::CallSite* const __stop_halyard_call_sites[];
}

namespace halyard::inline v0::base {

constinit std::atomic<CallObserver*> detail::call_observer{nullptr};

std::span<const CallSite* const> call_sites() noexcept {
  return {__start_halyard_call_sites, __stop_halyard_call_sites};
}

}  // namespace halyard::inline v0::base
