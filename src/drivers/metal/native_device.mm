// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/native_device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/functions.h"

namespace halyard::inline v0::metal {
namespace {

// The size of a heap. Memory above a quarter of it gets its own buffer.
constexpr std::uint64_t kHeapBytes = 64 << 20;

}  // namespace

void PoolGuard::enter(Saved& saved, timeline::Calls) noexcept {
  saved.words[0] = [[NSAutoreleasePool alloc] init];
}

void PoolGuard::leave(const Saved& saved) noexcept {
  [static_cast<NSAutoreleasePool*>(saved.words[0]) drain];
}

Result<Ref<NativeDevice>> NativeDevice::create(Ref<PhysicalDevice> physical,
                                               const DeviceOptions& options) {
  auto device =
      Ref<NativeDevice>::adopt(new (std::nothrow) NativeDevice(std::move(physical), options));
  if (!device) return error(StatusCode::kResourceExhausted, "metal: no memory for a device");
  HALYARD_RETURN_IF_ERROR(device->builtins().prepare(device->handle()));
  HALYARD_RETURN_IF_ERROR(device->notifier_.start());
  return device;
}

NativeDevice::~NativeDevice() {
  const ScopedPool pool;
  heap_.reset();
  notifier_.stop();
}

void NativeDevice::lose(Status cause) noexcept {
  {
    base::LockGuard lock(mutex_);
    if (lost_.load(std::memory_order_relaxed)) return;
    cause_ = std::move(cause);
    lost_.store(true, std::memory_order_release);
  }
  notifier_.release_all();
}

Status NativeDevice::loss() const { return lost() ? cause_ : Status(); }

Retained<id<MTLBuffer>> NativeDevice::take_from_heap(std::uint64_t size) {
  constexpr MTLResourceOptions kOptions = untracked(MTLResourceStorageModePrivate);
  const MTLSizeAndAlign needs = [handle() heapBufferSizeAndAlignWithLength:size options:kOptions];
  if (needs.size > kHeapBytes / 4) return new_buffer(handle(), size, kOptions);
  base::LockGuard lock(mutex_);  // a heap is for one thread at a time
  if (heap_) {
    Retained<id<MTLBuffer>> buffer = new_buffer_in(heap_.get(), size, kOptions);
    if (buffer) return buffer;
  }
  heap_ = new_heap(handle(), kHeapBytes, MTLStorageModePrivate);
  if (!heap_) return {};
  return new_buffer_in(heap_.get(), size, kOptions);
}

}  // namespace halyard::inline v0::metal
