// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the operations in operations.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "halyard/async/context.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/detail/submitter.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// Allocates the memory of a tensor. kOutOfRange for 2^64 bytes or more, kInvalidArgument for more
// than hal::kMaxTensorRank dimensions.
HALYARD_EXPORT Result<Ref<Storage>> allocate(Context& context, const Shape& shape,
                                             kernel::ElementType type);
// The same with Context::scratch().
HALYARD_EXPORT Result<Ref<Storage>> scratch(Context& context, const Shape& shape,
                                            kernel::ElementType type);
// Sets all elements to the lower `size` bytes of `element`.
HALYARD_EXPORT Status fill_elements(Context& context, const StorageRange& memory,
                                    std::uint64_t element, std::size_t size);
// A new tensor's memory with these elements.
HALYARD_EXPORT Result<Ref<Storage>> full_of(Context& context, const Shape& shape,
                                            kernel::ElementType type, std::uint64_t element);
HALYARD_EXPORT Result<Ref<Storage>> copy_from_host(Context& context, const Shape& shape,
                                                   kernel::ElementType type, hal::Bytes values);
// The elements 0, 1, ... n - 1.
HALYARD_EXPORT Result<Ref<Storage>> arange_of(Context& context, kernel::ElementType type,
                                              std::uint64_t n);
// Copies `memory` to host memory, for `user` in messages.
HALYARD_EXPORT Result<Ref<Storage>> copy_for_host(Context& context, const StorageRange& memory,
                                                  const char* user);
// kInvalidArgument unless `has` is `wanted`; the message begins with `what`.
HALYARD_EXPORT Status check_count(const char* what, std::uint64_t has, std::uint64_t wanted);
// Copies the first bytes of a storage in host memory. Precondition: the device has written them.
HALYARD_EXPORT Status read_back(const Storage& storage, std::span<std::byte> target);

template <class T>
Result<Tensor<T>> tensor_of(Result<Ref<Storage>>&& storage, const Shape& shape) {
  if (!storage.ok()) return std::move(storage).status();
  return Tensor<T>(*std::move(storage), shape);
}
template <class T>
Result<Tensor<T>> allocate_tensor(Context& context, const Shape& shape) {
  return tensor_of<T>(allocate(context, shape, kElementType<T>), shape);
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
    return tensor_of<T>(scratch(context, shape, kElementType<T>), shape);
  }
  Shape shape;
};

template <class T>
struct CallFull {
  Result<Tensor<T>> operator()(Context& context) const {
    return tensor_of<T>(full_of(context, shape, kElementType<T>, element), shape);
  }
  Shape shape;
  std::uint64_t element;
};

template <class T>
struct CallArange {
  Result<Tensor<T>> operator()(Context& context) const {
    return tensor_of<T>(arange_of(context, kElementType<T>, n), n);
  }
  std::uint64_t n;
};

// Values: a std::vector or a std::span.
template <class T, class Values>
struct CallFromHost {
  Result<Tensor<T>> operator()(Context& context) const {
    const auto bytes = std::as_bytes(std::span(values));
    return tensor_of<T>(copy_from_host(context, shape, kElementType<T>, bytes), shape);
  }
  Values values;
  Shape shape;
};

// A tensor's copy in host memory, readable once the device is done. Awaiting returns a vector.
template <class T>
class Readback {
 public:
  using Delivered = std::vector<T>;
  Readback(Ref<Storage> storage, std::size_t size) : storage_(std::move(storage)), size_(size) {}
  Result<std::vector<T>> deliver() && {
    std::vector<T> values;
#if HALYARD_EXCEPTIONS
    try {  // deliver() may run on a thread of the runtime, where nothing catches
      values.resize(size_);
    } catch (const std::bad_alloc&) {
      return Status(StatusCode::kResourceExhausted, "no memory for the vector of to_host()");
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

// The same; awaiting copies it to `into` and returns that.
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

// Reads one element; awaiting returns it.
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
    Result<Ref<Storage>> copy = copy_for_host(context, memory, "to_host");
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
    Result<Ref<Storage>> copy = copy_for_host(context, array.memory(), "to_host");
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
    Result<Ref<Storage>> copy = copy_for_host(context, array.memory(), "item");
    if (!copy.ok()) return copy.status();
    return ReadbackItem<typename Array::value_type>{*std::move(copy)};
  }
};

// The element type of an array, or of an operation that returns one.
template <class Array>
using ItemOf = typename AsOperation<Array>::Output::value_type;

// Overwrites the elements of an array.
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
  } else if constexpr (std::is_same_v<T, Half>) {
    return element.bits();
  } else {
    return static_cast<std::make_unsigned_t<T>>(element);
  }
}
// Whether an array has one owner, so that it may be written.
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
    Submitter there(context, queue);
    auto copy = allocate_tensor<typename Array::value_type>(there, array.shape());
    if (!copy.ok()) return copy;
    if (Status status = there.copy(array.memory(), copy->memory(), "copy_to"); !status.ok()) {
      return status;
    }
    return copy;
  }
  QueueRef queue;
};

struct CopyTo {
  QueueRef queue;
};

}  // namespace halyard::inline v0::async::detail
