// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of shipped kernels (docs/kernels.md), whose arrays are flat and whose sizes are scalars.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/format.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/arithmetic.h"
#include "halyard/async/detail/kernel_signature.h"
#include "halyard/async/shape.h"
#include "halyard/base/result.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::async::detail {

inline constexpr KernelParameter kOutput{KernelParameter::Kind::kOutput,
                                         kernel::ElementType::kFloat32};
inline constexpr KernelParameter kSize{KernelParameter::Kind::kScalar,
                                       kernel::ElementType::kUint32};

// The parameters of a kernel: kInputs inputs and one output of `type`, a scalar of `type` if
// kNumber, then kSizes sizes.
template <std::size_t kInputs, std::size_t kSizes, bool kNumber = false>
hal::View<KernelParameter> flat_parameters(kernel::ElementType type) noexcept {
  using enum kernel::ElementType;
  using Kind = KernelParameter::Kind;
  constexpr auto of = [](kernel::ElementType element) {
    std::array<KernelParameter, kInputs + 1 + kNumber + kSizes> all;
    all.fill(kSize);
    std::fill_n(all.begin(), kInputs, KernelParameter{Kind::kInput, element});
    all[kInputs] = {Kind::kOutput, element};
    if (kNumber) all[kInputs + 1] = {Kind::kScalar, element};
    return all;
  };
  static constexpr auto kFloats = of(kFloat32), kDoubles = of(kFloat64), kInts = of(kInt32),
                        kUints = of(kUint32);
  return type == kFloat64 ? kDoubles : type == kInt32 ? kInts : type == kUint32 ? kUints : kFloats;
}

// The variants of a kernel for different element types. Null: not used, except that the variant for
// uints also serves ints, with the same bits.
struct KernelNames {
  const char* of_float;
  const char* of_double = nullptr;
  const char* of_uint = nullptr;
  const char* of_int = nullptr;
};
struct KernelOfType {
  const char* name;
  kernel::ElementType type;
};
inline KernelOfType choose_kernel(const KernelNames& names, kernel::ElementType type) noexcept {
  using enum kernel::ElementType;
  if (type == kFloat64) return {names.of_double, type};
  if (type == kInt32 && names.of_int != nullptr) return {names.of_int, type};
  if (type == kInt32 || type == kUint32) return {names.of_uint, kUint32};
  return {names.of_float, kFloat32};
}

// Returns kOutOfRange for more than 2^31 - 1 elements; the message names `operation`.
Status check_size(const char* operation, std::uint64_t elements, std::size_t element_size = 4);
inline std::uint32_t to_size(std::uint64_t size) { return static_cast<std::uint32_t>(size); }

// Returns `into`, or a new tensor of `type` if `into` is null. Returns kInvalidArgument if `into`
// has another shape.
Result<AnyTensor> result_of(Context& context, const char* operation, kernel::ElementType type,
                            const Shape& shape, const ArrayRef* into);

// A dimension of a shape, the shape without it, and the number of elements in the dimensions before
// it and after it.
struct Axis {
  std::uint64_t before = 1, length = 1, behind = 1;
  bool is_last = false;
  Shape others;
};
// Negative dimensions count from the end. Returns kInvalidArgument for a dimension that the shape
// lacks.
Result<Axis> axis_of(const char* operation, const Shape& shape, int axis);

// Precondition: at most three arrays.
Status launch_flat(Context& context, const KernelSignature& kernel, hal::View<StorageRange> arrays,
                   hal::View<hal::Constant> scalars, const hal::Grid& grid);

// Launches a kernel that makes one element of `result` from those along an axis: `rows` (array,
// result, length), with a workgroup for each row, if the axis is the last one; otherwise `columns`
// (array, result, length, behind), with a workgroup for each 256 columns.
Status launch_along(Context& context, const Axis& axis, const KernelSignature& rows,
                    const KernelSignature& columns, const StorageRange& array,
                    const AnyTensor& result);

// The most workgroups of a dispatch along x, y and z. Precondition: context.status() is ok.
hal::View<std::uint32_t> max_groups(const Context& context) noexcept;

// The range without its first `bytes`.
inline StorageRange behind(StorageRange range, std::uint64_t bytes) noexcept {
  range.offset += bytes;
  if (range.length != hal::kWholeSize) range.length -= bytes;
  return range;
}

// Launches `count` units of work, each of `groups` workgroups along dimension d, in as few
// dispatches as the device takes: launch(first, count) launches some of the units.
template <class F>
Status launch_units(const Context& context, std::uint64_t count, std::uint64_t groups, F&& launch,
                    std::size_t d = 0) {
  HALYARD_RETURN_IF_ERROR(context.status());
  const std::uint64_t most =
      std::max<std::uint64_t>(1, max_groups(context)[d] / std::max<std::uint64_t>(1, groups));
  std::uint64_t first = 0;
  do {
    const std::uint64_t now = std::min(most, count - first);
    HALYARD_RETURN_IF_ERROR(launch(first, now));
    first += now;
  } while (first < count);
  return {};
}

// The same for n elements, of which a workgroup computes kEach: launch(first, n) launches some of
// the elements.
template <std::uint64_t kEach, class F>
Status launch_elements(const Context& context, std::uint64_t n, F&& launch, std::size_t d = 0) {
  return launch_units(
      context, (n + kEach - 1) / kEach, 1,
      [&](std::uint64_t first, std::uint64_t count) {
        return launch(first * kEach, std::min(count * kEach, n - first * kEach));
      },
      d);
}

// The same for n columns of rows with stride `n`, for kernels that take no other stride:
// launch(first, groups) launches workgroups of kEach columns from column `first` on. If there are
// several dispatches, all groups are full: the last dispatch ends with the last column, and
// computes up to kEach - 1 columns again, with the same values.
template <std::uint64_t kEach, class F>
Status launch_columns(const Context& context, std::uint64_t n, F&& launch) {
  const std::uint64_t all = (n + kEach - 1) / kEach;
  return launch_units(context, all, 1, [&](std::uint64_t first, std::uint64_t count) {
    const bool is_last_of_several = first != 0 && first + count == all;
    return launch(is_last_of_several ? n - count * kEach : first * kEach, count);
  });
}

// A grid of at least `groups` workgroups, in as many dimensions as the device needs, for kernels
// that number their groups through all dimensions and skip surplus groups.
hal::Grid grid_of(const Context& context, std::uint64_t groups) noexcept;

}  // namespace halyard::inline v0::async::detail
