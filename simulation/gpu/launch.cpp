// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/launch.h"

#include <algorithm>
#include <cstring>

#include "simulation/gpu/managed.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {
namespace {

// Finds the packed buffer of `extra` and its size.
Result find_packed(void** extra, const KernelInfo& info, const void*& buffer,
                   const std::size_t*& size) {
  for (;; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == rules().parameters_end) break;
    if (key == kParamBufferPointer) {
      buffer = extra[1];
    } else if (key == kParamBufferSize) {
      size = static_cast<const std::size_t*>(extra[1]);
    } else {
      return kInvalidValue;
    }
  }
  HALYARD_GPU_REQUIRE(size != nullptr && (buffer != nullptr || *size == 0), kInvalidValue);
  if (*size < info.parameter_bytes) {
    report_misuse("short-parameter-buffer",
                  "a launch of " + info.name + " passed " + std::to_string(*size) + " of " +
                      std::to_string(info.parameter_bytes) + " bytes of parameters");
  }
  return kSuccess;
}

// Copies the parameters to `packed`, or only checks them if that is null.
Result read_parameters(const LaunchShape& shape, const KernelInfo& info, std::byte* packed) {
  if (shape.extra != nullptr) {
    const void* buffer = nullptr;
    const std::size_t* size = nullptr;
    if (const Result result = find_packed(shape.extra, info, buffer, size); result != kSuccess) {
      return result;
    }
    // An H200 accepts a buffer that is too short. Here the missing bytes are zero.
    const std::size_t given = std::min<std::size_t>(*size, info.parameter_bytes);
    if (packed != nullptr && given != 0) std::memcpy(packed, buffer, given);
    return kSuccess;
  }
  HALYARD_GPU_REQUIRE(shape.parameters != nullptr || info.parameters.empty(), kInvalidValue);
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter& parameter = info.parameters[i];
    HALYARD_GPU_REQUIRE(shape.parameters[i] != nullptr, kInvalidValue);
    if (packed != nullptr) {
      std::memcpy(packed + parameter.offset, shape.parameters[i], parameter.size);
    }
  }
  return kSuccess;
}

Beyond beyond_limits(const FunctionState& function, const KernelInfo& info,
                     const LaunchShape& shape) {
  const DeviceLimits& limits = *rules().limits;
  std::uint64_t blocks = 1, threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0) return Beyond::kEmptyGrid;
    if (shape.block[i] == 0) return Beyond::kEmptyBlock;
    if (shape.grid[i] > limits.max_grid[i]) return Beyond::kGrid;
    if (shape.block[i] > limits.max_block[i] ||
        (info.required_block[i] != 0 && info.required_block[i] != shape.block[i])) {
      return Beyond::kBlock;
    }
    blocks *= shape.grid[i];
    threads *= shape.block[i];
  }
  if (threads > static_cast<unsigned>(limits.max_threads)) return Beyond::kDeviceThreads;
  if (info.max_threads != 0 && threads > info.max_threads) return Beyond::kKernelThreads;
  if (limits.max_total_threads != 0 && blocks > limits.max_total_threads / threads) {
    return Beyond::kTotalThreads;
  }
  int most_shared = limits.shared_per_block - static_cast<int>(info.static_shared_bytes);
  if (!function.attributes.empty()) function_attribute(function, kMaxDynamicShared, most_shared);
  return shape.shared_bytes <= static_cast<unsigned>(most_shared) ? Beyond::kNothing
                                                                  : Beyond::kSharedMemory;
}

void report_beyond_limits(const KernelInfo& info, const LaunchShape& shape) {
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
  const DeviceLimits& device = *rules().limits;
  const int warps = (threads + device.warp - 1) / device.warp * device.warp;
  int blocks =
      std::min(device.blocks_per_multiprocessor, device.threads_per_multiprocessor / warps);
  const KernelInfo& info = function.info();
  const std::size_t shared =
      info.static_shared_bytes + dynamic + static_cast<std::size_t>(device.reserved_shared);
  if (shared != 0) {
    blocks = static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(blocks),
                              static_cast<std::size_t>(device.shared_per_multiprocessor) / shared));
  }
  const int registers = static_cast<int>(std::max<std::uint32_t>(info.registers, 16));
  return std::min(blocks, device.registers_per_multiprocessor / (registers * warps));
}

}  // namespace

Result launch(Call& call, Function handle, const LaunchShape& shape, Stream stream_handle) {
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(stream_handle));
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

namespace {

// Checks everything except the parameters.
Result check_shape(ContextState& context, Function handle, const LaunchShape& shape,
                   FunctionState*& function, const KernelInfo*& info) {
  if (const Result result = find_function(&context, handle, function); result != kSuccess) {
    return result;
  }
  info = &function->info();
  if (function->module->context != &context) {
    report_misuse("function-of-another-context",
                  info->name + " was launched in another context than that of its module");
    return kInvalidHandle;
  }
  HALYARD_GPU_REQUIRE(shape.parameters == nullptr || shape.extra == nullptr, kInvalidValue);
  if (const Beyond what = beyond_limits(*function, *info, shape); what != Beyond::kNothing) {
    report_beyond_limits(*info, shape);
    return rules().beyond_limits(what);
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
      rules().limits->multiprocessors;
  return blocks <= static_cast<unsigned>(resident) ? kSuccess : kCooperativeLaunchTooLarge;
}

Result check_kernel(ContextState& context, Function handle, const LaunchShape& shape,
                    FunctionState*& function) {
  const KernelInfo* info = nullptr;
  const Result result = check_shape(context, handle, shape, function, info);
  return result == kSuccess ? read_parameters(shape, *info, nullptr) : result;
}

Result make_kernel_work(ContextState& context, Function handle, const LaunchShape& shape,
                        KernelWork& work) {
  FunctionState* function = nullptr;
  const KernelInfo* info = nullptr;
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

Result occupancy(Call& call, int* blocks, Function handle, int threads, std::size_t dynamic) {
  HALYARD_GPU_REQUIRE(blocks != nullptr && threads > 0, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result == kSuccess) *blocks = blocks_per_multiprocessor(*function, threads, dynamic);
  return result;
}

Result best_block(Call& call, int* grid, int* block, Function handle, SharedBytesOf shared_of,
                  std::size_t dynamic, int limit) {
  HALYARD_GPU_REQUIRE(grid != nullptr && block != nullptr && limit >= 0, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result != kSuccess) return result;
  int most = 0;
  function_attribute(*function, 0, most);
  if (limit != 0) most = std::min(most, limit);
  int best = 0;
  *grid = *block = 0;
  const int warp = rules().limits->warp;
  for (int threads = most; threads > 0; threads -= threads % warp != 0 ? threads % warp : warp) {
    const std::size_t shared = shared_of != nullptr ? shared_of(threads) : dynamic;
    const int blocks = blocks_per_multiprocessor(*function, threads, shared);
    if (blocks * threads > best) {
      best = blocks * threads;
      *block = threads;
      *grid = blocks * rules().limits->multiprocessors;
    }
  }
  return kSuccess;
}

Result available_shared_bytes(Call& call, std::size_t* bytes, Function handle, int blocks,
                              int threads) {
  HALYARD_GPU_REQUIRE(bytes != nullptr && blocks > 0 && threads > 0, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result != kSuccess) return result;
  const int used =
      static_cast<int>(function->info().static_shared_bytes) + rules().limits->reserved_shared;
  *bytes = static_cast<std::size_t>(
      std::max(0, rules().limits->shared_per_multiprocessor / blocks - used));
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
