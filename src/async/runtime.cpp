// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/runtime.h"

#include <dlfcn.h>

#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "async/device_queue.h"
#include "base/format.h"

namespace halyard::inline v0::async {

namespace detail {

class RuntimeObject final : public RefCounted {
 public:
  explicit RuntimeObject(std::vector<Ref<DeviceQueue>> queues) {
    for (std::size_t i = 0; i < queues.size(); ++i) {
      devices_.push_back(Device(std::move(queues[i]), i, queues.size()));
    }
  }

  std::span<const Device> devices() const noexcept { return devices_; }
  Device beyond(std::size_t index) const noexcept { return Device({}, index, devices_.size()); }

 private:
  std::vector<Device> devices_;
};

namespace {

namespace fs = std::filesystem;

void add_folders_beside(const fs::path& file, std::vector<std::string>& folders) {
  if (file.empty()) return;
  const fs::path folder = file.parent_path();
  folders.push_back(folder / "kernels");
  folders.push_back(folder.parent_path() / "share/halyard/kernels");
}

// See RuntimeInfo.
std::vector<std::string> kernel_folders(std::vector<std::string> folders) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  add_folders_beside(program, folders);
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&kernel_folders), &info) != 0) {
    const fs::path library = fs::canonical(info.dli_fname, ignored);
    if (library != program) add_folders_beside(library, folders);
  }
  return folders;
}

}  // namespace
}  // namespace detail

using detail::RuntimeObject;

detail::DeviceQueue* Device::queue() const noexcept {
  return static_cast<detail::DeviceQueue*>(queue_.get());
}

Status Device::status() const {
  if (queue_) [[likely]]
    return {};
  if (count_ == 0) return Status(StatusCode::kInvalidArgument, "an empty device or runtime");
  return error(StatusCode::kOutOfRange, "device {} of a runtime with {}", index_, count_);
}

hal::Device Device::hal() const noexcept { return queue_ ? queue()->device() : hal::Device(); }

Result<Runtime> Runtime::open(std::string_view uri, RuntimeInfo info) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<hal::Device> devices, hal::open_all(uri));
  return create(std::move(devices), std::move(info));
}

Result<Runtime> Runtime::create(std::vector<hal::Device> devices, RuntimeInfo info) {
  if (devices.empty()) return Status(StatusCode::kInvalidArgument, "a runtime without a device");
  const std::vector<std::string> folders = detail::kernel_folders(std::move(info.kernels));
  std::vector<Ref<detail::DeviceQueue>> queues;
  for (hal::Device& device : devices) {
    if (!device) return Status(StatusCode::kInvalidArgument, "a runtime with an empty device");
    HALYARD_ASSIGN_OR_RETURN(queues.emplace_back(),
                             detail::DeviceQueue::create(std::move(device), folders));
  }
  Runtime runtime;
  runtime.object_ = Ref<RuntimeObject>::adopt(new RuntimeObject(std::move(queues)));
  return runtime;
}

std::span<const Device> Runtime::devices() const noexcept {
  return object_ ? static_cast<RuntimeObject&>(*object_).devices() : std::span<const Device>();
}

Device Runtime::device(std::size_t index) const noexcept {
  if (!object_) return {};
  const auto all = devices();
  return index < all.size() ? all[index] : static_cast<RuntimeObject&>(*object_).beyond(index);
}

}  // namespace halyard::inline v0::async
