// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels, and occupancy.
#include "sim/cuda/launch.h"

#include <algorithm>
#include <cstring>

#include "sim/cuda/per_thread.h"
#include "sim/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr int kBlocksPerMultiprocessor = 32, kThreadsPerMultiprocessor = 2048;
constexpr int kSharedPerMultiprocessor = 167936, kReservedShared = 1024;
constexpr int kRegistersPerMultiprocessor = 65536;
constexpr unsigned kGridLimit[3] = {2147483647, 65535, 65535};
constexpr unsigned kBlockLimit[3] = {1024, 1024, 64};
constexpr unsigned kMaxThreads = 1024;

// The packed buffer of `extra`.
Result read_extra(void** extra, const ptx::Entry& info, std::vector<std::byte>& parameters) {
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  for (; *extra != nullptr; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == kParamBufferPointer) {
      buffer = extra[1];
    } else if (key == kParamBufferSize) {
      size = static_cast<const std::size_t*>(extra[1]);
    } else {
      return kInvalidValue;
    }
  }
  HALYARD_CUDA_REQUIRE(size != nullptr && (buffer != nullptr || *size == 0), kInvalidValue);
  if (*size < info.parameter_bytes) {
    report_misuse("short-parameter-buffer",
                  "a launch of " + info.name + " passed " + std::to_string(*size) + " of " +
                      std::to_string(info.parameter_bytes) + " bytes of parameters");
    return kInvalidValue;
  }
  if (info.parameter_bytes != 0) std::memcpy(parameters.data(), buffer, info.parameter_bytes);
  return kSuccess;
}

bool is_within_limits(const FunctionState& function, const unsigned* grid, const unsigned* block,
                      unsigned shared_bytes) {
  const ptx::Entry& info = function.info();
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] > kGridLimit[i] || block[i] == 0 || block[i] > kBlockLimit[i] ||
        (info.required_block[i] != 0 && info.required_block[i] != block[i])) {
      return false;
    }
    threads *= block[i];
  }
  int most_threads = 0, most_shared = 0;
  function_attribute(function, 0, most_threads);
  function_attribute(function, kMaxDynamicShared, most_shared);
  return threads <= std::min<std::uint64_t>(kMaxThreads, static_cast<unsigned>(most_threads)) &&
         shared_bytes <= static_cast<unsigned>(most_shared);
}

int blocks_per_multiprocessor(const FunctionState& function, int threads, std::size_t dynamic) {
  int limit = 0;
  function_attribute(function, 0, limit);
  if (threads <= 0 || threads > limit) return 0;
  const int warps = (threads + 31) / 32 * 32;
  int blocks = std::min(kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / warps);
  const ptx::Entry& info = function.info();
  const std::size_t shared = info.static_shared_bytes + dynamic + kReservedShared;
  blocks = static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(blocks), kSharedPerMultiprocessor / shared));
  const int registers = static_cast<int>(std::max<std::uint32_t>(info.registers, 16));
  return std::min(blocks, kRegistersPerMultiprocessor / (registers * warps));
}

Result launch(Call& call, Function handle, const unsigned* grid, const unsigned* block,
              unsigned shared_bytes, Stream stream_handle, void** parameters, void** extra) {
  const std::shared_ptr<StreamState> stream = find_stream(stream_handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, kInvalidHandle);
  KernelWork work;
  const Result result = make_kernel_work(*stream->context, handle, grid, block, shared_bytes,
                                         parameters, extra, work);
  if (result != kSuccess) return result;
  // cuda.h, cuLaunchKernel: stream and function belong to the current context.
  if (stream->context != &call.context()) {
    report_misuse("launch-in-another-context",
                  "a kernel was launched in a stream of a context that is not current");
  }
  return submit(stream, std::move(work));
}

}  // namespace

Result make_kernel_work(ContextState& context, Function handle, const unsigned* grid,
                        const unsigned* block, unsigned shared_bytes, void** parameters,
                        void** extra, KernelWork& work) {
  if (const Result result = find_function(context, handle, work.function); result != kSuccess) {
    return result;
  }
  const ptx::Entry& info = work.function->info();
  if (work.function->module->context != &context) {
    report_misuse("function-of-another-context",
                  info.name + " was launched in another context than that of its module");
    return kInvalidHandle;
  }
  HALYARD_CUDA_REQUIRE(parameters == nullptr || extra == nullptr, kInvalidValue);
  if (!is_within_limits(*work.function, grid, block, shared_bytes)) {
    const auto extent = [](const unsigned* size) {
      return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " +
             std::to_string(size[2]);
    };
    report_misuse("launch-beyond-limits",
                  "a launch of " + info.name + ": " + extent(grid) + " blocks of " + extent(block) +
                      " threads, " + std::to_string(shared_bytes) + " bytes of shared memory");
    return kInvalidValue;
  }
  std::copy_n(grid, 3, work.grid);
  std::copy_n(block, 3, work.block);
  work.context = &context;
  work.shared_bytes = shared_bytes;
  work.parameters.resize(info.parameter_bytes);
  if (extra != nullptr) return read_extra(extra, info, work.parameters);
  HALYARD_CUDA_REQUIRE(parameters != nullptr || info.parameters.empty(), kInvalidValue);
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const ptx::Parameter& parameter = info.parameters[i];
    HALYARD_CUDA_REQUIRE(parameters[i] != nullptr, kInvalidValue);
    std::memcpy(work.parameters.data() + parameter.offset, parameters[i], parameter.size);
  }
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y,
                                          unsigned grid_z, unsigned block_x, unsigned block_y,
                                          unsigned block_z, unsigned shared_bytes, Stream stream,
                                          void** parameters, void** extra) {
  HALYARD_CUDA_CALL(cuLaunchKernel, kCurrent);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  return launch(call, function, grid, block, shared_bytes, stream, parameters, extra);
}

