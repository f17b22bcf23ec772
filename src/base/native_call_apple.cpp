// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/native_call.h"

// The names by which Apple's linker knows the ends of a section.
extern "C" {
[[gnu::visibility("hidden")]] extern const halyard::base::CallSite* const
    halyard_first_call_site[] __asm("section$start$__DATA$__hy_calls");
[[gnu::visibility("hidden")]] extern const halyard::base::CallSite* const
    halyard_last_call_site[] __asm("section$end$__DATA$__hy_calls");
}

namespace halyard::inline v0::base {

constinit std::atomic<CallObserver*> detail::call_observer{nullptr};

std::span<const CallSite* const> call_sites() noexcept {
  return {halyard_first_call_site, halyard_last_call_site};
}

}  // namespace halyard::inline v0::base
