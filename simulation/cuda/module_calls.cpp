// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuModule, cuFunc, cuLibrary, cuKernel and cuLink.
#include <algorithm>
#include <cstring>

#include "simulation/cuda/module.h"
#include "simulation/cuda/options.h"

namespace halyard::inline v0::sim::cuda {

struct LinkState {
  static constexpr Kind kKind = Kind::kLink;
  static constexpr const char* kName = "linker";

  JitOptions options;
  std::vector<ImageText> texts;
  std::string result;
  bool is_complete = false;  // cuLinkComplete was called, with success or without
};

namespace {

Result load_module(Call& call, Module* module, const void* image, unsigned count,
                   const int* options, void** values, std::size_t size = kUnknownSize) {
  HALYARD_CUDA_REQUIRE(module != nullptr && image != nullptr, kInvalidValue);
  JitOptions jit;
  Result result = read_jit_options(count, options, values, jit);
  if (result != kSuccess) return result;
  std::shared_ptr<const ptx::Module> code;
  if (result = parse_image(image, size, jit, code); result != kSuccess) return result;
  result = make_module(call.context(), std::move(code), *module);
  if (result == kSuccess) ++call.context().live_modules;
  return result;
}

Result global_of(const ModuleState& module, const char* name, DevicePointer* address,
                 std::size_t* size) {
  HALYARD_CUDA_REQUIRE(name != nullptr, kInvalidValue);
  const std::optional<std::size_t> variable = module.code->find_variable(name);
  HALYARD_CUDA_REQUIRE(variable, kNotFound);
  if (address != nullptr) *address = module.addresses[*variable];
  if (size != nullptr) *size = module.code->variables()[*variable].size;
  return kSuccess;
}

Result set_attribute(std::map<int, int>& attributes, const ptx::Entry& info, int attribute,
                     int value) {
  constexpr int kCarveout = 9;
  constexpr int kSharedOptIn = 101376;
  if (attribute == kMaxDynamicShared) {
    HALYARD_CUDA_REQUIRE(
        value >= 0 && value + static_cast<int>(info.static_shared_bytes) <= kSharedOptIn,
        kInvalidValue);
  } else if (attribute == kCarveout) {
    HALYARD_CUDA_REQUIRE(value >= -1 && value <= 100, kInvalidValue);
  } else {
    return kInvalidValue;  // cuda.h: read-only
  }
  attributes[attribute] = value;
  return kSuccess;
}

Result parameter_info(const ptx::Entry& info, std::size_t index, std::size_t* offset,
                      std::size_t* size) {
  HALYARD_CUDA_REQUIRE(offset != nullptr && index < info.parameters.size(), kInvalidValue);
  *offset = info.parameters[index].offset;
  if (size != nullptr) *size = info.parameters[index].size;
  return kSuccess;
}

Result load_library(Library* library, const void* image, const int* options, void** values,
                    unsigned count, std::size_t size = kUnknownSize) {
  HALYARD_CUDA_REQUIRE(library != nullptr && image != nullptr, kInvalidValue);
  JitOptions jit;
  Result result = read_jit_options(count, options, values, jit);
  if (result != kSuccess) return result;
  auto made = std::make_shared<LibraryState>();
  if (result = parse_image(image, size, jit, made->code); result != kSuccess) return result;
  made->kernels.resize(made->code->entries().size());
  LibraryState& of = *made;
  *library = of.handle = make_handle(std::move(made));
  ++state().live_libraries;
  return kSuccess;
}

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

const ptx::Entry& info_of(const KernelState& kernel) {
  return kernel.library->code->entries()[kernel.entry];
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuModuleLoadData(Module* module, const void* image) {
  HALYARD_CUDA_CALL(cuModuleLoadData, kCurrent | kUnsafeInCapture);
  return load_module(call, module, image, 0, nullptr, nullptr);
}

HALYARD_CUDA_EXPORT Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count,
                                              const int* options, void** values) {
  HALYARD_CUDA_CALL(cuModuleLoadDataEx, kCurrent | kUnsafeInCapture);
  return load_module(call, module, image, count, options, values);
}

HALYARD_CUDA_EXPORT Result cuModuleLoadFatBinary(Module* module, const void* image) {
  HALYARD_CUDA_CALL(cuModuleLoadFatBinary, kCurrent | kUnsafeInCapture);
  return load_module(call, module, image, 0, nullptr, nullptr);
}

HALYARD_CUDA_EXPORT Result cuModuleLoad(Module* module, const char* path) {
  HALYARD_CUDA_CALL(cuModuleLoad, kCurrent | kUnsafeInCapture);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return load_module(call, module, bytes.c_str(), 0, nullptr, nullptr, bytes.size());
}

HALYARD_CUDA_EXPORT Result cuModuleUnload(Module handle) {
  HALYARD_CUDA_CALL(cuModuleUnload, kInitialized | kUnsafeInCapture);
  ModuleState* const module = resolve(handle);
  HALYARD_CUDA_REQUIRE(module != nullptr, kInvalidHandle);
  if (module->library != nullptr) {
    // cuda.h, cuLibraryGetModule: the module goes with its library.
    report_misuse("library-module-unloaded", "cuModuleUnload was called for a library's module");
    return kNotPermitted;
  }
  module->is_unloaded = true;  // so that a kernel in flight is reported
  // cuda.h does not say that it waits for the work in flight. An H200 does.
  if (!options().adversarial) {
    drain(call.lock(), *module->context);
    HALYARD_CUDA_REQUIRE(resolve(handle) == module, kInvalidHandle);
  }
  ContextState& context = *module->context;
  --context.live_modules;
  unload_module(handle);
  return context.sticky.load();  // it is gone all the same; an H200 answers alike
}

HALYARD_CUDA_EXPORT Result cuModuleGetLoadingMode(int* mode) {
  HALYARD_CUDA_CALL(cuModuleGetLoadingMode, kInitialized);
  HALYARD_CUDA_REQUIRE(mode != nullptr, kInvalidValue);
  *mode = 1;  // CU_MODULE_EAGER_LOADING
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuModuleGetFunction(Function* function, Module handle,
                                               const char* name) {
  HALYARD_CUDA_CALL(cuModuleGetFunction, kNamed);
  HALYARD_CUDA_REQUIRE(function != nullptr && name != nullptr, kInvalidValue);
  ModuleState* const module = resolve(handle);
  HALYARD_CUDA_REQUIRE(module != nullptr, kInvalidHandle);
  const std::optional<std::size_t> entry = module->code->find_entry(name);
  HALYARD_CUDA_REQUIRE(entry, kNotFound);
  *function = function_of(*module, *entry);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuModuleGetFunctionCount(unsigned* count, Module handle) {
  HALYARD_CUDA_CALL(cuModuleGetFunctionCount, kInitialized);
  const ModuleState* const module = resolve(handle);
  HALYARD_CUDA_REQUIRE(module != nullptr && count != nullptr, kInvalidValue);
  *count = static_cast<unsigned>(module->functions.size());
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuModuleEnumerateFunctions(Function* functions, unsigned count,
                                                      Module handle) {
  HALYARD_CUDA_CALL(cuModuleEnumerateFunctions, kInitialized);
  ModuleState* const module = resolve(handle);
  HALYARD_CUDA_REQUIRE(module != nullptr && functions != nullptr, kInvalidValue);
  for (unsigned i = 0; i < count && i < module->functions.size(); ++i) {
    functions[i] = function_of(*module, i);
  }
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* size,
                                                Module handle, const char* name) {
  HALYARD_CUDA_CALL(cuModuleGetGlobal_v2, kNamed);
  const ModuleState* const module = resolve(handle);
  HALYARD_CUDA_REQUIRE(module != nullptr, kInvalidHandle);
  return global_of(*module, name, address, size);
}

HALYARD_CUDA_EXPORT Result cuFuncGetAttribute(int* value, int attribute, Function handle) {
  HALYARD_CUDA_CALL(cuFuncGetAttribute, kNamed);
  HALYARD_CUDA_REQUIRE(value != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  return result == kSuccess ? function_attribute(*function, attribute, *value) : result;
}

HALYARD_CUDA_EXPORT Result cuFuncSetAttribute(Function handle, int attribute, int value) {
  HALYARD_CUDA_CALL(cuFuncSetAttribute, kNamed);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result != kSuccess) return result;
  return set_attribute(function->attributes, function->info(), attribute, value);
}

HALYARD_CUDA_EXPORT Result cuFuncSetCacheConfig(Function handle, int config) {
  HALYARD_CUDA_CALL(cuFuncSetCacheConfig, kNamed);
  HALYARD_CUDA_REQUIRE(config >= 0 && config <= 3, kInvalidValue);
  FunctionState* function = nullptr;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_CUDA_EXPORT Result cuFuncSetSharedMemConfig(Function handle, int) {
  HALYARD_CUDA_CALL(cuFuncSetSharedMemConfig, kNamed);
  FunctionState* function = nullptr;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_CUDA_EXPORT Result cuFuncGetModule(Module* module, Function handle) {
  HALYARD_CUDA_CALL(cuFuncGetModule, kNamed);
  HALYARD_CUDA_REQUIRE(module != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result == kSuccess) *module = function->module->handle;
  return result;
}

HALYARD_CUDA_EXPORT Result cuFuncGetName(const char** name, Function handle) {
  HALYARD_CUDA_CALL(cuFuncGetName, kNamed);
  HALYARD_CUDA_REQUIRE(name != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result == kSuccess) *name = function->info().name.c_str();
  return result;
}

HALYARD_CUDA_EXPORT Result cuFuncGetParamInfo(Function handle, std::size_t index,
                                              std::size_t* offset, std::size_t* size) {
  HALYARD_CUDA_CALL(cuFuncGetParamInfo, kNamed);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  return result == kSuccess ? parameter_info(function->info(), index, offset, size) : result;
}

HALYARD_CUDA_EXPORT Result cuFuncIsLoaded(int* is_loaded, Function handle) {
  HALYARD_CUDA_CALL(cuFuncIsLoaded, kNamed);
  HALYARD_CUDA_REQUIRE(is_loaded != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  *is_loaded = 1;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_CUDA_EXPORT Result cuFuncLoad(Function handle) {
  HALYARD_CUDA_CALL(cuFuncLoad, kNamed);
  FunctionState* function = nullptr;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_CUDA_EXPORT Result cuLibraryLoadData(Library* library, const void* image,
                                             const int* options, void** values, unsigned count,
                                             int*, void**, unsigned) {
  HALYARD_CUDA_CALL(cuLibraryLoadData, kInitialized);
  return load_library(library, image, options, values, count);
}

HALYARD_CUDA_EXPORT Result cuLibraryLoadFromFile(Library* library, const char* path,
                                                 const int* options, void** values, unsigned count,
                                                 int*, void**, unsigned) {
  HALYARD_CUDA_CALL(cuLibraryLoadFromFile, kInitialized);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return load_library(library, bytes.c_str(), options, values, count, bytes.size());
}

HALYARD_CUDA_EXPORT Result cuLibraryUnload(Library handle) {
  HALYARD_CUDA_CALL(cuLibraryUnload, kInitialized);
  LibraryState* const library = resolve(handle);
  HALYARD_CUDA_REQUIRE(library != nullptr, kInvalidHandle);
  for (const auto& [context, module] : library->modules) {
    if (module != nullptr) unload_module(module);
  }
  for (const Kernel kernel : library->kernels) {
    if (kernel != nullptr) end_handle(kernel);
  }
  end_handle(handle);
  --state().live_libraries;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuLibraryGetKernel(Kernel* kernel, Library handle, const char* name) {
  HALYARD_CUDA_CALL(cuLibraryGetKernel, kInitialized);
  HALYARD_CUDA_REQUIRE(kernel != nullptr && name != nullptr, kInvalidValue);
  LibraryState* const library = resolve(handle);
  HALYARD_CUDA_REQUIRE(library != nullptr, kInvalidHandle);
  const std::optional<std::size_t> entry = library->code->find_entry(name);
  HALYARD_CUDA_REQUIRE(entry, kNotFound);
  *kernel = kernel_of(*library, *entry);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuLibraryGetKernelCount(unsigned* count, Library handle) {
  HALYARD_CUDA_CALL(cuLibraryGetKernelCount, kInitialized);
  const LibraryState* const library = resolve(handle);
  HALYARD_CUDA_REQUIRE(library != nullptr && count != nullptr, kInvalidValue);
  *count = static_cast<unsigned>(library->kernels.size());
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuLibraryEnumerateKernels(Kernel* kernels, unsigned count,
                                                     Library handle) {
  HALYARD_CUDA_CALL(cuLibraryEnumerateKernels, kInitialized);
  LibraryState* const library = resolve(handle);
  HALYARD_CUDA_REQUIRE(library != nullptr && kernels != nullptr, kInvalidValue);
  for (unsigned i = 0; i < count && i < library->kernels.size(); ++i) {
    kernels[i] = kernel_of(*library, i);
  }
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuLibraryGetModule(Module* module, Library handle) {
  HALYARD_CUDA_CALL(cuLibraryGetModule, kCurrent);
  LibraryState* const library = resolve(handle);
  HALYARD_CUDA_REQUIRE(library != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(module != nullptr, kInvalidValue);
  return module_of(call.context(), *library, *module);
}

HALYARD_CUDA_EXPORT Result cuLibraryGetGlobal(DevicePointer* address, std::size_t* size,
                                              Library handle, const char* name) {
  HALYARD_CUDA_CALL(cuLibraryGetGlobal, kCurrent);
  LibraryState* const library = resolve(handle);
  HALYARD_CUDA_REQUIRE(library != nullptr, kInvalidHandle);
  Module module = nullptr;
  const Result result = module_of(call.context(), *library, module);
  return result == kSuccess ? global_of(*module->object, name, address, size) : result;
}

HALYARD_CUDA_EXPORT Result cuKernelGetFunction(Function* function, Kernel kernel) {
  HALYARD_CUDA_CALL(cuKernelGetFunction, kCurrent);
  HALYARD_CUDA_REQUIRE(function != nullptr, kInvalidValue);
  return function_of_kernel(call.context(), kernel, *function);
}

HALYARD_CUDA_EXPORT Result cuKernelGetLibrary(Library* library, Kernel handle) {
  HALYARD_CUDA_CALL(cuKernelGetLibrary, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_CUDA_REQUIRE(kernel != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(library != nullptr, kInvalidValue);
  *library = kernel->library->handle;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuKernelGetName(const char** name, Kernel handle) {
  HALYARD_CUDA_CALL(cuKernelGetName, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_CUDA_REQUIRE(kernel != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(name != nullptr, kInvalidValue);
  *name = info_of(*kernel).name.c_str();
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuKernelGetParamInfo(Kernel handle, std::size_t index,
                                                std::size_t* offset, std::size_t* size) {
  HALYARD_CUDA_CALL(cuKernelGetParamInfo, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_CUDA_REQUIRE(kernel != nullptr, kInvalidHandle);
  return parameter_info(info_of(*kernel), index, offset, size);
}

HALYARD_CUDA_EXPORT Result cuKernelGetAttribute(int* value, int attribute, Kernel handle,
                                                DeviceId) {
  HALYARD_CUDA_CALL(cuKernelGetAttribute, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_CUDA_REQUIRE(kernel != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(value != nullptr, kInvalidValue);
  FunctionState function;
  function.module = std::make_shared<ModuleState>();
  function.module->code = kernel->library->code;
  function.entry = kernel->entry;
  function.attributes = kernel->attributes;
  return function_attribute(function, attribute, *value);
}

HALYARD_CUDA_EXPORT Result cuKernelSetAttribute(int attribute, int value, Kernel handle, DeviceId) {
  HALYARD_CUDA_CALL(cuKernelSetAttribute, kInitialized);
  KernelState* const kernel = resolve(handle);
  HALYARD_CUDA_REQUIRE(kernel != nullptr, kInvalidHandle);
  const Result result = set_attribute(kernel->attributes, info_of(*kernel), attribute, value);
  if (result != kSuccess) return result;
  for (const auto& [context, module] : kernel->library->modules) {
    if (module == nullptr) continue;
    function_of(*module->object, kernel->entry)->object->attributes[attribute] = value;
  }
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuKernelSetCacheConfig(Kernel handle, int config, DeviceId) {
  HALYARD_CUDA_CALL(cuKernelSetCacheConfig, kInitialized);
  HALYARD_CUDA_REQUIRE(resolve(handle) != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(config >= 0 && config <= 3, kInvalidValue);
  return kSuccess;
}

namespace {

Result create_link(unsigned count, const int* options, void** values, Link* link) {
  HALYARD_CUDA_REQUIRE(link != nullptr, kInvalidValue);
  auto made = std::make_shared<LinkState>();
  const Result result = read_jit_options(count, options, values, made->options);
  if (result != kSuccess) return result;
  *link = make_handle(std::move(made));
  return kSuccess;
}

Result add_to_link(Link handle, const void* data, std::size_t size, unsigned count,
                   const int* options, void** values) {
  LinkState* const link = resolve(handle);
  HALYARD_CUDA_REQUIRE(link != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(data != nullptr && size != 0 && !link->is_complete, kInvalidValue);
  const std::string image(static_cast<const char*>(data), size);  // with a zero behind it
  // cuda.h, cuLinkAddData: "Options to be applied only for this input (overrides options from
  // cuLinkCreate)"
  JitOptions jit;
  Result result = read_jit_options(count, options, values, jit);
  if (result != kSuccess) return result;
  const bool has_own = jit.limits != ptx::Limits{};
  std::vector<ImageText> texts;
  result = find_texts(image.c_str(), size, has_own ? jit.limits : link->options.limits, texts);
  if (result != kSuccess) return result;
  link->texts.insert(link->texts.end(), texts.begin(), texts.end());
  return kSuccess;
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuLinkCreate_v2(unsigned count, const int* options, void** values,
                                           Link* link) {
  HALYARD_CUDA_CALL(cuLinkCreate_v2, kCurrent);
  return create_link(count, options, values, link);
}

HALYARD_CUDA_EXPORT Result cuLinkAddData_v2(Link link, int, const void* data, std::size_t size,
                                            const char*, unsigned count, const int* options,
                                            void** values) {
  HALYARD_CUDA_CALL(cuLinkAddData_v2, kNamed);
  return add_to_link(link, data, size, count, options, values);
}

HALYARD_CUDA_EXPORT Result cuLinkAddFile_v2(Link link, int, const char* path, unsigned count,
                                            const int* options, void** values) {
  HALYARD_CUDA_CALL(cuLinkAddFile_v2, kNamed);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return add_to_link(link, bytes.data(), bytes.size(), count, options, values);
}

HALYARD_CUDA_EXPORT Result cuLinkAddFile(Link link, int, const char* path, unsigned count,
                                         const int* options, void** values) {
  HALYARD_CUDA_CALL(cuLinkAddFile, kNamed);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return add_to_link(link, bytes.data(), bytes.size(), count, options, values);
}

HALYARD_CUDA_EXPORT Result cuLinkCreate(unsigned count, const int* options, void** values,
                                        Link* link) {
  HALYARD_CUDA_CALL(cuLinkCreate, kCurrent);
  return create_link(count, options, values, link);
}

HALYARD_CUDA_EXPORT Result cuLinkAddData(Link link, int, const void* data, std::size_t size,
                                         const char*, unsigned count, const int* options,
                                         void** values) {
  HALYARD_CUDA_CALL(cuLinkAddData, kNamed);
  return add_to_link(link, data, size, count, options, values);
}

// The "cubin" is the PTX, or all PTX in a container, which cuModuleLoadData takes as well.
HALYARD_CUDA_EXPORT Result cuLinkComplete(Link handle, void** cubin, std::size_t* size) {
  HALYARD_CUDA_CALL(cuLinkComplete, kNamed);
  LinkState* const link = resolve(handle);
  HALYARD_CUDA_REQUIRE(link != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(cubin != nullptr && !link->texts.empty(), kInvalidValue);
  link->is_complete = true;
  link->result = pack_texts(link->texts);
  std::shared_ptr<const ptx::Module> code;
  const Result result = parse_image(link->result.data(), link->result.size(), link->options, code);
  if (result != kSuccess) return result;
  *cubin = link->result.data();
  if (size != nullptr) *size = link->result.size() + 1;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuLinkDestroy(Link link) {
  HALYARD_CUDA_CALL(cuLinkDestroy, kInitialized);
  HALYARD_CUDA_REQUIRE(resolve(link) != nullptr, kInvalidHandle);
  end_handle(link);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
