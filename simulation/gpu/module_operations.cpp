// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of API calls on modules, functions, libraries and their kernels.
#include <utility>

#include "simulation/gpu/module.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {

namespace {

Result global_of(const ModuleState& module, const char* name, DevicePointer* address,
                 std::size_t* size) {
  HALYARD_GPU_REQUIRE(name != nullptr, kInvalidValue);
  const std::optional<std::size_t> variable = module.code->find_variable(name);
  HALYARD_GPU_REQUIRE(variable, kNotFound);
  const Variable& of = module.code->variables()[*variable];
  if (address != nullptr) *address = module.addresses[of.segment] + of.offset;
  if (size != nullptr) *size = of.size;
  return kSuccess;
}

Result set_attribute(std::map<int, int>& attributes, const KernelInfo& info, int attribute,
                     int value) {
  constexpr int kCarveout = 9;
  const int opt_in = rules().limits->shared_per_block_opt_in;
  if (attribute == kMaxDynamicShared) {
    HALYARD_GPU_REQUIRE(value >= 0 && value + static_cast<int>(info.static_shared_bytes) <= opt_in,
                        kInvalidValue);
  } else if (attribute == kCarveout) {
    HALYARD_GPU_REQUIRE(value >= -1 && value <= 100, kInvalidValue);
  } else {
    return kInvalidValue;  // cuda.h: read-only
  }
  attributes[attribute] = value;
  return kSuccess;
}

}  // namespace

Result parameter_info(const KernelInfo& info, std::size_t index, std::size_t* offset,
                      std::size_t* size) {
  HALYARD_GPU_REQUIRE(offset != nullptr && index < info.parameters.size(), kInvalidValue);
  *offset = info.parameters[index].offset;
  if (size != nullptr) *size = info.parameters[index].size;
  return kSuccess;
}

namespace {

Kernel kernel_of(LibraryState& library, std::size_t entry) {
  if (library.kernels[entry] == nullptr) {
    auto kernel = std::make_shared<KernelState>();
    kernel->library = &library;
    kernel->entry = entry;
    library.kernels[entry] = make_handle(std::move(kernel));
  }
  return library.kernels[entry];
}

Result module_of(ContextState& context, LibraryState& library, Module& module) {
  Module& known = library.modules[&context];
  if (known == nullptr) {
    const Result result = make_module(context, library.code, known);
    if (result != kSuccess) return result;
    known->object->library = &library;
  }
  module = known;
  return kSuccess;
}

}  // namespace

const KernelInfo& info_of(const KernelState& kernel) {
  return kernel.library->code->kernels()[kernel.entry];
}

Result load_module(Call& call, std::shared_ptr<const Code> code, Module* module) {
  const Result result = make_module(call.context(), std::move(code), *module);
  if (result == kSuccess) ++call.context().live_modules;
  return result;
}

Result load_library(std::shared_ptr<const Code> code, Library* library) {
  auto made = std::make_shared<LibraryState>();
  made->code = std::move(code);
  made->kernels.resize(made->code->kernels().size());
  LibraryState& of = *made;
  *library = of.handle = make_handle(std::move(made));
  ++state().live_libraries;
  return kSuccess;
}

Result unload_module(Call& call, Module handle) {
  ModuleState* const module = resolve(handle);
  HALYARD_GPU_REQUIRE(module != nullptr, kInvalidHandle);
  if (module->library != nullptr) {
    // cuda.h, cuLibraryGetModule: unloading the library unloads the module.
    report_misuse("library-module-unloaded",
                  std::string(rules().names.unload_module) + " was called for a library's module");
    return kNotPermitted;
  }
  module->is_unloaded = true;  // so that a kernel in flight is reported
  // cuda.h does not guarantee a wait for the work in flight. An H200 waits.
  if (!options().adversarial) {
    drain(call.lock(), *module->context);
    HALYARD_GPU_REQUIRE(resolve(handle) == module, kInvalidHandle);
  }
  ContextState& context = *module->context;
  --context.live_modules;
  end_module(handle);
  return context.sticky.load();  // destroyed nevertheless, as on an H200
}

Result module_function(Function* function, Module handle, const char* name) {
  HALYARD_GPU_REQUIRE(function != nullptr && name != nullptr, kInvalidValue);
  ModuleState* const module = resolve(handle);
  HALYARD_GPU_REQUIRE(module != nullptr, kInvalidHandle);
  const std::optional<std::size_t> entry = module->code->find_kernel(name);
  HALYARD_GPU_REQUIRE(entry, kNotFound);
  *function = function_of(*module, *entry);
  return kSuccess;
}

