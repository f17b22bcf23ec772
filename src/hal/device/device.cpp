// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/device.h"

#include <new>
#include <utility>

#include "base/mutex.h"
#include "hal/device/registry.h"
#include "hal/executable/executable.h"
#include "hal/memory/buffer.h"
#include "hal/object.h"
#include "hal/queue/copy_path.h"
#include "hal/sync/event.h"
#include "hal/validate.h"
#include "halyard/hal/native.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::hal {
namespace {

Status closed(std::string_view name) {
  return error(StatusCode::kCancelled, "device {}: closed, its last handle is gone", name);
}

}  // namespace

// Shared by the handles of a created queue.
class QueueLease final : public RefCounted {
 public:
  QueueLease(DeviceObject& device, QueueObject& queue, base::Atomic<bool>& spare) noexcept
      : device_(handle_base(&device)), queue_(queue), spare_(spare) {}

 private:
  void on_last_handle() noexcept override {
    queue_.leave();
    spare_.store(true, std::memory_order_release);
    device_ = {};
  }

  HandleRef<RefCounted> device_;
  QueueObject& queue_;
  base::Atomic<bool>& spare_;
};

DeviceObject::DeviceObject(DriverRegistry& registry, std::unique_ptr<DeviceImpl> impl,
                           const Peers::Domains& domains)
    : registry_(registry),
      impl_(std::move(impl)),
      guard_(impl_->entry_guard()),
      memory_domain_(impl_->memory_domain()),
      peers_(registry.peers()),
      domains_(domains),
      limits_(impl_->info().limits),
      works_in_host_memory_(impl_->works_in_host_memory()),
      timeline_(registry.engine(), registry.take_name(impl_->info().uri)),
      memory_counters_(Ref<MemoryCounters>::adopt(new (std::nothrow) MemoryCounters)),
      queues_{{*this, kQueueKinds[0]}, {*this, kQueueKinds[1]}} {}

DeviceObject::~DeviceObject() {
  registry_.give_back_name(name());
  Created* at = created_.load(std::memory_order_relaxed);
  while (at != nullptr) delete std::exchange(at, at->next);
}

Result<Device> DeviceObject::create(DriverRegistry& registry, std::unique_ptr<DeviceImpl> impl,
                                    const Peers::Domains& domains) {
  auto* object = new (std::nothrow) DeviceObject(registry, std::move(impl), domains);
  if (object == nullptr) {
    const Ref<timeline::EntryGuard> guard(impl->entry_guard());
    timeline::Entered(*impl, guard.get())->close();
    return Status(StatusCode::kResourceExhausted, "device: no memory for its object");
  }
  if (MemoryCounters* const counters = object->memory_counters_.get()) {
    counters->tracer = object->engine().tracer();
    if (counters->tracer != nullptr) counters->device = counters->tracer->add_name(object->name());
  }
  registry.device_opened(*object->impl_, domains);
  const bool needs_host_blocks = object->driver()->needs_host_blocks();
  if (needs_host_blocks) {
    object->host_blocks_ = Ref<HostBlocks>::adopt(new (std::nothrow) HostBlocks);
  }
  // From here on dropping the handle closes the device, so a later step that fails closes it too.
  Device device(object);
  if (const bool may_block = object->impl_->frees_may_block(); may_block || object->guard_) {
    object->reclaimer_ = Ref<Reclaimer>::adopt(new (std::nothrow) Reclaimer(
        registry.engine(), registry.pending_frees_, object->guard_, may_block));
    if (!object->reclaimer_) {
      return error(StatusCode::kResourceExhausted, "device {}: no memory", object->name());
    }
  }
  for (QueueObject& queue : object->queues_) {
    if (Status status = queue.open(domains.wait, {}); !status.ok()) {
      return at(status, "device {}: opening its {} queue", object->name(), to_string(queue.kind()));
    }
  }
  if (needs_host_blocks && !object->host_blocks_) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for host blocks",
                 object->name());
  }
  HALYARD_RETURN_IF_ERROR(object->create_default_pools());
  return device;
}

