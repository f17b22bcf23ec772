// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device.h"

#include <new>

#include "hal/buffer.h"
#include "hal/event.h"
#include "hal/executable.h"
#include "hal/object.h"
#include "hal/registry.h"
#include "hal/validate.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::hal {
namespace {

Status closed(std::string_view name) {
  return error(StatusCode::kCancelled, "device {}: closed, its last handle is gone", name);
}

}  // namespace

DeviceObject::DeviceObject(DriverRegistry& registry, std::unique_ptr<DeviceImpl> impl)
    : registry_(registry),
      impl_(std::move(impl)),
      memory_domain_(impl_->domain()),
      limits_(impl_->info().limits),
      timeline_(registry.engine(), impl_->info().uri),
      memory_counters_(Ref<MemoryCounters>::adopt(new(std::nothrow) MemoryCounters)),
      queues_{{*this, kQueueKinds[0]}, {*this, kQueueKinds[1]}} {}

Result<Device> DeviceObject::create(DriverRegistry& registry, std::unique_ptr<DeviceImpl> impl,
                                    timeline::Domain domain) {
  auto* object = new (std::nothrow) DeviceObject(registry, std::move(impl));
  if (object == nullptr) {
    impl->close();
    return Status(StatusCode::kResourceExhausted, "device: no memory for its object");
  }
  if (MemoryCounters* const counters = object->memory_counters_.get()) {
    counters->tracer = object->engine().tracer();
    if (counters->tracer != nullptr) counters->device = counters->tracer->add_name(object->name());
  }
  registry.device_opened();
  // From here on the handle's end is the device's end, also half-way.
  Device device(object);
  for (QueueObject& queue : object->queues_) {
    if (Status status = queue.open(domain); !status.ok()) {
      return at(status, "device {}: opening its {} queue", object->name(), to_string(queue.kind()));
    }
  }
  HALYARD_RETURN_IF_ERROR(object->create_default_pools());
  return device;
}

FileTransfers& DeviceObject::files() const noexcept { return registry_.files(); }

void DeviceObject::on_last_handle() noexcept { registry_.retire(*this); }

void DeviceObject::destroy() noexcept {
  DriverRegistry& registry = registry_;
  delete this;
  registry.device_closed();
}

Status DeviceObject::create_default_pools() {
  for (int type = 0; type < kMemoryTypes; ++type) {
    HALYARD_ASSIGN_OR_RETURN(
        default_pools_[type],
        PoolObject::create(*this, {.memory = static_cast<MemoryType>(type), .name = "default"}));
  }
  return {};
}

void DeviceObject::add_pool(PoolObject& pool) noexcept {
  base::LockGuard lock(pools_mutex_);
  pools_.push_back(pool);
}

void DeviceObject::remove_pool(PoolObject& pool) noexcept {
  base::LockGuard lock(pools_mutex_);
  pools_.erase(pool);
}

// Nobody adds pools any more, and they are removed by the reclaim shell only.
bool DeviceObject::close_pools() noexcept {
  bool closed = true;
  pools_.for_each([&](PoolObject& pool) {
    if (pool.close()) {
      pools_.erase(pool);
    } else {
      closed = false;
    }
  });
  return closed;
}

bool DeviceObject::in_flight() noexcept {
  bool posted = false;
  pools_.for_each([&](PoolObject& pool) { posted |= pool.posted(); });
  if (posted) return true;
  // Twice: work that one queue sees complete may have made work of a queue ready that was asked
  // before.
  for (int pass = 0; pass < 2; ++pass) {
    for (QueueObject& queue : queues_) {
      if (queue.in_flight()) return true;
    }
  }
  return false;
}

bool DeviceObject::step_retire() noexcept {
  if (!refusing_) {
    if (in_flight()) return false;
    const Status cause = closed(name());
    for (QueueObject& queue : queues_) queue.refuse(cause);
    refusing_ = true;
  }
  if (!close_pools()) return false;
  bool idle = true;  // each is asked: a quarantined lane of one may hold a lane of the other
  for (QueueObject& queue : queues_) idle &= queue.idle();
  if (!idle) return false;
  const Status cause = closed(name());
  for (QueueObject& queue : queues_) queue.release(cause);
  registry_.flush_trace(impl_->clock());
  impl_->close();
  impl_.reset();
  release();  // the reference a new object starts with
  return true;
}

Device::Device(DeviceObject* object) noexcept : object_(handle_base(object)) {}

const DeviceInfo& Device::info() const noexcept {
  assert(object_);
  return object()->impl().info();
}

Status Device::status() const {
  if (!object_) return empty_handle("device", "status");
  return object()->timeline().status();
}

Queue Device::queue(QueueKind kind) const noexcept {
  const bool known = kind == QueueKind::kCompute || kind == QueueKind::kCopy;
  return object_ && known ? Queue(&object()->queue(kind)) : Queue();
}

Result<Semaphore> Device::create_semaphore(std::uint64_t initial, std::string_view name) const {
  if (!object_) return empty_handle("device", "create_semaphore");
  HALYARD_ASSIGN_OR_RETURN(auto semaphore, timeline::Semaphore::create(object()->engine(), initial,
                                                                       name, object_.get()));
  return Semaphore(semaphore.get());
}

