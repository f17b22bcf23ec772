// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of equal or counted elements: full, zeros, ones, arange; of none yet: empty, scratch;
// from the host's memory and back: from_host, to_host, item; on another device: copy_to; over those
// that are there: fill, copy.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"

namespace halyard::inline v0::async {

namespace detail {

// Memory for a tensor of that shape. kOutOfRange: 2^64 bytes or more; kInvalidArgument: more than
// hal::kMaxTensorRank dimensions.
HALYARD_EXPORT Result<Ref<Storage>> allocate(Context& context, const Shape& shape,
                                             kernel::ElementType type);
// The same by Context::scratch().
HALYARD_EXPORT Result<Ref<Storage>> scratch(Context& context, const Shape& shape,
                                            kernel::ElementType type);
// All elements the same: the lower `size` bytes of `element`.
HALYARD_EXPORT Status fill_elements(Context& context, const StorageRange& memory,
                                    std::uint64_t element, std::size_t size);
// 0, 1, ... n - 1.
HALYARD_EXPORT Result<Ref<Storage>> arange_of(Context& context, kernel::ElementType type,
                                              std::uint64_t n);
// A copy of `memory` that the host sees.
HALYARD_EXPORT Result<Ref<Storage>> copy_for_host(Context& context, const StorageRange& memory);
// kInvalidArgument unless `has`, of what `user` is given, is `wanted`.
HALYARD_EXPORT Status check_count(const char* user, std::uint64_t has, std::uint64_t wanted);
// Copies the first bytes of a storage that the host sees. Precondition: what writes it is done.
HALYARD_EXPORT Status read_back(const Storage& storage, std::span<std::byte> target);

template <class T>
Result<Tensor<T>> allocate_tensor(Context& context, const Shape& shape) {
  Result<Ref<Storage>> storage = allocate(context, shape, kElementType<T>);
  if (!storage.ok()) return storage.status();
  return Tensor<T>(*std::move(storage), shape);
}

template <class T>
struct CallEmpty {
  Result<Tensor<T>> operator()(Context& context) const {
    return allocate_tensor<T>(context, shape);
  }
  Shape shape;
};

template <class T>
struct CallScratch {
  static constexpr bool kRecordable = true;
  Result<Tensor<T>> operator()(Context& context) const {
    Result<Ref<Storage>> storage = scratch(context, shape, kElementType<T>);
    if (!storage.ok()) return storage.status();
    return Tensor<T>(*std::move(storage), shape);
  }
  Shape shape;
};

template <class T>
struct CallFull {
  Result<Tensor<T>> operator()(Context& context) const {
    Result<Tensor<T>> tensor = allocate_tensor<T>(context, shape);
    if (!tensor.ok()) return tensor;
    if (Status status = fill_elements(context, tensor->memory(), element, sizeof(T));
        !status.ok()) {
      return status;
    }
    return tensor;
  }
  Shape shape;
  std::uint64_t element;
};

template <class T>
struct CallArange {
  Result<Tensor<T>> operator()(Context& context) const {
    Result<Ref<Storage>> storage = arange_of(context, kElementType<T>, n);
    if (!storage.ok()) return storage.status();
    return Tensor<T>(*std::move(storage), n);
  }
  std::uint64_t n;
};

// Values: a std::vector, or a std::span of what somebody keeps.
template <class T, class Values>
struct CallFromHost {
  Result<Tensor<T>> operator()(Context& context) const {
    Result<Tensor<T>> tensor = allocate_tensor<T>(context, shape);
    if (!tensor.ok()) return tensor;
    if (tensor->size() != values.size()) {
      return Status(StatusCode::kInvalidArgument, "from_host: not as many values as the shape has");
    }
    if (Status status = context.update(tensor->storage(), std::as_bytes(std::span(values)));
        !status.ok()) {
      return status;
    }
    return tensor;
  }
  Values values;
  Shape shape;
};

// A tensor's copy that the host can read when the device is done. Awaited, it is a vector.
template <class T>
class Readback {
 public:
  using Delivered = std::vector<T>;
  Readback(Ref<Storage> storage, std::size_t size) : storage_(std::move(storage)), size_(size) {}
  Result<std::vector<T>> deliver() && {
    std::vector<T> values;
#if HALYARD_EXCEPTIONS
    try {  // it may be a thread of the runtime that delivers
      values.resize(size_);
    } catch (const std::bad_alloc&) {
      return Status(StatusCode::kResourceExhausted, "no memory for what to_host() gives");
    }
#else
    values.resize(size_);
#endif
    if (Status status = read_back(*storage_, std::as_writable_bytes(std::span(values)));
        !status.ok()) {
      return status;
    }
    return values;
  }

