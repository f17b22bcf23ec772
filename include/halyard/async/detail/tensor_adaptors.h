// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adaptors of tensors: the right operands of `tensor | share`, `tensor | partition(4, 4)` ...
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "halyard/async/shape.h"

namespace halyard::inline v0::async {

template <Element T>
class Tensor;
template <class T>
class Shared;
template <class T, std::uint64_t... kTile>
class Partition;

// `value | adaptor` calls the adaptor with the value; `operation | adaptor` with its result.
template <class A>
concept Adaptor = requires { typename std::remove_cvref_t<A>::IsAdaptor; };

namespace detail {

// In place of a result that a static_assert refuses, so that no further error hides that one. Not
// defined.
template <class T>
T refused_value();

// Not an Adaptor: cell.h defines `operation | share`, which may be copied.
struct ShareAdaptor {
  template <class T>
  Shared<Tensor<T>> operator()(Tensor<T>&& tensor) const noexcept {
    return Shared<Tensor<T>>(std::move(tensor));
  }
  template <class T, std::uint64_t... kTile>
  Shared<Tensor<T>> operator()(Partition<Tensor<T>, kTile...>&& partition) const noexcept {
    return Shared<Tensor<T>>(std::move(partition).unpartition());
  }
};

template <class Array>
  requires(std::invocable<const ShareAdaptor&, std::remove_reference_t<Array>>)
auto operator|(Array&& array, const ShareAdaptor& adaptor) noexcept {
  constexpr bool kMoved = !std::is_lvalue_reference_v<Array>;
  static_assert(kMoved, "operations, Tensor and Partition have one owner: std::move(x) | ...");
  if constexpr (kMoved) {
    return adaptor(std::move(array));
  } else {
    using Own = std::remove_reference_t<Array>;
    return refused_value<std::invoke_result_t<const ShareAdaptor&, Own>>();
  }
}

struct PartitionAdaptor {
  using IsAdaptor = void;
  template <class T>
  Partition<Tensor<T>> operator()(Tensor<T>&& tensor) const noexcept {
    return {std::move(tensor), tile};
  }
  Shape tile;
};

template <std::uint64_t... kTile>
struct StaticPartitionAdaptor {
  using IsAdaptor = void;
  template <class T>
  Partition<Tensor<T>, kTile...> operator()(Tensor<T>&& tensor) const noexcept {
    return Partition<Tensor<T>, kTile...>(std::move(tensor));
  }
};

struct UnpartitionAdaptor {
  using IsAdaptor = void;
  template <class T, std::uint64_t... kTile>
  Tensor<T> operator()(Partition<Tensor<T>, kTile...>&& partition) const noexcept {
    return std::move(partition).unpartition();
  }
};

struct ReshapeAdaptor {
  using IsAdaptor = void;
  template <class Array>
  Status check(const Array& array) const {
    return check_reshape(array.shape(), shape);
  }
  template <class Array>
  auto operator()(Array&& array) const {
    constexpr bool kFit = requires { std::forward<Array>(array).reshape(shape); };
    static_assert(kFit, "reshape: of a Tensor or a Shared: ... | unpartition | reshape(shape)");
    if constexpr (kFit) {
      return std::forward<Array>(array).reshape(shape);
    } else {
      return refused_value<std::remove_cvref_t<Array>>();
    }
  }
  Shape shape;
};

struct RowsAdaptor {
  using IsAdaptor = void;
  template <class Array>
  Status check(const Array& array) const {
    return check_rows(array.shape(), first, count);
  }
  template <class Array>
  auto operator()(const Array& array) const {
    constexpr bool kFit = requires { array.rows(first, count); };
    static_assert(kFit, "rows: of a Shared: ... | share | rows(first, count)");
    if constexpr (kFit) {
      return array.rows(first, count);
    } else {
      return refused_value<Array>();
    }
  }
  std::uint64_t first, count;
};

}  // namespace detail
}  // namespace halyard::inline v0::async
