// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handle: the base of the public handles (Device, Buffer, Semaphore, ...).
//
// A handle refers to an object of the library, or is empty. Copies share the object, which is
// released when the last copy is gone. Distinct copies may be used on any threads; one handle is
// assigned by one thread at a time. Handles are equal if they refer to the same object. Calls on an
// empty handle return kInvalidArgument, unless they say otherwise.
#pragma once

#include "halyard/base/export.h"
#include "halyard/base/ref.h"

namespace halyard::inline v0::hal {

// `Object` is a class of the library, incomplete for its users.
template <class Object>
class HALYARD_EXPORT Handle {
 public:
  Handle() noexcept = default;  // empty
  // RefCounted is the first base of `Object`.
  explicit Handle(Object* object) noexcept : object_(reinterpret_cast<RefCounted*>(object)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Handle& a, const Handle& b) noexcept = default;
  // Null when empty.
  Object* object() const noexcept { return reinterpret_cast<Object*>(object_.get()); }

 private:
  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
