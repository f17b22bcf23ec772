// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's rules for the core that is shared with HIP.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "simulation/cuda/device.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::cuda {
namespace {

struct NamedResult {
  std::string_view name;
  int value;
};
constexpr NamedResult kResults[] = {
#define HALYARD_CUDA_ERROR(name, value, text) {#name, value},
#include "simulation/cuda/errors.inc"
#undef HALYARD_CUDA_ERROR
};

// The name may omit CUDA_ERROR_.
int number_of(std::string_view name) {
  constexpr std::string_view kPrefix = "CUDA_ERROR_";
  for (const NamedResult& result : kResults) {
    if (name == result.name) return result.value;
    if (result.name.starts_with(kPrefix) && name == result.name.substr(kPrefix.size())) {
      return result.value;
    }
  }
  return -1;
}

void read_more_options(Options& options) {
  std::uint64_t version = 13000;
  read_number("VERSION", version, 11000, 13000);
  options.driver_version = static_cast<int>(version);
  if (const char* const text = variable("CAPABILITY")) {
    int major = 0, minor = 0;
    if (std::sscanf(text, "%d.%d", &major, &minor) == 2 && major >= 5 && major <= 12 &&
        minor >= 0 && minor <= 9) {
      options.capability_major = major;
      options.capability_minor = minor;
    } else {
      complain("CAPABILITY", text);
    }
  }
}

// NVIDIA, "CUDA C++ Programming Guide", environment variables: indices or beginnings of UUIDs, with
// commas between. "If one of the indices is invalid, only the devices whose index precedes the
// invalid index are visible". Of a device that is named twice it does not speak: none is visible.
std::vector<int> read_visible_devices(int count) {
  std::vector<int> visible(static_cast<std::size_t>(count));
  std::iota(visible.begin(), visible.end(), 0);
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return visible;
  visible.clear();
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    int index = -1;
    if (name.starts_with("GPU-")) {
      for (int i = 0; i < count && index < 0; ++i) {
        if (uuid_text(i).starts_with(name)) index = i;
      }
    } else {
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc{} || end != name.data() + name.size()) index = -1;
    }
    if (index < 0 || index >= count) break;
    if (std::ranges::find(visible, index) != visible.end()) return {};
    visible.push_back(index);
  }
  return visible;
}

// Those of a small GPU of the compute capability, not of a product.
constexpr DeviceLimits kLimits{.multiprocessors = 8,
                               .warp = 32,
                               .max_threads = 1024,
                               .max_block = {1024, 1024, 64},
                               .max_grid = {2147483647, 65535, 65535},
                               .max_total_threads = 0,
                               .shared_per_block = 49152,
                               .shared_per_block_opt_in = 101376,
                               .shared_per_multiprocessor = 167936,
                               .reserved_shared = 1024,
                               .registers_per_multiprocessor = 65536,
                               .threads_per_multiprocessor = 2048,
                               .blocks_per_multiprocessor = 32,
                               .least_priority = 0,
                               .greatest_priority = -5};

// cuda.h, CUDA_ERROR_ILLEGAL_ADDRESS: "the process must be terminated and relaunched". An H200 gave
// no new context; the behaviour of other devices was not observed. They stay usable here, except in
// adversarial mode.
FaultReach fault_reach() {
  return options().adversarial ? FaultReach::kProcess : FaultReach::kDevice;
}

}  // namespace
}  // namespace halyard::inline v0::sim::cuda

namespace halyard::inline v0::sim::gpu {

constinit const Rules HALYARD_GPU_RULES(Cuda){
    .product = "CUDA",
    .variables = "HALYARD_SIM_CUDA_",
    .stream_thread = "cuda stream",
    .names = {.allocate = "cuMemAlloc",
              .free = "cuMemFree",
              .allocate_async = "cuMemAllocAsync",
              .free_async = "cuMemFreeAsync",
              .allocate_host = "cuMemHostAlloc",
              .free_host = "cuMemFreeHost",
              .register_host = "cuMemHostRegister",
              .allocate_managed = "cuMemAllocManaged",
              .map_memory = "cuMemMap",
              .unload_module = "cuModuleUnload",
              .wait_value = "cuStreamWaitValue",
              .write_value = "cuStreamWriteValue"},
    .result_from_name = &cuda::number_of,
    .read_options = &cuda::read_more_options,
    .visible_devices = &cuda::read_visible_devices,
    .limits = &cuda::kLimits,
    .beyond_limits = [](Beyond) { return kInvalidValue; },
    .parameters_end = 0,
    .has_contexts = true,
    .fault_reach = &cuda::fault_reach,
    .dead_stream = [] { return kInvalidHandle; },
    .hardware_queues = [] { return 0U; },
    .has_host_thread = false,
    .waits_for_destroyed_streams = true,
    .free_always_waits = false,
    .free_waits_for_pool_memory = [] { return false; },
    .copies_where_memory_is = false,
    .masks_waits = false,
    .ends_own_captures_first = false,
};

}  // namespace halyard::inline v0::sim::gpu
