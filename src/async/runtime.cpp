// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/runtime.h"

#include <dlfcn.h>

#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "async/device_state.h"
#include "base/format.h"
#include "base/program.h"

namespace halyard::inline v0::async {

namespace detail {

class RuntimeObject final : public RefCounted {
 public:
  RuntimeObject(std::span<const Ref<DeviceState>> states, Policy policy)
      : policy_(std::move(policy)) {
    for (const Ref<DeviceState>& state : states) {
      const Device& device = devices_.emplace_back(state->handle());
      for (std::size_t i = 0; i < device.queue_count(); ++i) queues_.push_back(device.queue(i));
    }
  }

  std::span<const Device> devices() const noexcept { return devices_; }
  std::span<const QueueRef> queues() const noexcept { return queues_; }
  const Policy& policy() const noexcept { return policy_; }
  Device missing_device(std::size_t index) const noexcept {
    return Device({}, index, devices_.size());
  }

 private:
  std::vector<Device> devices_;
  std::vector<QueueRef> queues_;
  const Policy policy_;
};

namespace {

namespace fs = std::filesystem;

void add_folders_beside(const fs::path& file, std::vector<std::string>& folders) {
  if (file.empty()) return;
  const fs::path folder = file.parent_path();
  folders.push_back(folder / "kernels");
  folders.push_back(folder.parent_path() / "share/halyard/kernels");
}

// The folders of RuntimeInfo::kernels, in their order.
std::vector<std::string> kernel_folders(std::vector<std::string> folders, const fs::path& header) {
  std::error_code ignored;
  const fs::path program = base::program_path();
  add_folders_beside(program, folders);
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&kernel_folders), &info) != 0) {
    const fs::path library = fs::canonical(info.dli_fname, ignored);
    if (library != program) add_folders_beside(library, folders);
  }
  if (header.is_absolute()) {  // <prefix>/include/halyard/async/runtime.h
    const fs::path include = header.parent_path().parent_path().parent_path();
    folders.push_back(include.parent_path() / "share/halyard/kernels");
  }
  return folders;
}

}  // namespace
}  // namespace detail

using detail::RuntimeObject;

detail::DeviceState* Device::state() const noexcept {
  return static_cast<detail::DeviceState*>(state_.get());
}

Status Device::status() const {
  if (state_) [[likely]]
    return {};
  if (count_ == 0) return Status(StatusCode::kInvalidArgument, "an empty device or runtime");
  return error(StatusCode::kOutOfRange, "device {} of a runtime with {}", base::number(index_),
               base::counted(count_, "device"));
}

hal::Device Device::hal() const noexcept { return state_ ? state()->device() : hal::Device(); }

QueueRef Device::next_queue() const noexcept { return {*this, state_ ? state()->next_queue() : 0}; }

std::size_t QueueRef::load() const noexcept {
  return status().ok() ? state()->active_trees.load(std::memory_order_relaxed) : 0;
}

std::size_t Device::queue_count() const noexcept { return state_ ? state()->queue_count() : 0; }

Status QueueRef::status() const {
  if (index_ < device_.queue_count()) [[likely]]
    return {};
  HALYARD_RETURN_IF_ERROR(device_.status());
  return error(StatusCode::kOutOfRange, "queue {} of a device with {}", base::number(index_),
               base::counted(device_.queue_count(), "queue"));
}

detail::QueueState* QueueRef::state() const noexcept { return &device_.state()->queue(index_); }

Result<Runtime> Runtime::open(std::string_view uri, RuntimeInfo info) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<hal::Device> devices, hal::open_all(uri));
  return create(std::move(devices), std::move(info));
}

Result<Runtime> Runtime::create(std::vector<hal::Device> devices, RuntimeInfo info) {
  if (devices.empty()) return Status(StatusCode::kInvalidArgument, "a runtime without a device");
  if (info.queues == 0) {
    return Status(StatusCode::kInvalidArgument, "a runtime whose devices have no queues");
  }
  const std::vector<std::string> folders =
      detail::kernel_folders(std::move(info.kernels), info.header);
  std::vector<Ref<detail::DeviceState>> states;
  for (const hal::Device& device : devices) {
    if (!device) return Status(StatusCode::kInvalidArgument, "a runtime with an empty device");
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(states.emplace_back(),
                             detail::DeviceState::create({i, devices, info.queues}, folders));
  }
  Runtime runtime;
  runtime.object_ = Ref<RuntimeObject>::adopt(new RuntimeObject(states, std::move(info.policy)));
  return runtime;
}

std::span<const Device> Runtime::devices() const noexcept {
  return object_ ? static_cast<RuntimeObject&>(*object_).devices() : std::span<const Device>();
}

std::span<const QueueRef> Runtime::queues() const noexcept {
  return object_ ? static_cast<RuntimeObject&>(*object_).queues() : std::span<const QueueRef>();
}

const Policy& Runtime::policy() const noexcept {
  static const Policy none = global_policy(0);  // for an empty handle
  return object_ ? static_cast<RuntimeObject&>(*object_).policy() : none;
}

Device Runtime::device(std::size_t index) const noexcept {
  if (!object_) return {};
  const auto all = devices();
  return index < all.size() ? all[index]
                            : static_cast<RuntimeObject&>(*object_).missing_device(index);
}

}  // namespace halyard::inline v0::async
