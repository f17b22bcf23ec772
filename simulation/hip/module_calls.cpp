// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipModule, attributes of functions, and occupancy.
#include "simulation/gpu/module.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

#include "simulation/gpu/launch.h"
#include "simulation/gpu/options.h"
#include "simulation/hip/code.h"
#include "simulation/hip/device.h"
#include "simulation/hip/gfx/gfx.h"
#include "simulation/hip/registered.h"

namespace halyard::inline v0::sim::hip {
namespace {

// The bytes of a program's image, which the real library keeps using. Recorded in strict mode, to
// check that the program keeps them unchanged. Guarded by the lock of the State.
struct ImageBytes {
  const std::byte* first = nullptr;
  std::size_t size = 0;
  std::uint64_t hash = 0;
};
using Images = std::map<const gpu::ModuleState*, ImageBytes>;
Images& images() {
  static auto* const all = new Images;
  return *all;
}

// FNV-1a. Returns 0 if the memory is not readable any more.
std::uint64_t hash_of(const std::byte* first, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  std::byte block[4096];
  for (std::size_t at = 0; at < size;) {
    const std::size_t part = std::min(size - at, sizeof block);
    const iovec here{block, part};
    const iovec there{const_cast<std::byte*>(first + at), part};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(part)) return 0;
    for (std::size_t i = 0; i < part; ++i) {
      hash = (hash ^ static_cast<std::uint64_t>(block[i])) * 0x100000001b3U;
    }
    at += part;
  }
  return hash;
}

void note_image(Module module, const void* image) {
  if (!gpu::options().strict) return;
  const auto* const first = static_cast<const std::byte*>(without_wrapper(image));
  const std::size_t size = gfx::CodeObject::size_of(first);
  images()[module->object.get()] = {first, size, hash_of(first, size)};
}

void check_image(const gpu::ModuleState& module) {
  const auto at = images().find(&module);
  if (at == images().end()) return;
  const ImageBytes& bytes = at->second;
  if (hash_of(bytes.first, bytes.size) != bytes.hash) {
    gpu::report_misuse("image-changed-before-unload",
                       "the bytes of a module's image were changed or freed before "
                       "hipModuleUnload, and the real library still uses them");
    images().erase(at);
  }
}

// Counts the threads that load or unload a module. Up to 7.2.3 two concurrent threads can deadlock
// in the loader (ROCm/legacy-rocm-build#6577).
class Loading {
 public:
  Loading() {
    if (threads_.fetch_add(1) != 0) {
      gpu::report_misuse("modules-loaded-concurrently",
                         "two threads loaded or unloaded modules at a time, which can deadlock");
    }
  }
  ~Loading() { threads_.fetch_sub(1); }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

 private:
  static inline constinit base::Atomic<int> threads_{0};
};

Result load_image(Call& call, Module* module, const void* image) {
  HALYARD_GPU_REQUIRE(module != nullptr && image != nullptr, gpu::kInvalidValue);
  std::shared_ptr<const gpu::Code> code;
  Result result = load_code(image, code);
  if (result == kSuccess) result = gpu::load_module(call, std::move(code), module);
  if (result == kSuccess) note_image(*module, image);
  return result;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipModuleLoad(Module* module, const char* path) {
  const Loading loading;
  HALYARD_HIP_CALL(hipModuleLoad, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(module != nullptr, gpu::kInvalidValue);
    std::shared_ptr<const gpu::Code> code;
    const Result result = load_code_file(path, code);
    return result == kSuccess ? gpu::load_module(call, std::move(code), module) : result;
  };
}

HALYARD_HIP_EXPORT Result hipModuleLoadData(Module* module, const void* image) {
  const Loading loading;
  HALYARD_HIP_CALL(hipModuleLoadData, gpu::kCurrent) { return load_image(call, module, image); };
}

// All options are ignored: there is no log.
HALYARD_HIP_EXPORT Result hipModuleLoadDataEx(Module* module, const void* image, unsigned, int*,
                                              void**) {
  const Loading loading;
  HALYARD_HIP_CALL(hipModuleLoadDataEx, gpu::kCurrent) { return load_image(call, module, image); };
}

HALYARD_HIP_EXPORT Result hipModuleLoadFatBinary(Module* module, const void* image) {
  const Loading loading;
  HALYARD_HIP_CALL(hipModuleLoadFatBinary, gpu::kCurrent) {
    return load_image(call, module, image);
  };
}

HALYARD_HIP_EXPORT Result hipModuleUnload(Module module) {
  const Loading loading;
  HALYARD_HIP_CALL(hipModuleUnload, gpu::kCurrent) {
    const gpu::ModuleState* const of = gpu::resolve(module);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidHandle);
    check_image(*of);
    images().erase(of);
    return gpu::unload_module(call, module);
  };
}

HALYARD_HIP_EXPORT Result hipModuleGetFunction(Function* function, Module module,
                                               const char* name) {
  HALYARD_HIP_CALL(hipModuleGetFunction, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(function != nullptr && name != nullptr, gpu::kInvalidValue);
    const gpu::ModuleState* const of = gpu::resolve(module);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidHandle);
    check_image(*of);
    return gpu::module_function(function, module, name);
  };
}

