// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RefCounted: intrusive shared ownership with two counts in one word.
//
//   handles     the copies of a public handle (Device, Buffer, ...). All handles together hold one
//               reference. When the last one goes, on_last_handle() runs.
//   references  keep the memory: submissions in flight, recordings, the group of handles. When the
//               last one goes, the object is destroyed.
//
// The split lets a device close while work in flight still refers to its buffers: the user's
// handles are gone, the memory stays.
//
// Both counts may change on any thread. A release has release order and the final decrement acquire
// order, so the destructor sees every write made through any reference. on_last_handle() and the
// destructor run on the thread that dropped the last handle or reference, and never block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"

namespace halyard::inline v0 {

class HALYARD_EXPORT RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { counts_.fetch_add(kReference, std::memory_order_relaxed); }
  void release() const noexcept {
    if ((counts_.fetch_sub(kReference, std::memory_order_acq_rel) & kReferenceMask) == kReference) {
      const_cast<RefCounted*>(this)->destroy();
    }
  }

  // True if the caller's reference is the only one. Every write made before another reference was
  // released is then visible.
  bool unique() const noexcept {
    return (counts_.load(std::memory_order_acquire) & kReferenceMask) == kReference;
  }

  // The first handle takes a reference for the group.
  void retain_handle() const noexcept {
    if ((counts_.fetch_add(kHandle, std::memory_order_relaxed) & ~kReferenceMask) == 0) retain();
  }
  // Adds a handle, unless the last one is gone. For an index that lists objects without keeping
  // them: call it under the lock under which on_last_handle() removes the object from the index.
  bool retain_handle_if_any() const noexcept {
    std::uint64_t counts = counts_.load(std::memory_order_relaxed);
    while ((counts & ~kReferenceMask) != 0) {
      if (counts_.compare_exchange_weak(counts, counts + kHandle, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void release_handle() const noexcept {
    if ((counts_.fetch_sub(kHandle, std::memory_order_acq_rel) & ~kReferenceMask) == kHandle) {
      const_cast<RefCounted*>(this)->on_last_handle();
      release();
    }
  }

 protected:
  // Starts with a reference, which Ref<T>::adopt takes over.
  RefCounted() noexcept = default;
  virtual ~RefCounted() = default;

  virtual void on_last_handle() noexcept {}
  // Runs when the last reference is gone. Objects that live in pools override it.
  virtual void destroy() noexcept { delete this; }

 private:
  static constexpr std::uint64_t kReference = 1;
  static constexpr std::uint64_t kReferenceMask = 0xffff'ffffu;
  static constexpr std::uint64_t kHandle = std::uint64_t{1} << 32;

  mutable std::atomic<std::uint64_t> counts_{kReference};
};

// Owns one reference. Null by default.
template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}
  // Takes a new reference.
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  // Takes over the reference that a new object starts with.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
  Ref(Ref<U> other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  // Returns the object with its reference, which the caller now owns.
  T* detach() noexcept { return std::exchange(object_, nullptr); }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

// Owns one handle count. The public handle types consist of it.
template <class T>
class HandleRef {
 public:
  HandleRef() noexcept = default;
  explicit HandleRef(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain_handle();
  }
  HandleRef(const HandleRef& other) noexcept : HandleRef(other.object_) {}
  HandleRef(HandleRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  HandleRef& operator=(HandleRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~HandleRef() {
    if (object_ != nullptr) object_->release_handle();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const HandleRef& a, const HandleRef& b) noexcept {
    return a.object_ == b.object_;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace halyard::inline v0
