// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a CallSite (base/native_call.h) gets into call_sites(): its address is a constant in a
// section of the object file, whose ends the linker names. On systems whose linker may not do so, a
// static constructor links it into a list.
//
//     HALYARD_LIST_CALL_SITE(kOpen_listed, kOpen);
#pragma once

#include "halyard/base/export.h"

namespace halyard::inline v0::base {

struct CallSite;

// A Mach-O section has a segment, and a name of at most 16 characters.
#if defined(__APPLE__)
#define HALYARD_LIST_CALL_SITE(identifier, site) \
  [[gnu::section("__DATA,__hy_calls"),           \
    gnu::used]] constexpr const ::halyard::base::CallSite* identifier = &site
#elif !defined(HALYARD_POSIX)
#define HALYARD_LIST_CALL_SITE(identifier, site) \
  [[gnu::section("halyard_call_sites"),          \
    gnu::used]] constexpr const ::halyard::base::CallSite* identifier = &site
#else
#define HALYARD_LIST_CALL_SITE(identifier, site) \
  const ::halyard::base::detail::ListedCallSite identifier(site)

namespace detail {

class HALYARD_EXPORT ListedCallSite {
 public:
  explicit ListedCallSite(const CallSite& its) noexcept;
  const CallSite& site;
  const ListedCallSite* const next;
};

}  // namespace detail
#endif

}  // namespace halyard::inline v0::base
