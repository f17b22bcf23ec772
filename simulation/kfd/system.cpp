// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/system.h"

#include <ctime>
#include <numeric>
#include <utility>

#include "simulation/kfd/queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {

Device::Device(unsigned device_index, const Node& device_node, File& file)
    : index(device_index),
      node(device_node),
      doorbells(file.allocate(abi::kDoorbellBytes)),
      registers(file.allocate(abi::kPage)) {}

Device::~Device() = default;

System::System(Options given)
    : options(std::move(given)), report(options.print), random(options.seed), events(report) {
  for (const Node& node : nodes()) {
    devices.push_back(std::make_unique<Device>(static_cast<unsigned>(devices.size()), node, file));
  }
}

System::~System() = default;

int System::refuse(int error, std::string_view rule, std::string text) {
  report.add(std::string(rule), std::move(text));
  return error;
}

Device* System::find_device(std::uint32_t gpu_id) {
  for (const auto& device : devices) {
    if (device->node.gpu_id == gpu_id) return device.get();
  }
  return nullptr;
}

Device* System::bound_device(std::uint32_t gpu_id, std::string_view request, int& error) {
  Device* const device = find_device(gpu_id);
  if (device == nullptr) {
    error = refuse(-EINVAL, "unknown-gpu", join(request, ": no device has gpu_id ", gpu_id));
    return nullptr;
  }
  if (!device->has_vm) {
    error = refuse(-ENODEV, "no-vm",
                   join(request, ": ACQUIRE_VM was not called for ", device->node.name));
    return nullptr;
  }
  return device;
}

Buffer* System::find_buffer(std::uint64_t handle) {
  const auto found = buffers.find(handle);
  return found == buffers.end() ? nullptr : found->second.get();
}

bool System::step() {
  std::vector<Queue*> queues;
  for (const auto& device : devices) {
    for (const auto& queue : device->queues) queues.push_back(queue.get());
  }
  // In an order that the seed chooses.
  for (std::size_t left = queues.size(); left != 0; --left) {
    std::swap(queues[random.below(left)], queues[left - 1]);
    if (!queues[left - 1]->step()) continue;
    changed.notify_all();
    return true;
  }
  return false;
}

std::uint64_t System::nanoseconds() const {
  if (options.now) return options.now();
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void System::page_fault(Device& device, std::uint64_t address, Access access) {
  const bool is_mapped = device.space.find(address) != nullptr;
  device.health = Health::kFaulted;
  events.memory_exception({.not_present = is_mapped ? 0u : 1u,
                           .read_only = is_mapped && access == Access::kWrite ? 1u : 0u,
                           .no_execute = is_mapped && access == Access::kExecute ? 1u : 0u,
                           .va = address / abi::kPage * abi::kPage,
                           .gpu_id = device.node.gpu_id});
  changed.notify_all();
}

void System::reset_device(Device& device) {
  device.health = Health::kLost;
  events.hardware_exception({.memory_lost = 1, .gpu_id = device.node.gpu_id});
  changed.notify_all();
}

void System::report_leaks() {
  for (const auto& device : devices) {
    if (device->queues.empty()) continue;
    report.add("left-behind", join(device->queues.size(), " queues of ", device->node.name,
                                   " were not destroyed"));
  }
  // The event page cannot be freed.
  const std::size_t left = buffers.size() - (event_page_handle != 0 ? 1 : 0);
  if (left != 0) report.add("left-behind", join(left, " buffers were not freed"));
  if (events.count() != 0) {
    report.add("left-behind", join(events.count(), " events were not destroyed"));
  }
}

}  // namespace halyard::inline v0::sim::kfd