 private:
  Ref<Storage> storage_;
  std::size_t size_;
};

// The same to where the host wants it. Awaited, it is that span.
template <class T>
struct ReadbackInto {
  using Delivered = std::span<T>;
  Result<std::span<T>> deliver() && {
    if (Status status = read_back(*storage, std::as_writable_bytes(into)); !status.ok()) {
      return status;
    }
    return into;
  }
  Ref<Storage> storage;
  std::span<T> into;
};

// The same of one element. Awaited, it is that.
template <class T>
struct ReadbackItem {
  using Delivered = T;
  Result<T> deliver() && {
    T item{};
    if (Status status = read_back(*storage, std::as_writable_bytes(std::span(&item, 1)));
        !status.ok()) {
      return status;
    }
    return item;
  }
  Ref<Storage> storage;
};

struct CallToHost {
  template <class Array>
  auto operator()(Context& context, const Array& array) const
      -> Result<Readback<typename Array::value_type>> {
    const StorageRange memory = array.memory();
    Result<Ref<Storage>> copy = copy_for_host(context, memory);
    if (!copy.ok()) return copy.status();
    return Readback<typename Array::value_type>(*std::move(copy),
                                                memory.length / sizeof(typename Array::value_type));
  }
};

template <class T>
struct CallToHostInto {
  template <class Array>
  Result<ReadbackInto<T>> operator()(Context& context, const Array& array) const {
    if (Status status = check_count("to_host: room for", into.size(), array.size()); !status.ok()) {
      return status;
    }
    Result<Ref<Storage>> copy = copy_for_host(context, array.memory());
    if (!copy.ok()) return copy.status();
    return ReadbackInto<T>{*std::move(copy), into};
  }
  std::span<T> into;
};

struct CallItem {
  template <class Array>
  auto operator()(Context& context, const Array& array) const
      -> Result<ReadbackItem<typename Array::value_type>> {
    if (Status status = check_count("item: a tensor of", array.size(), 1); !status.ok()) {
      return status;
    }
    Result<Ref<Storage>> copy = copy_for_host(context, array.memory());
    if (!copy.ok()) return copy.status();
    return ReadbackItem<typename Array::value_type>{*std::move(copy)};
  }
};

// T of an array of Ts, or of an operation that gives one.
template <class Array>
using ItemOf = typename AsOperation<Array>::Output::value_type;

// Over the elements of an array that is there.
template <class T>
struct CallFill {
  static constexpr bool kRecordable = true;
  template <class Array>
  Result<Array> operator()(Context& context, Array&& array) const {
    Status status = fill_elements(context, array.memory(), element, sizeof(T));
    if (!status.ok()) return status;
    return std::move(array);
  }
  std::uint64_t element;
};

struct CallCopy {
  static constexpr bool kRecordable = true;
  template <class From, class To>
  Result<std::tuple<From, To>> operator()(Context& context, From&& from, To&& to) const {
    Status status = context.copy(from.memory(), to.memory());
    if (!status.ok()) return status;
    return std::tuple<From, To>(std::move(from), std::move(to));
  }
};

template <class T>
constexpr std::uint64_t bits_of(T element) noexcept {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<std::uint64_t>(element);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(element);
  } else {
    return static_cast<std::make_unsigned_t<T>>(element);
  }
}
// One owner: what may be written.
template <class T>
inline constexpr bool kWritable = false;
template <class T>
inline constexpr bool kWritable<Tensor<T>> = true;
template <class T, std::uint64_t... kTile>
inline constexpr bool kWritable<Partition<T, kTile...>> = true;

struct CallCopyTo {
  template <class Array>
  auto operator()(Context& context, const Array& array) const
      -> Result<Tensor<typename Array::value_type>> {
    Context there(context, queue);
    auto copy = allocate_tensor<typename Array::value_type>(there, array.shape());
    if (!copy.ok()) return copy;
    if (Status status = there.copy(array.memory(), copy->memory()); !status.ok()) return status;
    return copy;
  }
  QueueRef queue;
};

struct CopyTo {
  QueueRef queue;
};

}  // namespace detail

