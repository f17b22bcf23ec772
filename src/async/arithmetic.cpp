// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/arithmetic.h"

#include "async/shape.h"
#include "async/shipped.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

// In the order of Elementwise.
constexpr KernelNames kElementwise[] = {{"add", "add_double", "add_uint"},
                                        {"subtract", "subtract_double", "subtract_uint"},
                                        {"multiply", "multiply_double", "multiply_uint"},
                                        {"divide", "divide_double"},
                                        {"relu"},
                                        {"sigmoid"}};
constexpr KernelNames kScale = {"scale", "scale_double", "scale_uint"};

const char* elementwise_file(kernel::ElementType type) {
  return type == kernel::ElementType::kFloat64 ? "elementwise_double" : "elementwise";
}

// The workgroups of matmul.hyk along a dimension: each has a tile of 64 x 64 elements.
constexpr std::uint64_t tiles_in(std::uint64_t size) { return (size + 63) / 64; }

}  // namespace

Result<AnyTensor> elementwise(Context& context, Elementwise operation, hal::View<ArrayRef> operands,
                              const ArrayRef* into) {
  const KernelNames& names = kElementwise[static_cast<std::size_t>(operation)];
  const bool unary = operands.size() == 1;
  const auto& [memory, shape, type] = operands[0];
  if (!unary && shape != operands[1].shape) {
    return error(StatusCode::kInvalidArgument, "{}: shapes {} and {}", names.of_float,
                 text_of(shape), text_of(operands[1].shape));
  }
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, names.of_float, type, shape, into));
  const KernelOfType kernel = choose_kernel(names, type);
  const StorageRange arrays[] = {memory, unary ? result.memory() : operands[1].memory,
                                 result.memory()};
  const KernelSignature signature{
      kernel.name, elementwise_file(type),
      unary ? flat_parameters<1, 1>(kernel.type) : flat_parameters<2, 1>(kernel.type), true};
  const std::uint64_t size = shape.elements();
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {arrays, operands.size() + 1},
                                      {to_size(size)}, {.items = size}));
  return result;
}

Result<AnyTensor> scaled(Context& context, const hal::Constant& by, hal::View<ArrayRef> operands,
                         const ArrayRef* into) {
  const auto& [memory, shape, type] = operands[0];
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, "scale", type, shape, into));
  const KernelOfType kernel = choose_kernel(kScale, type);
  const std::uint64_t size = shape.elements();
  HALYARD_RETURN_IF_ERROR(launch_flat(
      context,
      {kernel.name, elementwise_file(type), flat_parameters<1, 1, true>(kernel.type), true},
      {memory, result.memory()}, {by, to_size(size)}, {.items = size}));
  return result;
}

Result<AnyTensor> matrix_product(Context& context, hal::View<ArrayRef> operands,
                                 const ArrayRef* into) {
  const ArrayRef &a = operands[0], &b = operands[1];
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[0]) {
    return error(StatusCode::kInvalidArgument, "matmul: shapes {} and {}", text_of(a.shape),
                 text_of(b.shape));
  }
  const std::uint64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, "matmul", a.type, {m, n}, into));
  for (const ArrayRef& operand : operands) {
    HALYARD_RETURN_IF_ERROR(check_size("matmul", operand.shape.elements()));
  }
  const KernelSignature signature{"matmul", "matmul", flat_parameters<2, 3>(a.type), true};
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {a.memory, b.memory, result.memory()},
                                      {to_size(m), to_size(n), to_size(k)},
                                      {.groups = {tiles_in(n), tiles_in(m)}}));
  return result;
}

Result<AnyTensor> softmax_of_rows(Context& context, hal::View<ArrayRef> operands,
                                  const ArrayRef* into) {
  const auto& [memory, shape, type] = operands[0];
  if (shape.rank() == 0) {
    return Status(StatusCode::kInvalidArgument, "softmax: a tensor without dimensions");
  }
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, "softmax", type, shape, into));
  const std::uint64_t columns = shape[shape.rank() - 1];
  const KernelSignature signature{"softmax", "softmax", flat_parameters<1, 1>(type), true};
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {memory, result.memory()},
                                      {to_size(columns)},
                                      {.groups = columns == 0 ? 0 : shape.elements() / columns}));
  return result;
}

}  // namespace halyard::inline v0::async::detail
