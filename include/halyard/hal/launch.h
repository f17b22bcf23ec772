// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launch: a kernel with its arguments, to be dispatched or recorded. It computes the grid and the
// constants of a kernel with tensor parameters (halyard/kernel/tensor.h), and checks that the
// arguments fit.
//
//   const hal::Launch launch = hal::Launch::create(matmul, {a, b, c}).value();  // BufferViews
//   queue.dispatch(launch, {.signal = {{done, 1}}});
//
// Tensor: a part of a buffer as an array whose rows may lie apart. Argument: a buffer or a tensor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

// A number for each dimension; dimension 0 is the slowest.
class Extents {
 public:
  constexpr Extents() noexcept = default;
  constexpr Extents(View<std::uint64_t> values) noexcept : rank_(values.size()) {
    for (std::size_t d = 0; d < rank_ && d < kMaxTensorRank; ++d) values_[d] = values[d];
  }
  constexpr Extents(std::initializer_list<std::uint64_t> values) noexcept
      : Extents(View<std::uint64_t>(values.begin(), values.size())) {}

  // The number of values given. Only the first kMaxTensorRank are kept: no kernel takes more.
  constexpr std::size_t rank() const noexcept { return rank_; }
  constexpr std::uint64_t operator[](std::size_t d) const noexcept { return values_[d]; }
  friend constexpr bool operator==(const Extents& a, const Extents& b) noexcept {
    std::uint64_t differ = a.rank_ ^ b.rank_;  // no branches: most calls find equal extents
    for (std::size_t d = 0; d < kMaxTensorRank; ++d) differ |= a.values_[d] ^ b.values_[d];
    return differ == 0;
  }

 private:
  std::uint64_t values_[kMaxTensorRank] = {};
  std::size_t rank_ = 0;
};

// An array in memory. A view: valid as long as the memory's handle.
struct Tensor {
  BindingRef memory{};  // the first element is the first of the range or slot
  Extents sizes{};      // elements
  Extents strides{};    // elements from one to the next, the last one 1; empty: dense
  Extents tile{};       // only for an output whose tile the launch chooses
  std::optional<ElementType> element{};  // if given, compared with the kernel's

  static Tensor of(const BufferView& view, const Extents& tile = {}) noexcept {
    return {view.range(), Extents(view.shape()), {}, tile, view.element()};
  }
};

// The argument for a kernel's parameter: a tensor or a plain buffer.
struct Argument {
  Argument() noexcept = default;
  Argument(const Buffer& buffer) noexcept : value{.memory = buffer} {}
  Argument(const BufferRange& range) noexcept : value{.memory = range} {}
  Argument(const BindingRef& memory) noexcept : value{.memory = memory} {}
  Argument(const Buffer& buffer, std::uint64_t offset, std::uint64_t length = kWholeSize) noexcept
      : value{.memory = {buffer, offset, length}} {}
  Argument(const Tensor& tensor) noexcept : value(tensor), is_tensor(true) {}
  Argument(const BufferView& view) noexcept : Argument(Tensor::of(view)) {}

  Tensor value{};
  bool is_tensor = false;
};

// Move-only. A view of the executable and of the arguments' memory only, whose handles outlive it.
// Any number of threads may dispatch it any number of times while no thread changes it.
class HALYARD_EXPORT Launch {
 public:
  Launch() noexcept = default;
  struct InPlace {};  // constructs an empty launch inside a Result
  explicit Launch(InPlace) noexcept {}

  // Creates a launch. `arguments` are for the bindings, `scalars` for the constants that belong to
  // no tensor, both in the order of the kernel's reflection. A slot without a length gets the
  // tensor's. Errors name kernel, parameter and value:
  //   kInvalidArgument  - another number of arguments or scalars than the kernel has
  //                     - a plain buffer for a tensor or the reverse; another rank or element type
  //                     - a last stride that is not 1; strides that overlap elements of an output
  //                     - a tile that is missing, has an extent of 0, or is not the launch's
  //                       to choose
  //                     - outputs that need different grids
  //                     - different sizes where the kernel requires equal ones (HY_SAME_SHAPE,
  //                       HY_SAME_SIZE), and different tiles of outputs there
  //                     - an empty buffer
  //   kOutOfRange       - elements beyond the end of the buffer, range or slot
  //                     - a size, stride or tile of 2^32 or more
  //   kResourceExhausted
  // Scalars have the errors of dispatch(). Slots of memory and of scalars are for recordings.
  static Result<Launch> create(const Function& function, View<Argument> arguments,
                               View<Constant> scalars = {});

