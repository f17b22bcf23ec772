// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an operation's memory comes from:
//
//   allocate_from(a, pool), a | allocate_from(pool)     a, with its memory from `pool`
//
// That is memory of the pool's type on its device, for tensors, for scratch and for what to_host()
// reads; the other comes from the devices' default pools. Of two pools the inner one counts. What
// several hold (cell.h) has the pool that is named inside of it: x | allocate_from(pool) | share.
//
// A tensor goes back to the pool that it came from, behind its last use, and keeps it until then.
// Errors of Queue::allocate: kPermissionDenied where the operation runs on another device than the
// pool's, kInvalidArgument for an empty handle, kResourceExhausted.
#pragma once

#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/base/result.h"
#include "halyard/hal/pool.h"

namespace halyard::inline v0::async {

template <DeviceOperation Op>
class [[nodiscard("an operation does nothing until it is awaited")]] PooledOperation {
 public:
  using Output = typename Op::Output;
  static constexpr bool kRecordable = Recordable<Op>;
  static constexpr bool kSubmitsNothing = detail::SubmitsNothing<Op>;

  PooledOperation(Op&& operation, hal::Pool pool)
      : operation_(std::move(operation)), pool_(std::move(pool)) {}

  Result<Output> execute(Context& context) && {
    struct Restore {
      ~Restore() { context.set_pool(outer); }
      Context& context;
      const hal::Pool* outer;
    } restore{context, context.set_pool(&pool_)};
    return std::move(operation_).execute(context);
  }
  void collect(detail::OpInputs& inputs) const { detail::collect_inputs(operation_, inputs); }

 private:
  Op operation_;
  hal::Pool pool_;
};

namespace detail {
struct AllocateFrom {
  using IsCombinator = void;
  template <DeviceOperation Op>
  PooledOperation<Op> operator()(Op&& operation) && {
    return {std::move(operation), std::move(pool)};
  }
  hal::Pool pool;
};
}  // namespace detail

inline detail::AllocateFrom allocate_from(hal::Pool pool) noexcept { return {std::move(pool)}; }
template <class Op>
auto allocate_from(Op&& operation, hal::Pool pool) {
  return std::forward<Op>(operation) | allocate_from(std::move(pool));
}

}  // namespace halyard::inline v0::async
