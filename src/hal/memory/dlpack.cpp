// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/dlpack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "hal/device/device.h"
#include "hal/memory/buffer.h"
#include "hal/object.h"
#include "halyard/hal/native.h"

namespace halyard::inline v0::hal {
namespace {

// The layout of dlpack.h on machines with 64-bit pointers.
static_assert(sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, type) == 20 &&
              offsetof(dlpack::Tensor, shape) == 24 && offsetof(dlpack::Tensor, byte_offset) == 40);
static_assert(sizeof(dlpack::ManagedTensor) == 64);
static_assert(sizeof(dlpack::ManagedTensorVersioned) == 80 &&
              offsetof(dlpack::ManagedTensorVersioned, tensor) == 32);

constexpr ElementType kElements[] = {
    ElementType::kFloat16, ElementType::kFloat32, ElementType::kFloat64, ElementType::kInt8,
    ElementType::kInt16,   ElementType::kInt32,   ElementType::kInt64,   ElementType::kUint8,
    ElementType::kUint16,  ElementType::kUint32,  ElementType::kUint64};

dlpack::DataType type_of(ElementType element) noexcept {
  using dlpack::TypeCode;
  const std::string_view name = to_string(element);
  const TypeCode code = name.starts_with("float") ? TypeCode::kFloat
                        : name.starts_with("int") ? TypeCode::kInt
                                                  : TypeCode::kUint;
  return {code, static_cast<std::uint8_t>(8 * size_of(element)), 1};
}

// The context of an exported tensor.
template <class Managed>
struct Exported {
  Managed managed;
  BufferView view;
  std::int64_t shape[BufferView::kMaxRank];
  std::int64_t strides[BufferView::kMaxRank];
};

struct Place {
  void* data;
  dlpack::Device device;
};

template <class Managed>
void delete_exported(Managed* self) {
  delete static_cast<Exported<Managed>*>(self->context);
}

// The device of its memory, or the host if DLPack has no device for it.
dlpack::Device dlpack_device_of(const DeviceObject& device) {
  const auto inside = device.driver();
  const NativeInterop* const native = inside->native_interop();
  return native != nullptr ? native->dlpack_device() : dlpack::Device{dlpack::DeviceType::kCpu, 0};
}

// Memory that the host sees is exported as host memory, pinned or not; so is all memory of a device
// that works in host memory, even if it cannot be mapped. Other memory is exported as memory of its
// device, by device address.
Result<Place> place_of(const BufferView& view) {
  const BufferObject& buffer = *view.buffer().object();
  const dlpack::Device device = dlpack_device_of(buffer.device());
  const bool by_address = buffer.memory().type() == MemoryType::kDeviceLocal &&
                          (device.type != dlpack::DeviceType::kCpu ||
                           buffer.device().works_in_host_memory());
  if (by_address) {
    if (const std::uint64_t address = view.buffer().device_address(); address != 0) {
      return Place{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address + view.offset())),
                   device};
    }
    if (buffer.memory().of_pool() && buffer.memory().host_pointer() == nullptr) {
      return Status(StatusCode::kFailedPrecondition, "to_dlpack: the buffer has no memory now");
    }
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, view.buffer().map(view.offset(), view.size()));
  return Place{mapping.bytes().data(), {dlpack::DeviceType::kCpu, 0}};
}

// Writes shape and strides. The strides of an array without elements do not matter: like NumPy and
// PyTorch, these count a dimension of 0 as 1.
Status put_shape(const BufferView& view, std::int64_t* shape, std::int64_t* strides) {
  std::int64_t stride = 1;
  for (std::size_t d = view.rank(); d-- > 0;) {
    const std::uint64_t extent = view.shape()[d];
    if (extent > static_cast<std::uint64_t>(INT64_MAX)) {  // fits if another is 0
      return error(StatusCode::kOutOfRange, "to_dlpack: extent {} of dimension {}, above 2^63-1",
                   base::number(extent), d);
    }
    shape[d] = static_cast<std::int64_t>(extent);
    strides[d] = stride;
    const std::int64_t step = std::max(shape[d], std::int64_t{1});
    if (__builtin_mul_overflow(stride, step, &stride)) stride = INT64_MAX;
  }
  return {};
}

