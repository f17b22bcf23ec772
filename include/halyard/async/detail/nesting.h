// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that hold others of a type they do not know: boxed and shared operations. A loop may
// wrap the previous operation each time, so only the program bounds how deep they are nested. Here
// are the bounds of the recursions over them.
#pragma once

#include <cstdint>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// So many operations may execute inside each other. A level takes 250 to 1,300 bytes of the stack
// (g++ 12, with and without optimisation; a thread has 8 MiB by default).
inline constexpr std::uint32_t kMaxNesting = 2000;

// One level deeper while it lives, on one thread.
class Nesting {
 public:
  // In the tree of `context`.
  explicit Nesting(Context& context) noexcept : depth_(context.depth_) { ++depth_; }
  // In a tree of its own, `inner`, which the one of `outer` executes.
  Nesting(const Context& outer, Context& inner) noexcept : depth_(inner.depth_) {
    depth_ = outer.depth_ + 1;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  // kOutOfRange if that is too deep: nothing more may be executed.
  Status status() const { return depth_ <= kMaxNesting ? Status() : too_deep(); }

 private:
  HALYARD_EXPORT static Status too_deep();
  std::uint32_t& depth_;
};

class Nested;
// Destroys the operation and the operations inside it, with a bounded stack: those more than a
// hundred levels deep are destroyed as the outermost call on this thread ends.
HALYARD_EXPORT void drop(Nested* nested) noexcept;

// Base of what such an operation holds.
class Nested {
 public:
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 protected:
  Nested() noexcept = default;
  virtual ~Nested() = default;

 private:
  friend void drop(Nested* nested) noexcept;
  Nested* next_ = nullptr;  // to be destroyed
};

struct Drop {
  void operator()(Nested* nested) const noexcept { drop(nested); }
};

}  // namespace halyard::inline v0::async::detail
