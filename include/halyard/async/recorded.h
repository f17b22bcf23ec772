// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorded: a tree of operations as a command buffer, to be submitted as often as one likes.
//
//   Recorded step = co_await record(zip(saxpy(2.0f, x, std::move(y)), saxpy(3.0f, x,
//   std::move(z)))); for (int i = 0; i < 1000; ++i) co_await step.replay(); std::vector<float> y1 =
//   co_await step.to_host<2>();     part 2 of what the tree gives
//
// The commands of the tree are ordered by the data alone: its branches may overlap. They use the
// tensors that the tree was given, which the Recorded owns with all else that the tree gives; a
// replay computes what the tree would compute, bit for bit. Functions of map() and and_then() run
// once, when it is recorded. A recording allocates nothing and is on one device: a tree that does
// more does not compile. It is made of kernels, fill, copy and values, and of zip, map, inspect,
// and_then, apply, first, last, share and partition of values.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/operations.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

HALYARD_EXPORT Result<Ref<RefCounted>> start_recording(const Context& context);
HALYARD_EXPORT Status finish_recording(RefCounted& recording);

struct CallReplay {
  Result<std::tuple<>> operator()(Context& context) const {
    if (Status status = context.execute(*recording); !status.ok()) return status;
    return std::tuple<>();
  }
  Ref<RefCounted> recording;
};

}  // namespace detail

// Move-only; one thread at a time, its replays too. What is replayed when it was moved from, or
// taken from, still runs.
template <class T>
class Recorded {
 public:
  Recorded(Ref<RefCounted> recording, T&& value) noexcept
      : recording_(std::move(recording)), value_(std::move(value)) {}
  Recorded(Recorded&&) noexcept = default;
  Recorded& operator=(Recorded&&) noexcept = default;

  // Submits all of it once more; gives nothing.
  [[nodiscard]] auto replay() const { return detail::operation(detail::CallReplay{recording_}); }

  const T& value() const noexcept { return value_; }
  T take() && noexcept { return std::move(value_); }

  // As to_host() of a part of what the tree gives, or of the whole.
  template <std::size_t... I>
  [[nodiscard]] auto to_host() const {
    static_assert(sizeof...(I) <= 1, "to_host<I>(): one part");
    const auto& array = [&]() -> const auto& {
      if constexpr (sizeof...(I) == 0) {
        return value_;
      } else {
        return std::get<I...>(value_);
      }
    }();
    return detail::operation(detail::CallReadRecorded<std::remove_cvref_t<decltype(array)>>(array));
  }

 private:
  Ref<RefCounted> recording_;
  T value_;
};

namespace detail {

template <class Op>
struct CallRecord {
  Result<Recorded<typename Op::Output>> operator()(Context& context) && {
    Result<Ref<RefCounted>> recording = start_recording(context);
    if (!recording.ok()) return recording.status();
    Context recorder(context, **recording);
    auto given = std::move(operation).execute(recorder);
    if (!given.ok()) return std::move(given).status();
    if (Status status = finish_recording(**recording); !status.ok()) return status;
    return Recorded<typename Op::Output>(*std::move(recording), *std::move(given));
  }
  Op operation;
};

}  // namespace detail

// The operation that records another, which is not run.
template <class Op>
auto record(Op&& operation) {
  static_assert(DeviceOperation<Op>, "an operation has one owner: record(std::move(operation))");
  if constexpr (DeviceOperation<Op>) {
    static_assert(Recordable<Op>,
                  "record: a recording allocates nothing and is on one device: kernels on tensors "
                  "that are there, fill, copy, and what combines them");
    if constexpr (Recordable<Op>) {
      return detail::operation(detail::CallRecord<Op>{std::move(operation)});
    }
  }
}

}  // namespace halyard::inline v0::async
