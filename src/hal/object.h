// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the objects that handles refer to. RefCounted is their first base: public headers
// declare them as incomplete types, and their handles hold a HandleRef<RefCounted>.
#pragma once

#include <cassert>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/format.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hal/handle.h"

namespace halyard::inline v0 {

namespace timeline {
class Semaphore;
}

namespace hal {

// The pointer that a handle of `object` (may be null) holds. Checks the layout that Handle relies
// on.
template <class Object>
RefCounted* handle_base(Object* object) noexcept {
  static_assert(std::is_base_of_v<RefCounted, Object> && std::is_final_v<Object>);
  RefCounted* base = object;
  assert(static_cast<void*>(base) == static_cast<void*>(object));
  return base;
}

// The first handle of a new object. The handles take over the reference that it starts with.
template <class H, class Object>
[[nodiscard]] H first_handle(Object* object) noexcept {
  H handle(object);
  handle_base(object)->release();
  return handle;
}

// The name of an object's type in messages.
template <class Object>
inline constexpr std::string_view kTypeName = Object::kTypeName;
template <>
inline constexpr std::string_view kTypeName<timeline::Semaphore> = "semaphore";

// The error of a call on an empty handle.
[[nodiscard, gnu::cold, gnu::noinline]] inline Status empty_handle(std::string_view type,
                                                                   std::string_view operation) {
  return error(StatusCode::kInvalidArgument, "{}: {} of an empty handle", type, operation);
}

[[nodiscard, gnu::cold, gnu::noinline]] inline Status no_memory(std::size_t bytes) {
  return error(StatusCode::kResourceExhausted, "no memory for {} bytes", bytes);
}

// Fails if `handle` is empty.
template <class H>
[[nodiscard]] Status check_handle(const H& handle, std::string_view operation) {
  if (handle) [[likely]]
    return {};
  return empty_handle(kTypeName<std::remove_pointer_t<decltype(handle.object())>>, operation);
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

}  // namespace hal
}  // namespace halyard::inline v0
