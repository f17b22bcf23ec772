// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cerrno>

#include "simulation/kfd/system.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

// amdkfd/kfd_flat_memory.c, of gfx9 and later.
constexpr std::uint64_t kLdsApertureBase = std::uint64_t{1} << 48,
                        kScratchApertureBase = std::uint64_t{2} << 48;
constexpr std::uint64_t kApertureBytes = std::uint64_t{1} << 32;
constexpr std::uint64_t kGpuvmBase = 0x200000, kGpuvmLimit = (std::uint64_t{1} << 47) - 1;

}  // namespace

int System::get_clock_counters(abi::GetClockCounters& args) {
  if (find_device(args.gpu_id) == nullptr) {
    return refuse(-EINVAL, "unknown-gpu",
                  join("GET_CLOCK_COUNTERS: no device has gpu_id ", args.gpu_id));
  }
  const std::uint64_t now = nanoseconds();
  args.gpu_clock_counter = now / 10;
  args.cpu_clock_counter = now;
  args.system_clock_counter = now;
  args.system_clock_freq = 1'000'000'000;
  return 0;
}

int System::get_process_apertures(abi::GetProcessAperturesNew& args) {
  const auto count = static_cast<std::uint32_t>(devices.size());
  if (args.num_of_nodes == 0) {  // asks for the number
    args.num_of_nodes = count;
    return 0;
  }
  auto* const apertures = reinterpret_cast<abi::Apertures*>(args.apertures_ptr);
  if (apertures == nullptr) {
    return refuse(-EFAULT, "request-null", "GET_PROCESS_APERTURES_NEW has no array");
  }
  args.num_of_nodes = std::min(args.num_of_nodes, count);
  for (std::uint32_t i = 0; i != args.num_of_nodes; ++i) {
    apertures[i] = {.lds_base = kLdsApertureBase,
                    .lds_limit = kLdsApertureBase + kApertureBytes - 1,
                    .scratch_base = kScratchApertureBase,
                    .scratch_limit = kScratchApertureBase + kApertureBytes - 1,
                    .gpuvm_base = kGpuvmBase,
                    .gpuvm_limit = kGpuvmLimit,
                    .gpu_id = devices[i]->node.gpu_id};
  }
  return 0;
}

int System::acquire_vm(abi::AcquireVm& args) {
  Device* const device = find_device(args.gpu_id);
  if (device == nullptr) {
    return refuse(-EINVAL, "unknown-gpu", join("ACQUIRE_VM: no device has gpu_id ", args.gpu_id));
  }
  const auto found = descriptors.find(static_cast<int>(args.drm_fd));
  if (found == descriptors.end() || found->second.kind != DescriptorKind::kRender ||
      found->second.device != device->index) {
    return refuse(-EINVAL, "acquire-vm",
                  join("ACQUIRE_VM: the descriptor is not of /dev/dri/renderD",
                       device->node.drm_render_minor));
  }
  if (device->has_vm) {
    return refuse(-EBUSY, "acquire-vm", join("ACQUIRE_VM a second time for ", device->node.name));
  }
  device->has_vm = true;
  return 0;
}

int System::available_memory(abi::AvailableMemory& args) {
  int error = 0;
  const Device* const device = bound_device(args.gpu_id, "AVAILABLE_MEMORY", error);
  if (device == nullptr) return error;
  args.available = device->node.local_memory;
  for (const auto& [handle, buffer] : buffers) {
    const bool is_here = buffer->device == device->index && (buffer->flags & abi::kVram) != 0;
    if (is_here) args.available -= std::min(args.available, buffer->size);
  }
  return 0;
}

}  // namespace halyard::inline v0::sim::kfd
