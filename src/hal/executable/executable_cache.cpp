// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/executable/executable_cache.h"

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "base/futex.h"
#include "hal/object.h"

namespace halyard::inline v0::hal {
namespace {

using base::ContentHash;
using base::DiskCache;

Result<std::optional<DiskCache>> open_disk(DeviceImpl& device, const ExecutableCacheInfo& info) {
  if (!info.folder.empty()) {
    HALYARD_ASSIGN_OR_RETURN(DiskCache disk, DiskCache::open(info.folder, info.max_bytes));
    return std::optional<DiskCache>(std::move(disk));
  }
  const std::string folder = base::default_cache_folder();
  if (device.image_builder() != nullptr && !folder.empty()) {
    // The user did not request this folder; without it loads are only slower.
    Result<DiskCache> disk = DiskCache::open(folder, info.max_bytes);
    if (disk.ok()) return std::optional<DiskCache>(std::move(*disk));
  }
  return std::optional<DiskCache>();
}

}  // namespace

Result<ExecutableCache> ExecutableCacheObject::create(DeviceObject& device,
                                                      const ExecutableCacheInfo& info) {
  Result<std::optional<DiskCache>> disk = open_disk(*device.driver(), info);
  if (!disk.ok()) return at(disk.status(), "device {}: create_executable_cache", device.name());
  auto* object = new (std::nothrow) ExecutableCacheObject(device, std::move(*disk));
  if (object == nullptr) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for an executable cache",
                 device.name());
  }
  return first_handle<ExecutableCache>(object);
}

Executable ExecutableCacheObject::find(const kernel::Hyx& file) {
  Executable found;
  executables_.for_each([&](ExecutableObject& object) {
    // Compares the bytes, because a hash collision could be constructed.
    if (found || !std::ranges::equal(object.impl().file().bytes(), file.bytes())) return;
    if (!object.retain_handle_if_any()) return;  // about to leave the list
    found = Executable(&object);
    object.release_handle();
  });
  return found;
}

Executable ExecutableCacheObject::share_or_begin(const kernel::Hyx& file, Load& load) {
  for (;;) {
    std::uint32_t ended = 0;
    {
      base::LockGuard lock(mutex_);
      if (Executable found = find(file)) return found;
      bool loading = false;
      loads_.for_each([&](const Load& other) { loading |= other.content == load.content; });
      if (!loading) {
        loads_.push_back(load);
        return {};
      }
      ended = loads_ended_.load(std::memory_order_relaxed);
    }
    base::futex_wait(loads_ended_, ended, Deadline::kForeverTime);
  }
}

void ExecutableCacheObject::end(Load& load, const Executable& made) noexcept {
  {
    base::LockGuard lock(mutex_);
    if (made) executables_.push_back(*made.object());
    loads_.erase(load);
    loads_ended_.fetch_add(1, std::memory_order_relaxed);
  }
  base::futex_wake(loads_ended_, INT_MAX);
}

void ExecutableCacheObject::forget(ExecutableObject& executable) noexcept {
  base::LockGuard lock(mutex_);
  if (executable.linked()) executables_.erase(executable);
}

Result<Ref<ExecutableImpl>> ExecutableCacheObject::prepare(kernel::Hyx file,
                                                           const ContentHash& content) {
  const auto driver = device_.driver();  // its guard also covers calls to the builder
  ImageBuilder* const builder = driver->image_builder();
  if (builder == nullptr) return driver->load(std::move(file));
  const ContentHash key = base::content_hash(
      {"image", builder->name(), base::text_of(std::as_bytes(std::span(&content, 1)))});
  if (disk_) {
    if (const DiskCache::Entry entry = disk_->find(key)) {
      Result<Ref<ExecutableImpl>> impl = builder->load(std::move(file), entry.bytes());
      if (impl.ok()) counters_.from_disk.fetch_add(1, std::memory_order_relaxed);
      if (impl.status().code() != StatusCode::kDataLoss) return impl;
    }
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> image, builder->build(file));
  counters_.built.fetch_add(1, std::memory_order_relaxed);
  Result<Ref<ExecutableImpl>> impl = builder->load(std::move(file), image);
  if (impl.ok() && disk_ && !disk_->put(key, image).ok()) {
    counters_.not_stored.fetch_add(1, std::memory_order_relaxed);
  }
  return impl;
}

Result<Executable> ExecutableCacheObject::make(kernel::Hyx file, const ContentHash& content) {
  Result<Ref<ExecutableImpl>> impl = prepare(std::move(file), content);
  if (!impl.ok()) return at(impl.status(), "device {}: load", device_.name());
  counters_.prepared.fetch_add(1, std::memory_order_relaxed);
  return ExecutableObject::create(device_, std::move(*impl), this);
}

Result<Executable> ExecutableCacheObject::load(Result<kernel::Hyx> file) {
  if (!file.ok()) return at(file.status(), "device {}: load", device_.name());
  Load load(base::content_hash({base::text_of(file->bytes())}));
  if (Executable shared = share_or_begin(*file, load)) {
    counters_.shared.fetch_add(1, std::memory_order_relaxed);
    return shared;
  }
  Result<Executable> made = make(std::move(*file), load.content);
  end(load, made.ok() ? *made : Executable());
  return made;
}

ExecutableCacheStatistics ExecutableCacheObject::statistics() const noexcept {
  const auto value = [](const base::Atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {.shared = value(counters_.shared),
          .prepared = value(counters_.prepared),
          .from_disk = value(counters_.from_disk),
          .built = value(counters_.built),
          .not_stored = value(counters_.not_stored)};
}

// ---- Handles ---------------------------------------------------------------------------------

Result<Executable> ExecutableCache::load(const std::string& path) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "load"));
  return object()->load(kernel::Hyx::read(path));
}

Result<Executable> ExecutableCache::load(Bytes image, std::string_view name) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "load"));
  return object()->load(kernel::Hyx::parse({image.data(), image.size()}, name));
}

std::string_view ExecutableCache::folder() const noexcept {
  return object() ? object()->folder() : std::string_view();
}

ExecutableCacheStatistics ExecutableCache::statistics() const noexcept {
  return object() ? object()->statistics() : ExecutableCacheStatistics();
}

Result<ExecutableCache> Device::create_executable_cache(const ExecutableCacheInfo& info) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_executable_cache"));
  return ExecutableCacheObject::create(*object(), info);
}

}  // namespace halyard::inline v0::hal