// Skips a queue that still has work of its former user: the next user must not wait for it.
// Takes no lock: work that ends during the search may drop handles of other queues here.
DeviceObject::Created* DeviceObject::find_spare(const QueueInfo& info,
                                                const void* stream) {
  for (Created* at = created_.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    if (at->queue.kind() != info.kind || at->queue.priority() != info.priority ||
        at->queue.stream() != stream ||
        !at->spare.exchange(false, std::memory_order_acq_rel)) {
      continue;
    }
    if (at->queue.reopen(info.name)) return at;
    at->spare.store(true, std::memory_order_release);
  }
  return nullptr;
}

Result<Queue> DeviceObject::import_stream(void* stream, std::string_view name) {
  HALYARD_RETURN_IF_ERROR(timeline_.status());
  HALYARD_RETURN_IF_ERROR(call(&NativeInterop::check_stream, "imports no streams", stream));
  return create_queue({.name = name.empty() ? "imported" : name}, stream);
}

Result<DeviceObject::Created*> DeviceObject::open_queue(const QueueInfo& info, void* stream) {
  std::unique_ptr<Created> fresh(new (std::nothrow) Created(*this, info, stream));
  if (fresh == nullptr) return error(StatusCode::kResourceExhausted, "no memory for a queue");
  HALYARD_RETURN_IF_ERROR(fresh->queue.open(domains_.wait, info.name));
  Created* const created = fresh.release();
  created->next = created_.load(std::memory_order_relaxed);
  while (!created_.compare_exchange_weak(created->next, created, std::memory_order_acq_rel)) {
  }
  return created;
}

Status DeviceObject::with_spare_queues(Status status) const {
  std::size_t count = 0;
  for (Created* at = created_.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    count += at->spare.load(std::memory_order_relaxed);
  }
  if (status.code() != StatusCode::kResourceExhausted || count == 0) return status;
  return error(StatusCode::kResourceExhausted,
               "{}; {} without a handle {} kept for the same kind and priority", status.message(),
               base::counted(count, "queue"), count == 1 ? "is" : "are");
}

Result<Queue> DeviceObject::create_queue(const QueueInfo& info, void* stream) {
  HALYARD_RETURN_IF_ERROR(timeline_.status());
  Created* created = find_spare(info, stream);
  if (created == nullptr) {
    Result<Created*> opened = open_queue(info, stream);
    if (opened.status().code() == StatusCode::kResourceExhausted) {
      // A dropped queue is spare once its work has ended, which no thread may have noticed yet.
      engine().note_ended(/*patient=*/false);
      if (Created* const spare = find_spare(info, stream)) opened = spare;
    }
    if (!opened.ok()) return with_spare_queues(std::move(opened).status());
    created = *opened;
  }
  auto* const lease = new (std::nothrow) QueueLease(*this, created->queue, created->spare);
  if (lease == nullptr) {
    created->spare.store(true, std::memory_order_release);
    return error(StatusCode::kResourceExhausted, "no memory for a queue");
  }
  Queue queue(HandleRef<RefCounted>(handle_base(lease)), &created->queue);
  lease->release();  // the initial reference: the handles hold it now
  return queue;
}

PendingFrees& DeviceObject::pending_frees() noexcept { return registry_.pending_frees_; }

void DeviceObject::adopt(Memory& memory) noexcept {
  memory.count_in(memory_counters_);
  memory.reclaim_by(reclaimer_);
}

Result<HostBlock> DeviceObject::allocate_host_block(std::uint64_t size) {
  if (HostBlock block = host_blocks_->take(size)) return block;
  HALYARD_ASSIGN_OR_RETURN(Ref<Memory> chunk,
                           driver()->allocate(HostBlocks::chunk_size(size), HostBlocks::kSmallest,
                                              MemoryType::kHostLocal));
  chunk->reclaim_by(reclaimer_);
  return host_blocks_->add(std::move(chunk), size);
}

Result<Ref<Memory>> DeviceObject::allocate_host_memory(std::uint64_t size,
                                                       std::uint64_t alignment) {
  HALYARD_ASSIGN_OR_RETURN(Ref<Memory> memory,
                           driver()->allocate(size, alignment, MemoryType::kHostLocal));
  memory->reclaim_by(reclaimer_);
  return memory;
}

