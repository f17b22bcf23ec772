// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels, and occupancy.
#include "simulation/cuda/launch.h"

#include <algorithm>
#include <cstring>

#include "simulation/cuda/managed.h"
#include "simulation/cuda/per_thread.h"
#include "simulation/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr int kBlocksPerMultiprocessor = 32, kThreadsPerMultiprocessor = 2048;
constexpr int kSharedPerMultiprocessor = 167936, kReservedShared = 1024;
constexpr int kRegistersPerMultiprocessor = 65536;
constexpr unsigned kGridLimit[3] = {2147483647, 65535, 65535};
constexpr unsigned kBlockLimit[3] = {1024, 1024, 64};
constexpr int kMaxThreads = 1024;
constexpr int kMaxShared = 49152;  // without an attribute of the function

// Finds the packed buffer of `extra` and its size.
Result find_packed(void** extra, const ptx::Entry& info, const void*& buffer,
                   const std::size_t*& size) {
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
  }
  return kSuccess;
}

// Copies the parameters to `packed`; null: only checks them.
Result read_parameters(const LaunchShape& shape, const ptx::Entry& info, std::byte* packed) {
  if (shape.extra != nullptr) {
    const void* buffer = nullptr;
    const std::size_t* size = nullptr;
    if (const Result result = find_packed(shape.extra, info, buffer, size); result != kSuccess) {
      return result;
    }
    // An H200 takes a buffer that is too short. Here what is missing is zero.
    const std::size_t given = std::min<std::size_t>(*size, info.parameter_bytes);
    if (packed != nullptr && given != 0) std::memcpy(packed, buffer, given);
    return kSuccess;
  }
  HALYARD_CUDA_REQUIRE(shape.parameters != nullptr || info.parameters.empty(), kInvalidValue);
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const ptx::Parameter& parameter = info.parameters[i];
    HALYARD_CUDA_REQUIRE(shape.parameters[i] != nullptr, kInvalidValue);
    if (packed != nullptr) {
      std::memcpy(packed + parameter.offset, shape.parameters[i], parameter.size);
    }
  }
  return kSuccess;
}

bool is_within_limits(const FunctionState& function, const ptx::Entry& info,
                      const LaunchShape& shape) {
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.grid[i] > kGridLimit[i] || shape.block[i] == 0 ||
        shape.block[i] > kBlockLimit[i] ||
        (info.required_block[i] != 0 && info.required_block[i] != shape.block[i])) {
      return false;
    }
    threads *= shape.block[i];
  }
  const int most_threads = info.max_threads != 0 ? static_cast<int>(info.max_threads) : kMaxThreads;
  int most_shared = kMaxShared - static_cast<int>(info.static_shared_bytes);
  if (!function.attributes.empty()) function_attribute(function, kMaxDynamicShared, most_shared);
  return threads <= static_cast<unsigned>(std::min(kMaxThreads, most_threads)) &&
         shape.shared_bytes <= static_cast<unsigned>(most_shared);
}

void report_beyond_limits(const ptx::Entry& info, const LaunchShape& shape) {
  const auto extent = [](const unsigned* size) {
    return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " +
           std::to_string(size[2]);
  };
  report_misuse("launch-beyond-limits", "a launch of " + info.name + ": " + extent(shape.grid) +
                                            " blocks of " + extent(shape.block) + " threads, " +
                                            std::to_string(shape.shared_bytes) +
                                            " bytes of shared memory");
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

Result launch(Call& call, Function handle, const LaunchShape& shape, Stream stream_handle) {
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(stream_handle));
  // cuda.h, cuLaunchKernel: stream and function belong to the current context.
  const bool is_elsewhere =
      call.context_or_null() != nullptr && stream->context != call.context_or_null();
  constexpr const char* kElsewhere =
      "a kernel was launched in a stream of a context that is not current";
  if (takes_nothing(*stream)) {
    FunctionState* function = nullptr;
    const Result result = check_kernel(*stream->context, handle, shape, function);
    if (result != kSuccess) return result;
    if (is_elsewhere) report_misuse("launch-in-another-context", kElsewhere);
    return check_stream(*stream);
  }
  KernelWork work;
  Result result = make_kernel_work(*stream->context, handle, shape, work);
  if (result != kSuccess) return result;
  if (is_elsewhere) report_misuse("launch-in-another-context", kElsewhere);
  const bool is_executed = stream->capture == nullptr;
  result = submit(*stream, std::move(work));
  if (result == kSuccess && is_executed) guard_managed_memory();
  return result;
}

// Everything but the parameters themselves.
Result check_shape(ContextState& context, Function handle, const LaunchShape& shape,
                   FunctionState*& function, const ptx::Entry*& info) {
  if (const Result result = find_function(&context, handle, function); result != kSuccess) {
    return result;
  }
  info = &function->info();
  if (function->module->context != &context) {
    report_misuse("function-of-another-context",
                  info->name + " was launched in another context than that of its module");
    return kInvalidHandle;
  }
  HALYARD_CUDA_REQUIRE(shape.parameters == nullptr || shape.extra == nullptr, kInvalidValue);
  if (!is_within_limits(*function, *info, shape)) {
    report_beyond_limits(*info, shape);
    return kInvalidValue;
  }
  return shape.is_cooperative
             ? check_cooperative(*function, shape.grid, shape.block, shape.shared_bytes)
             : kSuccess;
}

}  // namespace

