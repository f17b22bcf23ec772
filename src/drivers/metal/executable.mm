// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/executable.h"

#include <algorithm>
#include <new>
#include <span>

#include "base/format.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/error.h"
#include "drivers/metal/functions.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::metal {
namespace {

constexpr std::string_view kTargets[] = {kernel::kMetalTarget};

Status no_executable_memory() {
  return error(StatusCode::kResourceExhausted, "metal: no memory for an executable");
}

// The default of MSL is fast mathematics, which would break the guarantees of kernel/device_abi.h.
// Systems before macOS 15 and iOS 18 have one option for both.
Retained<MTLCompileOptions*> safe_options() {
  auto options = Retained<MTLCompileOptions*>::adopt([[MTLCompileOptions alloc] init]);
  MTLCompileOptions* const set = options.get();
  [set setLanguageVersion:MTLLanguageVersion3_0];
  if ([set respondsToSelector:@selector(setMathMode:)]) {
    [set setMathMode:MTLMathModeSafe];
    [set setMathFloatingPointFunctions:MTLMathFloatingPointFunctionsPrecise];
  } else {
    [set setFastMathEnabled:NO];
  }
  return options;
}

}  // namespace

Result<Retained<id<MTLLibrary>>> compile(id<MTLDevice> device, std::string_view source) {
  const Retained<NSString*> text = make_string(source);
  if (!text) {
    return error(StatusCode::kResourceExhausted, "metal: no memory for a source of {} bytes",
                 source.size());
  }
  const Retained<MTLCompileOptions*> options = safe_options();
  NSError* error = nil;
  Retained<id<MTLLibrary>> library = new_library(device, text.get(), options.get(), &error);
  // Warnings set the error, too, so the result decides.
  if (library) return library;
  return failed("newLibraryWithSource", error,
                error != nil ? StatusCode::kDataLoss : StatusCode::kResourceExhausted);
}

Result<Ref<hal::ExecutableImpl>> Executable::load(Ref<NativeDevice> device, kernel::Hyx file) {
  auto executable =
      Ref<Executable>::adopt(new (std::nothrow) Executable(std::move(device), std::move(file)));
  if (!executable) return no_executable_memory();
  HALYARD_RETURN_IF_ERROR(executable->create());
  return Ref<hal::ExecutableImpl>(std::move(executable));
}

Executable::~Executable() {
  const ScopedPool pool;
  entries_.reset();
}

Status Executable::create() {
  HALYARD_ASSIGN_OR_RETURN(const kernel::ImageInfo* image,
                           file().image_for(kTargets, kernel::kMetalConvention));
  entries_.reset(new (std::nothrow) Entry[file().kernels().size()]);
  if (entries_ == nullptr) return no_executable_memory();
  const std::string_view source(reinterpret_cast<const char*>(image->bytes.data()),
                                image->bytes.size());
  Result<Retained<id<MTLLibrary>>> library = compile(device_->handle(), source);
  if (!library.ok()) {
    return Status(library.status().code(),
                  base::format("metal: {}: {}", file().name(), library.status().message()),
                  library.status().native_error());
  }
  Entry* entry = entries_.get();
  for (const kernel::KernelInfo& kernel : file().kernels()) {
    const Retained<NSString*> name = make_string(kernel.name);
    if (!name) return no_executable_memory();
    entry->function = new_function(library->get(), name.get());
    if (!entry->function) {
      return error(StatusCode::kDataLoss, "metal: {}: the image {} has no entry {}", file().name(),
                   image->target, kernel.name);
    }
    ++entry;
  }
  return {};
}

Status Executable::prepare(std::uint32_t function) {
  base::LockGuard lock(mutex_);
  Entry& entry = entries_[function];
  if (entry.pipeline) return {};
  return create_pipeline(file().kernels()[function], entry);
}

Status Executable::create_pipeline(const kernel::KernelInfo& kernel, Entry& entry) {
  const MTLSize most = [device_->handle() maxThreadsPerThreadgroup];
  const NSUInteger limits[] = {most.width, most.height, most.depth};
  std::uint64_t items = 1;
  for (int d = 0; d < 3; ++d) {
    items *= kernel.workgroup_size[d];
    if (kernel.workgroup_size[d] <= limits[d]) continue;
    return error(StatusCode::kUnavailable,
                 "metal: kernel {} has {} items in dimension {} of a workgroup; the device has {}",
                 kernel.name, kernel.workgroup_size[d], "xyz"[d],
                 static_cast<std::uint64_t>(limits[d]));
  }
  if (!kernel.bindings.empty() && !entry.arguments) {
    entry.arguments = new_argument_encoder(entry.function.get(), kernel::kMetalBindingsBuffer);
    if (!entry.arguments) return failed("newArgumentEncoderWithBufferIndex", nil);
    entry.argument_bytes = [entry.arguments.get() encodedLength];
    if ([entry.arguments.get() alignment] > Arguments::kAlignment) {
      return error(StatusCode::kUnavailable,
                   "metal: kernel {} has argument buffers at multiples of {}; the driver has {}",
                   kernel.name, static_cast<std::uint64_t>([entry.arguments.get() alignment]),
                   Arguments::kAlignment);
    }
  }
  NSError* failure = nil;
  Retained<id<MTLComputePipelineState>> pipeline =
      new_pipeline(device_->handle(), entry.function.get(), &failure);
  if (!pipeline) return failed("newComputePipelineStateWithFunction", failure);
  const std::uint64_t takes = [pipeline.get() maxTotalThreadsPerThreadgroup];
  if (items > takes) {
    return error(StatusCode::kUnavailable,
                 "metal: kernel {} has {} items in a workgroup; its pipeline takes {}", kernel.name,
                 items, takes);
  }
  const std::uint64_t shared = [pipeline.get() staticThreadgroupMemoryLength];
  const std::uint64_t has = [device_->handle() maxThreadgroupMemoryLength];
  if (shared > has) {
    return error(StatusCode::kUnavailable,
                 "metal: kernel {} has {} bytes of shared memory; the device has {}", kernel.name,
                 shared, has);
  }
  entry.pipeline = std::move(pipeline);
  return {};
}

Result<hal::FunctionResources> Executable::resources(std::uint32_t function) {
  HALYARD_RETURN_IF_ERROR(prepare(function));
  hal::FunctionResources resources;
  resources.shared_bytes =
      static_cast<std::uint32_t>([entries_[function].pipeline.get() staticThreadgroupMemoryLength]);
  return resources;
}

MTLSize Executable::group_size(std::uint32_t function) const noexcept {
  const auto& size = file().kernels()[function].workgroup_size;
  return MTLSizeMake(size[0], size[1], size[2]);
}

}  // namespace halyard::inline v0::metal