template <class Managed>
Result<Managed*> give(const BufferView& view) {
  if (!view.buffer()) return empty_handle("buffer view", "to_dlpack");
  HALYARD_ASSIGN_OR_RETURN(const Place place, place_of(view));
  auto exported = std::unique_ptr<Exported<Managed>>(
      new (std::nothrow)
          Exported<Managed>{.managed = {}, .view = view, .shape = {}, .strides = {}});
  if (exported == nullptr) {
    return Status(StatusCode::kResourceExhausted, "to_dlpack: no memory for the tensor");
  }
  HALYARD_RETURN_IF_ERROR(put_shape(view, exported->shape, exported->strides));
  Managed& managed = exported->managed;
  // dlpack.h: data of a tensor without elements is null; strides are never null (since 1.2).
  managed.tensor = {.data = view.size() == 0 ? nullptr : place.data,
                    .device = place.device,
                    .rank = static_cast<std::int32_t>(view.rank()),
                    .type = type_of(view.element()),
                    .shape = exported->shape,
                    .strides = exported->strides,
                    .byte_offset = 0};
  managed.context = exported.get();
  managed.deleter = &delete_exported<Managed>;
  return &exported.release()->managed;
}

bool is_of_the_host(const dlpack::Device& device) noexcept {
  return device.type == dlpack::DeviceType::kCpu || device.type == dlpack::DeviceType::kCudaHost;
}

// Checks that `device` can import memory of `theirs`.
Status check_place(const Device& device, const dlpack::Device& theirs) {
  if (is_of_the_host(theirs)) return {};
  HALYARD_RETURN_IF_ERROR(check_handle(device, "from_dlpack"));
  const dlpack::Device own = dlpack_device_of(*device.object());
  if (theirs.type != own.type) {
    return error(StatusCode::kUnimplemented, "from_dlpack: memory of device type {}",
                 static_cast<int>(theirs.type));
  }
  if (theirs.ordinal == own.ordinal) return {};
  return error(StatusCode::kPermissionDenied,
               "from_dlpack: memory of device {} of its type; {} is device {}", theirs.ordinal,
               device.info().uri, own.ordinal);
}

// Reads the shape and element type of `tensor`, or returns why it cannot be imported.
Status inspect(const dlpack::Tensor& tensor, ElementType& element,
               std::uint64_t (&shape)[BufferView::kMaxRank], std::uint64_t& bytes) {
  const auto* const found = std::ranges::find_if(kElements, [&](ElementType candidate) {
    const dlpack::DataType type = type_of(candidate);
    return type.code == tensor.type.code && type.bits == tensor.type.bits && tensor.type.lanes == 1;
  });
  if (found == std::end(kElements)) {
    return error(StatusCode::kUnimplemented, "from_dlpack: elements of code {}, {} bits, {} lanes",
                 static_cast<int>(tensor.type.code), tensor.type.bits, tensor.type.lanes);
  }
  element = *found;
  if (tensor.rank < 0 || tensor.rank > static_cast<std::int32_t>(BufferView::kMaxRank) ||
      (tensor.rank != 0 && tensor.shape == nullptr)) {
    return error(StatusCode::kInvalidArgument, "from_dlpack: {}{}",
                 tensor.rank < 0
                     ? base::format("{} dimensions", tensor.rank)
                     : base::counted(static_cast<std::uint64_t>(tensor.rank), "dimension"),
                 tensor.shape == nullptr ? " without a shape"
                                         : base::format("; the most is {}", BufferView::kMaxRank));
  }
  // Without elements no stride matters: NumPy 2.4 exports the shape (0, 4) with strides (0, 0).
  const View<std::int64_t> extents(tensor.shape, static_cast<std::size_t>(tensor.rank));
  const bool empty = std::ranges::find(extents, 0) != extents.end();
  bytes = empty ? 0 : size_of(element);
  for (std::int32_t i = tensor.rank; i-- > 0;) {
    const std::int64_t extent = tensor.shape[i];
    const auto dense = static_cast<std::int64_t>(bytes / size_of(element));
    // Like an array without elements, a dimension of one element may have any stride.
    if (tensor.strides != nullptr && extent > 1 && tensor.strides[i] != dense && bytes != 0) {
      return error(StatusCode::kUnimplemented,
                   "from_dlpack: stride {} of dimension {}, dense would be {}", tensor.strides[i],
                   i, dense);
    }
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
        bytes > static_cast<std::uint64_t>(PTRDIFF_MAX)) {
      return error(StatusCode::kInvalidArgument, "from_dlpack: extent {} of dimension {}", extent,
                   i);
    }
    shape[i] = static_cast<std::uint64_t>(extent);
  }
  return {};
}

