// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor: an array in a device's memory, and its only owner. Shared: one of several owners, which
// only read it. Partition: a tensor divided into tiles; one workgroup writes each tile.
//
//   Tensor<T>            | share             -> Shared<Tensor<T>>       copyable
//   Tensor<T>            | partition(4, 4)   -> Partition<Tensor<T>>    need not divide the shape
//   Tensor<T>            | partition<4, 4>() -> Partition<Tensor<T>, 4, 4>    known to the compiler
//   Partition<Tensor<T>> | unpartition       -> Tensor<T>
//   Tensor<T>            | reshape({4, 4})   -> Tensor<T>               in another shape
//   Shared<Tensor<T>>    | reshape({4, 4})   -> Shared<Tensor<T>>       in another shape
//   Shared<Tensor<T>>    | rows(32, 16)      -> Shared<Tensor<T>>       16 rows from row 32 on
//
// The last three are also members: std::move(x).reshape({4, 4}), x.reshape({4, 4}), x.rows(32, 16).
// After an operation, each makes an operation with that result (combinators.h, cell.h).
//
// Ordering: a tensor exists before its contents are written. Every use of it is ordered after its
// last write, on any queue and device. A write is also ordered after the reads before it.
//
// Lifetime: the last owner may drop a tensor on any thread and at any time. That never blocks, and
// the device frees the memory after the last use.
//
// Threads: one thread at a time uses a Tensor or Partition. Several threads may use and drop copies
// of a Shared at once. Arrays are dense and row-major, dimension 0 the slowest.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/array_ref.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/detail/tensor_adaptors.h"
#include "halyard/async/device.h"
#include "halyard/async/shape.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::async {

namespace detail {
// Implements Tensor::queue().
HALYARD_EXPORT QueueRef queue_of(const Storage* storage);
}  // namespace detail

// Move-only. A tensor that was moved from is empty; operations refuse it (kInvalidArgument).
template <Element T>
class Tensor {
 public:
  using value_type = T;

  // Used by operations. `storage` has room for the elements of `shape`.
  Tensor(Ref<detail::Storage> storage, const Shape& shape) noexcept
      : storage_(std::move(storage)), shape_(shape) {}
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  const Shape& shape() const noexcept { return shape_; }
  std::uint64_t size() const noexcept { return shape_.elements(); }
  // The device that holds the tensor, and the queue of that device that wrote it last or else
  // allocated it. Empty handles, with a status() that is not ok, for an empty tensor and for an
  // argument of a recorded function (recorded.h).
  Device device() const { return queue().device(); }
  QueueRef queue() const { return detail::queue_of(storage()); }
  // The same elements in another shape. Throws, and changes nothing, if `shape` has more or fewer
  // elements (kInvalidArgument).
  [[nodiscard]] Tensor reshape(const Shape& shape) && {
    check(detail::check_reshape(shape_, shape));
    return {std::move(storage_), shape};
  }
  // Null for an empty tensor.
  detail::Storage* storage() const noexcept { return storage_.get(); }
  detail::StorageRange memory() const noexcept { return {storage(), 0, size() * sizeof(T)}; }

 private:
  friend class Shared<Tensor>;
  Ref<detail::Storage> storage_;
  Shape shape_;
};

// Copyable. A part (rows()) is a Shared of the same storage: it owns the tensor, and writes of the
// tensor are ordered with it as with the whole.
template <Element T>
class Shared<Tensor<T>> {
 public:
  using value_type = T;

  explicit Shared(Tensor<T>&& tensor) noexcept
      : storage_(std::move(tensor.storage_)), shape_(tensor.shape_) {}

  const Shape& shape() const noexcept { return shape_; }
  std::uint64_t size() const noexcept { return shape_.elements(); }
  Device device() const { return queue().device(); }  // as Tensor::device()
  QueueRef queue() const { return detail::queue_of(storage()); }
  detail::Storage* storage() const noexcept { return storage_.get(); }
  // The bytes of the storage that this reads; an argument of Context::copy().
  detail::StorageRange memory() const noexcept {
    return {storage(), first_ * sizeof(T), shape_.elements() * sizeof(T)};
  }

  // The part with the rows [first, first + count) of dimension 0. Throws if the tensor does not
  // have them (kOutOfRange).
  Shared rows(std::uint64_t first, std::uint64_t count) const {
    check(detail::check_rows(shape_, first, count));
    const bool part = is_part_ || count != shape_[0];
    return {storage_, first_ + rows_of(first).elements(), rows_of(count), part};
  }
  // The same elements in another shape. Throws if `shape` has more or fewer (kInvalidArgument).
  Shared reshape(const Shape& shape) const {
    check(detail::check_reshape(shape_, shape));
    return {storage_, first_, shape, is_part_};
  }

  // Returns the tensor if this is its only owner and no part of it; this is then empty. Otherwise
  // returns nothing and changes nothing. Call it on a variable: a temporary share would be dropped.
  [[nodiscard("the result is the tensor's only owner")]] std::optional<Tensor<T>>
  try_unwrap() && noexcept {
    if (is_part_ || !storage_ || !storage_->unique()) return std::nullopt;
    return Tensor<T>(std::move(storage_), shape_);
  }

 private:
  Shared(Ref<detail::Storage> storage, std::uint64_t first, const Shape& shape, bool part) noexcept
      : storage_(std::move(storage)), first_(first), shape_(shape), is_part_(part) {}
  // The shape with `count` rows.
  Shape rows_of(std::uint64_t count) const noexcept {
    const std::uint64_t sizes[] = {count, shape_[1], shape_[2]};
    static_assert(std::size(sizes) == hal::kMaxTensorRank);
    return hal::Extents(hal::View<std::uint64_t>(sizes, shape_.rank()));
  }

  Ref<detail::Storage> storage_;
  std::uint64_t first_ = 0;  // element index in the storage
  Shape shape_;
  bool is_part_ = false;
};

// Move-only. Tiles at the edges end where the tensor ends.
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
  Device device() const { return tensor_.device(); }
  QueueRef queue() const { return tensor_.queue(); }
  detail::Storage* storage() const noexcept { return tensor_.storage(); }
  detail::StorageRange memory() const noexcept { return tensor_.memory(); }

  Tensor<T> unpartition() && noexcept { return std::move(tensor_); }

 private:
  Tensor<T> tensor_;
  [[no_unique_address]] std::conditional_t<kIsStatic, None, Shape> tile_;
};

inline constexpr detail::ShareAdaptor share{};

inline constexpr detail::UnpartitionAdaptor unpartition{};

// Applies to a Tensor, a Shared, or an operation that returns either, which then fails where the
// function of a tensor would throw; unpartition a Partition first.
constexpr detail::ReshapeAdaptor reshape(const Shape& shape) noexcept { return {shape}; }
// Applies to a Shared, or to an operation that returns a Shared.
constexpr detail::RowsAdaptor rows(std::uint64_t first, std::uint64_t count) noexcept {
  return {first, count};
}

// One extent for each dimension of the tensor, each at least 1; otherwise a kernel call with the
// partition is kInvalidArgument. Without extents: the kernel's own tile.
template <class... Extent>
  requires(sizeof...(Extent) == 0 || std::constructible_from<Shape, Extent...>)
constexpr detail::PartitionAdaptor partition(Extent... tile) noexcept {
  return {Shape(tile...)};
}
// The type carries the tile; a kernel's declaration can require it (kernel.h).
template <std::uint64_t... kTile>
  requires(sizeof...(kTile) != 0)
constexpr detail::StaticPartitionAdaptor<kTile...> partition() noexcept {
  return {};
}

}  // namespace halyard::inline v0::async
