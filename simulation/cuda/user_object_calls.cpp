// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuUserObject.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/user_object.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuUserObjectCreate(UserObject* object, void* data, HostFunction destroy,
                                             unsigned references, unsigned flags) {
  HALYARD_GPU_CALL(cuUserObjectCreate, kInitialized);
  return create_user_object(object, data, destroy, references, flags);
}

HALYARD_GPU_EXPORT Result cuUserObjectRetain(UserObject handle, unsigned count) {
  HALYARD_GPU_CALL(cuUserObjectRetain, kInitialized);
  return retain_user_object(handle, count);
}

HALYARD_GPU_EXPORT Result cuUserObjectRelease(UserObject handle, unsigned count) {
  HALYARD_GPU_CALL(cuUserObjectRelease, kInitialized);
  return release_user_object(handle, count);
}

HALYARD_GPU_EXPORT Result cuGraphRetainUserObject(Graph graph_handle, UserObject handle,
                                                  unsigned count, unsigned flags) {
  HALYARD_GPU_CALL(cuGraphRetainUserObject, kInitialized);
  return retain_in_graph(graph_handle, handle, count, flags);
}

HALYARD_GPU_EXPORT Result cuGraphReleaseUserObject(Graph graph_handle, UserObject handle,
                                                   unsigned count) {
  HALYARD_GPU_CALL(cuGraphReleaseUserObject, kInitialized);
  return release_in_graph(graph_handle, handle, count);
}

}  // namespace halyard::inline v0::sim::cuda
