// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels, and occupancy.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/launch.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared_bytes, Stream stream,
                                         void** parameters, void** extra) {
  HALYARD_GPU_CALL(cuLaunchKernel, kNamed);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  return launch(call, function, {grid, block, shared_bytes, parameters, extra}, stream);
}

HALYARD_GPU_EXPORT Result cuLaunchKernelEx(const LaunchConfig* config, Function function,
                                           void** parameters, void** extra) {
  HALYARD_GPU_CALL(cuLaunchKernelEx, kNamed);
  HALYARD_GPU_REQUIRE(config != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(config->attribute_count == 0 || config->attributes != nullptr, kInvalidValue);
  LaunchShape shape{config->grid, config->block, config->shared_bytes, parameters, extra};
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == kCooperative) {
      shape.is_cooperative = static_cast<int>(attribute.value[0]) != 0;
    }
    if (attribute.id == kCompletionEvent || attribute.id == kProgrammaticEvent) {
      return kNotSupported;
    }
    if (attribute.id == kClusterDimension) {
      const auto* const size = reinterpret_cast<const unsigned*>(attribute.value.data());
      HALYARD_GPU_REQUIRE(size[0] <= 1 && size[1] <= 1 && size[2] <= 1, kNotSupported);
    }
  }
  return launch(call, function, shape, config->stream);
}

HALYARD_GPU_EXPORT Result cuLaunchCooperativeKernel(Function function, unsigned grid_x,
                                                    unsigned grid_y, unsigned grid_z,
                                                    unsigned block_x, unsigned block_y,
                                                    unsigned block_z, unsigned shared_bytes,
                                                    Stream stream, void** parameters) {
  HALYARD_GPU_CALL(cuLaunchCooperativeKernel, kNamed);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  return launch(call, function, {grid, block, shared_bytes, parameters, nullptr, true}, stream);
}

HALYARD_GPU_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                      Function function,
                                                                      int threads,
                                                                      std::size_t dynamic) {
  HALYARD_GPU_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, kNamed);
  return occupancy(call, blocks, function, threads, dynamic);
}

HALYARD_GPU_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, Function function, int threads, std::size_t dynamic, unsigned flags) {
  HALYARD_GPU_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, kNamed);
  HALYARD_GPU_REQUIRE(flags <= 1, kInvalidValue);
  return occupancy(call, blocks, function, threads, dynamic);
}

HALYARD_GPU_EXPORT Result cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function function,
                                                           SharedBytesOf shared_of,
                                                           std::size_t dynamic, int limit) {
  HALYARD_GPU_CALL(cuOccupancyMaxPotentialBlockSize, kNamed);
  return best_block(call, grid, block, function, shared_of, dynamic, limit);
}

HALYARD_GPU_EXPORT Result cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                                    Function function,
                                                                    SharedBytesOf shared_of,
                                                                    std::size_t dynamic, int limit,
                                                                    unsigned flags) {
  HALYARD_GPU_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags, kNamed);
  HALYARD_GPU_REQUIRE(flags <= 1, kInvalidValue);
  return best_block(call, grid, block, function, shared_of, dynamic, limit);
}

HALYARD_GPU_EXPORT Result cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes,
                                                                  Function handle, int blocks,
                                                                  int threads) {
  HALYARD_GPU_CALL(cuOccupancyAvailableDynamicSMemPerBlock, kNamed);
  return available_shared_bytes(call, bytes, handle, blocks, threads);
}

HALYARD_GPU_PER_THREAD(cuLaunchCooperativeKernel, _ptsz, 10)
HALYARD_GPU_PER_THREAD(cuLaunchKernelEx, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuLaunchKernel, _ptsz, 11)
}  // namespace halyard::inline v0::sim::cuda