Result<Ref<Memory>> DeviceObject::import_memory_of(Memory& other) {
  HALYARD_ASSIGN_OR_RETURN(Ref<Memory> memory,
                           driver()->import_memory(other.host_pointer(), other.size()));
  // The importing driver undoes its import before the memory may be freed.
  const detail::MemoryRelease release{
      .state = &other,
      .call = [](void* state) { static_cast<Memory*>(state)->release(); },
      .destroy = [](void*) {}};
  if (!memory->on_release(release)) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory to import", name());
  }
  other.retain();
  memory->reclaim_by(reclaimer_);
  return memory;
}

Result<Ref<CopyPath>> DeviceObject::copy_path(DeviceObject& other) {
  return registry_.copy_path(*this, other);
}

FileTransfers& DeviceObject::files() const noexcept { return registry_.files(); }

// Adds the device to a list that leak checkers can reach.
void DeviceObject::leak() noexcept {
  static constinit base::Mutex mutex;
  static constinit DeviceObject* kept = nullptr;
  base::LockGuard lock(mutex);
  next_retiring_ = std::exchange(kept, this);
}

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

// No thread adds pools any more, and only the reclaim shell removes them.
bool DeviceObject::close_pools() noexcept {
  bool closed = true;
  pools_.for_each([&](PoolObject& pool) { closed &= pool.close(); });
  return closed;
}

bool DeviceObject::in_flight() noexcept {
  bool posted = false;
  pools_.for_each([&](PoolObject& pool) { posted |= pool.posted(); });
  if (posted) return true;
  if (registry_.copies_in_flight(*this)) return true;
  // Two passes: completing work of a queue may make work of an earlier queue ready.
  for (int pass = 0; pass < 2; ++pass) {
    bool busy = false;
    for_each_queue([&](QueueObject& queue) { busy = busy || queue.in_flight(); });
    if (busy) return true;
  }
  return false;
}

bool DeviceObject::step_retire() noexcept {
  if (!refusing_) {
    if (in_flight()) {
      // The work may wait for a device whose loss no other thread has noticed.
      for_each_queue([](QueueObject& queue) { queue.watch(); });
      return false;
    }
    const Status cause = closed(name());
    for_each_queue([&](QueueObject& queue) { queue.refuse(cause); });
    refusing_ = true;
  }
  if (!close_pools()) return false;
  bool idle = true;  // ask every queue: a quarantined lane of one may hold a lane of another
  for_each_queue([&](QueueObject& queue) { idle &= queue.idle(); });
  if (!idle) return false;
  const Status cause = closed(name());
  for_each_queue([&](QueueObject& queue) { idle &= queue.release(cause); });
  if (!idle) return false;
  registry_.close_copy_paths(*this);
  host_blocks_ = {};
  if (reclaimer_ && !reclaimer_->close()) return false;
  registry_.flush_trace(driver()->clock());
  registry_.device_closing(*impl_);
  {
    const auto entered = driver();
    entered->close();
    impl_.reset();
  }
  if (timeline_.keeps_for_good()) {
    // The leaked objects may refer to this device through the events of a recording, so the device
    // is leaked too.
    leak();
    registry_.device_closed();
    return true;
  }
  release();  // the reference a new object starts with
  return true;
}

const DeviceInfo& Device::info() const noexcept {
  assert(object());
  return object()->info();
}

Status Device::status() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "status"));
  return object()->timeline().status();
}

Clock& Device::clock() const noexcept {
  assert(object());
  return object()->engine().clock();
}

bool Device::can_access(const Device& owner) const noexcept {
  return object() && owner && object()->can_access(*owner.object());
}

Queue Device::queue(QueueKind kind) const noexcept {
  const bool known = kind == QueueKind::kCompute || kind == QueueKind::kCopy;
  return object() && known ? Queue(&object()->queue(kind)) : Queue();
}

