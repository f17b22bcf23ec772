// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that share one operation, which runs once:
//
//   auto [a, x, y] = unzip(saxpy(...));     an operation for each element of the tuple; elements
//                                           that are not awaited are dropped
//   auto x = ones<float>({16, 16}) | share  may be copied; every copy returns the same Shared
//
// The first await runs the shared operation on the queue of the awaiting tree, as a tree of its
// own. Awaits on other threads block until it is submitted. Its failure fails each of these
// operations; failures of their trees do not reach it. A shared operation that was recorded is part
// of that recording only; elsewhere it is kFailedPrecondition.
//
// A function of the shared operation must not await one of these operations: that deadlocks.
//
// Several threads may await and drop copies at once. A chain in which each operation is made of the
// one before is executed by recursion: one of more than 2,000 fails (kOutOfRange), so await in
// between.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/cell.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// The result of `operation | share`. Copyable. Fails if moved from. With kMayRecord it can be part
// of a recording.
template <class T, bool kMayRecord = false>
class [[nodiscard("an operation does nothing until it is awaited")]] SharedOperation {
 public:
  using Output = T;
  static constexpr bool kRecordable = kMayRecord;

  explicit SharedOperation(Ref<detail::ValueCell<T>> cell) noexcept : cell_(std::move(cell)) {}
  template <bool kOther>
    requires(kOther && !kMayRecord)
  SharedOperation(SharedOperation<T, kOther> other) noexcept : cell_(std::move(other.cell_)) {}

  Result<T> execute(Context& context) && {
    if (!cell_) return Status(StatusCode::kFailedPrecondition, "a shared operation was moved from");
    if (Status status = cell_->evaluate(context); !status.ok()) return status;
    return cell_->value();
  }
  // The result if an await has found the work done; else null.
  const T* finished() const noexcept { return cell_ ? cell_->finished_value() : nullptr; }

 private:
  friend class SharedOperation<T, false>;
  Ref<detail::ValueCell<T>> cell_;
};

namespace detail {

// Returns element I of a tuple.
template <std::size_t I, class Tuple, bool kMayRecord>
struct CallElement {
  static constexpr bool kRecordable = kMayRecord;
  Result<std::tuple_element_t<I, Tuple>> operator()(Context& context) && {
    const auto own = std::move(cell);  // drops the rest of the tuple on return
    if (Status status = own->evaluate(context); !status.ok()) return status;
    return std::get<I>(std::move(own->value()));
  }
  Ref<ValueCell<Tuple>> cell;
};

struct Unzip {
  using IsCombinator = void;

  template <class Op>
  auto operator()(Op&& operation) const {
    static_assert(DeviceOperation<Op>, "an operation has one owner: unzip(std::move(operation))");
    if constexpr (!DeviceOperation<Op>) {
      return refused<int>();
    } else if constexpr (!kIsTuple<typename Op::Output>) {
      static_assert(kIsTuple<typename Op::Output>,
                    "unzip: of several results, as a kernel or zip() returns");
      return std::tuple(refused<typename Op::Output>());
    } else {
      using Tuple = typename Op::Output;
      const auto cell = make_cell(std::move(operation));
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(Operation<CallElement<I, Tuple, Recordable<Op>>>({cell})...);
      }(std::make_index_sequence<std::tuple_size_v<Tuple>>());
    }
  }
};

}  // namespace detail

inline constexpr detail::Unzip unzip{};

namespace detail {
template <class Op>
  requires DeviceOperation<std::decay_t<Op>>
auto operator|(Op&& operation, const ShareAdaptor&) {
  static_assert(kMovedOrCopyable<Op>, "an operation has one owner: std::move(operation) | share");
  if constexpr (kMovedOrCopyable<Op>) {
    using Output = typename std::decay_t<Op>::Output;
    static_assert(kSharable<Output>, "share: the result is a Tensor, a Partition or copyable");
    if constexpr (kSharable<Output>) {
      auto shared = std::decay_t<Op>(std::forward<Op>(operation)) | map(ToShared());
      constexpr bool kMayRecord = Recordable<decltype(shared)>;
      using Given = typename decltype(shared)::Output;
      return SharedOperation<Given, kMayRecord>(make_cell(std::move(shared)));
    } else {
      return refused<int>();
    }
  } else {
    return refused<int>();
  }
}
}  // namespace detail

}  // namespace halyard::inline v0::async
