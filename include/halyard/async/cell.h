// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation that several others are made of, and that runs once:
//
//   auto [a, x, y] = unzip(saxpy(...));     an operation for each part of the tuple; a part that is
//                                           not awaited is dropped
//   auto x = ones<float>({16, 16}) | share  may be copied; each copy gives the same Shared
//
// Whoever is awaited first runs it, on the queue of its own tree; others, on any thread, sleep
// while it is submitted. It is a tree of its own: its failure reaches those who hold it, and
// theirs does not reach it. Its functions must not await another part: that would sleep for ever.
// One that was recorded is part of that recording, and of nothing else.
//
// Copies may be awaited and dropped by several threads at once. A chain in which each is made of
// the one before runs, and is dropped, by recursion: some thousands deep is what a thread's stack
// holds; await in between.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/frame_pool.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

// What runs once. Its failure is everybody's. Every virtual function is inline, so that classes
// made of it need no type information of the library's, which has none.
class Cell : public RefCounted {
 public:
  // Runs it unless it has run; `context` waits for its end as for its own.
  HALYARD_EXPORT Status run(Context& context);
  // Whether a run() has found that it has ended, and well: then it is not waited for any more.
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

 protected:
  Cell() : state_(create_state()) {}
  ~Cell() override { destroy_state(state_); }

 private:
  struct State;
  HALYARD_EXPORT static State* create_state() noexcept;  // null: no memory
  HALYARD_EXPORT static void destroy_state(State* state) noexcept;
  virtual Status execute(Context& own) = 0;  // once

  State* const state_;
  std::atomic<bool> finished_{false};
};

template <class T>
class CellOf : public Cell {
 public:
  // run(), which throws what its functions threw. Ok: there is a value.
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
class CellFor final : public CellOf<typename Op::Output> {
 public:
  explicit CellFor(Op&& operation) : operation_(std::move(operation)) {}

  static void* operator new(std::size_t size) { return new_frame(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { free_frame(memory, size); }

 private:
  // The library, which holds a lock, is not to be unwound.
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
    Op operation = *std::exchange(operation_, std::nullopt);  // what it holds goes now
    auto result = std::move(operation).execute(own);
    if (!result.ok()) return std::move(result).status();
    this->value_.emplace(*std::move(result));
    return {};
  }
  std::optional<Op> operation_;
};

template <DeviceOperation Op>
Ref<CellOf<typename Op::Output>> make_cell(Op&& operation) {
  return Ref<CellFor<Op>>::adopt(new CellFor<Op>(std::move(operation)));
}

}  // namespace detail

// Copyable. What was moved from fails. With kMayRecord it may be part of a recording.
template <class T, bool kMayRecord = false>
class [[nodiscard("an operation does nothing until it is awaited")]] SharedOperation {
 public:
  using Output = T;
  static constexpr bool kRecordable = kMayRecord;

  explicit SharedOperation(Ref<detail::CellOf<T>> cell) noexcept : cell_(std::move(cell)) {}
  template <bool kOther>
    requires(kOther && !kMayRecord)
  SharedOperation(SharedOperation<T, kOther> other) noexcept : cell_(std::move(other.cell_)) {}

  Result<T> execute(Context& context) && {
    if (!cell_) return Status(StatusCode::kFailedPrecondition, "a shared operation was moved from");
    if (Status status = cell_->evaluate(context); !status.ok()) return status;
    return cell_->value();
  }
  // What it gave, if it is known to have ended (task.h).
  const T* finished() const noexcept { return cell_ ? cell_->finished_value() : nullptr; }

 private:
  friend class SharedOperation<T, false>;
  Ref<detail::CellOf<T>> cell_;
};

// Gives part I of a tuple.
template <std::size_t I, class Tuple, bool kMayRecord>
class [[nodiscard("an operation does nothing until it is awaited")]] PartOperation {
 public:
  using Output = std::tuple_element_t<I, Tuple>;
  static constexpr bool kRecordable = kMayRecord;

  explicit PartOperation(Ref<detail::CellOf<Tuple>> cell) noexcept : cell_(std::move(cell)) {}
  PartOperation(PartOperation&&) noexcept = default;
  PartOperation& operator=(PartOperation&&) noexcept = default;

  Result<Output> execute(Context& context) && {
    const auto cell = std::exchange(cell_, nullptr);
    if (!cell) return detail::runs_once();
    if (Status status = cell->evaluate(context); !status.ok()) return status;
    return std::get<I>(std::move(cell->value()));
  }

 private:
  Ref<detail::CellOf<Tuple>> cell_;
};

namespace detail {

struct Unzip {
  using IsCombinator = void;

  template <class Op>
  auto operator()(Op&& operation) const {
    static_assert(DeviceOperation<Op>, "an operation has one owner: unzip(std::move(operation))");
    if constexpr (DeviceOperation<Op>) {
      using Tuple = typename Op::Output;
      const auto cell = make_cell(std::move(operation));
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(PartOperation<I, Tuple, Recordable<Op>>(cell)...);
      }(std::make_index_sequence<std::tuple_size_v<Tuple>>());
    }
  }
};

template <class T>
inline constexpr bool kSharable = std::copy_constructible<T>;
template <class T>
inline constexpr bool kSharable<Tensor<T>> = true;
template <class T, std::uint64_t... kTile>
inline constexpr bool kSharable<Partition<T, kTile...>> = true;

// The value that a shared operation gives again and again.
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

}  // namespace detail

inline constexpr detail::Unzip unzip{};

namespace detail {
template <class Op>
  requires DeviceOperation<std::decay_t<Op>>
auto operator|(Op&& operation, const detail::ShareAdaptor&) {
  static_assert(detail::kMovedOrCopyable<Op>,
                "an operation has one owner: std::move(operation) | share");
  if constexpr (detail::kMovedOrCopyable<Op>) {
    using Output = typename std::decay_t<Op>::Output;
    static_assert(detail::kSharable<Output>,
                  "share: the operation gives a Tensor, a Partition or what can be copied");
    if constexpr (detail::kSharable<Output>) {
      auto shared = std::decay_t<Op>(std::forward<Op>(operation)) | map(detail::ToShared());
      constexpr bool kMayRecord = Recordable<decltype(shared)>;
      using Given = typename decltype(shared)::Output;
      return SharedOperation<Given, kMayRecord>(detail::make_cell(std::move(shared)));
    }
  }
}
}  // namespace detail

}  // namespace halyard::inline v0::async
