// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/stream/executable.h"
#include "simulation/stream/allocator.h"

namespace halyard::inline v0::stream {

Result<std::unique_ptr<FakeDevice>> FakeDevice::create(hal::DeviceInfo info, unsigned ordinal,
                                                       const FakeApi& api, CommandBufferMode mode) {
  HALYARD_ASSIGN_OR_RETURN(Ref<ContextGuard<FakeApi>> guard,
                           ContextGuard<FakeApi>::create(api, ordinal));
  std::unique_ptr<FakeDevice> device(new (std::nothrow)
                                         FakeDevice(std::move(info), api, mode, std::move(guard)));
  if (device == nullptr) {
    return error(StatusCode::kResourceExhausted, "stream: no memory for a device");
  }
  return device;
}

FakeDevice::FakeDevice(hal::DeviceInfo info, const FakeApi& api, CommandBufferMode mode,
                       Ref<timeline::EntryGuard> guard)
    : info_(std::move(info)), api_(api), mode_(mode), guard_(std::move(guard)) {}

FakeDevice::~FakeDevice() { close(); }

const void* FakeDevice::wait_domain() const noexcept { return stream::domain(); }
const void* FakeDevice::memory_domain() const noexcept { return stream::domain(); }

Result<Ref<hal::Memory>> FakeDevice::allocate(std::uint64_t size, std::uint64_t,
                                              hal::MemoryType type) {
  const timeline::Visit inside(*guard_);
  return stream::allocate(api_, guard_, size, type);
}

Result<Ref<hal::Memory>> FakeDevice::import_memory(std::byte* data, std::uint64_t size) {
  return stream::import_memory(data, size);
}

Result<Ref<hal::ExecutableImpl>> FakeDevice::load(kernel::Hyx file) {
  const timeline::Visit inside(*guard_);
  return Executable<FakeApi>::load(api_, guard_, std::move(file));
}

Result<std::unique_ptr<hal::NativeCommands>> FakeDevice::prepare(
    const hal::RecordedCommands& recording) {
  using Graphs = GraphCommandBuffer<FakeApi>;
  if (Graphs::suits(recording, mode_)) {
    return Graphs::create(api_, recording, mode_, kMaxInFlight);
  }
  return CommandBuffer::create(recording, FakeApi::kDriver);
}

Result<timeline::NativeQueue*> FakeDevice::open_lane(hal::QueueKind, hal::QueuePriority) {
  const timeline::Visit inside(*guard_);
  return lanes_.open(api_, guard_.get(), {.max_in_flight = kMaxInFlight});
}

void FakeDevice::close() {
  const timeline::Visit inside(*guard_);
  lanes_.close();
}

}  // namespace halyard::inline v0::stream