Result module_function_count(unsigned* count, Module handle) {
  const ModuleState* const module = resolve(handle);
  HALYARD_GPU_REQUIRE(module != nullptr && count != nullptr, kInvalidValue);
  *count = static_cast<unsigned>(module->functions.size());
  return kSuccess;
}

Result module_functions(Function* functions, unsigned count, Module handle) {
  ModuleState* const module = resolve(handle);
  HALYARD_GPU_REQUIRE(module != nullptr && functions != nullptr, kInvalidValue);
  for (unsigned i = 0; i < count && i < module->functions.size(); ++i) {
    functions[i] = function_of(*module, i);
  }
  return kSuccess;
}

Result module_variable(DevicePointer* address, std::size_t* size, Module handle, const char* name) {
  const ModuleState* const module = resolve(handle);
  HALYARD_GPU_REQUIRE(module != nullptr, kInvalidHandle);
  return global_of(*module, name, address, size);
}

Result get_function_attribute(Call& call, int* value, int attribute, Function handle) {
  HALYARD_GPU_REQUIRE(value != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  return result == kSuccess ? function_attribute(*function, attribute, *value) : result;
}

Result set_function_attribute(Call& call, Function handle, int attribute, int value) {
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result != kSuccess) return result;
  return set_attribute(function->attributes, function->info(), attribute, value);
}

Result unload_library(Library handle) {
  LibraryState* const library = resolve(handle);
  HALYARD_GPU_REQUIRE(library != nullptr, kInvalidHandle);
  for (const auto& [context, module] : library->modules) {
    if (module != nullptr) end_module(module);
  }
  for (const Kernel kernel : library->kernels) {
    if (kernel != nullptr) end_handle(kernel);
  }
  end_handle(handle);
  --state().live_libraries;
  return kSuccess;
}

Result library_kernel(Kernel* kernel, Library handle, const char* name) {
  HALYARD_GPU_REQUIRE(kernel != nullptr && name != nullptr, kInvalidValue);
  LibraryState* const library = resolve(handle);
  HALYARD_GPU_REQUIRE(library != nullptr, kInvalidHandle);
  const std::optional<std::size_t> entry = library->code->find_kernel(name);
  HALYARD_GPU_REQUIRE(entry, kNotFound);
  *kernel = kernel_of(*library, *entry);
  return kSuccess;
}

Result library_kernels(Kernel* kernels, unsigned count, Library handle) {
  LibraryState* const library = resolve(handle);
  HALYARD_GPU_REQUIRE(library != nullptr && kernels != nullptr, kInvalidValue);
  for (unsigned i = 0; i < count && i < library->kernels.size(); ++i) {
    kernels[i] = kernel_of(*library, i);
  }
  return kSuccess;
}

Result library_module(Call& call, Module* module, Library handle) {
  LibraryState* const library = resolve(handle);
  HALYARD_GPU_REQUIRE(library != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(module != nullptr, kInvalidValue);
  return module_of(call.context(), *library, *module);
}

Result library_variable(Call& call, DevicePointer* address, std::size_t* size, Library handle,
                        const char* name) {
  LibraryState* const library = resolve(handle);
  HALYARD_GPU_REQUIRE(library != nullptr, kInvalidHandle);
  Module module = nullptr;
  const Result result = module_of(call.context(), *library, module);
  return result == kSuccess ? global_of(*module->object, name, address, size) : result;
}

Result kernel_attribute(int* value, int attribute, Kernel handle) {
  const KernelState* const kernel = resolve(handle);
  HALYARD_GPU_REQUIRE(kernel != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(value != nullptr, kInvalidValue);
  FunctionState function;
  function.module = std::make_shared<ModuleState>();
  function.module->code = kernel->library->code;
  function.entry = kernel->entry;
  function.attributes = kernel->attributes;
  return function_attribute(function, attribute, *value);
}

Result set_kernel_attribute(int attribute, int value, Kernel handle) {
  KernelState* const kernel = resolve(handle);
  HALYARD_GPU_REQUIRE(kernel != nullptr, kInvalidHandle);
  const Result result = set_attribute(kernel->attributes, info_of(*kernel), attribute, value);
  if (result != kSuccess) return result;
  for (const auto& [context, module] : kernel->library->modules) {
    if (module == nullptr) continue;
    function_of(*module->object, kernel->entry)->object->attributes[attribute] = value;
  }
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