Result check_cooperative(const FunctionState& function, const unsigned* grid, const unsigned* block,
                         unsigned shared_bytes) {
  const std::uint64_t blocks = std::uint64_t{grid[0]} * grid[1] * grid[2];
  const int resident =
      blocks_per_multiprocessor(function, static_cast<int>(block[0] * block[1] * block[2]),
                                shared_bytes) *
      kMultiprocessors;
  return blocks <= static_cast<unsigned>(resident) ? kSuccess : kCooperativeLaunchTooLarge;
}

Result check_kernel(ContextState& context, Function handle, const LaunchShape& shape,
                    FunctionState*& function) {
  const ptx::Entry* info = nullptr;
  const Result result = check_shape(context, handle, shape, function, info);
  return result == kSuccess ? read_parameters(shape, *info, nullptr) : result;
}

Result make_kernel_work(ContextState& context, Function handle, const LaunchShape& shape,
                        KernelWork& work) {
  FunctionState* function = nullptr;
  const ptx::Entry* info = nullptr;
  const Result result = check_shape(context, handle, shape, function, info);
  if (result != kSuccess) return result;
  work.function = function->shared_from_this();
  std::copy_n(shape.grid, 3, work.grid);
  std::copy_n(shape.block, 3, work.block);
  work.context = &context;
  work.shared_bytes = shape.shared_bytes;
  work.parameters.resize(info->parameter_bytes);
  return read_parameters(shape, *info, work.parameters.data());
}

HALYARD_CUDA_EXPORT Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y,
                                          unsigned grid_z, unsigned block_x, unsigned block_y,
                                          unsigned block_z, unsigned shared_bytes, Stream stream,
                                          void** parameters, void** extra) {
  HALYARD_CUDA_CALL(cuLaunchKernel, kNamed);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  return launch(call, function, {grid, block, shared_bytes, parameters, extra}, stream);
}

HALYARD_CUDA_EXPORT Result cuLaunchKernelEx(const LaunchConfig* config, Function function,
                                            void** parameters, void** extra) {
  HALYARD_CUDA_CALL(cuLaunchKernelEx, kNamed);
  HALYARD_CUDA_REQUIRE(config != nullptr, kInvalidValue);
  HALYARD_CUDA_REQUIRE(config->attribute_count == 0 || config->attributes != nullptr,
                       kInvalidValue);
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
      HALYARD_CUDA_REQUIRE(size[0] <= 1 && size[1] <= 1 && size[2] <= 1, kNotSupported);
    }
  }
  return launch(call, function, shape, config->stream);
}

HALYARD_CUDA_EXPORT Result cuLaunchCooperativeKernel(Function function, unsigned grid_x,
                                                     unsigned grid_y, unsigned grid_z,
                                                     unsigned block_x, unsigned block_y,
                                                     unsigned block_z, unsigned shared_bytes,
                                                     Stream stream, void** parameters) {
  HALYARD_CUDA_CALL(cuLaunchCooperativeKernel, kNamed);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  return launch(call, function, {grid, block, shared_bytes, parameters, nullptr, true}, stream);
}

namespace {

Result occupancy(Call& call, int* blocks, Function handle, int threads, std::size_t dynamic) {
  HALYARD_CUDA_REQUIRE(blocks != nullptr && threads > 0, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result == kSuccess) *blocks = blocks_per_multiprocessor(*function, threads, dynamic);
  return result;
}

using SharedBytesOf = std::size_t (*)(int);

Result best_block(Call& call, int* grid, int* block, Function handle, SharedBytesOf shared_of,
                  std::size_t dynamic, int limit) {
  HALYARD_CUDA_REQUIRE(grid != nullptr && block != nullptr && limit >= 0, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
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
  HALYARD_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, kNamed);
  return occupancy(call, blocks, function, threads, dynamic);
}

HALYARD_CUDA_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, Function function, int threads, std::size_t dynamic, unsigned flags) {
  HALYARD_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, kNamed);
  HALYARD_CUDA_REQUIRE(flags <= 1, kInvalidValue);
  return occupancy(call, blocks, function, threads, dynamic);
}

HALYARD_CUDA_EXPORT Result cuOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                            Function function,
                                                            SharedBytesOf shared_of,
                                                            std::size_t dynamic, int limit) {
  HALYARD_CUDA_CALL(cuOccupancyMaxPotentialBlockSize, kNamed);
  return best_block(call, grid, block, function, shared_of, dynamic, limit);
}

HALYARD_CUDA_EXPORT Result cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                                     Function function,
                                                                     SharedBytesOf shared_of,
                                                                     std::size_t dynamic, int limit,
                                                                     unsigned flags) {
  HALYARD_CUDA_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags, kNamed);
  HALYARD_CUDA_REQUIRE(flags <= 1, kInvalidValue);
  return best_block(call, grid, block, function, shared_of, dynamic, limit);
}

HALYARD_CUDA_EXPORT Result cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes,
                                                                   Function handle, int blocks,
                                                                   int threads) {
  HALYARD_CUDA_CALL(cuOccupancyAvailableDynamicSMemPerBlock, kNamed);
  HALYARD_CUDA_REQUIRE(bytes != nullptr && blocks > 0 && threads > 0, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result != kSuccess) return result;
  const int used = static_cast<int>(function->info().static_shared_bytes) + kReservedShared;
  *bytes = static_cast<std::size_t>(std::max(0, kSharedPerMultiprocessor / blocks - used));
  return kSuccess;
}

HALYARD_CUDA_PER_THREAD(cuLaunchCooperativeKernel, _ptsz, 10)
HALYARD_CUDA_PER_THREAD(cuLaunchKernelEx, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuLaunchKernel, _ptsz, 11)

}  // namespace halyard::inline v0::sim::cuda
