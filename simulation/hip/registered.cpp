// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/registered.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/gpu/allocation.h"
#include "simulation/gpu/module.h"
#include "simulation/hip/code.h"
#include "simulation/hip/copy.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

struct FatBinary {
  const void* bytes = nullptr;
  bool is_read = false;
  Result error = kSuccess;  // of reading it
  std::shared_ptr<const gpu::Code> code;
  std::map<ContextState*, Module> modules;
};
struct RegisteredKernel {
  FatBinary* binary = nullptr;
  std::string name;
};
struct RegisteredVariable {
  FatBinary* binary = nullptr;
  std::string name;
  std::size_t size = 0;
};

struct Registry {
  std::vector<std::unique_ptr<FatBinary>> binaries;
  std::map<const void*, RegisteredKernel> kernels;
  std::map<const void*, RegisteredVariable> variables;
};

// Created by the first static constructor of a program, and never freed.
Registry& registry() {
  static auto* const one = new Registry;
  return *one;
}

Result module_on(FatBinary& binary, DeviceId device, Module& module) {
  if (!binary.is_read) {
    binary.is_read = true;
    binary.error = load_code(binary.bytes, binary.code);
  }
  if (binary.error != kSuccess) return binary.error;
  ContextState& context = context_of(device);
  Module& known = binary.modules[&context];
  if (known == nullptr) {
    const Result result = gpu::make_module(context, binary.code, known);
    if (result != kSuccess) return result;
  }
  module = known;
  return kSuccess;
}

}  // namespace

Result registered_function(const void* host, DeviceId device, Function& function) {
  const auto at = registry().kernels.find(host);
  HALYARD_GPU_REQUIRE(at != registry().kernels.end(), kInvalidDeviceFunction);
  Module module = nullptr;
  const Result result = module_on(*at->second.binary, device, module);
  if (result != kSuccess) return result;
  const std::optional<std::size_t> entry = module->object->code->find_kernel(at->second.name);
  HALYARD_GPU_REQUIRE(entry, kInvalidDeviceFunction);
  function = gpu::function_of(*module->object, *entry);
  return kSuccess;
}

Result registered_variable(const void* host, DeviceId device, DevicePointer& address,
                           std::size_t& size) {
  const auto at = registry().variables.find(host);
  HALYARD_GPU_REQUIRE(at != registry().variables.end(), kInvalidSymbol);
  Module module = nullptr;
  const Result result = module_on(*at->second.binary, device, module);
  if (result != kSuccess) return result;
  const gpu::ModuleState& of = *module->object;
  const std::optional<std::size_t> variable = of.code->find_variable(at->second.name);
  HALYARD_GPU_REQUIRE(variable, kInvalidSymbol);
  const gpu::Variable& found = of.code->variables()[*variable];
  address = of.addresses[found.segment] + found.offset;
  size = found.size;
  return kSuccess;
}

const char* registered_name(const void* host) {
  const auto at = registry().kernels.find(host);
  return at != registry().kernels.end() ? at->second.name.c_str() : nullptr;
}

Result any_function(const void* of, DeviceId device, Function& function) {
  if (registered_name(of) != nullptr) return registered_function(of, device, function);
  function = static_cast<Function>(const_cast<void*>(of));
  if (gpu::is_handle(function)) return kSuccess;
  gpu::report_dead_handle(function);
  return kInvalidDeviceFunction;
}

// These are called before main, and initialize nothing. A program that cannot be registered is
// ended, as by the real library.
HALYARD_HIP_EXPORT void** __hipRegisterFatBinary(const void* wrapper) {
  if (wrapper == nullptr) return nullptr;
  const void* const bytes = without_wrapper(wrapper);
  if (bytes == wrapper || bytes == nullptr) return nullptr;
  const gpu::Lock lock(state().mutex);
  auto& made = registry().binaries.emplace_back(std::make_unique<FatBinary>());
  made->bytes = bytes;
  return reinterpret_cast<void**>(made.get());
}

HALYARD_HIP_EXPORT void __hipUnregisterFatBinary(void** handle) {
  if (handle == nullptr) return;
  const gpu::Lock lock(state().mutex);
  auto* const binary = reinterpret_cast<FatBinary*>(handle);
  std::erase_if(registry().kernels, [&](const auto& each) { return each.second.binary == binary; });
  std::erase_if(registry().variables,
                [&](const auto& each) { return each.second.binary == binary; });
  for (const auto& [context, module] : binary->modules) {
    if (module != nullptr && gpu::is_handle(module)) gpu::end_module(module);
  }
  std::erase_if(registry().binaries, [&](const auto& each) { return each.get() == binary; });
}

HALYARD_HIP_EXPORT void __hipRegisterFunction(void** handle, const void* host, char*,
                                              const char* name, unsigned, void*, void*, void*,
                                              void*, int*) {
  if (handle == nullptr || name == nullptr) return;
  const gpu::Lock lock(state().mutex);
  // Each source that has a copy of a function registers it; the first counts.
  registry().kernels.try_emplace(host,
                                 RegisteredKernel{reinterpret_cast<FatBinary*>(handle), name});
}

HALYARD_HIP_EXPORT void __hipRegisterVar(void** handle, void* host, char* name, const char*, int,
                                         std::size_t size, int, int) {
  if (handle == nullptr || name == nullptr) return;
  const gpu::Lock lock(state().mutex);
  registry().variables.try_emplace(
      host, RegisteredVariable{reinterpret_cast<FatBinary*>(handle), name, size});
}

