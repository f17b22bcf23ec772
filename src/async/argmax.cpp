// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>

#include "async/shape.h"
#include "async/shipped.h"
#include "base/format.h"
#include "halyard/async/reductions.h"

namespace halyard::inline v0::async::detail {
namespace {

// The kernels of argmax.hyk; ints have separate kernels.
constexpr KernelNames kAll{"argmax_float", "argmax_double", "argmax_uint", "argmax_int"};
constexpr KernelNames kNext{"argmax_next_float", "argmax_next_double", "argmax_next_uint",
                            "argmax_next_int"};
constexpr KernelNames kRows{"argmax_rows", "argmax_rows_double", "argmax_rows_uint",
                            "argmax_rows_int"};
constexpr KernelNames kColumns{"argmax_columns", "argmax_columns_double", "argmax_columns_uint",
                               "argmax_columns_int"};

// An input of `type`, then kIndices inputs and one output of indices, then kSizes sizes.
template <std::size_t kIndices, std::size_t kSizes>
hal::View<KernelParameter> index_parameters(kernel::ElementType type) noexcept {
  using enum kernel::ElementType;
  using Kind = KernelParameter::Kind;
  constexpr auto of = [](kernel::ElementType element) {
    std::array<KernelParameter, 2 + kIndices + kSizes> all;
    all.fill(kSize);
    all[0] = {Kind::kInput, element};
    std::fill_n(all.begin() + 1, kIndices, KernelParameter{Kind::kInput, kUint32});
    all[1 + kIndices] = {Kind::kOutput, kUint32};
    return all;
  };
  static constexpr auto kFloats = of(kFloat32), kDoubles = of(kFloat64), kInts = of(kInt32),
                        kUints = of(kUint32);
  return type == kFloat64 ? kDoubles : type == kInt32 ? kInts : type == kUint32 ? kUints : kFloats;
}

template <std::size_t kIndices, std::size_t kSizes>
KernelSignature signature_of(const KernelNames& names, kernel::ElementType type) {
  const KernelOfType kernel = choose_kernel(names, type);
  return {kernel.name, type == kernel::ElementType::kFloat64 ? "argmax_double" : "argmax",
          index_parameters<kIndices, kSizes>(kernel.type), true, "argmax"};
}

Status check_elements(const Shape& shape, kernel::ElementType type, std::uint64_t length) {
  if (length == 0) {
    return error(StatusCode::kInvalidArgument, "argmax: of no elements, in a tensor of {}",
                 text_of(shape));
  }
  return check_size("argmax", shape.elements(), kernel::size_of(type));
}

}  // namespace

Result<AnyTensor> argmax_of_all(Context& context, const ArrayRef& operand) {
  constexpr std::uint64_t kEach = 4096;  // elements of a group
  const auto& [memory, shape, type] = operand;
  std::uint64_t left = shape.elements();
  HALYARD_RETURN_IF_ERROR(check_elements(shape, type, left));
  for (AnyTensor indices;;) {
    const std::uint64_t groups = (left + kEach - 1) / kEach;
    HALYARD_ASSIGN_OR_RETURN(AnyTensor fewer,
                             result_of(context, "argmax", kernel::ElementType::kUint32,
                                       groups == 1 ? Shape() : Shape(groups), nullptr));
    HALYARD_RETURN_IF_ERROR(context.status());
    const hal::Grid grid = grid_of(context, groups);
    if (!indices.storage) {
      HALYARD_RETURN_IF_ERROR(launch_flat(context, signature_of<0, 1>(kAll, type),
                                          {memory, fewer.memory()}, {to_size(left)}, grid));
    } else {
      HALYARD_RETURN_IF_ERROR(launch_flat(context, signature_of<1, 1>(kNext, type),
                                          {memory, indices.memory(), fewer.memory()},
                                          {to_size(left)}, grid));
    }
    if (groups == 1) return fewer;
    indices = std::move(fewer);
    left = groups;
  }
}

Result<AnyTensor> argmax_of_axis(Context& context, int axis, const ArrayRef& operand,
                                 const ArrayRef* into) {
  const auto& [memory, shape, type] = operand;
  HALYARD_ASSIGN_OR_RETURN(const Axis along, axis_of("argmax", shape, axis));
  HALYARD_RETURN_IF_ERROR(check_elements(shape, type, along.length));
  HALYARD_ASSIGN_OR_RETURN(
      AnyTensor result,
      result_of(context, "argmax", kernel::ElementType::kUint32, along.others, into));
  HALYARD_RETURN_IF_ERROR(launch_along(context, along, signature_of<0, 1>(kRows, type),
                                       signature_of<0, 2>(kColumns, type), memory, result));
  return result;
}

}  // namespace halyard::inline v0::async::detail
