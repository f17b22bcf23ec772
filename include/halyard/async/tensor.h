// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor: an array in a device's memory, and its only owner. Shared: one of several owners, who may
// only read. Partition: a tensor divided into tiles, each of which one workgroup may write.
//
//   Tensor<T>            | share             -> Shared<Tensor<T>>       copyable
//   Tensor<T>            | partition(4, 4)   -> Partition<Tensor<T>>    edges may be uneven
//   Tensor<T>            | partition<4, 4>() -> Partition<Tensor<T>, 4, 4>    known to the compiler
//   Partition<Tensor<T>> | unpartition       -> Tensor<T>
//   Tensor<T>            | reshape({4, 4})   -> Tensor<T>               in another shape
//   Shared<Tensor<T>>    | reshape({4, 4})   -> Shared<Tensor<T>>       in another shape
//   Shared<Tensor<T>>    | rows(32, 16)      -> Shared<Tensor<T>>       16 rows from row 32 on
//
// The last three are members, too: std::move(x).reshape({4, 4}), x.reshape({4, 4}), x.rows(32, 16).
// On an operation that gives the one, each is an operation that gives the other (combinators.h,
// cell.h).
//
// A tensor is there before its contents are: it knows its device's queue and the value of the
// queue's timeline at which it has been written, and what uses it is ordered behind that. Dropping
// the last owner gives the memory back behind the last use: it blocks for nothing, and frees
// nothing early. Shapes are dense and row-major, dimension 0 the slowest.
//
// A Tensor or Partition is one thread's at a time; the copies of a Shared may be used, and dropped,
// by several threads at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/base/ref.h"
#include "halyard/hal/launch.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async {

// At most hal::kMaxTensorRank sizes: {16, 16}. What hal has, without a std::initializer_list, which
// g++ 12 cannot keep in a coroutine that is awaiting.
class Shape : public hal::Extents {
 public:
  constexpr Shape() noexcept = default;
  constexpr Shape(const hal::Extents& extents) noexcept : Extents(extents) {}
  template <std::convertible_to<std::uint64_t>... Size>
    requires(sizeof...(Size) >= 1 && sizeof...(Size) <= hal::kMaxTensorRank)
  constexpr Shape(Size... sizes) noexcept : Extents({static_cast<std::uint64_t>(sizes)...}) {}

  // 2^64 - 1 if they are more.
  constexpr std::uint64_t elements() const noexcept {
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < rank() && d < hal::kMaxTensorRank; ++d) {
      if (__builtin_mul_overflow(elements, (*this)[d], &elements)) return ~std::uint64_t{0};
    }
    return elements;
  }
};

namespace detail {
template <class T>
constexpr int element_type_of() {
  using enum kernel::ElementType;
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, float>) return static_cast<int>(kFloat32);
  if constexpr (std::is_same_v<T, double>) return static_cast<int>(kFloat64);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if constexpr (sizeof(T) == 1) return static_cast<int>(is_signed ? kInt8 : kUint8);
    if constexpr (sizeof(T) == 2) return static_cast<int>(is_signed ? kInt16 : kUint16);
    if constexpr (sizeof(T) == 4) return static_cast<int>(is_signed ? kInt32 : kUint32);
    if constexpr (sizeof(T) == 8) return static_cast<int>(is_signed ? kInt64 : kUint64);
  }
  return -1;
}
}  // namespace detail

// float, double, and integers of 8 to 64 bits.
template <class T>
concept Element = detail::element_type_of<T>() >= 0;

template <Element T>
inline constexpr kernel::ElementType kElementType{
    static_cast<std::uint8_t>(detail::element_type_of<T>())};

template <class T>
class Shared;
template <class T, std::uint64_t... kTile>
class Partition;

namespace detail {
// Tensor::queue().
HALYARD_EXPORT QueueRef queue_of(const Storage* storage);

// Whether a tensor has the same elements in both shapes.
constexpr bool same_elements(const Shape& a, const Shape& b) noexcept {
  return a.elements() == b.elements() && b.rank() <= hal::kMaxTensorRank;
}
}  // namespace detail

// Move-only. A tensor that was moved from is empty, and what is given it fails.
template <Element T>
class Tensor {
 public:
  using value_type = T;

