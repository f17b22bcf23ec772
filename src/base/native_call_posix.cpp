// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/native_call.h"

#include <cstddef>
#include <new>

namespace halyard::inline v0::base {
namespace {

// Constructors run before main(), and as libraries are opened, on one thread at a time.
constinit const detail::ListedCallSite* last_listed = nullptr;
constinit std::size_t listed_count = 0;

}  // namespace

constinit std::atomic<CallObserver*> detail::call_observer{nullptr};

detail::ListedCallSite::ListedCallSite(const CallSite& its) noexcept
    : site(its), next(last_listed) {
  last_listed = this;
  ++listed_count;
}

// The sites of the first call; empty if there is no memory for them. Never freed.
std::span<const CallSite* const> call_sites() noexcept {
  static const std::span<const CallSite* const> all = [] {
    auto* const sites = new (std::nothrow) const CallSite*[listed_count];
    std::size_t count = 0;
    for (auto* it = last_listed; sites != nullptr && it != nullptr; it = it->next) {
      sites[count++] = &it->site;
    }
    return std::span<const CallSite* const>(sites, count);
  }();
  return all;
}

}  // namespace halyard::inline v0::base
