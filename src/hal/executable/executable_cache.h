// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExecutableCacheObject: the live executables of a device, and the loads in progress.
//
// An executable holds a reference to its cache, so that dropping its last handle can remove it from
// the list. The list holds no references. A load in progress is an object on the stack of its
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/atomic.h"
#include "base/content_hash.h"
#include "base/disk_cache.h"
#include "base/intrusive_list.h"
#include "base/mutex.h"
#include "hal/device/device.h"
#include "hal/device/driver.h"
#include "hal/executable/executable.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable_cache.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::hal {

class ExecutableCacheObject final : public RefCounted {
 public:
  static constexpr std::string_view kTypeName = "executable cache";

  static Result<ExecutableCache> create(DeviceObject& device, const ExecutableCacheInfo& info);

  Result<Executable> load(Result<kernel::Hyx> file);
  // Called when the last handle of an executable of this cache is gone.
  void forget(ExecutableObject& executable) noexcept;

  std::string_view folder() const noexcept { return disk_ ? disk_->folder() : std::string_view(); }
  ExecutableCacheStatistics statistics() const noexcept;

 private:
  struct LoadTag;
  struct Load : base::ListHook<LoadTag> {
    explicit Load(const base::ContentHash& hash) noexcept : content(hash) {}
    const base::ContentHash content;
  };
  struct Counters {
    base::Atomic<std::uint64_t> shared{0}, prepared{0}, from_disk{0}, built{0}, not_stored{0};
  };

  ExecutableCacheObject(DeviceObject& device, std::optional<base::DiskCache> disk) noexcept
      : device_(device), keeps_open_(&device), disk_(std::move(disk)) {}
  void on_last_handle() noexcept override { keeps_open_ = {}; }

  // The executable of `file`. If there is none, begins `load`, and other threads wait for it.
  Executable share_or_begin(const kernel::Hyx& file, Load& load);
  void end(Load& load, const Executable& made) noexcept;
  Executable find(const kernel::Hyx& file);
  Result<Executable> make(kernel::Hyx file, const base::ContentHash& content);
  Result<Ref<ExecutableImpl>> prepare(kernel::Hyx file, const base::ContentHash& content);

  DeviceObject& device_;  // kept open by the callers of load(), and by the executables
  HandleRef<DeviceObject> keeps_open_;
  const std::optional<base::DiskCache> disk_;
  Counters counters_;
  base::Mutex mutex_;
  base::IntrusiveList<ExecutableObject, CachedTag> executables_;
  base::IntrusiveList<Load, LoadTag> loads_;
  base::Atomic<std::uint32_t> loads_ended_{0};  // changes under the mutex; slept on
};

}  // namespace halyard::inline v0::hal
