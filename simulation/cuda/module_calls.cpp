// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuModule, cuFunc, cuLibrary, cuKernel and cuLink.
#include "simulation/cuda/abi.h"
#include "simulation/cuda/image.h"
#include "simulation/gpu/module.h"
#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::cuda {
struct LinkState {
  static constexpr Kind kKind = Kind::kLink;
  static constexpr const char* kName = "linker";

  JitOptions options;
  std::vector<ImageText> texts;
  std::string result;
  bool is_complete = false;  // cuLinkComplete was called, successfully or not
};

namespace {
Result load_module(Call& call, Module* module, const void* image, unsigned count,
                   const int* options, void** values, std::size_t size = kUnknownSize) {
  HALYARD_GPU_REQUIRE(module != nullptr && image != nullptr, kInvalidValue);
  JitOptions jit;
  Result result = read_jit_options(count, options, values, jit);
  if (result != kSuccess) return result;
  std::shared_ptr<const Code> code;
  if (result = parse_image(image, size, jit, code); result != kSuccess) return result;
  return gpu::load_module(call, std::move(code), module);
}

Result load_library(Library* library, const void* image, const int* options, void** values,
                    unsigned count, std::size_t size = kUnknownSize) {
  HALYARD_GPU_REQUIRE(library != nullptr && image != nullptr, kInvalidValue);
  JitOptions jit;
  Result result = read_jit_options(count, options, values, jit);
  if (result != kSuccess) return result;
  std::shared_ptr<const Code> code;
  if (result = parse_image(image, size, jit, code); result != kSuccess) return result;
  return gpu::load_library(std::move(code), library);
}

}  // namespace

HALYARD_GPU_EXPORT Result cuModuleLoadData(Module* module, const void* image) {
  HALYARD_GPU_CALL(cuModuleLoadData, kCurrent | kUnsafeInCapture);
  return load_module(call, module, image, 0, nullptr, nullptr);
}

HALYARD_GPU_EXPORT Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count,
                                             const int* options, void** values) {
  HALYARD_GPU_CALL(cuModuleLoadDataEx, kCurrent | kUnsafeInCapture);
  return load_module(call, module, image, count, options, values);
}

HALYARD_GPU_EXPORT Result cuModuleLoadFatBinary(Module* module, const void* image) {
  HALYARD_GPU_CALL(cuModuleLoadFatBinary, kCurrent | kUnsafeInCapture);
  return load_module(call, module, image, 0, nullptr, nullptr);
}

HALYARD_GPU_EXPORT Result cuModuleLoad(Module* module, const char* path) {
  HALYARD_GPU_CALL(cuModuleLoad, kCurrent | kUnsafeInCapture);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return load_module(call, module, bytes.c_str(), 0, nullptr, nullptr, bytes.size());
}

HALYARD_GPU_EXPORT Result cuModuleUnload(Module handle) {
  HALYARD_GPU_CALL(cuModuleUnload, kInitialized | kUnsafeInCapture);
  return unload_module(call, handle);
}

HALYARD_GPU_EXPORT Result cuModuleGetLoadingMode(int* mode) {
  HALYARD_GPU_CALL(cuModuleGetLoadingMode, kInitialized);
  HALYARD_GPU_REQUIRE(mode != nullptr, kInvalidValue);
  *mode = 1;  // CU_MODULE_EAGER_LOADING
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuModuleGetFunction(Function* function, Module handle, const char* name) {
  HALYARD_GPU_CALL(cuModuleGetFunction, kNamed);
  return module_function(function, handle, name);
}

HALYARD_GPU_EXPORT Result cuModuleGetFunctionCount(unsigned* count, Module handle) {
  HALYARD_GPU_CALL(cuModuleGetFunctionCount, kInitialized);
  return module_function_count(count, handle);
}

HALYARD_GPU_EXPORT Result cuModuleEnumerateFunctions(Function* functions, unsigned count,
                                                     Module handle) {
  HALYARD_GPU_CALL(cuModuleEnumerateFunctions, kInitialized);
  return module_functions(functions, count, handle);
}

HALYARD_GPU_EXPORT Result cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* size,
                                               Module handle, const char* name) {
  HALYARD_GPU_CALL(cuModuleGetGlobal_v2, kNamed);
  return module_variable(address, size, handle, name);
}

HALYARD_GPU_EXPORT Result cuFuncGetAttribute(int* value, int attribute, Function handle) {
  HALYARD_GPU_CALL(cuFuncGetAttribute, kNamed);
  return get_function_attribute(call, value, attribute, handle);
}

HALYARD_GPU_EXPORT Result cuFuncSetAttribute(Function handle, int attribute, int value) {
  HALYARD_GPU_CALL(cuFuncSetAttribute, kNamed);
  return set_function_attribute(call, handle, attribute, value);
}