Result<Queue> Device::create_queue(const QueueInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_queue"));
  DeviceObject& self = *object();
  const auto unknown = [&](const char* what, int value) {
    return error(StatusCode::kInvalidArgument, "device {}: create_queue: there is no {} {}",
                 self.name(), what, value);
  };
  if (info.kind > QueueKind::kCopy) return unknown("kind", static_cast<int>(info.kind));
  if (info.priority > QueuePriority::kHigh) {
    return unknown("priority", static_cast<int>(info.priority));
  }
  Result<Queue> queue = self.create_queue(info);
  if (!queue.ok()) return at(queue.status(), "device {}: create_queue", self.name());
  return queue;
}

Result<Semaphore> Device::create_semaphore(std::uint64_t initial, std::string_view name) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_semaphore"));
  HALYARD_ASSIGN_OR_RETURN(
      auto semaphore, timeline::Semaphore::create(object()->engine(), initial, name, object()));
  return Semaphore(semaphore.get());
}

Result<Event> Device::create_event() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_event"));
  return EventObject::create(*object());
}

Result<Buffer> Device::allocate(const BufferInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "allocate"));
  DeviceObject& self = *object();
  if (Status status = check_buffer_info(object()->limits(), info); !status.ok()) {
    return at(status, "device {}: allocate", self.name());
  }
  const auto allocate = [&] {
    if (!info.exportable) return self.driver()->allocate(info.size, info.alignment, info.memory);
    return self.call(&DescriptorSharing::allocate_exportable, "has no memory that can be exported",
                     info.size, info.memory);
  };
  Result<Ref<Memory>> memory = self.pending_frees().retry_once(allocate);
  if (memory.status().code() == StatusCode::kResourceExhausted) {
    // Submissions that have ended, but that no thread has waited for, may still hold memory.
    self.engine().note_ended(/*patient=*/false);
    memory = self.pending_frees().retry_once(allocate);
  }
  if (!memory.ok()) return at(memory.status(), "device {}: allocate", self.name());
  self.adopt(**memory);
  return BufferObject::create(self, std::move(*memory), 0, info.size);
}

Result<Buffer> Device::import_descriptor(int descriptor, const BufferInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "import_descriptor"));
  DeviceObject& self = *object();
  Status status = check_buffer_info(self.limits(), info);
  if (status.ok() && descriptor < 0) {
    status = error(StatusCode::kInvalidArgument, "descriptor {}", descriptor);
  }
  if (!status.ok()) return at(status, "device {}: import_descriptor", self.name());
  Result<Ref<Memory>> memory =
      self.call(&DescriptorSharing::import_descriptor, "imports no descriptors", descriptor,
                info.size, info.memory);
  if (!memory.ok()) return at(memory.status(), "device {}: import_descriptor", self.name());
  self.adopt(**memory);
  return BufferObject::create(self, std::move(*memory), 0, info.size);
}

namespace {

// Makes a buffer of the memory that `import` returns. Calls `release` when the memory is gone, but
// not on an error.
template <class F>
Result<Buffer> import_by(DeviceObject* device, const char* call, std::uint64_t address,
                         std::uint64_t size, const detail::MemoryRelease& release, F&& import) {
  const auto make = [&]() -> Result<Buffer> {
    if (device == nullptr) return empty_handle("device", call);
    if (address == 0) {
      return error(StatusCode::kInvalidArgument, "device {}: {}: the address is null",
                   device->name(), call);
    }
    if (address % Device::kImportAlignment != 0) {
      return error(StatusCode::kInvalidArgument,
                   "device {}: {}: address {:#x} is no multiple of {}", device->name(), call,
                   address, Device::kImportAlignment);
    }
    Result<Ref<Memory>> memory = device->pending_frees().retry_once(import);
    if (!memory.ok()) return at(memory.status(), "device {}: {}", device->name(), call);
    return BufferObject::create(*device, std::move(*memory), 0, size);
  };
  Result<Buffer> buffer = make();
  // Last: a failure before it must not call `release`.
  if (buffer.ok() && !buffer->object()->memory().on_release(release)) {
    buffer = error(StatusCode::kResourceExhausted, "device {}: {}: no memory", device->name(),
                   call);
  }
  if (buffer.ok()) {
    device->adopt(buffer->object()->memory());
  } else {
    release.destroy(release.state);
  }
  return buffer;
}

}  // namespace

