// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/api.h"

#include "base/format.h"

namespace halyard::inline v0::cuda {
namespace {

// The pitch stays 0, which means none: a pitch has a largest value, a row has not.
CUDA_MEMCPY3D copy_node(std::uint64_t target, std::uint64_t source, std::uint64_t size) noexcept {
  CUDA_MEMCPY3D parameters = {};
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  parameters.srcDevice = source;
  parameters.dstDevice = target;
  parameters.WidthInBytes = size;
  parameters.Height = parameters.Depth = 1;
  return parameters;
}

}  // namespace

Status CudaApi::finish(Stream stream) const noexcept {
  return check(&Functions::cuStreamSynchronize, stream);
}

Status CudaApi::retain_context(unsigned ordinal, Context& context) const noexcept {
  return check(&Functions::cuDevicePrimaryCtxRetain, &context, static_cast<CUdevice>(ordinal));
}
void CudaApi::release_context(unsigned ordinal) const noexcept {
  (void)call(&Functions::cuDevicePrimaryCtxRelease, static_cast<CUdevice>(ordinal));
}

Status CudaApi::check_import(Stream stream) const {
  if (stream == nullptr ||
      reinterpret_cast<std::uintptr_t>(stream) == CU_STREAM_PER_THREAD_AS_INT) {
    return Status(StatusCode::kInvalidArgument,
                  "cuda: null and CU_STREAM_PER_THREAD are no streams of their own; the legacy "
                  "default stream is CU_STREAM_LEGACY");
  }
  CUcontext own = nullptr, its = nullptr;
  HALYARD_RETURN_IF_ERROR(current_context(own));
  HALYARD_RETURN_IF_ERROR(check(&Functions::cuStreamGetCtx, stream, &its));
  if (its == own) return {};
  return Status(StatusCode::kPermissionDenied, "cuda: the stream is of another context");
}

// CUDA infers from the addresses which device, or the host, each side belongs to.
Status CudaApi::copy(Stream stream, std::uint64_t target, std::uint64_t source,
                     std::uint64_t size) const noexcept {
  return check(&Functions::cuMemcpyAsync, target, source, size, stream);
}

// More shared memory than the default must be allowed before a launch. A kernel beyond the device's
// limit is skipped here, since other kernels of the module may still be launched.
Status CudaApi::find_function(Module module, const kernel::KernelInfo& kernel,
                              Function& function) const noexcept {
  HALYARD_RETURN_IF_ERROR(NativeApi::find_function(module, kernel, function));
  const std::uint64_t shared =
      std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes;
  if (shared <= device->default_shared_bytes || shared > device->limits.max_shared_bytes) return {};
  return check(&Functions::cuFuncSetAttribute, function.handle,
               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
               static_cast<int>(kernel.dynamic_shared_bytes));
}

Status CudaApi::add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                         std::uint64_t target, std::uint64_t source,
                         std::uint64_t size) const noexcept {
  const CUDA_MEMCPY3D parameters = copy_node(target, source, size);
  return check(&Functions::cuGraphAddMemcpyNode, &node, graph, behind.data(), behind.size(),
               &parameters, graph_context);
}
Status CudaApi::set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                         std::uint64_t source, std::uint64_t size) const noexcept {
  const CUDA_MEMCPY3D parameters = copy_node(target, source, size);
  return check(&Functions::cuGraphExecMemcpyNodeSetParams, executable, node, &parameters,
               graph_context);
}

}  // namespace halyard::inline v0::cuda