Result<Event> Device::create_event() const {
  if (!object_) return empty_handle("device", "create_event");
  return EventObject::create(*object());
}

Result<Buffer> Device::allocate(const BufferInfo& info) const {
  if (!object_) return empty_handle("device", "allocate");
  DeviceObject& self = *object();
  if (Status status = check_buffer_info(object()->limits(), info); !status.ok()) {
    return at(status, "device {}: allocate", self.name());
  }
  Result<Ref<Memory>> memory = self.impl().allocate(info.size, info.alignment, info.memory);
  if (!memory.ok()) return at(memory.status(), "device {}: allocate", self.name());
  (*memory)->count_in(self.memory_counters());
  return BufferObject::create(self, std::move(*memory), 0, info.size);
}

Result<Buffer> Device::import_erased(std::byte* data, std::size_t size,
                                     detail::MemoryRelease release) const {
  const auto import = [&]() -> Result<Buffer> {
    if (!object_) return empty_handle("device", "import_memory");
    if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % kImportAlignment != 0) {
      return error(StatusCode::kInvalidArgument,
                   "device {}: import_memory: address {} is no multiple of {}", object()->name(),
                   static_cast<const void*>(data), kImportAlignment);
    }
    Result<Ref<Memory>> memory = object()->impl().import_memory(data, size);
    if (!memory.ok()) return at(memory.status(), "device {}: import_memory", object()->name());
    return BufferObject::create(*object(), std::move(*memory), 0, size);
  };
  Result<Buffer> buffer = import();
  if (buffer.ok()) {
    Memory& memory = buffer->object()->memory();
    memory.on_release(release);
    memory.count_in(object()->memory_counters());
  } else {
    release.destroy(release.state);
  }
  return buffer;
}

MemoryStatistics Device::memory_statistics() const {
  if (!object_ || !object()->memory_counters()) return {};
  const MemoryCounters& counters = *object()->memory_counters();
  return {.bytes = counters.bytes.load(std::memory_order_relaxed),
          .peak_bytes = counters.peak_bytes.load(std::memory_order_relaxed),
          .allocations = counters.count.load(std::memory_order_relaxed),
          .total_allocations = counters.total_count.load(std::memory_order_relaxed),
          .imported_bytes = counters.imported_bytes.load(std::memory_order_relaxed)};
}

Pool Device::default_pool(MemoryType memory) const noexcept {
  const bool known = memory <= MemoryType::kHostLocal;
  return object_ && known ? Pool(&object()->default_pool(memory)) : Pool();
}

Result<Pool> Device::create_pool(const PoolInfo& info) const {
  if (!object_) return empty_handle("device", "create_pool");
  DeviceObject& self = *object();
  PoolInfo rounded = info;
  rounded.max_size -= info.max_size % PoolSpace::kGranule;
  rounded.slab_size = std::min(info.slab_size, rounded.max_size);
  rounded.slab_size -= rounded.slab_size % PoolSpace::kGranule;
  if (info.memory > MemoryType::kHostLocal || rounded.slab_size == 0) {
    return error(StatusCode::kInvalidArgument,
                 "device {}: create_pool: memory type {}, slabs of {} bytes, at most {} bytes; a "
                 "slab has at least {}",
                 self.name(), static_cast<int>(info.memory), info.slab_size, info.max_size,
                 PoolSpace::kGranule);
  }
  HALYARD_ASSIGN_OR_RETURN(const Ref<PoolObject> pool, PoolObject::create(self, rounded));
  return Pool(pool.get());
}

Pool::Pool(PoolObject* object) noexcept
    : device_(handle_base(&object->device())), object_(handle_base(object)) {}

MemoryType Pool::memory_type() const noexcept {
  return object_ ? object()->memory_type() : MemoryType::kDeviceLocal;
}

PoolStatistics Pool::statistics() const noexcept {
  return object_ ? object()->statistics() : PoolStatistics();
}

Status Pool::trim(std::uint64_t keep_bytes) const {
  if (!object_) return empty_handle("pool", "trim");
  object()->trim(keep_bytes);
  return {};
}

namespace {

Result<Executable> load_file(DeviceObject& device, Result<kernel::Hyx> file) {
  if (!file.ok()) return at(file.status(), "device {}: load", device.name());
  Result<Ref<ExecutableImpl>> impl = device.impl().load(std::move(*file));
  if (!impl.ok()) return at(impl.status(), "device {}: load", device.name());
  return ExecutableObject::create(device, std::move(*impl));
}

}  // namespace

Result<Executable> Device::load(const std::string& path) const {
  if (!object_) return empty_handle("device", "load");
  return load_file(*object(), kernel::Hyx::read(path));
}

Result<Executable> Device::load(Bytes image, std::string_view name) const {
  if (!object_) return empty_handle("device", "load");
  return load_file(*object(), kernel::Hyx::parse({image.data(), image.size()}, name));
}

std::string Device::dump_timelines() const {
  return object_ ? object()->engine().dump_timelines() : std::string();
}

}  // namespace halyard::inline v0::hal