  // Of operations: `storage` holds shape's elements at least.
  Tensor(Ref<detail::Storage> storage, const Shape& shape) noexcept
      : storage_(std::move(storage)), shape_(shape) {}
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  const Shape& shape() const noexcept { return shape_; }
  std::uint64_t size() const noexcept { return shape_.elements(); }
  // The device whose memory it is; and of its queues that on which it was written last or, before
  // that, allocated. Of an empty tensor, and of one that stands for what replays bring
  // (recorded.h), an empty handle, whose status() is not ok.
  Device device() const { return queue().device(); }
  QueueRef queue() const { return detail::queue_of(storage()); }
  // The same elements in another shape of as many; empty if they are not.
  [[nodiscard]] Tensor reshape(const Shape& shape) && noexcept {
    if (!detail::same_elements(shape_, shape)) storage_ = nullptr;
    return {std::move(storage_), shape};
  }
  // Null once it was moved from.
  detail::Storage* storage() const noexcept { return storage_.get(); }
  detail::StorageRange memory() const noexcept { return {storage(), 0, size() * sizeof(T)}; }

 private:
  friend class Shared<Tensor>;
  Ref<detail::Storage> storage_;
  Shape shape_;
};

// A part is a Shared of the same storage, so it is an owner of the tensor, and ordered with what
// writes the tensor as the whole is. One that the tensor does not have is empty, and what is given
// it fails.
template <Element T>
class Shared<Tensor<T>> {
 public:
  using value_type = T;

  explicit Shared(Tensor<T>&& tensor) noexcept
      : storage_(std::move(tensor.storage_)), shape_(tensor.shape_) {}

  const Shape& shape() const noexcept { return shape_; }
  std::uint64_t size() const noexcept { return shape_.elements(); }
  Device device() const { return queue().device(); }  // as a Tensor's
  QueueRef queue() const { return detail::queue_of(storage()); }
  detail::Storage* storage() const noexcept { return storage_.get(); }
  // What is read of the storage: Context::copy() takes it.
  detail::StorageRange memory() const noexcept {
    return {storage(), first_ * sizeof(T), shape_.elements() * sizeof(T)};
  }

  // Rows [first, first + count) of dimension 0: a part.
  Shared rows(std::uint64_t first, std::uint64_t count) const noexcept {
    const bool inside = shape_.rank() != 0 && first <= shape_[0] && count <= shape_[0] - first;
    const bool part = is_part_ || count != shape_[0];
    return {inside ? storage_ : nullptr, first_ + rows_of(first).elements(), rows_of(count), part};
  }
  // The same elements in another shape of as many.
  Shared reshape(const Shape& shape) const noexcept {
    return {detail::same_elements(shape_, shape) ? storage_ : nullptr, first_, shape, is_part_};
  }

  // The tensor, if this is its only owner and no part of it, and empty then. Otherwise nothing
  // changes: std::move(x).try_unwrap() leaves x a share. A temporary, which is nobody's then, goes:
  // who may have to keep the share has it in a variable.
  [[nodiscard("what it gives is the tensor's only owner")]] std::optional<Tensor<T>>
  try_unwrap() && noexcept {
    if (is_part_ || !storage_ || !storage_->unique()) return std::nullopt;
    return Tensor<T>(std::move(storage_), shape_);
  }

 private:
  Shared(Ref<detail::Storage> storage, std::uint64_t first, const Shape& shape, bool part) noexcept
      : storage_(std::move(storage)), first_(first), shape_(shape), is_part_(part) {}
  // The shape with so many rows.
  Shape rows_of(std::uint64_t count) const noexcept {
    const std::uint64_t sizes[] = {count, shape_[1], shape_[2]};
    static_assert(std::size(sizes) == hal::kMaxTensorRank);
    return hal::Extents(hal::View<std::uint64_t>(sizes, shape_.rank()));
  }

  Ref<detail::Storage> storage_;
  std::uint64_t first_ = 0;  // element of the storage
  Shape shape_;
  bool is_part_ = false;
};

// Move-only. The tiles that reach beyond the tensor end with it.
template <Element T, std::uint64_t... kTile>
class Partition<Tensor<T>, kTile...> {
  static constexpr bool kIsStatic = sizeof...(kTile) != 0;
  static_assert(sizeof...(kTile) <= hal::kMaxTensorRank && ((kTile != 0) && ...),
                "partition: up to three extents, each at least 1");
  struct None {};
  static constexpr Shape kStaticTile{kTile...};

