// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, functions, libraries and kernels.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/gpu/call.h"
#include "simulation/gpu/code.h"

namespace halyard::inline v0::sim::gpu {

struct ModuleState : std::enable_shared_from_this<ModuleState> {
  static constexpr Kind kKind = Kind::kModule;
  static constexpr const char* kName = "module";

  ~ModuleState();

  ContextState* context = nullptr;
  std::shared_ptr<const Code> code;
  std::vector<std::uint64_t> addresses;  // of its segments
  std::vector<Function> functions;       // by entry; null until asked for
  Module handle = nullptr;
  LibraryState* library = nullptr;  // whose module this is in its context
  bool is_unloaded = false;
};

struct FunctionState : std::enable_shared_from_this<FunctionState> {
  static constexpr Kind kKind = Kind::kFunction;
  static constexpr const char* kName = "function";

  std::shared_ptr<ModuleState> module;
  std::size_t entry = 0;
  Kernel kernel = nullptr;        // that it belongs to, if any
  std::map<int, int> attributes;  // that were set

  const KernelInfo& info() const { return module->code->kernels()[entry]; }
};

struct LibraryState {
  static constexpr Kind kKind = Kind::kLibrary;
  static constexpr const char* kName = "library";

  std::shared_ptr<const Code> code;
  std::vector<Kernel> kernels;  // by entry; null until asked for
  std::map<ContextState*, Module> modules;
  Library handle = nullptr;
};

struct KernelState {
  static constexpr Kind kKind = Kind::kKernel;
  static constexpr const char* kName = "kernel";

  LibraryState* library = nullptr;
  std::size_t entry = 0;
  std::map<int, int> attributes;
};

// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr int kMaxDynamicShared = 8;

// Allocates and fills the segments of `code` in the context.
Result make_module(ContextState& context, std::shared_ptr<const Code> code, Module& module);
void end_module(Module module);
// The function of an entry; always returns the same handle.
Function function_of(ModuleState& module, std::size_t entry);

// Finds the function of a CUfunction, or of a CUkernel in its place, in `context`. Returns
// kInvalidContext for a kernel without a context.
Result find_function(ContextState* context, Function handle, FunctionState*& function);
Result function_of_kernel(ContextState& context, Kernel handle, Function& function);

// An attribute as cuFuncGetAttribute returns it.
Result function_attribute(const FunctionState& function, int attribute, int& value);

// --- operations of API calls; the State is locked ------------------------------------------------

// Makes a module that the program unloads, or a library.
Result load_module(Call& call, std::shared_ptr<const Code> code, Module* module);
Result load_library(std::shared_ptr<const Code> code, Library* library);

Result unload_module(Call& call, Module handle);
Result module_function(Function* function, Module handle, const char* name);
Result module_function_count(unsigned* count, Module handle);
Result module_functions(Function* functions, unsigned count, Module handle);
Result module_variable(DevicePointer* address, std::size_t* size, Module handle, const char* name);

Result get_function_attribute(Call& call, int* value, int attribute, Function handle);
Result set_function_attribute(Call& call, Function handle, int attribute, int value);
Result parameter_info(const KernelInfo& info, std::size_t index, std::size_t* offset,
                      std::size_t* size);

Result unload_library(Library handle);
Result library_kernel(Kernel* kernel, Library handle, const char* name);
Result library_kernels(Kernel* kernels, unsigned count, Library handle);
Result library_module(Call& call, Module* module, Library handle);
Result library_variable(Call& call, DevicePointer* address, std::size_t* size, Library handle,
                        const char* name);
const KernelInfo& info_of(const KernelState& kernel);
Result kernel_attribute(int* value, int attribute, Kernel handle);
Result set_kernel_attribute(int attribute, int value, Kernel handle);

}  // namespace halyard::inline v0::sim::gpu
