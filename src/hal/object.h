// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the objects that handles refer to. RefCounted is their first and only base: public
// headers declare them as incomplete types and hold a HandleRef<RefCounted>.
#pragma once

#include <cassert>
#include <type_traits>
#include <utility>

#include "base/format.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hal {

// The pointer that a handle of `object` (may be null) holds. Checks the layout that the object()
// functions of the public handles rely on.
template <class Object>
RefCounted* handle_base(Object* object) noexcept {
  static_assert(std::is_base_of_v<RefCounted, Object> && std::is_final_v<Object>);
  RefCounted* base = object;
  assert(static_cast<void*>(base) == static_cast<void*>(object));
  return base;
}

// The error of a call on an empty handle.
[[nodiscard]] inline Status empty_handle(std::string_view object, std::string_view operation) {
  return error(StatusCode::kInvalidArgument, "{}: {} of an empty handle", object, operation);
}

// `status` with a prefix that names the place: "queue cpu://0 compute: fill: <message>".
template <class... Args>
[[nodiscard, gnu::cold, gnu::noinline]] Status at(const Status& status,
                                                  fmt::format_string<Args...> where,
                                                  Args&&... args) {
  std::string text = base::format(where, std::forward<Args>(args)...);
  base::append(text, ": {}", status.message());
  return Status(status.code(), text, status.native_error());
}

}  // namespace halyard::inline v0::hal
