// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/reductions.h"

#include <algorithm>

#include "async/device_state.h"
#include "async/shipped.h"
#include "base/format.h"
#include "halyard/async/operations.h"

namespace halyard::inline v0::async::detail {
namespace {

constexpr KernelParameter kOfRows[] = {kInput, kOutput, kSize};
constexpr KernelParameter kOfColumns[] = {kInput, kOutput, kSize, kSize};

}  // namespace

Result<Tensor<float>> reduce_all(Context& context, const Reduction& reduction,
                                 const ArrayRef& operand) {
  constexpr std::uint64_t kEach = 4096;  // elements of a group in reduce.hyk
  std::uint64_t left = operand.shape.elements();
  HALYARD_RETURN_IF_ERROR(check_size(reduction.name, left));
  StorageRange from = operand.memory;
  for (Ref<Storage> kept;;) {
    const std::uint64_t groups = std::max<std::uint64_t>(1, (left + kEach - 1) / kEach);
    HALYARD_ASSIGN_OR_RETURN(
        Tensor<float> to, allocate_tensor<float>(context, groups == 1 ? Shape() : Shape(groups)));
    HALYARD_RETURN_IF_ERROR(launch_flat(context, {reduction.all, "reduce", kOfRows, true},
                                        {from, to.memory()}, {to_size(left)}, {.groups = groups}));
    if (groups == 1) return to;
    kept = Ref<Storage>(to.storage());
    from = to.memory();
    left = groups;
  }
}

Result<Tensor<float>> reduce_axis(Context& context, const Reduction& reduction, int axis,
                                  hal::View<ArrayRef> operands, Tensor<float>* into) {
  const auto& [memory, shape] = operands[0];
  const int rank = static_cast<int>(shape.rank());
  if (axis < -rank || axis >= rank) {
    return error(StatusCode::kInvalidArgument, "{}: axis {} of {}", reduction.name, axis,
                 text_of(shape));
  }
  HALYARD_RETURN_IF_ERROR(check_size(reduction.name, shape.elements()));
  const auto along = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  // As [before, shape[along], behind].
  std::uint64_t others[hal::kMaxTensorRank]{}, before = 1, behind = 1;
  std::size_t kept = 0;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d == along) continue;
    others[kept++] = shape[d];
    (d < along ? before : behind) *= shape[d];
  }
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result,
                           result_of(context, reduction.name,
                                     hal::Extents(hal::View<std::uint64_t>(others, kept)), into));
  const StorageRange arrays[] = {memory, result.memory()};
  const std::uint32_t length = to_size(shape[along]);
  if (along + 1 == shape.rank()) {
    HALYARD_RETURN_IF_ERROR(launch_flat(context, {reduction.rows, "reduce", kOfRows, true}, arrays,
                                        {length}, {.groups = before}));
  } else {
    constexpr std::uint64_t kGroup = 256;  // columns of a group
    HALYARD_RETURN_IF_ERROR(launch_flat(context, {reduction.columns, "reduce", kOfColumns, true},
                                        arrays, {length, to_size(behind)},
                                        {.groups = before * ((behind + kGroup - 1) / kGroup)}));
  }
  return result;
}

}  // namespace halyard::inline v0::async::detail