// All elements the same. Of 8 bytes, whose halves differ, there may be 2^30 - 1, and they are
// written by a shipped kernel: devices fill with patterns of 1, 2 or 4 bytes. kOutOfRange.
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

// Elements that nobody has written: for what writes all of them.
template <Element T>
auto empty(const Shape& shape) {
  return detail::operation(detail::CallEmpty<T>{shape});
}

// The same, but a recording has it once, for all its replays (recorded.h).
template <Element T>
auto scratch(const Shape& shape) {
  return detail::operation(detail::CallScratch<T>{shape});
}

// A tensor with these elements, row by row. kInvalidArgument if they are not as many as `shape`
// has.
template <Element T>
auto from_host(std::vector<T> values, const Shape& shape) {
  return detail::operation(detail::CallFromHost<T, std::vector<T>>{std::move(values), shape});
}
template <Element T>
auto from_host(std::vector<T> values) {
  const Shape shape{values.size()};
  return from_host(std::move(values), shape);
}
// The same of elements that somebody keeps, until they are copied as this is submitted.
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
// 0, 1, ... n - 1, rounded to T or modulo what it holds, by a shipped kernel. kOutOfRange: more
// than 2^31 - 1 words of 4 bytes.
template <Element T>
auto arange(std::uint64_t n) {
  return detail::operation(detail::CallArange<T>{n});
}

// The elements as a std::vector, row by row. `array` is a Tensor, Shared, Partition or an operation
// that gives one, on any device. They can be read when the device is done: only awaiting gives the
// vector.
template <class Array>
auto to_host(Array&& array) {
  return detail::operation(detail::CallToHost(), std::forward<Array>(array));
}
// The same to elements that somebody keeps, as many (kInvalidArgument otherwise), which it gives.
// Who awaits it writes them, once the device is done: behind the await, be it ok or not, nobody
// uses them.
template <class Array>
auto to_host(Array&& array, std::span<detail::ItemOf<Array>> into) {
  return detail::operation(detail::CallToHostInto<detail::ItemOf<Array>>{into},
                           std::forward<Array>(array));
}
// Its only element. `array` as to_host's; kInvalidArgument if it has none or more.
template <class Array>
auto item(Array&& array) {
  return detail::operation(detail::CallItem(), std::forward<Array>(array));
}

// `array`, a Tensor or Partition or an operation that gives one, with all its elements `element`;
// as full().
template <class Array, Element T>
auto fill(Array&& array, T element) {
  using Given = typename detail::AsOperation<Array>::Output;
  constexpr bool kFit = detail::kWritable<Given> && std::same_as<typename Given::value_type, T>;
  static_assert(kFit, "fill: a Tensor<T> or a Partition<Tensor<T>>, and a T");
  if constexpr (kFit) {
    return detail::operation(detail::CallFill<T>{detail::bits_of(element)},
                             std::forward<Array>(array));
  }
}
// The elements of `from`, an array as to_host's, to `to`, as fill's, of the same size; gives both.
template <class From, class To>
auto copy(From&& from, To&& to) {
  using Source = typename detail::AsOperation<From>::Output;
  using Target = typename detail::AsOperation<To>::Output;
  constexpr bool kFit = detail::kWritable<Target> &&
                        std::same_as<typename Source::value_type, typename Target::value_type>;
  static_assert(kFit, "copy: to a Tensor<T> or a Partition<Tensor<T>>, and from one of T");
  if constexpr (kFit) {
    return detail::operation(detail::CallCopy(), std::forward<From>(from), std::forward<To>(to));
  }
}

// A tensor with the same elements on another device (or queue), which copies them when they are
// there. `array` as to_host's:  copy_to(array, device)  or  array | copy_to(device).
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
