// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/arithmetic.h"

#include <algorithm>
#include <array>

#include "async/shape.h"
#include "async/shipped.h"
#include "base/format.h"
#include "halyard/async/detail/operations.h"

namespace halyard::inline v0::async::detail {
namespace {

// In the order of Elementwise: the functions, for messages, and their kernels.
constexpr const char* kFunctions[] = {"add", "sub", "mul", "div", "relu", "sigmoid"};
constexpr KernelNames kElementwise[] = {{"add", "add_double", "add_uint"},
                                        {"subtract", "subtract_double", "subtract_uint"},
                                        {"multiply", "multiply_double", "multiply_uint"},
                                        {"divide", "divide_double"},
                                        {"relu"},
                                        {"sigmoid"}};
// The same operations with broadcasting.
constexpr KernelNames kBroadcast[] = {
    {"add_broadcast", "add_double_broadcast", "add_uint_broadcast"},
    {"subtract_broadcast", "subtract_double_broadcast", "subtract_uint_broadcast"},
    {"multiply_broadcast", "multiply_double_broadcast", "multiply_uint_broadcast"},
    {"divide_broadcast", "divide_double_broadcast"}};
constexpr KernelNames kScale = {"scale", "scale_double", "scale_uint"};

const char* elementwise_file(kernel::ElementType type) {
  return type == kernel::ElementType::kFloat64 ? "elementwise_double" : "elementwise";
}

// A shape with leading dimensions of size 1, up to three.
using Sizes = std::array<std::uint64_t, hal::kMaxTensorRank>;
Sizes sizes_of(const Shape& shape) {
  Sizes sizes;
  sizes.fill(1);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    sizes[sizes.size() - shape.rank() + d] = shape[d];
  }
  return sizes;
}

// A dimension of a result, and the strides of the operands along it: 0 if an operand is repeated.
struct Dimension {
  std::uint64_t size = 1, of_a = 0, of_b = 0;
};
using Dimensions = std::array<Dimension, hal::kMaxTensorRank>;

// The dimensions of `shape`, as few as possible, after leading ones of size 1. Dimensions of size 1
// are dropped. Two adjacent dimensions are merged if each operand is contiguous across them, or
// repeated along both.
Dimensions dimensions_of(const Shape& shape, const Shape& a, const Shape& b) {
  const Sizes sizes = sizes_of(shape), of_a = sizes_of(a), of_b = sizes_of(b);
  Dimensions dimensions;
  std::size_t first = dimensions.size();
  std::uint64_t elements_of_a = 1, elements_of_b = 1;
  for (std::size_t d = sizes.size(); d-- != 0;) {
    const Dimension one{sizes[d], of_a[d] == 1 ? 0 : elements_of_a,
                        of_b[d] == 1 ? 0 : elements_of_b};
    elements_of_a *= of_a[d];
    elements_of_b *= of_b[d];
    if (one.size == 1) continue;
    if (first != dimensions.size()) {
      Dimension& inner = dimensions[first];
      if (one.of_a == inner.of_a * inner.size && one.of_b == inner.of_b * inner.size) {
        inner.size *= one.size;
        continue;
      }
    }
    dimensions[--first] = one;
  }
  return dimensions;
}

// The shape of the result for operands of two shapes. Two sizes must be equal, or one of them 1.
Result<Shape> broadcast_shape(const char* name, const Shape& a, const Shape& b) {
  const Sizes of_a = sizes_of(a), of_b = sizes_of(b);
  Sizes sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (of_a[d] != of_b[d] && of_a[d] != 1 && of_b[d] != 1) {
      return error(StatusCode::kInvalidArgument,
                   "{}: shapes {} and {}, where {} and {} are neither equal nor 1", name,
                   text_of(a), text_of(b), of_a[d], of_b[d]);
    }
    sizes[d] = of_a[d] == 1 ? of_b[d] : of_a[d];
  }
  const std::size_t rank = std::max(a.rank(), b.rank());
  return Shape(hal::Extents(hal::View<std::uint64_t>(&sizes[sizes.size() - rank], rank)));
}

