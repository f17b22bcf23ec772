// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeFunction: a function of a native library that is called through the seam of native calls,
// with its own call site.
#pragma once

#include <string_view>

#include "base/native_call.h"

namespace halyard::inline v0::stream {

template <class Pointer, const base::CallSite& kSite>
struct NativeFunction {
  Pointer pointer = nullptr;  // null: an optional function that the library lacks

  // "cuMemAlloc", of the call site "cuda.cuMemAlloc".
  static constexpr std::string_view name() noexcept {
    return kSite.name.substr(kSite.area().size() + 1);
  }

  template <class... Arguments>
  auto operator()(Arguments... arguments) const noexcept {
    return base::native_call(kSite, [&]() noexcept { return pointer(arguments...); });
  }
};

}  // namespace halyard::inline v0::stream