HALYARD_GPU_EXPORT Result cuFuncSetCacheConfig(Function handle, int config) {
  HALYARD_GPU_CALL(cuFuncSetCacheConfig, kNamed);
  HALYARD_GPU_REQUIRE(config >= 0 && config <= 3, kInvalidValue);
  FunctionState* function = nullptr;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_GPU_EXPORT Result cuFuncSetSharedMemConfig(Function handle, int) {
  HALYARD_GPU_CALL(cuFuncSetSharedMemConfig, kNamed);
  FunctionState* function = nullptr;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_GPU_EXPORT Result cuFuncGetModule(Module* module, Function handle) {
  HALYARD_GPU_CALL(cuFuncGetModule, kNamed);
  HALYARD_GPU_REQUIRE(module != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result == kSuccess) *module = function->module->handle;
  return result;
}

HALYARD_GPU_EXPORT Result cuFuncGetName(const char** name, Function handle) {
  HALYARD_GPU_CALL(cuFuncGetName, kNamed);
  HALYARD_GPU_REQUIRE(name != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  if (result == kSuccess) *name = function->info().name.c_str();
  return result;
}

HALYARD_GPU_EXPORT Result cuFuncGetParamInfo(Function handle, std::size_t index,
                                             std::size_t* offset, std::size_t* size) {
  HALYARD_GPU_CALL(cuFuncGetParamInfo, kNamed);
  FunctionState* function = nullptr;
  const Result result = find_function(call.context_or_null(), handle, function);
  return result == kSuccess ? parameter_info(function->info(), index, offset, size) : result;
}

HALYARD_GPU_EXPORT Result cuFuncIsLoaded(int* is_loaded, Function handle) {
  HALYARD_GPU_CALL(cuFuncIsLoaded, kNamed);
  HALYARD_GPU_REQUIRE(is_loaded != nullptr, kInvalidValue);
  FunctionState* function = nullptr;
  *is_loaded = 1;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_GPU_EXPORT Result cuFuncLoad(Function handle) {
  HALYARD_GPU_CALL(cuFuncLoad, kNamed);
  FunctionState* function = nullptr;
  return find_function(call.context_or_null(), handle, function);
}

HALYARD_GPU_EXPORT Result cuLibraryLoadData(Library* library, const void* image, const int* options,
                                            void** values, unsigned count, int*, void**, unsigned) {
  HALYARD_GPU_CALL(cuLibraryLoadData, kInitialized);
  return load_library(library, image, options, values, count);
}

HALYARD_GPU_EXPORT Result cuLibraryLoadFromFile(Library* library, const char* path,
                                                const int* options, void** values, unsigned count,
                                                int*, void**, unsigned) {
  HALYARD_GPU_CALL(cuLibraryLoadFromFile, kInitialized);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return load_library(library, bytes.c_str(), options, values, count, bytes.size());
}

HALYARD_GPU_EXPORT Result cuLibraryUnload(Library handle) {
  HALYARD_GPU_CALL(cuLibraryUnload, kInitialized);
  return unload_library(handle);
}

HALYARD_GPU_EXPORT Result cuLibraryGetKernel(Kernel* kernel, Library handle, const char* name) {
  HALYARD_GPU_CALL(cuLibraryGetKernel, kInitialized);
  return library_kernel(kernel, handle, name);
}

HALYARD_GPU_EXPORT Result cuLibraryGetKernelCount(unsigned* count, Library handle) {
  HALYARD_GPU_CALL(cuLibraryGetKernelCount, kInitialized);
  const LibraryState* const library = resolve(handle);
  HALYARD_GPU_REQUIRE(library != nullptr && count != nullptr, kInvalidValue);
  *count = static_cast<unsigned>(library->kernels.size());
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuLibraryEnumerateKernels(Kernel* kernels, unsigned count,
                                                    Library handle) {
  HALYARD_GPU_CALL(cuLibraryEnumerateKernels, kInitialized);
  return library_kernels(kernels, count, handle);
}

HALYARD_GPU_EXPORT Result cuLibraryGetModule(Module* module, Library handle) {
  HALYARD_GPU_CALL(cuLibraryGetModule, kCurrent);
  return library_module(call, module, handle);
}

HALYARD_GPU_EXPORT Result cuLibraryGetGlobal(DevicePointer* address, std::size_t* size,
                                             Library handle, const char* name) {
  HALYARD_GPU_CALL(cuLibraryGetGlobal, kCurrent);
  return library_variable(call, address, size, handle, name);
}

HALYARD_GPU_EXPORT Result cuKernelGetFunction(Function* function, Kernel kernel) {
  HALYARD_GPU_CALL(cuKernelGetFunction, kCurrent);
  HALYARD_GPU_REQUIRE(function != nullptr, kInvalidValue);
  return function_of_kernel(call.context(), kernel, *function);
}

HALYARD_GPU_EXPORT Result cuKernelGetLibrary(Library* library, Kernel handle) {
  HALYARD_GPU_CALL(cuKernelGetLibrary, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_GPU_REQUIRE(kernel != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(library != nullptr, kInvalidValue);
  *library = kernel->library->handle;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuKernelGetName(const char** name, Kernel handle) {
  HALYARD_GPU_CALL(cuKernelGetName, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_GPU_REQUIRE(kernel != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(name != nullptr, kInvalidValue);
  *name = info_of(*kernel).name.c_str();
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuKernelGetParamInfo(Kernel handle, std::size_t index,
                                               std::size_t* offset, std::size_t* size) {
  HALYARD_GPU_CALL(cuKernelGetParamInfo, kInitialized);
  const KernelState* const kernel = resolve(handle);
  HALYARD_GPU_REQUIRE(kernel != nullptr, kInvalidHandle);
  return parameter_info(info_of(*kernel), index, offset, size);
}

HALYARD_GPU_EXPORT Result cuKernelGetAttribute(int* value, int attribute, Kernel handle, DeviceId) {
  HALYARD_GPU_CALL(cuKernelGetAttribute, kInitialized);
  return kernel_attribute(value, attribute, handle);
}

HALYARD_GPU_EXPORT Result cuKernelSetAttribute(int attribute, int value, Kernel handle, DeviceId) {
  HALYARD_GPU_CALL(cuKernelSetAttribute, kInitialized);
  return set_kernel_attribute(attribute, value, handle);
}

HALYARD_GPU_EXPORT Result cuKernelSetCacheConfig(Kernel handle, int config, DeviceId) {
  HALYARD_GPU_CALL(cuKernelSetCacheConfig, kInitialized);
  HALYARD_GPU_REQUIRE(resolve(handle) != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(config >= 0 && config <= 3, kInvalidValue);
  return kSuccess;
}

namespace {
Result create_link(unsigned count, const int* options, void** values, Link* link) {
  HALYARD_GPU_REQUIRE(link != nullptr, kInvalidValue);
  auto made = std::make_shared<LinkState>();
  const Result result = read_jit_options(count, options, values, made->options);
  if (result != kSuccess) return result;
  *link = make_handle(std::move(made));
  return kSuccess;
}

Result add_to_link(Link handle, const void* data, std::size_t size, unsigned count,
                   const int* options, void** values) {
  LinkState* const link = resolve(handle);
  HALYARD_GPU_REQUIRE(link != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(data != nullptr && size != 0 && !link->is_complete, kInvalidValue);
  const std::string image(static_cast<const char*>(data), size);  // zero-terminated
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

HALYARD_GPU_EXPORT Result cuLinkCreate_v2(unsigned count, const int* options, void** values,
                                          Link* link) {
  HALYARD_GPU_CALL(cuLinkCreate_v2, kCurrent);
  return create_link(count, options, values, link);
}

HALYARD_GPU_EXPORT Result cuLinkAddData_v2(Link link, int, const void* data, std::size_t size,
                                           const char*, unsigned count, const int* options,
                                           void** values) {
  HALYARD_GPU_CALL(cuLinkAddData_v2, kNamed);
  return add_to_link(link, data, size, count, options, values);
}

HALYARD_GPU_EXPORT Result cuLinkAddFile_v2(Link link, int, const char* path, unsigned count,
                                           const int* options, void** values) {
  HALYARD_GPU_CALL(cuLinkAddFile_v2, kNamed);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return add_to_link(link, bytes.data(), bytes.size(), count, options, values);
}

HALYARD_GPU_EXPORT Result cuLinkAddFile(Link link, int, const char* path, unsigned count,
                                        const int* options, void** values) {
  HALYARD_GPU_CALL(cuLinkAddFile, kNamed);
  std::string bytes;
  if (const Result result = read_file(path, bytes); result != kSuccess) return result;
  return add_to_link(link, bytes.data(), bytes.size(), count, options, values);
}

HALYARD_GPU_EXPORT Result cuLinkCreate(unsigned count, const int* options, void** values,
                                       Link* link) {
  HALYARD_GPU_CALL(cuLinkCreate, kCurrent);
  return create_link(count, options, values, link);
}

HALYARD_GPU_EXPORT Result cuLinkAddData(Link link, int, const void* data, std::size_t size,
                                        const char*, unsigned count, const int* options,
                                        void** values) {
  HALYARD_GPU_CALL(cuLinkAddData, kNamed);
  return add_to_link(link, data, size, count, options, values);
}

// The "cubin" is the PTX, or a container of all PTX, both of which cuModuleLoadData accepts.
HALYARD_GPU_EXPORT Result cuLinkComplete(Link handle, void** cubin, std::size_t* size) {
  HALYARD_GPU_CALL(cuLinkComplete, kNamed);
  LinkState* const link = resolve(handle);
  HALYARD_GPU_REQUIRE(link != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(cubin != nullptr && !link->texts.empty(), kInvalidValue);
  link->is_complete = true;
  link->result = pack_texts(link->texts);
  std::shared_ptr<const Code> code;
  const Result result = parse_image(link->result.data(), link->result.size(), link->options, code);
  if (result != kSuccess) return result;
  *cubin = link->result.data();
  if (size != nullptr) *size = link->result.size() + 1;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuLinkDestroy(Link link) {
  HALYARD_GPU_CALL(cuLinkDestroy, kInitialized);
  HALYARD_GPU_REQUIRE(resolve(link) != nullptr, kInvalidHandle);
  end_handle(link);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