// Launches as many dispatches as the device needs. They divide the first dimension with several
// elements, whose parts are contiguous in y.
Status launch_broadcast(Context& context, const KernelSignature& signature, const StorageRange& a,
                        const StorageRange& b, const StorageRange& y, const Dimensions& dimensions,
                        std::size_t element) {
  constexpr std::uint64_t kGroup = 256;  // columns of a group
  const auto& [matrices, rows, columns] = dimensions;
  const std::uint64_t of_row = (columns.size + kGroup - 1) / kGroup;
  const std::uint64_t groups = matrices.size * rows.size * of_row;
  if (groups <= max_groups(context)[0]) {
    return launch_flat(context, signature, {a, b, y},
                       {to_size(rows.size), to_size(columns.size), to_size(matrices.of_a),
                        to_size(rows.of_a), to_size(columns.of_a), to_size(matrices.of_b),
                        to_size(rows.of_b), to_size(columns.of_b)},
                       {.groups = groups});
  }
  const std::size_t cut = matrices.size > 1 ? 0 : rows.size > 1 ? 1 : 2;
  const Dimension& whole = dimensions[cut];
  const std::uint64_t unit = cut == 2 ? kGroup : 1;  // elements of that dimension
  const std::uint64_t of_unit = cut == 0 ? rows.size * of_row : cut == 1 ? of_row : 1;
  const std::uint64_t of_y = cut == 0 ? rows.size * columns.size : cut == 1 ? columns.size : 1;
  return launch_units(
      context, (whole.size + unit - 1) / unit, of_unit,
      [&](std::uint64_t first, std::uint64_t count) {
        Dimensions part = dimensions;
        part[cut].size = std::min(count * unit, whole.size - first * unit);
        const std::uint64_t before = first * unit * element;
        return launch_broadcast(context, signature, behind(a, before * whole.of_a),
                                behind(b, before * whole.of_b), behind(y, before * of_y), part,
                                element);
      });
}

Result<AnyTensor> broadcast(Context& context, Elementwise operation, hal::View<ArrayRef> operands,
                            const ArrayRef* into) {
  const char* const name = kFunctions[static_cast<std::size_t>(operation)];
  const ArrayRef &a = operands[0], &b = operands[1];
  HALYARD_ASSIGN_OR_RETURN(const Shape shape, broadcast_shape(name, a.shape, b.shape));
  for (const ArrayRef& operand : operands) {
    HALYARD_RETURN_IF_ERROR(
        check_size(name, operand.shape.elements(), kernel::size_of(operand.type)));
  }
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, name, a.type, shape, into));
  const KernelOfType kernel =
      choose_kernel(kBroadcast[static_cast<std::size_t>(operation)], a.type);
  const KernelSignature signature{
      kernel.name, a.type == kernel::ElementType::kFloat64 ? "broadcast_double" : "broadcast",
      flat_parameters<2, 8>(kernel.type), true, name};
  HALYARD_RETURN_IF_ERROR(context.status());
  HALYARD_RETURN_IF_ERROR(launch_broadcast(context, signature, a.memory, b.memory, result.memory(),
                                           dimensions_of(shape, a.shape, b.shape),
                                           kernel::size_of(a.type)));
  return result;
}

// The workgroups of matmul.hyk along a dimension: each has a tile of 64 x 64 elements.
constexpr std::uint64_t kTile = 64;
constexpr std::uint64_t tiles_in(std::uint64_t size) { return (size + kTile - 1) / kTile; }

}  // namespace

Result<AnyTensor> elementwise(Context& context, Elementwise operation, hal::View<ArrayRef> operands,
                              const ArrayRef* into) {
  const KernelNames& names = kElementwise[static_cast<std::size_t>(operation)];
  const char* const name = kFunctions[static_cast<std::size_t>(operation)];
  const bool unary = operands.size() == 1;
  const auto& [memory, shape, type] = operands[0];
  if (!unary && shape != operands[1].shape) return broadcast(context, operation, operands, into);
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, name, type, shape, into));
  const KernelOfType kernel = choose_kernel(names, type);
  const StorageRange arrays[] = {memory, unary ? result.memory() : operands[1].memory,
                                 result.memory()};
  const KernelSignature signature{
      kernel.name, elementwise_file(type),
      unary ? flat_parameters<1, 1>(kernel.type) : flat_parameters<2, 1>(kernel.type), true, name};
  HALYARD_RETURN_IF_ERROR(
      launch_elements<256>(context, shape.elements(), [&](std::uint64_t first, std::uint64_t n) {
        StorageRange parts[std::size(arrays)];
        for (std::size_t i = 0; i < std::size(parts); ++i) {
          parts[i] = behind(arrays[i], first * kernel::size_of(type));
        }
        return launch_flat(context, signature, {parts, operands.size() + 1}, {to_size(n)},
                           {.items = n});
      }));
  return result;
}

Result<AnyTensor> scaled(Context& context, const hal::Constant& by, hal::View<ArrayRef> operands,
                         const ArrayRef* into) {
  const auto& [memory, shape, type] = operands[0];
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, "scale", type, shape, into));
  const KernelOfType kernel = choose_kernel(kScale, type);
  const KernelSignature signature{kernel.name, elementwise_file(type),
                                  flat_parameters<1, 1, true>(kernel.type), true, "scale"};
  HALYARD_RETURN_IF_ERROR(
      launch_elements<256>(context, shape.elements(), [&](std::uint64_t first, std::uint64_t n) {
        const std::uint64_t offset = first * kernel::size_of(type);
        return launch_flat(context, signature,
                           {behind(memory, offset), behind(result.memory(), offset)},
                           {by, to_size(n)}, {.items = n});
      }));
  return result;
}

