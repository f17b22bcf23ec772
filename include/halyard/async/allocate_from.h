// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allocate_from: allocates an operation's memory from a pool.
//
//   allocate_from(a, pool), a | allocate_from(pool)
//
// The pool serves memory of its type on its device: tensors, scratch, and the copies that to_host()
// reads. Other memory comes from the devices' default pools. Of nested pools the innermost serves.
// A shared operation (cell.h) takes the pool inside: x | allocate_from(pool) | share.
//
// A tensor keeps its pool open; its memory returns there after its last use. Errors of
// hal::Queue::allocate: kPermissionDenied if the operation runs on another device than the pool's,
// kInvalidArgument for an empty handle, kResourceExhausted.
#pragma once

#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/operation_tree.h"
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