 public:
  using value_type = T;

  Partition(Tensor<T>&& tensor, const Shape& tile) noexcept
    requires(!kIsStatic)
      : tensor_(std::move(tensor)), tile_(tile) {}
  explicit Partition(Tensor<T>&& tensor) noexcept
    requires(kIsStatic)
      : tensor_(std::move(tensor)) {}

  const Shape& shape() const noexcept { return tensor_.shape(); }
  const Shape& tile() const noexcept {
    if constexpr (kIsStatic) {
      return kStaticTile;
    } else {
      return tile_;
    }
  }
  std::uint64_t size() const noexcept { return tensor_.size(); }
  Device device() const { return tensor_.device(); }  // as a Tensor's
  QueueRef queue() const { return tensor_.queue(); }
  detail::Storage* storage() const noexcept { return tensor_.storage(); }
  detail::StorageRange memory() const noexcept { return tensor_.memory(); }

  Tensor<T> unpartition() && noexcept { return std::move(tensor_); }

 private:
  Tensor<T> tensor_;
  [[no_unique_address]] std::conditional_t<kIsStatic, None, Shape> tile_;
};

namespace detail {
// An array's memory, shape and elements. A view.
struct ArrayRef {
  template <class Array>
    requires requires(const Array& array) { array.memory(); }
  ArrayRef(const Array& array) noexcept
      : memory(array.memory()),
        shape(array.shape()),
        type(kElementType<typename Array::value_type>) {}
  StorageRange memory;
  Shape shape;
  kernel::ElementType type;
};
}  // namespace detail

// What `value | adaptor` calls with the value, and `operation | adaptor` with what it gives.
template <class A>
concept Adaptor = requires { typename std::remove_cvref_t<A>::IsAdaptor; };

namespace detail {

// No Adaptor: an operation that is shared is more than one that gives a share (cell.h).
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
  auto operator()(Array&& array) const noexcept {
    constexpr bool kFit = requires { std::forward<Array>(array).reshape(shape); };
    static_assert(kFit, "reshape: of a Tensor or a Shared: ... | unpartition | reshape(shape)");
    if constexpr (kFit) return std::forward<Array>(array).reshape(shape);
  }
  Shape shape;
};

struct RowsAdaptor {
  using IsAdaptor = void;
  template <class Array>
  auto operator()(const Array& array) const noexcept {
    constexpr bool kFit = requires { array.rows(first, count); };
    static_assert(kFit, "rows: of a Shared: ... | share | rows(first, count)");
    if constexpr (kFit) return array.rows(first, count);
  }
  std::uint64_t first, count;
};

}  // namespace detail

inline constexpr detail::ShareAdaptor share{};

namespace detail {
template <class Array>
  requires(std::invocable<const detail::ShareAdaptor&, std::remove_reference_t<Array>>)
auto operator|(Array&& array, const detail::ShareAdaptor& adaptor) noexcept {
  constexpr bool kMoved = !std::is_lvalue_reference_v<Array>;
  static_assert(kMoved, "operations, Tensor and Partition have one owner: std::move(x) | ...");
  if constexpr (kMoved) return adaptor(std::move(array));
}
}  // namespace detail
inline constexpr detail::UnpartitionAdaptor unpartition{};

// On a Tensor or Shared, or an operation that gives one; a Partition is unpartitioned first.
constexpr detail::ReshapeAdaptor reshape(const Shape& shape) noexcept { return {shape}; }
// On a Shared, or an operation that gives one.
constexpr detail::RowsAdaptor rows(std::uint64_t first, std::uint64_t count) noexcept {
  return {first, count};
}

// As many extents as the tensor has dimensions, each at least 1; the kernel that is given the
// partition answers kInvalidArgument otherwise. Without any: the kernel's own tile.
template <class... Extent>
  requires(sizeof...(Extent) == 0 || std::constructible_from<Shape, Extent...>)
constexpr detail::PartitionAdaptor partition(Extent... tile) noexcept {
  return {Shape(tile...)};
}
// Of a type that has the tile, which a kernel may ask for (kernel.h).
template <std::uint64_t... kTile>
  requires(sizeof...(kTile) != 0)
constexpr detail::StaticPartitionAdaptor<kTile...> partition() noexcept {
  return {};
}

}  // namespace halyard::inline v0::async
