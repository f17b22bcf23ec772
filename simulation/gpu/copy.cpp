// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/copy.h"

#include <cstring>

#include "simulation/gpu/array.h"
#include "simulation/gpu/memory.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

Result check_copy(Copy3D& copy) {
  HALYARD_GPU_REQUIRE(copy.src_type >= kHost && copy.src_type <= kUnified, kInvalidValue);
  HALYARD_GPU_REQUIRE(copy.dst_type >= kHost && copy.dst_type <= kUnified, kInvalidValue);
  if (const Result result = resolve_arrays(copy); result != kSuccess) return result;
  if (copy.src_pitch == 0) copy.src_pitch = copy.src_x + copy.width;
  if (copy.dst_pitch == 0) copy.dst_pitch = copy.dst_x + copy.width;
  if (copy.src_height == 0) copy.src_height = copy.src_y + copy.height;
  if (copy.dst_height == 0) copy.dst_height = copy.dst_y + copy.height;
  HALYARD_GPU_REQUIRE(
      copy.src_pitch >= copy.src_x + copy.width && copy.dst_pitch >= copy.dst_x + copy.width,
      kInvalidValue);
  return kSuccess;
}

namespace {

struct Side {
  MemoryType type;
  const void* host;
  DevicePointer device;
  std::size_t offset, size;

  DevicePointer address() const {
    if (type == kHost) return reinterpret_cast<DevicePointer>(host) + offset;
    return (device != 0 ? device : reinterpret_cast<DevicePointer>(host)) + offset;
  }
};

Side source_of(const Copy3D& copy) {
  const std::size_t slice = copy.src_pitch * copy.src_height;
  return {copy.src_type, copy.src_host, copy.src_device,
          copy.src_z * slice + copy.src_y * copy.src_pitch + copy.src_x,
          (copy.depth - 1) * slice + (copy.height - 1) * copy.src_pitch + copy.width};
}

Side destination_of(const Copy3D& copy) {
  const std::size_t slice = copy.dst_pitch * copy.dst_height;
  return {copy.dst_type, copy.dst_host, copy.dst_device,
          copy.dst_z * slice + copy.dst_y * copy.dst_pitch + copy.dst_x,
          (copy.depth - 1) * slice + (copy.height - 1) * copy.dst_pitch + copy.width};
}

// Checks a side; reports whether it is pageable host memory.
Result check_side(const Side& side, bool& is_pageable) {
  const Place& place = memory().place(side.address());
  if (place.is_freed) [[unlikely]] {
    report_misuse("use-after-free",
                  std::string("a copy was submitted for memory after ") + rules().names.free_async);
  }
  is_pageable = !place.is_allocated && side.type != kDevice;
  if (!place.is_allocated) {
    HALYARD_GPU_REQUIRE(side.type != kDevice && side.address() != side.offset, kInvalidValue);
    return kSuccess;
  }
  HALYARD_GPU_REQUIRE(side.size <= place.end - side.address(), kInvalidValue);
  return kSuccess;
}

// ihipMemcpyCommand of ROCm/clr: between markers in both streams.
Result submit_copy(StreamState& stream, CopyWork work) {
  if (rules().copies_where_memory_is && stream.capture == nullptr) {
    for (const Side& side : {source_of(work.copy), destination_of(work.copy)}) {
      const Place& place = memory().place(side.address());
      if (!place.is_allocated || !place.allocation.is_on_device() ||
          place.allocation.device == stream.context->device) {
        continue;
      }
      const DeviceState& device =
          state().devices[static_cast<std::size_t>(place.allocation.device)];
      if (device.primary == nullptr) continue;
      if (const Result result = check_stream(stream); result != kSuccess) return result;
      StreamState& other = *device.primary->object->legacy;
      enqueue(stream, EmptyWork{});
      other.waits.push_back({stream.shared_from_this(), stream.submitted, nullptr});
      enqueue(other, std::move(work));
      stream.waits.push_back({other.shared_from_this(), other.submitted, nullptr});
      enqueue(stream, EmptyWork{});
      return kSuccess;
    }
  }
  return submit(stream, std::move(work));
}

// A copy in null mode: the remaining checks, and the wait for the stream that the call guarantees.
Result copy_nothing(Call& call, StreamState& stream, bool is_to_pageable, Waits waits) {
  if (const Result result = check_stream(stream); result != kSuccess) return result;
  return is_to_pageable || waits == Waits::kAlways ? wait_for(call.lock(), stream) : kSuccess;
}

}  // namespace

