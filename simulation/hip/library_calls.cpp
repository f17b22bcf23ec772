// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipLibrary and hipKernel: code that is loaded on each device at its first use there. Since 7.2.
#include "simulation/gpu/module.h"
#include "simulation/hip/code.h"

namespace halyard::inline v0::sim::hip {
namespace {

using gpu::Kernel;
using gpu::Library;

Result load(Library* library, std::shared_ptr<const gpu::Code> code, Result loaded) {
  return loaded == kSuccess ? gpu::load_library(std::move(code), library) : loaded;
}

}  // namespace

// Options of compilers and libraries are ignored.
HALYARD_HIP_EXPORT Result hipLibraryLoadData(Library* library, const void* image, int*, void**,
                                             unsigned, int*, void**, unsigned) {
  HALYARD_HIP_CALL(hipLibraryLoadData, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(library != nullptr && image != nullptr, gpu::kInvalidValue);
    std::shared_ptr<const gpu::Code> code;
    const Result loaded = load_code(image, code);
    return load(library, std::move(code), loaded);
  };
}

HALYARD_HIP_EXPORT Result hipLibraryLoadFromFile(Library* library, const char* path, int*, void**,
                                                 unsigned, int*, void**, unsigned) {
  HALYARD_HIP_CALL(hipLibraryLoadFromFile, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(library != nullptr, gpu::kInvalidValue);
    std::shared_ptr<const gpu::Code> code;
    const Result loaded = load_code_file(path, code);
    return load(library, std::move(code), loaded);
  };
}

HALYARD_HIP_EXPORT Result hipLibraryUnload(Library library) {
  HALYARD_HIP_CALL(hipLibraryUnload, gpu::kCurrent) { return gpu::unload_library(library); };
}

HALYARD_HIP_EXPORT Result hipLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  HALYARD_HIP_CALL(hipLibraryGetKernel, gpu::kInitialized) {
    return gpu::library_kernel(kernel, library, name);
  };
}

HALYARD_HIP_EXPORT Result hipLibraryGetKernelCount(unsigned* count, Library library) {
  HALYARD_HIP_CALL(hipLibraryGetKernelCount, gpu::kInitialized) {
    const gpu::LibraryState* const of = gpu::resolve(library);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidHandle);
    HALYARD_GPU_REQUIRE(count != nullptr, gpu::kInvalidValue);
    *count = static_cast<unsigned>(of->code->kernels().size());
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipLibraryEnumerateKernels(Kernel* kernels, unsigned count,
                                                     Library library) {
  HALYARD_HIP_CALL(hipLibraryEnumerateKernels, gpu::kInitialized) {
    return gpu::library_kernels(kernels, count, library);
  };
}

HALYARD_HIP_EXPORT Result hipLibraryGetGlobal(void** pointer, std::size_t* size, Library library,
                                              const char* name) {
  HALYARD_HIP_CALL(hipLibraryGetGlobal, gpu::kCurrent) {
    DevicePointer address = 0;
    const Result result = gpu::library_variable(call, &address, size, library, name);
    if (result == kSuccess && pointer != nullptr) *pointer = pointer_to(address);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipKernelGetFunction(Function* function, Kernel kernel) {
  HALYARD_HIP_CALL(hipKernelGetFunction, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(function != nullptr, gpu::kInvalidValue);
    return gpu::function_of_kernel(call.context(), kernel, *function);
  };
}

HALYARD_HIP_EXPORT Result hipKernelGetLibrary(Library* library, Kernel kernel) {
  HALYARD_HIP_CALL(hipKernelGetLibrary, gpu::kInitialized) {
    const gpu::KernelState* const of = gpu::resolve(kernel);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidHandle);
    HALYARD_GPU_REQUIRE(library != nullptr, gpu::kInvalidValue);
    *library = of->library->handle;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipKernelGetName(const char** name, Kernel kernel) {
  HALYARD_HIP_CALL(hipKernelGetName, gpu::kInitialized) {
    const gpu::KernelState* const of = gpu::resolve(kernel);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidHandle);
    HALYARD_GPU_REQUIRE(name != nullptr, gpu::kInvalidValue);
    *name = gpu::info_of(*of).name.c_str();
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipKernelGetParamInfo(Kernel kernel, std::size_t index,
                                                std::size_t* offset, std::size_t* size) {
  HALYARD_HIP_CALL(hipKernelGetParamInfo, gpu::kInitialized) {
    const gpu::KernelState* const of = gpu::resolve(kernel);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidHandle);
    return gpu::parameter_info(gpu::info_of(*of), index, offset, size);
  };
}

HALYARD_HIP_EXPORT Result hipKernelGetAttribute(int* value, int attribute, Kernel kernel,
                                                DeviceId device) {
  HALYARD_HIP_CALL(hipKernelGetAttribute, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    return gpu::kernel_attribute(value, attribute, kernel);
  };
}

HALYARD_HIP_EXPORT Result hipKernelSetAttribute(int attribute, int value, Kernel kernel,
                                                DeviceId device) {
  HALYARD_HIP_CALL(hipKernelSetAttribute, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    return gpu::set_kernel_attribute(attribute, value, kernel);
  };
}

}  // namespace halyard::inline v0::sim::hip
