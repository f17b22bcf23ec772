// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors and buffers of the HAL share memory, without a copy and without a wait of the host:
//
//   from_buffer   a tensor whose memory is a buffer, or a part of one
//   lend_buffer   a tensor's memory for code over the HAL, until it is given back
//
// In both directions a point of a timeline semaphore orders the two sides:
//
//   Tensor<float> x = from_buffer<float>(device, view, {filled, 1}).value();
//   auto lent = lend_buffer(std::move(x)).value();
//   check(queue.dispatch(launch, {.wait = {lent.ready().point()}, .signal = {{done, 1}}}));
//   x = std::move(lent).give_back({done, 1}).value();
//
// A Task that awaits an operation gets a tensor whose work is done. A function given to map() gets
// a tensor whose work has only been submitted; ready() is then a point in the future.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/device.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/semaphore.h"

namespace halyard::inline v0::async {

// The point at which `semaphore` reaches `value`; in the past if the semaphore is empty. Owns the
// semaphore.
struct ReadyAt {
  // An empty semaphore has no point.
  explicit operator bool() const noexcept { return static_cast<bool>(semaphore); }
  hal::Point point() const noexcept { return {semaphore, value}; }

  hal::Semaphore semaphore{};
  std::uint64_t value = 0;
};

namespace detail {
// Implement from_buffer() and BufferLoan.
HALYARD_EXPORT Result<Ref<Storage>> adopt_view(const QueueRef& queue, const hal::BufferView& view,
                                               kernel::ElementType element, const ReadyAt& ready,
                                               const char* user);
struct LentMemory {
  hal::BufferView view;
  ReadyAt ready;
};
HALYARD_EXPORT Result<LentMemory> lend(const StorageRange& memory, const Shape& shape,
                                       kernel::ElementType element, bool for_writes);
HALYARD_EXPORT Status give_back(Storage& storage, const ReadyAt& done, bool for_writes);

template <class Array>
inline constexpr bool kLendable = false;
template <class T>
inline constexpr bool kLendable<Tensor<T>> = true;
template <class T>
inline constexpr bool kLendable<Shared<Tensor<T>>> = true;
}  // namespace detail

// A tensor whose elements are those of `view`; its uses wait for `ready`. It keeps a handle of the
// buffer, and never deallocates a pool's buffer: the caller does, after the tensor's last use
// (lend_buffer() has its point). While the tensor exists, the caller's code uses the memory only
// within a loan. `queue` is a queue of the buffer's device, and then the tensor's queue(). If
// `ready` fails, so do the uses of the tensor. Errors:
//
//   kInvalidArgument    elements other than T, more than hal::kMaxTensorRank dimensions
//   kResourceExhausted
//   QueueRef::status()
//
// Memory that the device cannot access, and a semaphore of another runtime, fail the first use.
template <Element T>
Result<Tensor<T>> from_buffer(const QueueRef& queue, const hal::BufferView& view,
                              const ReadyAt& ready = {}) {
  Result<Ref<detail::Storage>> storage =
      detail::adopt_view(queue, view, kElementType<T>, ready, "from_buffer");
  if (!storage.ok()) return std::move(storage).status();
  return Tensor<T>(*std::move(storage), hal::Extents(view.shape()));
}

// The memory of a Tensor, to be read and written over the HAL, or of a Shared, to be read.
// Move-only; used by one thread at a time. It owns the array, so nothing in async writes the memory
// meanwhile, nor reads the memory of a Tensor. A moved-from loan is empty.
template <class Array>
class BufferLoan {
  static_assert(detail::kLendable<Array>, "lend_buffer: a Tensor or a Shared");
  static constexpr bool kForWrites = std::is_same_v<Array, Tensor<typename Array::value_type>>;

 public:
  BufferLoan(Array&& array, detail::LentMemory&& memory) noexcept
      : array_(std::move(array)), memory_(std::move(memory)) {}
  BufferLoan(BufferLoan&&) noexcept = default;
  BufferLoan& operator=(BufferLoan&&) noexcept = default;

  // The elements; the view's range() is an argument of queues and recordings.
  const hal::BufferView& view() const noexcept { return memory_.view; }
  // The point for which work on the memory must wait. Fails if the work that was to write it has
  // failed.
  const ReadyAt& ready() const noexcept { return memory_.ready; }

  // Ends the loan and returns the array. `done` is signalled by the caller's work, which waits for
  // ready(). All uses of a Tensor, and writes of a Shared, are ordered after it. Call it without a
  // point if the caller's work has ended, as it must have when a loan is dropped. If `done` fails,
  // so do the uses of a Tensor; reads of a Shared count as ended. kResourceExhausted, and then the
  // loan goes on; kInvalidArgument if it is empty.
  Result<Array> give_back(const ReadyAt& done = {}) && {
    if (array_.storage() == nullptr) {
      return Status(StatusCode::kInvalidArgument, "give_back: a loan that was moved from");
    }
    if (Status status = detail::give_back(*array_.storage(), done, kForWrites); !status.ok()) {
      return status;
    }
    memory_ = {};
    return std::move(array_);
  }

 private:
  Array array_;
  detail::LentMemory memory_;
};

// Lends the memory of a Tensor, std::move(x), or of a Shared. May submit a barrier: where several
// uses must end first, ready() is the end of them all. Errors of hal::Queue; kInvalidArgument for a
// tensor that was moved from or is a parameter of a recorded function.
template <class Array>
Result<BufferLoan<std::decay_t<Array>>> lend_buffer(Array&& array) {
  using Own = std::decay_t<Array>;
  static_assert(detail::kLendable<Own>, "lend_buffer: a Tensor or a Shared");
  static_assert(detail::kMovedOrCopyable<Array>, "Tensor has one owner: lend_buffer(std::move(x))");
  Result<detail::LentMemory> memory =
      detail::lend(array.memory(), array.shape(), kElementType<typename Own::value_type>,
                   std::is_same_v<Own, Tensor<typename Own::value_type>>);
  if (!memory.ok()) return std::move(memory).status();
  return BufferLoan<Own>(Own(std::forward<Array>(array)), *std::move(memory));
}

}  // namespace halyard::inline v0::async