// The program reads and writes the variable through `pointer`, kernels through a pointer of the
// code object with the name of the variable.
HALYARD_HIP_EXPORT void __hipRegisterManagedVar(void*, void**, void*, const char* name, std::size_t,
                                                unsigned) {
  std::fprintf(stderr, "simulated HIP: the __managed__ variable %s is not built\n",
               name != nullptr ? name : "");
}

HALYARD_HIP_EXPORT Result __hipPushCallConfiguration(Dim3 grid, Dim3 block,
                                                     std::size_t shared_bytes, Stream stream) {
  HALYARD_HIP_CALL(__hipPushCallConfiguration, gpu::kInitialized | gpu::kUnlocked) {
    Thread& thread = hip_thread();
    HALYARD_GPU_REQUIRE(thread.configurations < Thread::kMostConfigurations, gpu::kOutOfMemory);
    thread.configuration[thread.configurations++] = {grid, block, shared_bytes, stream};
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result __hipPopCallConfiguration(Dim3* grid, Dim3* block,
                                                    std::size_t* shared_bytes, Stream* stream) {
  HALYARD_HIP_CALL(__hipPopCallConfiguration, gpu::kInitialized | gpu::kUnlocked) {
    Thread& thread = hip_thread();
    HALYARD_GPU_REQUIRE(thread.configurations != 0, kMissingConfiguration);
    const Configuration& top = thread.configuration[--thread.configurations];
    *grid = top.grid;
    *block = top.block;
    *shared_bytes = top.shared_bytes;
    *stream = top.stream;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGetSymbolAddress(void** pointer, const void* symbol) {
  HALYARD_HIP_CALL(hipGetSymbolAddress, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
    DevicePointer address = 0;
    std::size_t size = 0;
    const Result result = registered_variable(symbol, current_device(), address, size);
    if (result == kSuccess) *pointer = pointer_to(address);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipGetSymbolSize(std::size_t* bytes, const void* symbol) {
  HALYARD_HIP_CALL(hipGetSymbolSize, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(bytes != nullptr, gpu::kInvalidValue);
    DevicePointer address = 0;
    return registered_variable(symbol, current_device(), address, *bytes);
  };
}

namespace {

// hip_memory.cpp, ihipMemcpySymbol_validate
Result address_in(const void* symbol, std::size_t size, std::size_t offset, void*& address) {
  HALYARD_GPU_REQUIRE(symbol != nullptr, kInvalidSymbol);
  DevicePointer begin = 0;
  std::size_t whole = 0;
  const Result result = registered_variable(symbol, current_device(), begin, whole);
  if (result != kSuccess) return result;
  HALYARD_GPU_REQUIRE(offset <= whole && size <= whole - offset, kInvalidDevicePointer);
  address = pointer_to(begin + offset);
  return kSuccess;
}

Result copy_to(Call& call, const void* symbol, const void* src, std::size_t size,
               std::size_t offset, int kind, Stream stream, bool waits) {
  void* address = nullptr;
  const Result result = address_in(symbol, size, offset, address);
  return result == kSuccess ? copy_linear(call, address, src, size, kind, stream, waits) : result;
}

Result copy_from(Call& call, void* dst, const void* symbol, std::size_t size, std::size_t offset,
                 int kind, Stream stream, bool waits) {
  void* address = nullptr;
  const Result result = address_in(symbol, size, offset, address);
  return result == kSuccess ? copy_linear(call, dst, address, size, kind, stream, waits) : result;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipMemcpyToSymbol(const void* symbol, const void* src, std::size_t size,
                                            std::size_t offset, int kind) {
  HALYARD_HIP_CALL(hipMemcpyToSymbol, gpu::kCurrent) {
    return copy_to(call, symbol, src, size, offset, kind, nullptr, true);
  };
}

HALYARD_HIP_EXPORT Result hipMemcpyToSymbolAsync(const void* symbol, const void* src,
                                                 std::size_t size, std::size_t offset, int kind,
                                                 Stream stream) {
  HALYARD_HIP_CALL(hipMemcpyToSymbolAsync, gpu::kCurrent) {
    return copy_to(call, symbol, src, size, offset, kind, stream, false);
  };
}

HALYARD_HIP_EXPORT Result hipMemcpyFromSymbol(void* dst, const void* symbol, std::size_t size,
                                              std::size_t offset, int kind) {
  HALYARD_HIP_CALL(hipMemcpyFromSymbol, gpu::kCurrent) {
    return copy_from(call, dst, symbol, size, offset, kind, nullptr, true);
  };
}

HALYARD_HIP_EXPORT Result hipMemcpyFromSymbolAsync(void* dst, const void* symbol, std::size_t size,
                                                   std::size_t offset, int kind, Stream stream) {
  HALYARD_HIP_CALL(hipMemcpyFromSymbolAsync, gpu::kCurrent) {
    return copy_from(call, dst, symbol, size, offset, kind, stream, false);
  };
}

HALYARD_HIP_PER_THREAD(hipMemcpyToSymbol, 5)
HALYARD_HIP_PER_THREAD(hipMemcpyFromSymbol, 5)
HALYARD_HIP_PER_THREAD(hipMemcpyToSymbolAsync, 6)
HALYARD_HIP_PER_THREAD(hipMemcpyFromSymbolAsync, 6)

}  // namespace halyard::inline v0::sim::hip
