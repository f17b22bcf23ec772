// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/reductions.h"

#include <algorithm>

#include "async/shipped.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

// In the order of Reduction.
constexpr struct {
  const char* name;
  KernelNames all, rows, columns;
} kReductions[] = {
    {"sum",
     {"sum_float", "sum_double", "sum_uint"},
     {"sum_rows", "sum_rows_double", "sum_rows_uint"},
     {"sum_columns", "sum_columns_double", "sum_columns_uint"}},
    {"max",
     {"max_float", "max_double", "max_uint", "max_int"},
     {"max_rows", "max_rows_double", "max_rows_uint", "max_rows_int"},
     {"max_columns", "max_columns_double", "max_columns_uint", "max_columns_int"}},
    {"min",
     {"min_float", "min_double", "min_uint", "min_int"},
     {"min_rows", "min_rows_double", "min_rows_uint", "min_rows_int"},
     {"min_columns", "min_columns_double", "min_columns_uint", "min_columns_int"}},
};

template <std::size_t kSizes>
KernelSignature signature_of(const char* function, const KernelNames& names,
                             kernel::ElementType type) {
  const KernelOfType kernel = choose_kernel(names, type);
  return {kernel.name, type == kernel::ElementType::kFloat64 ? "reduce_double" : "reduce",
          flat_parameters<1, kSizes>(kernel.type), true, function};
}

}  // namespace

Result<AnyTensor> reduce_all(Context& context, Reduction reduction, const ArrayRef& operand) {
  constexpr std::uint64_t kEach = 4096;  // elements of a group in reduce.hyk
  const auto& [name, all, rows, columns] = kReductions[static_cast<std::size_t>(reduction)];
  const KernelSignature signature = signature_of<1>(name, all, operand.type);
  std::uint64_t left = operand.shape.elements();
  HALYARD_RETURN_IF_ERROR(check_size(name, left, kernel::size_of(operand.type)));
  StorageRange from = operand.memory;
  for (Ref<Storage> kept;;) {
    const std::uint64_t groups = std::max<std::uint64_t>(1, (left + kEach - 1) / kEach);
    const Shape shape = groups == 1 ? Shape() : Shape(groups);
    HALYARD_ASSIGN_OR_RETURN(AnyTensor to, result_of(context, name, operand.type, shape, nullptr));
    HALYARD_RETURN_IF_ERROR(
        launch_units(context, groups, 1, [&](std::uint64_t first, std::uint64_t count) {
          const std::uint64_t before = first * kernel::size_of(operand.type);
          return launch_flat(context, signature,
                             {behind(from, before * kEach), behind(to.memory(), before)},
                             {to_size(std::min(count * kEach, left - first * kEach))},
                             {.groups = count});
        }));
    if (groups == 1) return to;
    from = to.memory();
    kept = std::move(to.storage);
    left = groups;
  }
}

Result<AnyTensor> reduce_axis(Context& context, Reduction reduction, int axis,
                              const ArrayRef& operand, const ArrayRef* into) {
  const auto& [name, all, rows, columns] = kReductions[static_cast<std::size_t>(reduction)];
  const auto& [memory, shape, type] = operand;
  HALYARD_ASSIGN_OR_RETURN(const Axis along, axis_of(name, shape, axis));
  HALYARD_RETURN_IF_ERROR(check_size(name, shape.elements(), kernel::size_of(type)));
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, name, type, along.others, into));
  HALYARD_RETURN_IF_ERROR(launch_along(context, along, signature_of<1>(name, rows, type),
                                       signature_of<2>(name, columns, type), memory, result));
  return result;
}

}  // namespace halyard::inline v0::async::detail
