// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result<T>: a T, or the Status that says why there is none. And `check`, `Error`.
//
// ok() and status() read an error without exceptions. value() and check() throw halyard::Error if
// the caller's translation unit has exceptions; without them they print the Status and abort.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"
#include "halyard/base/status.h"

namespace halyard::inline v0 {

#if HALYARD_EXCEPTIONS
// Thrown by value() and check(). what() is the whole Status as text.
class Error : public std::exception {
 public:
  explicit Error(Status status) : status_(std::move(status)), text_(status_.to_string()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Status& status() const noexcept { return status_; }

 private:
  Status status_;
  std::string text_;
};
#endif

namespace detail {
// Always inlined, so that a program can mix translation units with and without exceptions.
[[noreturn, gnu::always_inline]] inline void raise(const Status& status) {
#if HALYARD_EXCEPTIONS
  throw Error(status);
#else
  std::fprintf(stderr, "halyard: %s\n", status.to_string().c_str());
  std::abort();
#endif
}
}  // namespace detail

// Throws (or aborts, see above) unless ok.
[[gnu::always_inline]] inline void check(const Status& status) {
  if (!status.ok()) detail::raise(status);
}

template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_same_v<T, Status>, "a function without a value returns Status");
  static_assert(!std::is_reference_v<T>);

 public:
  using value_type = T;

  // Holds an error. An ok Status is a defect of the caller and becomes kInternal.
  Result(Status status) noexcept : status_(std::move(status)) {
    if (status_.ok()) status_ = Status(StatusCode::kInternal, "Result built from an ok Status");
  }
  template <class U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Status>)
  Result(U&& value) : value_(std::forward<U>(value)), has_value_(true) {}

  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : status_(std::move(other.status_)) {
    if (other.has_value_) construct(std::move(other.value_));
  }
  Result(const Result& other)
    requires std::is_copy_constructible_v<T>
      : status_(other.status_) {
    if (other.has_value_) construct(other.value_);
  }
  Result& operator=(Result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    destroy();
    status_ = std::move(other.status_);
    if (other.has_value_) construct(std::move(other.value_));
    return *this;
  }
  ~Result() { destroy(); }

  bool ok() const noexcept { return has_value_; }
  // Ok if there is a value.
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }

  [[gnu::always_inline]] T& value() & {
    require();
    return value_;
  }
  [[gnu::always_inline]] const T& value() const& {
    require();
    return value_;
  }
  [[gnu::always_inline]] T value() && {
    require();
    return std::move(value_);
  }

  // Precondition: ok().
  T& operator*() & noexcept { return value_; }
  const T& operator*() const& noexcept { return value_; }
  T&& operator*() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return std::addressof(value_); }
  const T* operator->() const noexcept { return std::addressof(value_); }

  // fn(T) -> Result<U>; the error passes through.
  template <class F>
  auto and_then(F&& fn) && -> std::invoke_result_t<F, T&&> {
    if (!ok()) return std::move(status_);
    return std::forward<F>(fn)(std::move(value_));
  }
  // fn(T) -> U; gives Result<U>.
  template <class F>
  auto transform(F&& fn) && -> Result<std::invoke_result_t<F, T&&>> {
    if (!ok()) return std::move(status_);
    return std::forward<F>(fn)(std::move(value_));
  }

 private:
// In a Result that was moved twice g++ 12 no longer knows that has_value_ implies value_.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
  template <class U>
  void construct(U&& value) {
    ::new (static_cast<void*>(std::addressof(value_))) T(std::forward<U>(value));
    has_value_ = true;
  }
  void destroy() noexcept {
    if (has_value_) value_.~T();
    has_value_ = false;
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  [[gnu::always_inline]] void require() const {
    if (!has_value_) detail::raise(status_);
  }

  Status status_;
  union {
    T value_;
  };
  bool has_value_ = false;
};

}  // namespace halyard::inline v0
