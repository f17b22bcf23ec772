// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cell: an operation that runs once and keeps its result for several others (cell.h).
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/frame_pool.h"
#include "halyard/async/detail/nesting.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// Safe from any thread. All virtual functions are inline, because the library has no type
// information that derived classes could refer to.
class Cell : public RefCounted, public Nested {
 public:
  // Runs the operation unless it has run, and joins its end to `context`'s. Returns its failure.
  HALYARD_EXPORT Status run(Context& context);
  // Whether a run() has found the work done, without failure: no further run() waits for it.
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

 protected:
  Cell() : state_(create_state()) {}
  ~Cell() override { destroy_state(state_); }

 private:
  void destroy() noexcept final { drop(this); }

  struct State;
  HALYARD_EXPORT static State* create_state() noexcept;  // null: no memory
  HALYARD_EXPORT static void destroy_state(State* state) noexcept;
  virtual Status execute(Context& own) = 0;  // called once

  State* const state_;
  std::atomic<bool> finished_{false};
};

template <class T>
class ValueCell : public Cell {
 public:
  // Like run(), but throws the exceptions of the operation's functions. If it returns ok, there is
  // a value.
  Status evaluate(Context& context) {
    if (finished()) return {};
    Status status = run(context);
#if HALYARD_EXCEPTIONS
    if (exception_ != nullptr) std::rethrow_exception(exception_);
#endif
    return status;
  }
  T& value() noexcept { return *value_; }
  const T* finished_value() const noexcept { return finished() ? &*value_ : nullptr; }

 protected:
  std::optional<T> value_;
  std::exception_ptr exception_;
};

template <DeviceOperation Op>
class OperationCell final : public ValueCell<typename Op::Output>, public InFramePool {
 public:
  explicit OperationCell(Op&& operation) : operation_(std::move(operation)) {}


 private:
  // Catches, because the library holds a lock here and is built without exceptions.
  Status execute(Context& own) override {
#if HALYARD_EXCEPTIONS
    try {
      return submit(own);
    } catch (...) {
      this->exception_ = std::current_exception();
      return Status(StatusCode::kInternal, "it threw");
    }
#else
    return submit(own);
#endif
  }
  Status submit(Context& own) {
    Op operation = *std::exchange(operation_, std::nullopt);  // drops its inputs on return
    auto result = std::move(operation).execute(own);
    if (!result.ok()) return std::move(result).status();
    this->value_.emplace(*std::move(result));
    return {};
  }
  std::optional<Op> operation_;
};

template <DeviceOperation Op>
Ref<ValueCell<typename Op::Output>> make_cell(Op&& operation) {
  return Ref<OperationCell<Op>>::adopt(new OperationCell<Op>(std::move(operation)));
}

template <class T>
inline constexpr bool kSharable = std::copy_constructible<T>;
template <class T>
inline constexpr bool kSharable<Tensor<T>> = true;
template <class T, std::uint64_t... kTile>
inline constexpr bool kSharable<Partition<T, kTile...>> = true;

// Makes the copyable result of a shared operation.
struct ToShared {
  template <class T>
  auto operator()(T&& value) const {
    if constexpr (std::copy_constructible<T>) {
      return std::move(value);
    } else {
      return std::move(value) | share;
    }
  }
};

}  // namespace halyard::inline v0::async::detail
