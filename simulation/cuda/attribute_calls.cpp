// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of streams and of kernel nodes. A launch obeys only the priority, which is merely
// stored here, and "cooperative"; the others are hints.
#include <algorithm>
#include <cstring>

#include "simulation/cuda/abi.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/launch.h"
#include "simulation/gpu/per_thread.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr int kStreamAttributes[] = {kAccessPolicyWindow, kSynchronizationPolicy,
                                     kPriorityAttribute, kMemSyncDomainMap, kMemSyncDomain};
constexpr int kNodeAttributes[] = {
    kAccessPolicyWindow, kCooperative,   kClusterDimension, kClusterPolicy,   kPriorityAttribute,
    kMemSyncDomainMap,   kMemSyncDomain, kPreferredCluster, kDeviceUpdatable, kSharedCarveout};
constexpr int kAutomatic = 1;          // CU_SYNC_POLICY_AUTO
constexpr unsigned kRemoteDomain = 1;  // CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE, the last one

template <std::size_t kCount>
bool is_one_of(const int (&ids)[kCount], int id) {
  return std::find(ids, ids + kCount, id) != ids + kCount;
}

AttributeValue of_int(int value) {
  AttributeValue made{};
  std::memcpy(made.data(), &value, sizeof value);
  return made;
}

int as_int(const AttributeValue& value) {
  int number = 0;
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

const KernelWork* kernel_of_node(GraphNode handle) {
  const NodeState* const node = resolve(handle);
  return node != nullptr ? std::get_if<KernelWork>(&node->work) : nullptr;
}

Result set_node_attribute(KernelWork& work, int id, const AttributeValue& value) {
  HALYARD_GPU_REQUIRE(is_one_of(kNodeAttributes, id), kInvalidValue);
  if (id == kClusterDimension || id == kPreferredCluster) {
    for (const unsigned extent :
         {static_cast<unsigned>(value[0]), static_cast<unsigned>(value[0] >> 32),
          static_cast<unsigned>(value[1])}) {
      HALYARD_GPU_REQUIRE(extent <= 1, kNotSupported);
    }
  }
  HALYARD_GPU_REQUIRE(id != kMemSyncDomain || static_cast<unsigned>(as_int(value)) <= kRemoteDomain,
                      kInvalidValue);
  HALYARD_GPU_REQUIRE(id != kDeviceUpdatable || as_int(value) == 0, kNotSupported);
  if (id == kCooperative && as_int(value) != 0) {
    const Result result =
        check_cooperative(*work.function, work.grid, work.block, work.shared_bytes);
    if (result != kSuccess) return result;
  }
  work.attributes[id] = value;
  return kSuccess;
}

}  // namespace

HALYARD_GPU_EXPORT Result cuStreamGetAttribute(Stream handle, int id, AttributeValue* value) {
  HALYARD_GPU_CALL(cuStreamGetAttribute, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(value != nullptr && is_one_of(kStreamAttributes, id), kInvalidValue);
  if (id == kPriorityAttribute) {
    *value = of_int(stream->priority);
  } else if (const auto at = stream->attributes.find(id); at != stream->attributes.end()) {
    *value = at->second;
  } else {
    *value = of_int(id == kSynchronizationPolicy ? kAutomatic : 0);
  }
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuStreamSetAttribute(Stream handle, int id, const AttributeValue* value) {
  HALYARD_GPU_CALL(cuStreamSetAttribute, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(value != nullptr && is_one_of(kStreamAttributes, id), kInvalidValue);
  if (id == kPriorityAttribute) {
    stream->priority = clamp_priority(as_int(*value));
  } else {
    stream->attributes[id] = *value;
  }
  return kSuccess;
}

// cuda.h: "Both streams must have the same context."
HALYARD_GPU_EXPORT Result cuStreamCopyAttributes(Stream to_handle, Stream from_handle) {
  HALYARD_GPU_CALL(cuStreamCopyAttributes, kNamed);
  StreamState* const to = find_stream(to_handle);
  const StreamState* const from = find_stream(from_handle);
  HALYARD_GPU_REQUIRE(to != nullptr, stream_error(to_handle));
  HALYARD_GPU_REQUIRE(from != nullptr, stream_error(from_handle));
  HALYARD_GPU_REQUIRE(to->context == from->context, kInvalidValue);
  to->attributes = from->attributes;
  to->priority = from->priority;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphKernelNodeGetAttribute(GraphNode node, int id,
                                                        AttributeValue* value) {
  HALYARD_GPU_CALL(cuGraphKernelNodeGetAttribute, kInitialized);
  const KernelWork* const work = kernel_of_node(node);
  HALYARD_GPU_REQUIRE(work != nullptr && value != nullptr && is_one_of(kNodeAttributes, id),
                      kInvalidValue);
  const auto at = work->attributes.find(id);
  *value = at != work->attributes.end() ? at->second : AttributeValue{};
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphKernelNodeSetAttribute(GraphNode node, int id,
                                                        const AttributeValue* value) {
  HALYARD_GPU_CALL(cuGraphKernelNodeSetAttribute, kInitialized);
  HALYARD_GPU_REQUIRE(kernel_of_node(node) != nullptr && value != nullptr, kInvalidValue);
  return set_node_attribute(std::get<KernelWork>(node->object->work), id, *value);
}

HALYARD_GPU_EXPORT Result cuGraphKernelNodeCopyAttributes(GraphNode to, GraphNode from) {
  HALYARD_GPU_CALL(cuGraphKernelNodeCopyAttributes, kInitialized);
  const KernelWork* const source = kernel_of_node(from);
  HALYARD_GPU_REQUIRE(source != nullptr && kernel_of_node(to) != nullptr, kInvalidValue);
  std::get<KernelWork>(to->object->work).attributes = source->attributes;
  return kSuccess;
}

HALYARD_GPU_PER_THREAD(cuStreamCopyAttributes, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamGetAttribute, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuStreamSetAttribute, _ptsz, 3)

}  // namespace halyard::inline v0::sim::cuda