Result copy_memory(Call& call, Copy3D copy, Stream handle, Waits waits) {
  if (const Result result = check_copy(copy); result != kSuccess) return result;
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return kSuccess;
  bool is_from_pageable = false, is_to_pageable = false;
  Result result = check_side(source_of(copy), is_from_pageable);
  if (result == kSuccess) result = check_side(destination_of(copy), is_to_pageable);
  if (result != kSuccess) return result;
  const bool is_captured_now = stream->capture != nullptr;
  HALYARD_GPU_REQUIRE(!is_captured_now || waits == Waits::kNever, kCaptureUnsupported);
  if (takes_nothing(*stream)) return copy_nothing(call, *stream, is_to_pageable, waits);
  const std::shared_ptr<StreamState> keep = stream->shared_from_this();  // over a wait
  CopyWork work;
  work.context = stream->context;
  // NVIDIA, "API synchronization behavior": bytes of pageable memory are staged before the call
  // returns, and it may wait for the stream; a copy to pageable memory has ended at the return.
  // "... but the DMA to final destination may not have completed", even for the form without Async.
  const bool is_staged = is_from_pageable && !is_captured_now && !is_to_pageable &&
                         (waits == Waits::kNever || options().adversarial);
  if (is_staged) {
    if (waits == Waits::kAlways ||
        (options().adversarial && choose(stream->number, stream->submitted, 2) == 0)) {
      if (result = wait_for(call.lock(), *stream); result != kSuccess) return result;
    }
    work.staged.resize(copy.width * copy.height * copy.depth);
    const auto* const first = reinterpret_cast<const std::byte*>(source_of(copy).address());
    for (std::size_t row = 0; row < copy.height * copy.depth; ++row) {
      const std::size_t z = row / copy.height, y = row % copy.height;
      std::memcpy(work.staged.data() + row * copy.width,
                  first + z * copy.src_pitch * copy.src_height + y * copy.src_pitch, copy.width);
    }
  }
  work.copy = copy;
  result = submit_copy(*stream, std::move(work));
  if (result != kSuccess || is_captured_now) return result;
  // A copy between devices' memories does not wait for its end, even in the form without Async.
  const bool is_on_device =
      !is_from_pageable && !is_to_pageable && copy.src_type == kDevice && copy.dst_type == kDevice;
  const bool may_return = is_staged || (is_on_device && options().adversarial);
  if (is_to_pageable || (waits == Waits::kAlways && !may_return)) {
    return wait_for(call.lock(), *stream);
  }
  return kSuccess;
}

namespace {

const void* host_of(MemoryType type, DevicePointer address) {
  return type == kHost ? reinterpret_cast<const void*>(address) : nullptr;
}

}  // namespace

Copy3D from_linear(const Linear& linear) {
  Copy3D copy{};
  copy.dst_type = linear.dst_type;
  copy.dst_host = const_cast<void*>(host_of(linear.dst_type, linear.dst));
  copy.dst_device = copy.dst_host == nullptr ? linear.dst : 0;
  copy.src_type = linear.src_type;
  copy.src_host = host_of(linear.src_type, linear.src);
  copy.src_device = copy.src_host == nullptr ? linear.src : 0;
  copy.width = linear.size;
  copy.height = copy.depth = 1;
  return copy;
}

Result copy_memory(Call& call, const Linear& linear, Stream handle, Waits waits) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  if (!takes_nothing(*stream) || linear.size == 0) {
    return copy_memory(call, from_linear(linear), handle, waits);
  }
  const auto side = [&](MemoryType type, DevicePointer address) {
    return Side{type, host_of(type, address), type == kHost ? 0 : address, 0, linear.size};
  };
  bool is_from_pageable = false, is_to_pageable = false;
  Result result = check_side(side(linear.src_type, linear.src), is_from_pageable);
  if (result == kSuccess) result = check_side(side(linear.dst_type, linear.dst), is_to_pageable);
  return result == kSuccess ? copy_nothing(call, *stream, is_to_pageable, waits) : result;
}

Result copy_peer(Call& call, DevicePointer dst, Context dst_context, DevicePointer src,
                 Context src_context, std::size_t size, Stream stream, Waits waits) {
  ContextState* const to = resolve(dst_context);
  ContextState* const from = resolve(src_context);
  HALYARD_GPU_REQUIRE(to != nullptr && from != nullptr, kInvalidContext);
  // Ordered with all work of both contexts. cuda.h of 13.0 does not document it; cuMemcpyPeerAsync
  // is the form that is only ordered by its stream.
  if (waits == Waits::kAlways) {
    for (ContextState* const context : {to, from}) {
      if (const Result result = drain(call.lock(), *context); result != kSuccess) return result;
    }
  }
  const Result result = copy_memory(call, Linear{kDevice, dst, kDevice, src, size}, stream, waits);
  return result == kSuccess && waits == Waits::kAlways ? drain(call.lock(), call.context())
                                                       : result;
}

// A memset of `height` rows of `width` elements.
Result fill_memory(Call& call, const Fill& fill, Stream handle, Waits waits) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  if (fill.width == 0 || fill.height == 0) return kSuccess;
  const std::size_t misaligned = fill.element_size - 1;  // bits; the size is 1, 2 or 4
  const std::size_t row = fill.width * fill.element_size;
  const std::size_t pitch = fill.height == 1 ? row : fill.pitch;
  HALYARD_GPU_REQUIRE(((fill.dst | pitch) & misaligned) == 0 && pitch >= row, kInvalidValue);
  const Place& place = memory().place(fill.dst);
  if (place.is_freed) [[unlikely]] {
    report_misuse("use-after-free", std::string("a memset was submitted for memory after ") +
                                        rules().names.free_async);
  }
  HALYARD_GPU_REQUIRE(place.is_allocated && (fill.height - 1) * pitch + row <= place.end - fill.dst,
                      kInvalidValue);
  const bool is_on_device = place.allocation.is_on_device();
  HALYARD_GPU_REQUIRE(stream->capture == nullptr || waits == Waits::kNever, kCaptureUnsupported);
  Result result = kSuccess;
  if (takes_nothing(*stream)) {
    result = check_stream(*stream);
  } else {
    FillWork work{fill, stream->context};
    work.fill.pitch = pitch;
    result = submit(*stream, std::move(work));
  }
  // NVIDIA, "API synchronization behavior": cuMemset is asynchronous except for host memory.
  if (result == kSuccess && waits == Waits::kAlways && (!options().adversarial || !is_on_device)) {
    return wait_for(call.lock(), *stream);
  }
  return result;
}

}  // namespace halyard::inline v0::sim::gpu
