// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Retained: owns one reference to an Objective-C object, by retain and release. Included by
// Objective-C++ sources only.
//
//     new..., alloc, copy, MTLCreate..., MTLCopy...    the caller owns the result: adopt()
//     all other messages                               the pool owns the result: share()
//
// ScopedPool: an autorelease pool for a scope. Autoreleased objects are released with the pool, so
// every entry point has a pool: the entry guard, destructors, and blocks that Metal calls.
#pragma once

#import <Foundation/Foundation.h>

#include <utility>

namespace halyard::inline v0::metal {

class ScopedPool {
 public:
  ScopedPool() noexcept : pool_([[NSAutoreleasePool alloc] init]) {}
  ~ScopedPool() { [pool_ drain]; }
  ScopedPool(const ScopedPool&) = delete;
  ScopedPool& operator=(const ScopedPool&) = delete;

 private:
  NSAutoreleasePool* const pool_;
};

// Move-only; nil by default. T is a pointer to an object: id<MTLBuffer>, NSString*.
template <class T>
class Retained {
 public:
  Retained() noexcept = default;
  Retained(Retained&& other) noexcept : object_(std::exchange(other.object_, nil)) {}
  Retained& operator=(Retained&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Retained() { [object_ release]; }

  // Takes the caller's reference.
  static Retained adopt(T object) noexcept { return Retained(object); }
  // Retains the object.
  static Retained share(T object) noexcept { return Retained([object retain]); }

  T get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nil; }
  void reset() noexcept { [std::exchange(object_, nil) release]; }

 private:
  explicit Retained(T object) noexcept : object_(object) {}

  T object_ = nil;
};

}  // namespace halyard::inline v0::metal
