// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/arithmetic.h"

#include "async/device_state.h"
#include "async/shipped.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

constexpr KernelParameter kUnary[] = {kInput, kOutput, kSize};
constexpr KernelParameter kBinary[] = {kInput, kInput, kOutput, kSize};
constexpr KernelParameter kMatmul[] = {kInput, kInput, kOutput, kSize, kSize, kSize};

// Of matmul.hyk's groups, which have 64 x 64 elements each.
constexpr std::uint64_t tiles_in(std::uint64_t size) { return (size + 63) / 64; }

}  // namespace

Result<Tensor<float>> elementwise(Context& context, const char* kernel,
                                  hal::View<ArrayRef> operands, Tensor<float>* into) {
  const bool unary = operands.size() == 1;
  const Shape& shape = operands[0].shape;
  if (!unary && !same(shape, operands[1].shape)) {
    return error(StatusCode::kInvalidArgument, "{}: shapes {} and {}", kernel, text_of(shape),
                 text_of(operands[1].shape));
  }
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result, result_of(context, kernel, shape, into));
  const StorageRange arrays[] = {operands[0].memory, unary ? result.memory() : operands[1].memory,
                                 result.memory()};
  const KernelSignature signature{
      kernel, "elementwise",
      unary ? hal::View<KernelParameter>(kUnary) : hal::View<KernelParameter>(kBinary), true};
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {arrays, operands.size() + 1},
                                      {to_size(result.size())}, {.items = result.size()}));
  return result;
}

Result<Tensor<float>> matrix_product(Context& context, hal::View<ArrayRef> operands,
                                     Tensor<float>* into) {
  const ArrayRef &a = operands[0], &b = operands[1];
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[0]) {
    return error(StatusCode::kInvalidArgument, "matmul: shapes {} and {}", text_of(a.shape),
                 text_of(b.shape));
  }
  const std::uint64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result, result_of(context, "matmul", {m, n}, into));
  for (const ArrayRef& operand : operands) {
    HALYARD_RETURN_IF_ERROR(check_size("matmul", operand.shape.elements()));
  }
  const KernelSignature signature{"matmul", "matmul", kMatmul, true};
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {a.memory, b.memory, result.memory()},
                                      {to_size(m), to_size(n), to_size(k)},
                                      {.groups = {tiles_in(n), tiles_in(m)}}));
  return result;
}

Result<Tensor<float>> softmax_of_rows(Context& context, hal::View<ArrayRef> operands,
                                      Tensor<float>* into) {
  const auto& [memory, shape] = operands[0];
  if (shape.rank() == 0) {
    return Status(StatusCode::kInvalidArgument, "softmax: a tensor without dimensions");
  }
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result, result_of(context, "softmax", shape, into));
  const std::uint64_t columns = shape[shape.rank() - 1];
  const KernelSignature signature{"softmax", "softmax", kUnary, true};
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {memory, result.memory()},
                                      {to_size(columns)},
                                      {.groups = columns == 0 ? 0 : result.size() / columns}));
  return result;
}

}  // namespace halyard::inline v0::async::detail
