// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/operations.h"

#include <algorithm>
#include <array>
#include <string>

#include "async/device_state.h"
#include "base/format.h"
#include "halyard/async/arithmetic.h"

namespace halyard::inline v0::async::detail {
namespace {

using enum kernel::ElementType;
using Kind = KernelParameter::Kind;

constexpr KernelParameter kInput{Kind::kInput, kFloat32}, kOutput{Kind::kOutput, kFloat32},
    kSize{Kind::kScalar, kUint32};
constexpr KernelParameter kUnary[] = {kInput, kOutput, kSize};
constexpr KernelParameter kBinary[] = {kInput, kInput, kOutput, kSize};
constexpr KernelParameter kMatmul[] = {kInput, kInput, kOutput, kSize, kSize, kSize};
constexpr std::uint64_t kGroup = 256;  // items of a group in elementwise.hyk
constexpr std::uint64_t kTile = 64;    // rows and columns of a group in matmul.hyk

// What the shipped kernels take (docs/kernels.md).
constexpr std::uint64_t kMaxElements = (std::uint64_t{1} << 31) - 1;

Status check_size(const char* operation, std::uint64_t elements) {
  if (elements <= kMaxElements) return {};
  return error(StatusCode::kOutOfRange, "{}: {} elements; the most is 2^31 - 1", operation,
               elements);
}

std::uint32_t to_size(std::uint64_t size) { return static_cast<std::uint32_t>(size); }

// The kernel's arrays are flat: it is told their sizes by scalars.
Status launch_flat(Context& context, const KernelSignature& kernel, hal::View<StorageRange> arrays,
                   hal::View<hal::Constant> scalars, const hal::Grid& grid) {
  std::array<Storage*, 3> storages{};
  std::array<hal::Argument, 3> arguments;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    storages[i] = arrays[i].storage;
    if (storages[i] != nullptr) arguments[i].value.memory = arrays[i].of_buffer();
  }
  return context.launch(kernel, {storages.data(), arrays.size()},
                        std::span(arguments).first(arrays.size()), scalars, &grid);
}

}  // namespace

Result<Tensor<float>> elementwise(Context& context, const char* kernel,
                                  hal::View<Operand> operands) {
  const bool unary = operands.size() == 1;
  const Shape& shape = operands[0].shape;
  if (!unary && !same(shape, operands[1].shape)) {
    return error(StatusCode::kInvalidArgument, "{}: shapes {} and {}", kernel, text_of(shape),
                 text_of(operands[1].shape));
  }
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result, allocate_tensor<float>(context, shape));
  HALYARD_RETURN_IF_ERROR(check_size(kernel, result.size()));
  const StorageRange arrays[] = {operands[0].memory, unary ? result.memory() : operands[1].memory,
                                 result.memory()};
  const KernelSignature signature{
      kernel, "elementwise",
      unary ? hal::View<KernelParameter>(kUnary) : hal::View<KernelParameter>(kBinary), true};
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {arrays, operands.size() + 1},
                                      {to_size(result.size())},
                                      {.groups = (result.size() + kGroup - 1) / kGroup}));
  return result;
}

Result<Tensor<float>> matrix_product(Context& context, const Operand& a, const Operand& b) {
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[0]) {
    return error(StatusCode::kInvalidArgument, "matmul: shapes {} and {}", text_of(a.shape),
                 text_of(b.shape));
  }
  const std::uint64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  HALYARD_ASSIGN_OR_RETURN(Tensor<float> result, allocate_tensor<float>(context, {m, n}));
  for (const std::uint64_t elements : {m * k, k * n, m * n}) {
    HALYARD_RETURN_IF_ERROR(check_size("matmul", elements));
  }
  const KernelSignature signature{"matmul", "matmul", kMatmul, true};
  HALYARD_RETURN_IF_ERROR(
      launch_flat(context, signature, {a.memory, b.memory, result.memory()},
                  {to_size(m), to_size(n), to_size(k)},
                  {.groups = {(n + kTile - 1) / kTile, (m + kTile - 1) / kTile}}));
  return result;
}

bool same(const hal::Extents& a, const hal::Extents& b) {
  bool same = a.rank() == b.rank();
  for (std::size_t d = 0; same && d < a.rank(); ++d) same = a[d] == b[d];
  return same;
}

Result<std::uint64_t> byte_size(const hal::Extents& shape, kernel::ElementType type) {
  if (shape.rank() > hal::kMaxTensorRank) {
    return error(StatusCode::kInvalidArgument, "a tensor of {} dimensions; the most is {}",
                 shape.rank(), hal::kMaxTensorRank);
  }
  std::uint64_t size = kernel::size_of(type);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (__builtin_mul_overflow(size, shape[d], &size)) {
      return Status(StatusCode::kOutOfRange, "a tensor of 2^64 bytes or more");
    }
  }
  return size;
}

Result<Ref<Storage>> allocate(Context& context, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return context.allocate(size);
}

Result<Ref<Storage>> scratch(Context& context, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return context.scratch(size);
}

Status read_back(const Storage& storage, std::span<std::byte> target) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping,
                           storage.buffer().map(0, target.size(), hal::MapMode::kRead));
  HALYARD_RETURN_IF_ERROR(mapping.invalidate());
  std::ranges::copy(mapping.bytes(), target.begin());
  return {};
}

}  // namespace halyard::inline v0::async::detail