HALYARD_CUDA_EXPORT Result cuLaunchKernelEx(const LaunchConfig* config, Function function,
                                            void** parameters, void** extra) {
  HALYARD_CUDA_CALL(cuLaunchKernelEx, kCurrent);
  HALYARD_CUDA_REQUIRE(config != nullptr, kInvalidValue);
  HALYARD_CUDA_REQUIRE(config->attribute_count == 0 || config->attributes != nullptr,
                       kInvalidValue);
  constexpr int kCooperative = 2, kClusterDimension = 4, kCompletionEvent = 12, kProgrammatic = 7;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == kCooperative && static_cast<int>(attribute.value[0]) != 0) {
      return kNotSupported;
    }
    if (attribute.id == kCompletionEvent || attribute.id == kProgrammatic) return kNotSupported;
    if (attribute.id == kClusterDimension) {
      const auto* const size = reinterpret_cast<const unsigned*>(attribute.value);
      HALYARD_CUDA_REQUIRE(size[0] <= 1 && size[1] <= 1 && size[2] <= 1, kNotSupported);
    }
  }
  return launch(call, function, config->grid, config->block, config->shared_bytes, config->stream,
                parameters, extra);
}

namespace {

Result occupancy(Call& call, int* blocks, Function handle, int threads, std::size_t dynamic) {
  HALYARD_CUDA_REQUIRE(blocks != nullptr && threads > 0, kInvalidValue);
  std::shared_ptr<FunctionState> function;
  const Result result = find_function(call.context(), handle, function);
  if (result == kSuccess) *blocks = blocks_per_multiprocessor(*function, threads, dynamic);
  return result;
}

using SharedBytesOf = std::size_t (*)(int);

Result best_block(Call& call, int* grid, int* block, Function handle, SharedBytesOf shared_of,
                  std::size_t dynamic, int limit) {
  HALYARD_CUDA_REQUIRE(grid != nullptr && block != nullptr && limit >= 0, kInvalidValue);
  std::shared_ptr<FunctionState> function;
  const Result result = find_function(call.context(), handle, function);
  if (result != kSuccess) return result;
  int most = 0;
  function_attribute(*function, 0, most);
  if (limit != 0) most = std::min(most, limit);
  int best = 0;
  *grid = *block = 0;
  for (int threads = most; threads > 0; threads -= threads % 32 != 0 ? threads % 32 : 32) {
    const std::size_t shared = shared_of != nullptr ? shared_of(threads) : dynamic;
    const int blocks = blocks_per_multiprocessor(*function, threads, shared);
    if (blocks * threads > best) {
      best = blocks * threads;
      *block = threads;
      *grid = blocks * kMultiprocessors;
    }
  }
  return kSuccess;
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                       Function function,
                                                                       int threads,
                                                                       std::size_t dynamic) {
  HALYARD_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, kCurrent);
  return occupancy(call, blocks, function, threads, dynamic);
}

HALYARD_CUDA_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, Function function, int threads, std::size_t dynamic, unsigned flags) {
  HALYARD_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, kCurrent);
  HALYARD_CUDA_REQUIRE(flags <= 1, kInvalidValue);
  return occupancy(call, blocks, function, threads, dynamic);
}

HALYARD_CUDA_EXPORT Result cuOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                            Function function,
                                                            SharedBytesOf shared_of,
                                                            std::size_t dynamic, int limit) {
  HALYARD_CUDA_CALL(cuOccupancyMaxPotentialBlockSize, kCurrent);
  return best_block(call, grid, block, function, shared_of, dynamic, limit);
}

HALYARD_CUDA_EXPORT Result cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                                     Function function,
                                                                     SharedBytesOf shared_of,
                                                                     std::size_t dynamic, int limit,
                                                                     unsigned flags) {
  HALYARD_CUDA_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags, kCurrent);
  HALYARD_CUDA_REQUIRE(flags <= 1, kInvalidValue);
  return best_block(call, grid, block, function, shared_of, dynamic, limit);
}

HALYARD_CUDA_EXPORT Result cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes,
                                                                   Function handle, int blocks,
                                                                   int threads) {
  HALYARD_CUDA_CALL(cuOccupancyAvailableDynamicSMemPerBlock, kCurrent);
  HALYARD_CUDA_REQUIRE(bytes != nullptr && blocks > 0 && threads > 0, kInvalidValue);
  std::shared_ptr<FunctionState> function;
  const Result result = find_function(call.context(), handle, function);
  if (result != kSuccess) return result;
  const int used = static_cast<int>(function->info().static_shared_bytes) + kReservedShared;
  *bytes = static_cast<std::size_t>(std::max(0, kSharedPerMultiprocessor / blocks - used));
  return kSuccess;
}

HALYARD_CUDA_PER_THREAD(cuLaunchKernelEx, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuLaunchKernel, _ptsz, 11)

}  // namespace halyard::inline v0::sim::cuda
