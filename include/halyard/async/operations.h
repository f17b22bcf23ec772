// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that make, copy and read tensors:
//
//   full zeros ones arange     new tensors with equal or counted elements
//   empty scratch              new tensors with indeterminate elements
//   from_host to_host item     from and to the host's memory
//   fill copy                  overwrite existing tensors
//   copy_to                    a copy on another device
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "halyard/async/context.h"
#include "halyard/async/detail/array_function.h"
#include "halyard/async/detail/operations.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"

namespace halyard::inline v0::async {

// All elements equal to `element`. kOutOfRange for more than 2^30 - 1 elements of 8 bytes whose two
// halves differ: a shipped kernel writes them, since devices fill with patterns of up to 4 bytes.
template <Element T>
auto full(const Shape& shape, T element) {
  return detail::operation(detail::CallFull<T>{shape, detail::bits_of(element)});
}
template <Element T>
auto ones(const Shape& shape) {
  return full<T>(shape, T{1});
}
template <Element T>
auto zeros(const Shape& shape) {
  return full<T>(shape, T{0});
}

// A tensor with indeterminate elements.
template <Element T>
auto empty(const Shape& shape) {
  return detail::operation(detail::CallEmpty<T>{shape});
}

// The same; a recording allocates it once, for all its replays (recorded.h).
template <Element T>
auto scratch(const Shape& shape) {
  return detail::operation(detail::CallScratch<T>{shape});
}

// A tensor with these elements, row by row. kInvalidArgument if their number is not that of
// `shape`.
template <Element T>
auto from_host(std::vector<T> values, const Shape& shape) {
  return detail::operation(detail::CallFromHost<T, std::vector<T>>{std::move(values), shape});
}
template <Element T>
auto from_host(std::vector<T> values) {
  const Shape shape{values.size()};
  return from_host(std::move(values), shape);
}
// The same for elements that the caller owns; they are copied when the operation is submitted.
template <class T, std::size_t kCount>
  requires Element<std::remove_const_t<T>>
auto from_host(std::span<T, kCount> values, const Shape& shape) {
  using Values = std::span<const T>;
  return detail::operation(detail::CallFromHost<std::remove_const_t<T>, Values>{values, shape});
}
template <class T, std::size_t kCount>
  requires Element<std::remove_const_t<T>>
auto from_host(std::span<T, kCount> values) {
  return from_host(values, values.size());
}
// 0, 1, ... n - 1, rounded to T or modulo its range. kOutOfRange for more than 2^31 - 1 words of
// 4 bytes.
template <Element T>
auto arange(std::uint64_t n) {
  return detail::operation(detail::CallArange<T>{n});
}

namespace detail {
// Whether `Call` reads what `Array` is or returns.
template <class Call, class Array>
inline constexpr bool kReads =
    std::is_invocable_v<Call, Context&, typename AsOperation<Array>::Output&&>;

struct ToHostFunction {
  using IsArrayFunction = void;
  template <class Array>
  auto operator()(Array&& array) const {
    constexpr bool kFit = kReads<CallToHost, Array>;
    static_assert(kFit, "to_host: an array, or an operation that returns one");
    if constexpr (kFit) {
      return operation(CallToHost(), std::forward<Array>(array));
    } else {
      return refused<int>();
    }
  }
  template <class Array>
  auto operator()(Array&& array, std::span<ItemOf<Array>> into) const {
    return operation(CallToHostInto<ItemOf<Array>>{into}, std::forward<Array>(array));
  }
};
struct ItemFunction {
  using IsArrayFunction = void;
  template <class Array>
  auto operator()(Array&& array) const {
    constexpr bool kFit = kReads<CallItem, Array>;
    static_assert(kFit, "item: an array, or an operation that returns one");
    if constexpr (kFit) {
      return operation(CallItem(), std::forward<Array>(array));
    } else {
      return refused<int>();
    }
  }
};
}  // namespace detail

// to_host(array) or array | to_host: the elements as a std::vector, row by row. `array` is a
// Tensor, Shared or Partition on any device, or an operation that returns one. Only awaiting
// returns the vector: inside a tree, functions see an opaque value.
//
// to_host(array, into): the same to the std::span `into`, which is returned. kInvalidArgument if
// its size is not that of `array`. The thread that completes the await writes it. After the await,
// ok or not, nothing uses it.
inline constexpr detail::ToHostFunction to_host{};
// item(array) or array | item: the only element of `array`, as for to_host(). kInvalidArgument
// unless it has one element.
inline constexpr detail::ItemFunction item{};

// Overwrites all elements of `array` with `element`, as full() does, and returns it. `array` is a
// Tensor or Partition, or an operation that returns one.
template <class Array, Element T>
auto fill(Array&& array, T element) {
  using Given = typename detail::AsOperation<Array>::Output;
  constexpr bool kFit = detail::kWritable<Given> && std::same_as<typename Given::value_type, T>;
  static_assert(kFit, "fill: a Tensor<T> or a Partition<Tensor<T>>, and a T");
  if constexpr (kFit) {
    return detail::operation(detail::CallFill<T>{detail::bits_of(element)},
                             std::forward<Array>(array));
  } else {
    return detail::refused<Given>();
  }
}
// Copies the elements of `from` (an array as for to_host()) to `to` (as for fill()), which has the
// same size. Returns both.
template <class From, class To>
auto copy(From&& from, To&& to) {
  using Source = typename detail::AsOperation<From>::Output;
  using Target = typename detail::AsOperation<To>::Output;
  constexpr bool kFit = detail::kWritable<Target> &&
                        std::same_as<typename Source::value_type, typename Target::value_type>;
  static_assert(kFit, "copy: to a Tensor<T> or a Partition<Tensor<T>>, and from one of T");
  if constexpr (kFit) {
    return detail::operation(detail::CallCopy(), std::forward<From>(from), std::forward<To>(to));
  } else {
    return detail::refused<std::tuple<Source, Target>>();
  }
}

// A copy of `array`, as for to_host(), on another device. The target's queue runs the copy.
//   copy_to(array, device)  or  array | copy_to(device)
template <class Array>
auto copy_to(Array&& array, QueueRef queue) {
  return detail::operation(detail::CallCopyTo{std::move(queue)}, std::forward<Array>(array));
}
inline detail::CopyTo copy_to(QueueRef queue) noexcept { return {std::move(queue)}; }
namespace detail {
template <class Array>
auto operator|(Array&& array, detail::CopyTo to) {
  return copy_to(std::forward<Array>(array), std::move(to.queue));
}
}  // namespace detail

}  // namespace halyard::inline v0::async