HALYARD_HIP_EXPORT Result hipModuleGetFunctionCount(unsigned* count, Module module) {
  HALYARD_HIP_CALL(hipModuleGetFunctionCount, gpu::kInitialized) {
    return gpu::module_function_count(count, module);
  };
}

HALYARD_HIP_EXPORT Result hipModuleGetGlobal(void** pointer, std::size_t* size, Module module,
                                             const char* name) {
  HALYARD_HIP_CALL(hipModuleGetGlobal, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(name != nullptr && *name != '\0', gpu::kInvalidValue);
    DevicePointer address = 0;
    const Result result = gpu::module_variable(&address, size, module, name);
    if (result == kSuccess && pointer != nullptr) *pointer = pointer_to(address);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipFuncGetAttribute(int* value, int attribute, Function function) {
  HALYARD_HIP_CALL(hipFuncGetAttribute, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(value != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(function != nullptr, gpu::kInvalidHandle);
    HALYARD_GPU_REQUIRE(attribute >= 0 && attribute <= 9, gpu::kInvalidValue);
    const Result result = gpu::get_function_attribute(call, value, attribute, function);
    if (result == kSuccess && attribute == 9) *value = 0;  // the carveout
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipFuncGetAttributes(FunctionAttributes* attributes, const void* host) {
  HALYARD_HIP_CALL(hipFuncGetAttributes, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(attributes != nullptr, gpu::kInvalidValue);
    Function function = nullptr;
    const Result result = registered_function(host, current_device(), function);
    if (result != kSuccess) return result;
    const auto answer = [&](int which) {
      int value = 0;
      (void)gpu::get_function_attribute(call, &value, which, function);
      return value;
    };
    *attributes = {answer(6),
                   0,
                   static_cast<std::size_t>(answer(2)),
                   static_cast<std::size_t>(answer(3)),
                   answer(8),
                   answer(0),
                   answer(4),
                   0,
                   answer(5),
                   static_cast<std::size_t>(answer(1))};
    return kSuccess;
  };
}

// hip_module.cpp:179: up to 6.x it takes the host's address of a kernel, but not a hipFunction_t.
HALYARD_HIP_EXPORT Result hipFuncSetAttribute(const void* host, int attribute, int value) {
  HALYARD_HIP_CALL(hipFuncSetAttribute, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(host != nullptr, kInvalidDeviceFunction);
    HALYARD_GPU_REQUIRE(attribute >= 0 && attribute <= 9, gpu::kInvalidValue);
    Function function = nullptr;
    const Result result = is_since(kVersion70)
                              ? any_function(host, current_device(), function)
                              : registered_function(host, current_device(), function);
    if (result != kSuccess) return result;
    // Checked and then ignored: a launch may use all of a workgroup's memory without this
    // attribute.
    const int used = static_cast<int>(function->object->info().static_shared_bytes);
    if (attribute == gpu::kMaxDynamicShared) {
      return value >= 0 && value <= kLdsBytes - used ? kSuccess : gpu::kInvalidValue;
    }
    return attribute != 9 || (value >= -1 && value <= 100) ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipFuncSetCacheConfig(const void* host, int config) {
  HALYARD_HIP_CALL(hipFuncSetCacheConfig, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(host != nullptr, kInvalidDeviceFunction);
    return config >= 0 && config <= 3 ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipFuncSetSharedMemConfig(const void* host, int config) {
  HALYARD_HIP_CALL(hipFuncSetSharedMemConfig, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(host != nullptr, kInvalidDeviceFunction);
    return config >= 0 && config <= 2 ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipGetFuncBySymbol(Function* function, const void* host) {
  HALYARD_HIP_CALL(hipGetFuncBySymbol, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(function != nullptr, gpu::kInvalidValue);
    return registered_function(host, current_device(), *function);
  };
}

// These do not count as calls: they return a name, or null.
HALYARD_HIP_EXPORT const char* hipKernelNameRef(Function function) {
  const gpu::Lock lock(state().mutex);
  const gpu::FunctionState* const of = gpu::resolve(function);
  return of != nullptr ? of->info().name.c_str() : nullptr;
}

HALYARD_HIP_EXPORT const char* hipKernelNameRefByPtr(const void* host, Stream) {
  const gpu::Lock lock(state().mutex);
  return registered_name(host);
}

namespace {

// The forms without "Module" take the host's address of a kernel; the others take a hipFunction_t.
Result blocks_of(Call& call, int* blocks, const void* host, int threads, std::size_t dynamic) {
  Function function = nullptr;
  const Result result = registered_function(host, current_device(), function);
  return result == kSuccess ? gpu::occupancy(call, blocks, function, threads, dynamic) : result;
}

Result best_of(Call& call, int* grid, int* block, Function function, std::size_t dynamic,
               int limit) {
  HALYARD_GPU_REQUIRE(grid != nullptr && block != nullptr, gpu::kInvalidValue);
  return gpu::best_block(call, grid, block, function, nullptr, dynamic, limit);
}

}  // namespace

HALYARD_HIP_EXPORT Result hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                             Function function,
                                                                             int threads,
                                                                             std::size_t dynamic) {
  HALYARD_HIP_CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, gpu::kCurrent) {
    return gpu::occupancy(call, blocks, function, threads, dynamic);
  };
}

HALYARD_HIP_EXPORT Result hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, Function function, int threads, std::size_t dynamic, unsigned flags) {
  HALYARD_HIP_CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags <= 1, gpu::kInvalidValue);
    return gpu::occupancy(call, blocks, function, threads, dynamic);
  };
}

HALYARD_HIP_EXPORT Result hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                       const void* host,
                                                                       int threads,
                                                                       std::size_t dynamic) {
  HALYARD_HIP_CALL(hipOccupancyMaxActiveBlocksPerMultiprocessor, gpu::kCurrent) {
    return blocks_of(call, blocks, host, threads, dynamic);
  };
}

HALYARD_HIP_EXPORT Result hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* host, int threads, std::size_t dynamic, unsigned flags) {
  HALYARD_HIP_CALL(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags <= 1, gpu::kInvalidValue);
    return blocks_of(call, blocks, host, threads, dynamic);
  };
}

HALYARD_HIP_EXPORT Result hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                                  Function function,
                                                                  std::size_t dynamic, int limit) {
  HALYARD_HIP_CALL(hipModuleOccupancyMaxPotentialBlockSize, gpu::kCurrent) {
    return best_of(call, grid, block, function, dynamic, limit);
  };
}

HALYARD_HIP_EXPORT Result hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    int* grid, int* block, Function function, std::size_t dynamic, int limit, unsigned flags) {
  HALYARD_HIP_CALL(hipModuleOccupancyMaxPotentialBlockSizeWithFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags <= 1, gpu::kInvalidValue);
    return best_of(call, grid, block, function, dynamic, limit);
  };
}

HALYARD_HIP_EXPORT Result hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* host,
                                                            std::size_t dynamic, int limit) {
  HALYARD_HIP_CALL(hipOccupancyMaxPotentialBlockSize, gpu::kCurrent) {
    Function function = nullptr;
    const Result result = registered_function(host, current_device(), function);
    return result == kSuccess ? best_of(call, grid, block, function, dynamic, limit) : result;
  };
}

HALYARD_HIP_EXPORT Result hipOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes,
                                                                   const void* host, int blocks,
                                                                   int threads) {
  HALYARD_HIP_CALL(hipOccupancyAvailableDynamicSMemPerBlock, gpu::kCurrent) {
    Function function = nullptr;
    const Result result = registered_function(host, current_device(), function);
    return result == kSuccess ? gpu::available_shared_bytes(call, bytes, function, blocks, threads)
                              : result;
  };
}

}  // namespace halyard::inline v0::sim::hip