Result<AnyTensor> matrix_product(Context& context, hal::View<ArrayRef> operands,
                                 const ArrayRef* into) {
  const ArrayRef &a = operands[0], &b = operands[1];
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[0]) {
    return error(StatusCode::kInvalidArgument, "matmul: shapes {} and {}; it takes M x K and K x N",
                 text_of(a.shape), text_of(b.shape));
  }
  const std::uint64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result, result_of(context, "matmul", a.type, {m, n}, into));
  for (const ArrayRef& operand : operands) {
    HALYARD_RETURN_IF_ERROR(check_size("matmul", operand.shape.elements()));
  }
  const KernelSignature signature{"matmul", "matmul", flat_parameters<2, 3>(a.type), true};
  const std::size_t element = kernel::size_of(a.type);
  const auto launch = [&](std::uint64_t row, std::uint64_t rows, std::uint64_t column,
                          std::uint64_t groups) {
    return launch_flat(context, signature,
                       {behind(a.memory, row * k * element), behind(b.memory, column * element),
                        behind(result.memory(), (row * n + column) * element)},
                       {to_size(rows), to_size(n), to_size(k)},
                       {.groups = {groups, tiles_in(rows)}});
  };
  HALYARD_RETURN_IF_ERROR(launch_elements<kTile>(
      context, m,
      [&](std::uint64_t row, std::uint64_t rows) {
        return launch_columns<kTile>(context, n, [&](std::uint64_t column, std::uint64_t groups) {
          return launch(row, rows, column, groups);
        });
      },
      1));
  return result;
}

Result<AnyTensor> transposed(Context& context, hal::View<ArrayRef> operands, const ArrayRef* into) {
  const auto& [memory, shape, type] = operands[0];
  if (shape.rank() != 2) {
    return error(StatusCode::kInvalidArgument, "transpose: a tensor with {}; it takes one with 2",
                 base::counted(shape.rank(), "dimension"));
  }
  const std::uint64_t rows = shape[0], columns = shape[1];
  constexpr std::uint64_t kSide = 16;  // of the tiles of transpose.hyk
  HALYARD_ASSIGN_OR_RETURN(AnyTensor result,
                           result_of(context, "transpose", type, {columns, rows}, into));
  const KernelSignature signature{"transpose", "transpose", flat_parameters<1, 2>(type), true};
  HALYARD_RETURN_IF_ERROR(check_size("transpose", shape.elements()));
  HALYARD_RETURN_IF_ERROR(context.status());
  const std::uint64_t tiles = ((columns + kSide - 1) / kSide) * ((rows + kSide - 1) / kSide);
  HALYARD_RETURN_IF_ERROR(launch_flat(context, signature, {memory, result.memory()},
                                      {to_size(rows), to_size(columns)},
                                      grid_of(context, tiles)));
  return result;
}

Result<AnyTensor> concatenated(Context& context, hal::View<ArrayRef> operands) {
  const Shape& first = operands[0].shape;
  Sizes sizes{};
  for (const ArrayRef& operand : operands) {
    const Shape& shape = operand.shape;
    if (shape.rank() == 0) {
      return Status(StatusCode::kInvalidArgument, "concat: of a scalar, which has no dimension");
    }
    bool fits = shape.rank() == first.rank();
    for (std::size_t d = 1; fits && d < first.rank(); ++d) fits = shape[d] == first[d];
    if (!fits) {
      return error(StatusCode::kInvalidArgument,
                   "concat: shapes {} and {}: all sizes but the first are to be equal",
                   text_of(first), text_of(shape));
    }
    if (__builtin_add_overflow(sizes[0], shape[0], &sizes[0])) sizes[0] = ~std::uint64_t{0};
  }
  for (std::size_t d = 1; d < first.rank(); ++d) sizes[d] = first[d];
  const kernel::ElementType type = operands[0].type;
  const Shape shape = hal::Extents(hal::View<std::uint64_t>(sizes.data(), first.rank()));
  HALYARD_ASSIGN_OR_RETURN(Ref<Storage> storage, allocate(context, shape, type));
  std::uint64_t offset = 0;
  for (const ArrayRef& operand : operands) {
    const std::uint64_t length = operand.shape.elements() * kernel::size_of(type);
    if (length != 0) {
      HALYARD_RETURN_IF_ERROR(
          context.copy(operand.memory, StorageRange(storage.get(), offset, length), "concat"));
    }
    offset += length;
  }
  return AnyTensor{std::move(storage), shape, type};
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
  HALYARD_RETURN_IF_ERROR(launch_units(
      context, columns == 0 ? 0 : shape.elements() / columns, 1,
      [&](std::uint64_t first, std::uint64_t rows) {
        const std::uint64_t before = first * columns * kernel::size_of(type);
        return launch_flat(context, signature,
                           {behind(memory, before), behind(result.memory(), before)},
                           {to_size(columns)}, {.groups = rows});
      }));
  return result;
}

}  // namespace halyard::inline v0::async::detail
