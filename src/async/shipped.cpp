// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/shipped.h"

#include <algorithm>
#include <array>

#include "async/device_state.h"
#include "async/shape.h"
#include "base/format.h"
#include "halyard/async/detail/operations.h"

namespace halyard::inline v0::async::detail {

Status check_size(const char* operation, std::uint64_t elements, std::size_t element_size) {
  // The limit of the kernels (docs/kernels.md).
  constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 31) - 1;
  if (elements <= kMostElements) return {};
  return error(StatusCode::kOutOfRange, "{}: {} elements of {} bytes; the most is 2^31 - 1",
               operation, base::number(elements), element_size);
}

Result<AnyTensor> result_of(Context& context, const char* operation, kernel::ElementType type,
                            const Shape& shape, const ArrayRef* into) {
  HALYARD_RETURN_IF_ERROR(check_size(operation, shape.elements(), kernel::size_of(type)));
  if (into == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(Ref<Storage> storage, allocate(context, shape, type));
    return AnyTensor{std::move(storage), shape, type};
  }
  if (into->shape == shape) return AnyTensor{Ref<Storage>(into->memory.storage), shape, type};
  return error(StatusCode::kInvalidArgument, "{}: into a tensor of {}; the result is {}", operation,
               text_of(into->shape), text_of(shape));
}

Result<Axis> axis_of(const char* operation, const Shape& shape, int axis) {
  const int rank = static_cast<int>(shape.rank());
  if (axis < -rank || axis >= rank) {
    return error(StatusCode::kInvalidArgument, "{}: axis {} of {}, which has {}", operation, axis,
                 text_of(shape), base::counted(shape.rank(), "dimension"));
  }
  const auto along = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  Axis found{.length = shape[along], .is_last = along + 1 == shape.rank(), .others = Shape()};
  std::uint64_t others[hal::kMaxTensorRank]{};
  std::size_t kept = 0;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d == along) continue;
    others[kept++] = shape[d];
    (d < along ? found.before : found.behind) *= shape[d];
  }
  found.others = hal::Extents(hal::View<std::uint64_t>(others, kept));
  return found;
}

hal::View<std::uint32_t> max_groups(const Context& context) noexcept {
  return context.queue().device().state()->device().info().limits.max_groups;
}

Status launch_flat(Context& context, const KernelSignature& kernel, hal::View<StorageRange> arrays,
                   hal::View<hal::Constant> scalars, const hal::Grid& grid) {
  std::array<KernelArray, 3> given{};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    given[i].memory = arrays[i];
    given[i].is_written = kernel.parameters[i].kind == KernelParameter::Kind::kOutput;
  }
  return context.launch(kernel, {given.data(), arrays.size()}, scalars, &grid);
}

hal::Grid grid_of(const Context& context, std::uint64_t groups) noexcept {
  const hal::View<std::uint32_t> most = max_groups(context);
  std::uint64_t along[3];
  for (std::size_t d = 0; d < std::size(along); ++d) {
    along[d] = std::min<std::uint64_t>(groups, most[d]);
    groups = along[d] == 0 ? 1 : (groups + along[d] - 1) / along[d];
  }
  return {.groups = {along[0], along[1], along[2]}};
}

Status launch_along(Context& context, const Axis& axis, const KernelSignature& rows,
                    const KernelSignature& columns, const StorageRange& array,
                    const AnyTensor& result) {
  constexpr std::uint64_t kGroup = 256;  // columns of a group
  const std::size_t element = kernel::size_of(rows.parameters[0].type);
  const std::size_t result_element = kernel::size_of(result.type);
  const std::uint64_t groups = axis.is_last ? 1 : (axis.behind + kGroup - 1) / kGroup;
  // Begins at column `column` of matrix `matrix`; a row counts as a matrix of one column.
  const auto launch = [&](std::uint64_t matrix, std::uint64_t column, std::uint64_t count) {
    const StorageRange arrays[] = {
        behind(array, (matrix * axis.length * axis.behind + column) * element),
        behind(result.memory(), (matrix * axis.behind + column) * result_element)};
    const hal::Constant sizes[] = {to_size(axis.length), to_size(axis.behind)};
    return launch_flat(context, axis.is_last ? rows : columns, arrays,
                       hal::View<hal::Constant>(sizes, axis.is_last ? 1 : 2), {.groups = count});
  };
  return launch_units(
      context, axis.before, groups, [&](std::uint64_t first, std::uint64_t count) -> Status {
        if (groups <= max_groups(context)[0]) return launch(first, 0, count * groups);
        // A single matrix that is too wide for one dispatch.
        return launch_columns<kGroup>(context, axis.behind,
                                      [&](std::uint64_t column, std::uint64_t of_columns) {
                                        return launch(first, column, of_columns);
                                      });
      });
}

}  // namespace halyard::inline v0::async::detail