Result<Buffer> Device::import_erased(std::byte* data, std::size_t size,
                                     detail::MemoryRelease release) const {
  return import_by(object(), "import_memory", reinterpret_cast<std::uintptr_t>(data), size, release,
                   [&] { return object()->driver()->import_memory(data, size); });
}

Result<Buffer> detail::import_address(const Device& device, std::uint64_t address,
                                      std::uint64_t size, MemoryRelease release) {
  return import_by(device.object(), "import_address", address, size, release, [&] {
    return device.object()->call(&NativeInterop::import_address, "imports no addresses", address,
                                 size);
  });
}

MemoryStatistics Device::memory_statistics() const {
  if (!object() || !object()->memory_counters()) return {};
  const MemoryCounters& counters = *object()->memory_counters();
  return {.bytes = counters.bytes.load(std::memory_order_relaxed),
          .peak_bytes = counters.peak_bytes.load(std::memory_order_relaxed),
          .allocations = counters.count.load(std::memory_order_relaxed),
          .total_allocations = counters.total_count.load(std::memory_order_relaxed),
          .imported_bytes = counters.imported_bytes.load(std::memory_order_relaxed)};
}

Pool Device::default_pool(MemoryType memory) const noexcept {
  const bool known = memory <= MemoryType::kHostLocal;
  return object() && known ? Pool(&object()->default_pool(memory)) : Pool();
}

Result<Pool> Device::create_pool(const PoolInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_pool"));
  DeviceObject& self = *object();
  PoolInfo rounded = info;
  rounded.max_size -= info.max_size % PoolSpace::kGranule;
  rounded.slab_size = std::min(info.slab_size, rounded.max_size);
  rounded.slab_size -= rounded.slab_size % PoolSpace::kGranule;
  if (info.memory > MemoryType::kHostLocal) {
    return error(StatusCode::kInvalidArgument, "device {}: create_pool: memory type {}",
                 self.name(), static_cast<int>(info.memory));
  }
  if (rounded.slab_size == 0) {
    const bool small = rounded.max_size == 0;
    return error(StatusCode::kInvalidArgument,
                 "device {}: create_pool: {} of {}; a slab has at least {} bytes", self.name(),
                 small ? "max_size" : "slabs",
                 base::counted(small ? info.max_size : info.slab_size, "byte"),
                 PoolSpace::kGranule);
  }
  HALYARD_ASSIGN_OR_RETURN(const Ref<PoolObject> pool, PoolObject::create(self, rounded));
  return Pool(pool.get());
}

Pool::Pool(PoolObject* object) noexcept : Handle(object), device_(handle_base(&object->device())) {}

MemoryType Pool::memory_type() const noexcept {
  return object() ? object()->memory_type() : MemoryType::kDeviceLocal;
}

PoolStatistics Pool::statistics() const noexcept {
  return object() ? object()->statistics() : PoolStatistics();
}

Status Pool::trim(std::uint64_t keep_bytes) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "trim"));
  object()->trim(keep_bytes);
  return {};
}

Status Pool::reset_peak() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "reset_peak"));
  object()->reset_peak();
  return {};
}

namespace {

Result<Executable> load_file(DeviceObject& device, Result<kernel::Hyx> file) {
  if (!file.ok()) return at(file.status(), "device {}: load", device.name());
  Result<Ref<ExecutableImpl>> impl = device.driver()->load(std::move(*file));
  if (!impl.ok()) return at(impl.status(), "device {}: load", device.name());
  return ExecutableObject::create(device, std::move(*impl));
}

}  // namespace

Result<Executable> Device::load(const std::string& path) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "load"));
  return load_file(*object(), kernel::Hyx::read(path));
}

Result<Executable> Device::load(Bytes image, std::string_view name) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "load"));
  return load_file(*object(), kernel::Hyx::parse({image.data(), image.size()}, name));
}

std::string Device::dump_timelines() const {
  if (!object()) return {};
  object()->engine().note_ended(/*patient=*/false);
  return object()->engine().dump_timelines();
}

}  // namespace halyard::inline v0::hal