  // Replaces the memory of a binding; a tensor keeps its shape. The result is that of create(), at
  // a fraction of its cost. Returns false, and changes nothing, if this launch has slots, or if a
  // tensor's new range does not state the same length in bytes as the old one (neither may be
  // kWholeSize). Precondition: the binding exists.
  bool rebind(std::size_t index, const BufferRange& range) noexcept {
    BufferRange& bound = ranges_.items()[index];
    // Equal length has room for the tensor's elements. The dispatch checks the buffer's size.
    const bool fits = range.length == bound.length && range.length != kWholeSize;
    if ((!fits && (tensors_ >> index & 1) != 0) || refs_.size != 0) return false;
    bound = range;
    return true;
  }
  // Replaces the scalars. Errors as create().
  Status set_scalars(View<Constant> scalars);

  // One workgroup for each tile of the outputs. A kernel that writes no tensor has no such grid:
  // its caller gives the grid with over().
  const Grid& grid() const noexcept { return grid_; }
  Launch& over(const Grid& grid) noexcept {
    grid_ = grid;
    return *this;
  }

  // Read by Queue and Recorder. A moved-from launch has no arguments.
  ExecutableObject* executable() const noexcept { return executable_; }
  std::uint32_t function_index() const noexcept { return function_; }
  View<BufferRange> bindings() const noexcept { return ranges_; }  // without memory for slots
  BindingRef binding(std::size_t index) const noexcept;
  Bytes constants() const noexcept { return constants_; }  // as the kernel's struct has them
  bool has_slots() const noexcept { return refs_.size != 0; }                  // for memory
  View<ConstantUse> constant_uses() const noexcept { return constant_uses_; }  // of slots

 private:
  Status pack(const Function& function, View<Argument> arguments, View<Constant> scalars);
  // Room for all constants is allocated.
  Status put_scalars(View<Constant> scalars);

  // An array with room for kInline items in place, so that the launches of most kernels allocate
  // nothing. The items beyond `size` are uninitialized.
  template <class T, std::size_t kInline>
  struct Array {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    Array() noexcept {}  // `here` stays uninitialized
    Array(Array&& other) noexcept { *this = std::move(other); }
    Array& operator=(Array&& other) noexcept {
      heap = std::move(other.heap);
      size = std::exchange(other.size, 0);
      if (heap == nullptr && size != 0) std::memcpy(here, other.here, size * sizeof(T));
      return *this;
    }
    bool allocate(std::size_t count) {  // leaves the items uninitialized
      if (count > kInline) {
        heap.reset(new (std::nothrow) T[count]);
        if (heap == nullptr) return false;
      }
      size = count;
      return true;
    }
    T* items() noexcept { return heap != nullptr ? heap.get() : reinterpret_cast<T*>(here); }
    // Empty for a moved-from array.
    operator View<T>() const noexcept {
      return View<T>(heap != nullptr ? heap.get() : reinterpret_cast<const T*>(here), size);
    }

    alignas(T) std::byte here[kInline * sizeof(T)];
    std::unique_ptr<T[]> heap;
    std::size_t size = 0;
  };

  // Four tensors of rank 3, one with a tile that the launch gives, and four scalars.
  static constexpr std::size_t kInlineBindings = 4;
  static constexpr std::size_t kInlineConstants = (4 * 5 + 3) * 4 + 4 * 8;  // bytes

  ExecutableObject* executable_ = nullptr;
  std::uint32_t function_ = 0;
  std::uint64_t tensors_ = 0;  // a bit for each binding; a kernel has at most 64
  Grid grid_{};
  Array<BufferRange, kInlineBindings> ranges_;
  Array<BindingRef, kInlineBindings> refs_;  // empty if no binding is a slot
  Array<std::byte, kInlineConstants> constants_;
  Array<ConstantUse, 1> constant_uses_;
};

}  // namespace halyard::inline v0::hal
