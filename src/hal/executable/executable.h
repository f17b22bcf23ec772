// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExecutableObject: a driver's executable; keeps its device open. Only handles own it: submissions
// and recordings retain the ExecutableImpl.
#pragma once

#include <utility>

#include "base/intrusive_list.h"
#include "hal/device/device.h"
#include "hal/device/driver.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::hal {

class ExecutableCacheObject;
struct CachedTag;

class ExecutableObject final : public RefCounted, public base::ListHook<CachedTag> {
 public:
  static constexpr std::string_view kTypeName = "executable";

  // `cache` may be null; otherwise it lists the object while handles exist.
  static Result<Executable> create(DeviceObject& device, Ref<ExecutableImpl> impl,
                                   ExecutableCacheObject* cache = nullptr);

  DeviceObject& device() const noexcept { return *device_.get(); }
  ExecutableImpl& impl() const noexcept { return *impl_; }
  // `kernel` is an element of kernels(). Returns kUnavailable if it exceeds the device's limits.
  Result<Function> function(const kernel::KernelInfo& kernel);
  std::span<const kernel::KernelInfo> kernels() const noexcept { return impl_->file().kernels(); }

 private:
  ExecutableObject(DeviceObject& device, Ref<ExecutableImpl> impl,
                   ExecutableCacheObject* cache) noexcept;
  ~ExecutableObject() override;
  void on_last_handle() noexcept override;

  HandleRef<DeviceObject> device_;
  Ref<ExecutableImpl> impl_;
  Ref<ExecutableCacheObject> cache_;
};

}  // namespace halyard::inline v0::hal
