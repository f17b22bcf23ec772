// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels.
#include <algorithm>
#include <cstdint>

#include "simulation/gpu/launch.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream_operations.h"
#include "simulation/hip/bugs.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/registered.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

struct Launch {
  unsigned grid[3], block[3];
  std::size_t shared_bytes = 0;
  Stream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  bool is_cooperative = false;
  Event start = nullptr, stop = nullptr;
};

// hip_module.cpp of 7.x: a size of arguments for a kernel that has none
Result check_extra(Function function, void** extra) {
  if (extra == nullptr || !is_since(kVersion70)) return kSuccess;
  const gpu::FunctionState* const of = gpu::resolve(function);
  if (of == nullptr || !of->info().parameters.empty()) return kSuccess;
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kLaunchEnd; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key != kLaunchBuffer && key != kLaunchSize) return gpu::kInvalidValue;
    HALYARD_GPU_REQUIRE(key != kLaunchSize || *static_cast<const std::size_t*>(extra[1]) == 0,
                        gpu::kLaunchOutOfResources);
  }
  return kSuccess;
}

Result check_event(Event event) {
  return event == nullptr ? kSuccess : check_handle(event, gpu::kInvalidValue);
}

Result launch(Call& call, Function function, const Launch& of) {
  HALYARD_HIP_HANDLE(of.stream, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(function != nullptr, gpu::kInvalidHandle);
  // hip_module.cpp, hipModuleLaunchKernel: the number of work items of the first extent must fit 32
  // bits. Comes before all other checks except that of the grid.
  HALYARD_GPU_REQUIRE(of.grid[0] > gpu::rules().limits->max_grid[0] ||
                          std::uint64_t{of.grid[0]} * of.block[0] <= UINT32_MAX,
                      kInvalidConfiguration);
  HALYARD_GPU_REQUIRE(of.shared_bytes <= UINT32_MAX, gpu::kInvalidValue);
  // From 7.0 the stream must belong to the current device. Up to 6.x the stream's device is used.
  const gpu::StreamState& stream = *gpu::find_stream(of.stream);
  HALYARD_GPU_REQUIRE(!is_since(kVersion70) || stream.context == &call.context(),
                      gpu::kInvalidHandle);
  await_waits(call, stream.context->device);
  Result result = check_extra(function, of.extra);
  if (result == kSuccess) result = check_event(of.start);
  if (result == kSuccess) result = check_event(of.stop);
  if (result == kSuccess && of.start != nullptr) result = gpu::record_event(of.start, of.stream);
  if (result != kSuccess) return result;
  result = gpu::launch(call, function,
                       {of.grid, of.block, static_cast<unsigned>(of.shared_bytes), of.parameters,
                        of.extra, of.is_cooperative},
                       of.stream);
  if (result == kSuccess && of.stop != nullptr) result = gpu::record_event(of.stop, of.stream);
  return after_launch(call, of.stream, result);
}

// A kernel that the program registered, by its address on the host.
Result launch_registered(Call& call, const void* host, const Launch& of) {
  HALYARD_HIP_HANDLE(of.stream, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(host != nullptr, kInvalidDeviceFunction);
  Function function = nullptr;
  const DeviceId device = gpu::find_stream(of.stream)->context->device;
  const Result result = registered_function(host, device, function);
  return result == kSuccess ? launch(call, function, of) : result;
}

Launch shape_of(const Dim3& grid, const Dim3& block, std::size_t shared_bytes, Stream stream,
                void** parameters) {
  Launch of{};
  of.grid[0] = grid.x;
  of.grid[1] = grid.y;
  of.grid[2] = grid.z;
  of.block[0] = block.x;
  of.block[1] = block.y;
  of.block[2] = block.z;
  of.shared_bytes = shared_bytes;
  of.stream = stream;
  of.parameters = parameters;
  return of;
}

// Reads the attributes of hipLaunchKernelExC and hipDrvLaunchKernelEx. Attributes other than the
// cooperative and the priority attribute are refused.
Result read_attributes(const LaunchAttribute* list, unsigned count, Launch& of) {
  HALYARD_GPU_REQUIRE(count == 0 || list != nullptr, gpu::kInvalidValue);
  for (unsigned i = 0; i < count; ++i) {
    if (list[i].id == kCooperativeAttribute) {
      of.is_cooperative = static_cast<int>(list[i].value[0]) != 0;
    } else if (list[i].id != 0 && list[i].id != kPriorityAttribute) {
      return gpu::kNotSupported;
    }
  }
  return kSuccess;
}

// Converts a grid in work items, as hipExtModuleLaunchKernel takes it.
Result from_work_items(const unsigned* items, const unsigned* block, Launch& of) {
  for (int i = 0; i < 3; ++i) {
    HALYARD_GPU_REQUIRE(items[i] != 0, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(block[i] != 0,
                        is_since(kVersion70) ? gpu::kInvalidValue : kInvalidConfiguration);
    // hip_module.cpp: "doesn't launch a workgroup bigger than the global size"
    of.block[i] = std::min(items[i], block[i]);
    // A last workgroup with fewer work items is not implemented.
    HALYARD_GPU_REQUIRE(items[i] % of.block[i] == 0, gpu::kNotSupported);
    of.grid[i] = items[i] / of.block[i];
  }
  return kSuccess;
}

Result launch_work_items(Call& call, Function function, const unsigned* items,
                         const unsigned* block, Launch& of) {
  const Result result = from_work_items(items, block, of);
  return result == kSuccess ? launch(call, function, of) : result;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y,
                                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                                unsigned block_z, unsigned shared_bytes,
                                                Stream stream, void** parameters, void** extra) {
  HALYARD_HIP_CALL(hipModuleLaunchKernel, gpu::kCurrent) {
    Launch of = shape_of({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                         stream, parameters);
    of.extra = extra;
    return launch(call, function, of);
  };
}

HALYARD_HIP_EXPORT Result hipModuleLaunchCooperativeKernel(Function function, unsigned grid_x,
                                                           unsigned grid_y, unsigned grid_z,
                                                           unsigned block_x, unsigned block_y,
                                                           unsigned block_z, unsigned shared_bytes,
                                                           Stream stream, void** parameters) {
  HALYARD_HIP_CALL(hipModuleLaunchCooperativeKernel, gpu::kCurrent) {
    Launch of = shape_of({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                         stream, parameters);
    of.is_cooperative = true;
    return launch(call, function, of);
  };
}

#define HALYARD_HIP_LAUNCH_WORK_ITEMS(name)                                                       \
  HALYARD_HIP_EXPORT Result name(Function function, std::uint32_t items_x, std::uint32_t items_y, \
                                 std::uint32_t items_z, std::uint32_t block_x,                    \
                                 std::uint32_t block_y, std::uint32_t block_z,                    \
                                 std::size_t shared_bytes, Stream stream, void** parameters,      \
                                 void** extra, Event start, Event stop, std::uint32_t) {          \
    HALYARD_HIP_CALL(name, gpu::kCurrent) {                                                       \
      const unsigned items[3] = {items_x, items_y, items_z};                                      \
      const unsigned block[3] = {block_x, block_y, block_z};                                      \
      Launch of = shape_of({}, {}, shared_bytes, stream, parameters);                             \
      of.extra = extra;                                                                           \
      of.start = start;                                                                           \
      of.stop = stop;                                                                             \
      return launch_work_items(call, function, items, block, of);                                 \
    };                                                                                            \
  }
HALYARD_HIP_LAUNCH_WORK_ITEMS(hipExtModuleLaunchKernel)
HALYARD_HIP_LAUNCH_WORK_ITEMS(hipHccModuleLaunchKernel)
// The same two as C++ functions, which old headers declare; the second has no flags.
HALYARD_HIP_LAUNCH_WORK_ITEMS(
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j)
HALYARD_HIP_LAUNCH_WORK_ITEMS(
    _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_)

HALYARD_HIP_EXPORT Result hipLaunchKernel(const void* host, Dim3 grid, Dim3 block,
                                          void** parameters, std::size_t shared_bytes,
                                          Stream stream) {
  HALYARD_HIP_CALL(hipLaunchKernel, gpu::kCurrent) {
    return launch_registered(call, host, shape_of(grid, block, shared_bytes, stream, parameters));
  };
}

HALYARD_HIP_EXPORT Result hipExtLaunchKernel(const void* host, Dim3 grid, Dim3 block,
                                             void** parameters, std::size_t shared_bytes,
                                             Stream stream, Event start, Event stop, int) {
  HALYARD_HIP_CALL(hipExtLaunchKernel, gpu::kCurrent) {
    Launch of = shape_of(grid, block, shared_bytes, stream, parameters);
    of.start = start;
    of.stop = stop;
    return launch_registered(call, host, of);
  };
}

HALYARD_HIP_EXPORT Result hipLaunchCooperativeKernel(const void* host, Dim3 grid, Dim3 block,
                                                     void** parameters, unsigned shared_bytes,
                                                     Stream stream) {
  HALYARD_HIP_CALL(hipLaunchCooperativeKernel, gpu::kCurrent) {
    Launch of = shape_of(grid, block, shared_bytes, stream, parameters);
    of.is_cooperative = true;
    return launch_registered(call, host, of);
  };
}

HALYARD_HIP_EXPORT Result hipLaunchKernelExC(const LaunchConfig* config, const void* host,
                                             void** parameters) {
  HALYARD_HIP_CALL(hipLaunchKernelExC, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(config != nullptr, gpu::kInvalidValue);
    Launch of =
        shape_of(config->grid, config->block, config->shared_bytes, config->stream, parameters);
    const Result result = read_attributes(config->attributes, config->attribute_count, of);
    return result == kSuccess ? launch_registered(call, host, of) : result;
  };
}

HALYARD_HIP_EXPORT Result hipDrvLaunchKernelEx(const DriverLaunchConfig* config, Function function,
                                               void** parameters, void** extra) {
  HALYARD_HIP_CALL(hipDrvLaunchKernelEx, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(config != nullptr, gpu::kInvalidValue);
    Launch of = shape_of({config->grid[0], config->grid[1], config->grid[2]},
                         {config->block[0], config->block[1], config->block[2]},
                         config->shared_bytes, config->stream, parameters);
    of.extra = extra;
    const Result result = read_attributes(config->attributes, config->attribute_count, of);
    return result == kSuccess ? launch(call, function, of) : result;
  };
}

HALYARD_HIP_PER_THREAD(hipLaunchKernel, 6)
HALYARD_HIP_PER_THREAD(hipLaunchCooperativeKernel, 6)

}  // namespace halyard::inline v0::sim::hip
