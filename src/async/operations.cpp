// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/operations.h"

#include <algorithm>
#include <bit>

#include "async/shape.h"
#include "async/shipped.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

using enum kernel::ElementType;

// generate.hyk writes words of 4 bytes.
constexpr KernelParameter kWords{KernelParameter::Kind::kOutput, kUint32};
constexpr KernelParameter kFill64[] = {kWords, kSize, kSize, kSize};
constexpr KernelParameter kArange[] = {kWords, kSize, kSize};
constexpr KernelParameter kArangeFloat[] = {kOutput, kSize, kSize};

// The 4-byte words that hold n elements of `size` bytes; saturates at 2^64 - 1.
std::uint64_t words_of(std::uint64_t n, std::size_t size) {
  if (size == 8) return n < ~std::uint64_t{0} / 2 ? 2 * n : ~std::uint64_t{0};
  const std::uint64_t in_word = 4 / size;
  return n / in_word + (n % in_word != 0);
}

const char* arange_kernel(kernel::ElementType type) {
  if (type == kFloat32) return "arange_float";
  if (type == kFloat64) return "arange_double";
  if (type == kFloat16) return "arange_half";
  constexpr const char* kOfSize[] = {"arange_8", "arange_16", "arange_32", "arange_64"};
  return kOfSize[std::countr_zero(kernel::size_of(type))];
}

}  // namespace

Result<Ref<Storage>> allocate(Context& context, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return context.allocate(size);
}

Result<Ref<Storage>> scratch(Context& context, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return context.scratch(size);
}

Status fill_elements(Context& context, const StorageRange& memory, std::uint64_t element,
                     std::size_t size) {
  const auto low = static_cast<std::uint32_t>(element),
             high = static_cast<std::uint32_t>(element >> 32);
  if (size < 8 || low == high) {
    return context.fill(memory.storage, low,
                        static_cast<std::uint32_t>(std::min<std::size_t>(size, 4)));
  }
  const std::uint64_t words = memory.length / 4;
  HALYARD_RETURN_IF_ERROR(check_size("full", words));
  return launch_elements<256>(context, words, [&](std::uint64_t first, std::uint64_t n) {
    return launch_flat(context, {"fill_64", "generate", kFill64, true}, {behind(memory, 4 * first)},
                       {to_size(n), low, high}, {.items = n});
  });
}

Result<Ref<Storage>> full_of(Context& context, const Shape& shape, kernel::ElementType type,
                             std::uint64_t element) {
  HALYARD_ASSIGN_OR_RETURN(Ref<Storage> storage, allocate(context, shape, type));
  const std::size_t size = kernel::size_of(type);
  HALYARD_RETURN_IF_ERROR(fill_elements(
      context, StorageRange(storage.get(), 0, shape.elements() * size), element, size));
  return storage;
}

Result<Ref<Storage>> copy_from_host(Context& context, const Shape& shape, kernel::ElementType type,
                                    hal::Bytes values) {
  HALYARD_ASSIGN_OR_RETURN(Ref<Storage> storage, allocate(context, shape, type));
  const std::uint64_t count = values.size() / kernel::size_of(type);
  if (count != shape.elements()) {
    return error(StatusCode::kInvalidArgument, "from_host: {} for a shape of {}",
                 base::counted(count, "value"), base::counted(shape.elements(), "element"));
  }
  HALYARD_RETURN_IF_ERROR(context.update(storage.get(), values));
  return storage;
}

Result<Ref<Storage>> arange_of(Context& context, kernel::ElementType type, std::uint64_t n) {
  const std::uint64_t words = words_of(n, kernel::size_of(type));
  HALYARD_RETURN_IF_ERROR(check_size("arange", words));
  HALYARD_ASSIGN_OR_RETURN(Ref<Storage> storage, context.allocate(4 * words));
  const KernelSignature signature{
      arange_kernel(type), "generate",
      type == kFloat32 ? hal::View<KernelParameter>(kArangeFloat) : kArange, true};
  HALYARD_RETURN_IF_ERROR(
      launch_elements<256>(context, words, [&](std::uint64_t first, std::uint64_t count) {
        return launch_flat(context, signature, {StorageRange(storage.get(), 4 * first)},
                           {to_size(count), to_size(first)}, {.items = count});
      }));
  return storage;
}

Result<Ref<Storage>> copy_for_host(Context& context, const StorageRange& memory,
                                   const char* user) {
  if (memory.storage == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: a tensor that was moved from", user);
  }
  HALYARD_ASSIGN_OR_RETURN(Ref<Storage> copy,
                           context.allocate(memory.length, hal::MemoryType::kHostLocal));
  HALYARD_RETURN_IF_ERROR(context.copy(memory, StorageRange(copy.get()), user));
  return copy;
}

Status check_count(const char* user, std::uint64_t has, std::uint64_t wanted) {
  if (has == wanted) return {};
  return error(StatusCode::kInvalidArgument, "{} {}, and not {}", user,
               base::counted(has, "element"), base::number(wanted));
}

Status read_back(const Storage& storage, std::span<std::byte> target) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping,
                           storage.buffer().map(0, target.size(), hal::MapMode::kRead));
  HALYARD_RETURN_IF_ERROR(mapping.invalidate());
  std::ranges::copy(mapping.bytes(), target.begin());
  return {};
}

}  // namespace halyard::inline v0::async::detail
