// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/api.h"

#include "base/atomic.h"
#include "base/format.h"
#include "base/mutex.h"
#include "drivers/stream/graph_update_test.h"

namespace halyard::inline v0::hip {
namespace {

// Results that may mean device loss. Each also has another meaning: a refused launch (719), a bad
// handle (709, up to HIP 6), anything (999).
bool is_suspect(hipError_t result) noexcept {
  return status_code(result) == StatusCode::kDeviceLost || result == hipErrorContextIsDestroyed ||
         result == hipErrorUnknown;
}

// From HIP 7 on, every function first returns the fault of any device (hip_internal.hpp of
// ROCm/clr).
bool is_shared(hipError_t result) noexcept {
  return result == hipErrorIllegalAddress || result == hipErrorLaunchFailure ||
         result == hipErrorUnknown;
}

constinit base::Mutex update_test_mutex;

}  // namespace

Status HipApi::finish(Stream stream) const noexcept {
  for (;;) {
    const hipError_t result = call(&Functions::hipStreamQuery, stream);
    if (result != hipErrorNotReady) return to_status(result, "hipStreamQuery");
    base::spin_yield();
  }
}

// A query of a stream that is being captured would end the capture.
bool HipApi::still_works(Stream stream) const noexcept {
  auto capture = hipStreamCaptureStatusNone;
  hipError_t result = call(&Functions::hipStreamIsCapturing, stream, &capture);
  if (result == hipErrorStreamCaptureImplicit) return true;
  if (result == hipSuccess && capture != hipStreamCaptureStatusNone) return true;
  if (result == hipSuccess) result = call(&Functions::hipStreamQuery, stream);
  if (result == hipSuccess || result == hipErrorNotReady) return true;
  if (native->version >= kSharedFaults && is_shared(result)) {
    native->fault.store(result, std::memory_order_seq_cst);
  }
  return false;
}

Status HipApi::status_of(hipError_t result, std::string_view name, Stream stream) const noexcept {
  if (!is_suspect(result)) return to_status(result, name);
  const bool works = still_works(stream);
  return Status(works ? StatusCode::kInvalidArgument : StatusCode::kDeviceLost,
                base::format("hip: {} failed{}", name, works ? "; the device works" : ""),
                native_name(result));
}

Status HipApi::check_device() const noexcept {
  int current = -1;
  HALYARD_RETURN_IF_ERROR(check(&Functions::hipGetDevice, &current));
  if (current == device->handle) return {};
  return to_status(hipErrorInvalidContext, "hipGetDevice");
}

// For an invalid handle HIP returns hipErrorContextIsDestroyed up to HIP 6, and crashes later.
Status HipApi::check_import(Stream stream) const {
  if (address_of(stream) <= hipStreamPerThread_AS_INT) {
    return Status(StatusCode::kInvalidArgument,
                  "hip: null, hipStreamLegacy and hipStreamPerThread are no streams of their own");
  }
  int its = -1;
  HALYARD_RETURN_IF_ERROR(check(&Functions::hipStreamGetDevice, stream, &its));
  if (its == device->handle) return {};
  return Status(StatusCode::kPermissionDenied, "hip: the stream is of another device");
}

Status HipApi::copy(Stream stream, std::uint64_t target, std::uint64_t source,
                    std::uint64_t size) const noexcept {
  return check_on(stream, &Functions::hipMemcpyAsync, pointer_to(target), pointer_to(source), size,
                  hipMemcpyDefault, stream);
}

Status HipApi::register_host(void* pointer, std::uint64_t size) const noexcept {
  void* known = nullptr;
  if (call(&Functions::hipHostGetDevicePointer, &known, pointer, 0u) == hipSuccess) {
    return Status(StatusCode::kFailedPrecondition, "hip: the memory is registered already");
  }
  return NativeApi::register_host(pointer, size);
}

Status HipApi::prepare_graphs() noexcept {
  base::LockGuard lock(update_test_mutex);
  if (device->graph_updates == GraphUpdates::kUnknown) {
    updates_graphs = true;
    const Result<bool> passed = stream::GraphUpdateTest<HipApi>(*this).passes();
    if (passed.status().code() == StatusCode::kDeviceLost) return passed.status();
    // For example without memory: the next recording tests again.
    if (passed.ok()) device->graph_updates = *passed ? GraphUpdates::kWork : GraphUpdates::kFail;
  }
  updates_graphs = device->graph_updates == GraphUpdates::kWork;
  return {};
}

Status HipApi::add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                        std::uint64_t target, std::uint64_t source,
                        std::uint64_t size) const noexcept {
  return check(&Functions::hipGraphAddMemcpyNode1D, &node, graph, behind.data(), behind.size(),
               pointer_to(target), pointer_to(source), size, hipMemcpyDefault);
}
Status HipApi::set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                        std::uint64_t source, std::uint64_t size) const noexcept {
  return check(&Functions::hipGraphExecMemcpyNodeSetParams1D, executable, node, pointer_to(target),
               pointer_to(source), size, hipMemcpyDefault);
}

}  // namespace halyard::inline v0::hip