// The view behind a tensor that to_dlpack made from a buffer of `device`, or a part of it. The view
// is used directly because a device may not be able to import memory that it allocated and mapped
// itself.
template <class Managed>
std::optional<BufferView> view_of(const Device& device, const Managed& managed, ElementType element,
                                  View<std::uint64_t> shape, std::uint64_t bytes) {
  if (managed.deleter != &delete_exported<Managed>) return {};
  const BufferView& view = static_cast<const Exported<Managed>*>(managed.context)->view;
  if (&view.buffer().object()->device() != device.object()) return {};
  const Result<Place> place = place_of(view);
  if (!place.ok()) return {};
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(managed.tensor.data) +
                               managed.tensor.byte_offset -
                               reinterpret_cast<std::uintptr_t>(place->data);
  if (offset > view.size() || bytes > view.size() - offset) return {};
  Result<BufferView> again =
      BufferView::create(view.buffer(), element, shape, view.offset() + offset);
  return again.ok() ? std::optional(*std::move(again)) : std::nullopt;
}

template <class Managed>
Result<BufferView> take(const Device& device, Managed* managed) {
  if (managed == nullptr) return Status(StatusCode::kInvalidArgument, "from_dlpack: no tensor");
  const dlpack::Tensor& tensor = managed->tensor;
  ElementType element{};
  std::uint64_t shape[BufferView::kMaxRank]{};
  std::uint64_t bytes = 0;
  HALYARD_RETURN_IF_ERROR(check_place(device, tensor.device));
  HALYARD_RETURN_IF_ERROR(inspect(tensor, element, shape, bytes));
  const auto release = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  const View<std::uint64_t> extents(shape, static_cast<std::size_t>(tensor.rank));
  if (bytes == 0) {  // the data may be null
    HALYARD_ASSIGN_OR_RETURN(const Buffer buffer,
                             device.allocate({.memory = is_of_the_host(tensor.device)
                                                            ? MemoryType::kHostLocal
                                                            : MemoryType::kDeviceLocal}));
    HALYARD_ASSIGN_OR_RETURN(BufferView view, BufferView::create(buffer, element, extents));
    release();
    return view;
  }
  if (std::optional<BufferView> own = view_of(device, *managed, element, extents, bytes)) {
    release();
    return *std::move(own);
  }
  std::byte* const data =
      tensor.data == nullptr ? nullptr : static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  Result<Buffer> buffer = is_of_the_host(tensor.device)
                              ? device.import_memory({data, bytes}, release)
                              : import_address(device, reinterpret_cast<std::uintptr_t>(data),
                                               bytes, release);
  if (!buffer.ok()) return buffer.status();
  return BufferView::create(*buffer, element, extents);
}

}  // namespace

Result<dlpack::ManagedTensor*> to_dlpack(const BufferView& view) {
  return give<dlpack::ManagedTensor>(view);
}

Result<dlpack::ManagedTensorVersioned*> to_dlpack_versioned(const BufferView& view) {
  HALYARD_ASSIGN_OR_RETURN(dlpack::ManagedTensorVersioned * managed,
                           give<dlpack::ManagedTensorVersioned>(view));
  managed->version = {1, 0};
  return managed;
}

Result<BufferView> from_dlpack(const Device& device, dlpack::ManagedTensor* tensor) {
  return take(device, tensor);
}

Result<BufferView> from_dlpack(const Device& device, dlpack::ManagedTensorVersioned* tensor) {
  if (tensor != nullptr && tensor->version.major > 1) {
    return error(StatusCode::kUnimplemented, "from_dlpack: version {}.{}", tensor->version.major,
                 tensor->version.minor);
  }
  if (tensor != nullptr && (tensor->flags & dlpack::kReadOnly) != 0) {
    return Status(StatusCode::kPermissionDenied, "from_dlpack: the tensor is read-only");
  }
  return take(device, tensor);
}

}  // namespace halyard::inline v0::hal
