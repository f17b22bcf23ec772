// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of graphs: adding them, and reading and replacing their parameters.
#include <cstring>
#include <vector>

#include "simulation/gpu/graph_nodes.h"
#include "simulation/hip/node_work.h"
#include "simulation/hip/registered.h"

namespace halyard::inline v0::sim::hip {
namespace {

using gpu::Work;

// Adds a node for a hipGraphAdd*Node; `make` makes its work.
template <class Make>
Result add(Graph graph, const GraphNode* dependencies, std::size_t count, GraphNode* node,
           Make make) {
  HALYARD_GPU_REQUIRE(node != nullptr && gpu::resolve(graph) != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(count == 0 || dependencies != nullptr, gpu::kInvalidValue);
  Work work;
  const Result made = make(work);
  return gpu::add_to_graph(graph, dependencies, count, made, std::move(work), node);
}

template <class Make>
Result set(GraphNode node, Make make) {
  Work work;
  const Result made = make(work);
  return gpu::set_node(node, made, std::move(work));
}

template <class Make>
Result set_in(GraphExec exec, GraphNode node, Make make) {
  Work work;
  const Result made = make(work);
  return set_exec(exec, node, made, std::move(work));
}

// A copy between memory and a variable that the program registered.
Result make_symbol_copy(Call& call, const void* memory, const void* symbol, std::size_t size,
                        std::size_t offset, int kind, bool is_to_symbol, Work& work) {
  HALYARD_GPU_REQUIRE(symbol != nullptr, kInvalidSymbol);
  DevicePointer address = 0;
  std::size_t whole = 0;
  const Result result = registered_variable(symbol, call.context().device, address, whole);
  if (result != kSuccess) return result;
  HALYARD_GPU_REQUIRE(offset <= whole && size <= whole - offset, gpu::kInvalidValue);
  const void* const at = pointer_to(address + offset);
  return is_to_symbol ? make_linear_copy(call, at, memory, size, kind, CopyForm::kSymbol, work)
                      : make_linear_copy(call, memory, at, size, kind, CopyForm::kSymbol, work);
}

gpu::PoolProperties pool_of(const PoolProperties& from) {
  gpu::PoolProperties to{};
  to.type = from.type;
  to.handle_types = from.handle_types;
  to.location = from.location;
  return to;
}

Result add_allocation(Call& call, GraphNode* node, Graph graph, const GraphNode* dependencies,
                      std::size_t count, AllocNodeParams& params) {
  HALYARD_GPU_REQUIRE(node != nullptr && gpu::resolve(graph) != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(params.bytes != 0 && params.pool.type == gpu::kPinned &&
                          params.pool.location.type == gpu::kLocationDevice &&
                          gpu::is_device(params.pool.location.id),
                      gpu::kInvalidValue);
  gpu::AllocNodeParams of{};
  of.pool = pool_of(params.pool);
  of.access = params.access;
  of.access_count = params.access_count;
  of.size = params.bytes;
  const Result result = gpu::add_alloc_node(call, node, graph, dependencies, count, &of);
  if (result == kSuccess) params.address = pointer_to(of.address);
  return result;
}

}  // namespace

// hipBatchMemOpNodeParams
struct MemOpNodeParams {
  Context context;
  unsigned count;
  MemOp* operations;
  unsigned flags;
};

namespace {

Result make_mem_ops(const MemOpNodeParams* params, Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr && params->operations != nullptr && params->count != 0 &&
                          params->count <= 256,
                      gpu::kInvalidValue);
  std::vector<MemOp> list(params->operations, params->operations + params->count);
  for (MemOp& each : list) each.more = ~std::uint64_t{0};  // these have no mask
  return gpu::make_mem_ops(list.data(), list.size(), work);
}

}  // namespace

#define HALYARD_HIP_COMMA ,
#define HALYARD_HIP_ADD(name, parameters, make)                                               \
  HALYARD_HIP_EXPORT Result name(GraphNode* node, Graph graph, const GraphNode* dependencies, \
                                 std::size_t count parameters) {                              \
    HALYARD_HIP_CALL(name, gpu::kCurrent) {                                                   \
      return add(graph, dependencies, count, node, [&](Work& work) -> Result { make; });      \
    };                                                                                        \
  }
#define HALYARD_HIP_SET(name, parameters, make)                \
  HALYARD_HIP_EXPORT Result name(GraphNode node, parameters) { \
    HALYARD_HIP_CALL(name, gpu::kCurrent) {                    \
      return set(node, [&](Work& work) -> Result { make; });   \
    };                                                         \
  }
#define HALYARD_HIP_SET_EXEC(name, parameters, make)                           \
  HALYARD_HIP_EXPORT Result name(GraphExec exec, GraphNode node, parameters) { \
    HALYARD_HIP_CALL(name, gpu::kCurrent) {                                    \
      return set_in(exec, node, [&](Work& work) -> Result { make; });          \
    };                                                                         \
  }

HALYARD_HIP_ADD(hipGraphAddEmptyNode, , {
  work = gpu::EmptyWork{};
  return kSuccess;
})
HALYARD_HIP_ADD(hipGraphAddKernelNode, HALYARD_HIP_COMMA const KernelNodeParams* params,
                return make_kernel(call, params, work))
HALYARD_HIP_ADD(hipGraphAddMemcpyNode, HALYARD_HIP_COMMA const Copy3D* copy,
                return make_copy(call, copy, work))
HALYARD_HIP_ADD(hipGraphAddMemcpyNode1D,
                HALYARD_HIP_COMMA void* dst HALYARD_HIP_COMMA const void* src HALYARD_HIP_COMMA
                    std::size_t bytes HALYARD_HIP_COMMA int kind,
                return make_linear_copy(call, dst, src, bytes, kind, CopyForm::kLinear, work))
HALYARD_HIP_ADD(hipGraphAddMemcpyNodeFromSymbol,
                HALYARD_HIP_COMMA void* dst HALYARD_HIP_COMMA const void* symbol HALYARD_HIP_COMMA
                    std::size_t bytes HALYARD_HIP_COMMA std::size_t offset
                        HALYARD_HIP_COMMA int kind,
                return make_symbol_copy(call, dst, symbol, bytes, offset, kind, false, work))
HALYARD_HIP_ADD(hipGraphAddMemcpyNodeToSymbol,
                HALYARD_HIP_COMMA const void* symbol HALYARD_HIP_COMMA const void* src
                    HALYARD_HIP_COMMA std::size_t bytes HALYARD_HIP_COMMA std::size_t offset
                        HALYARD_HIP_COMMA int kind,
                return make_symbol_copy(call, src, symbol, bytes, offset, kind, true, work))
HALYARD_HIP_ADD(hipGraphAddMemsetNode, HALYARD_HIP_COMMA const FillNodeParams* fill,
                return make_fill(call, fill, work))
HALYARD_HIP_ADD(hipGraphAddHostNode, HALYARD_HIP_COMMA const HostParams* params,
                return gpu::make_host(params, work))
HALYARD_HIP_ADD(hipGraphAddEventRecordNode, HALYARD_HIP_COMMA Event event,
                return gpu::make_event(event, true, work))
HALYARD_HIP_ADD(hipGraphAddEventWaitNode, HALYARD_HIP_COMMA Event event,
                return gpu::make_event(event, false, work))
HALYARD_HIP_ADD(hipGraphAddChildGraphNode, HALYARD_HIP_COMMA Graph child,
                return gpu::make_child(child, work))
HALYARD_HIP_ADD(hipDrvGraphAddMemcpyNode,
                HALYARD_HIP_COMMA const void* copy HALYARD_HIP_COMMA Context,
                return make_driver_copy(call, copy, work))
HALYARD_HIP_ADD(hipDrvGraphAddMemsetNode,
                HALYARD_HIP_COMMA const FillNodeParams* fill HALYARD_HIP_COMMA Context,
                return make_fill(call, fill, work))

HALYARD_HIP_ADD(hipGraphAddBatchMemOpNode, HALYARD_HIP_COMMA const MemOpNodeParams* params,
                return make_mem_ops(params, work))

HALYARD_HIP_SET(hipGraphBatchMemOpNodeSetParams, const MemOpNodeParams* params,
                return make_mem_ops(params, work))
HALYARD_HIP_SET_EXEC(hipGraphExecBatchMemOpNodeSetParams, const MemOpNodeParams* params,
                     return make_mem_ops(params, work))
HALYARD_HIP_SET(hipGraphKernelNodeSetParams, const KernelNodeParams* params, {
  // ROCm/clr#138: a bug of 6.3
  if (!is_since(kVersion64)) {
    gpu::report_misuse("kernel-node-parameters-set",
                       "hipGraphKernelNodeSetParams was called, which up to 6.3 keeps the caller's "
                       "memory and frees it; hipGraphExecKernelNodeSetParams does not");
  }
  return make_kernel(call, params, work);
})
HALYARD_HIP_SET(hipGraphMemcpyNodeSetParams, const Copy3D* copy, return make_copy(call, copy, work))
HALYARD_HIP_SET(hipGraphMemcpyNodeSetParams1D,
                void* dst HALYARD_HIP_COMMA const void* src HALYARD_HIP_COMMA std::size_t bytes
                    HALYARD_HIP_COMMA int kind,
                return make_linear_copy(call, dst, src, bytes, kind, CopyForm::kLinear, work))
HALYARD_HIP_SET(hipGraphMemcpyNodeSetParamsFromSymbol,
                void* dst HALYARD_HIP_COMMA const void* symbol HALYARD_HIP_COMMA std::size_t bytes
                    HALYARD_HIP_COMMA std::size_t offset HALYARD_HIP_COMMA int kind,
                return make_symbol_copy(call, dst, symbol, bytes, offset, kind, false, work))
HALYARD_HIP_SET(hipGraphMemcpyNodeSetParamsToSymbol,
                const void* symbol HALYARD_HIP_COMMA const void* src HALYARD_HIP_COMMA std::size_t
                    bytes HALYARD_HIP_COMMA std::size_t offset HALYARD_HIP_COMMA int kind,
                return make_symbol_copy(call, src, symbol, bytes, offset, kind, true, work))
HALYARD_HIP_SET(hipGraphMemsetNodeSetParams, const FillNodeParams* fill,
                return make_fill(call, fill, work))
HALYARD_HIP_SET(hipGraphHostNodeSetParams, const HostParams* params,
                return gpu::make_host(params, work))
HALYARD_HIP_SET(hipGraphEventRecordNodeSetEvent, Event event,
                return gpu::make_event(event, true, work))
HALYARD_HIP_SET(hipGraphEventWaitNodeSetEvent, Event event,
                return gpu::make_event(event, false, work))
HALYARD_HIP_SET(hipGraphNodeSetParams, NodeParams* params, return make_any(call, params, work))
HALYARD_HIP_SET(hipDrvGraphMemcpyNodeSetParams, const void* copy,
                return make_driver_copy(call, copy, work))

HALYARD_HIP_SET_EXEC(hipGraphExecKernelNodeSetParams, const KernelNodeParams* params,
                     return make_kernel(call, params, work))
HALYARD_HIP_SET_EXEC(hipGraphExecMemcpyNodeSetParams, const Copy3D* copy,
                     return make_copy(call, copy, work))
HALYARD_HIP_SET_EXEC(hipGraphExecMemcpyNodeSetParams1D,
                     void* dst HALYARD_HIP_COMMA const void* src HALYARD_HIP_COMMA std::size_t bytes
                         HALYARD_HIP_COMMA int kind,
                     return make_linear_copy(call, dst, src, bytes, kind, CopyForm::kLinear, work))
HALYARD_HIP_SET_EXEC(hipGraphExecMemcpyNodeSetParamsFromSymbol,
                     void* dst HALYARD_HIP_COMMA const void* symbol HALYARD_HIP_COMMA std::size_t
                         bytes HALYARD_HIP_COMMA std::size_t offset HALYARD_HIP_COMMA int kind,
                     return make_symbol_copy(call, dst, symbol, bytes, offset, kind, false, work))
HALYARD_HIP_SET_EXEC(hipGraphExecMemcpyNodeSetParamsToSymbol,
                     const void* symbol HALYARD_HIP_COMMA const void* src HALYARD_HIP_COMMA
                         std::size_t bytes HALYARD_HIP_COMMA std::size_t offset
                             HALYARD_HIP_COMMA int kind,
                     return make_symbol_copy(call, src, symbol, bytes, offset, kind, true, work))
HALYARD_HIP_SET_EXEC(hipGraphExecMemsetNodeSetParams, const FillNodeParams* fill,
                     return make_fill(call, fill, work))
HALYARD_HIP_SET_EXEC(hipGraphExecHostNodeSetParams, const HostParams* params,
                     return gpu::make_host(params, work))
HALYARD_HIP_SET_EXEC(hipGraphExecEventRecordNodeSetEvent, Event event,
                     return gpu::make_event(event, true, work))
HALYARD_HIP_SET_EXEC(hipGraphExecEventWaitNodeSetEvent, Event event,
                     return gpu::make_event(event, false, work))
HALYARD_HIP_SET_EXEC(hipGraphExecNodeSetParams, NodeParams* params,
                     return make_any(call, params, work))
HALYARD_HIP_SET_EXEC(hipDrvGraphExecMemcpyNodeSetParams, const void* copy HALYARD_HIP_COMMA Context,
                     return make_driver_copy(call, copy, work))
HALYARD_HIP_SET_EXEC(hipDrvGraphExecMemsetNodeSetParams,
                     const FillNodeParams* fill HALYARD_HIP_COMMA Context,
                     return make_fill(call, fill, work))

HALYARD_HIP_EXPORT Result hipGraphExecChildGraphNodeSetParams(GraphExec exec, GraphNode node,
                                                              Graph child) {
  HALYARD_HIP_CALL(hipGraphExecChildGraphNodeSetParams, gpu::kCurrent) {
    return gpu::set_exec_child(exec, node, child);
  };
}

HALYARD_HIP_EXPORT Result hipGraphAddMemAllocNode(GraphNode* node, Graph graph,
                                                  const GraphNode* dependencies, std::size_t count,
                                                  AllocNodeParams* params) {
  HALYARD_HIP_CALL(hipGraphAddMemAllocNode, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(params != nullptr, gpu::kInvalidValue);
    return add_allocation(call, node, graph, dependencies, count, *params);
  };
}

HALYARD_HIP_EXPORT Result hipGraphAddMemFreeNode(GraphNode* node, Graph graph,
                                                 const GraphNode* dependencies, std::size_t count,
                                                 void* pointer) {
  HALYARD_HIP_CALL(hipGraphAddMemFreeNode, gpu::kCurrent) {
    return gpu::add_free_node(node, graph, dependencies, count, address_of(pointer));
  };
}

HALYARD_HIP_EXPORT Result hipDrvGraphAddMemFreeNode(GraphNode* node, Graph graph,
                                                    const GraphNode* dependencies,
                                                    std::size_t count, void* pointer) {
  HALYARD_HIP_CALL(hipDrvGraphAddMemFreeNode, gpu::kCurrent) {
    return gpu::add_free_node(node, graph, dependencies, count, address_of(pointer));
  };
}

HALYARD_HIP_EXPORT Result hipGraphAddNode(GraphNode* node, Graph graph,
                                          const GraphNode* dependencies, std::size_t count,
                                          NodeParams* params) {
  HALYARD_HIP_CALL(hipGraphAddNode, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(params != nullptr, gpu::kInvalidValue);
    if (params->type == kAllocNode) {
      return add_allocation(call, node, graph, dependencies, count, params->allocation);
    }
    if (params->type == kFreeNode) {
      return gpu::add_free_node(node, graph, dependencies, count, address_of(params->free_address));
    }
    return add(graph, dependencies, count, node,
               [&](Work& work) { return make_any(call, params, work); });
  };
}

HALYARD_HIP_EXPORT Result hipGraphKernelNodeGetParams(GraphNode node, KernelNodeParams* params) {
  HALYARD_HIP_CALL(hipGraphKernelNodeGetParams, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(params != nullptr, gpu::kInvalidValue);
    return read_kernel(node, *params);
  };
}

HALYARD_HIP_EXPORT Result hipGraphMemcpyNodeGetParams(GraphNode node, Copy3D* copy) {
  HALYARD_HIP_CALL(hipGraphMemcpyNodeGetParams, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(copy != nullptr, gpu::kInvalidValue);
    return read_copy(node, *copy);
  };
}

HALYARD_HIP_EXPORT Result hipDrvGraphMemcpyNodeGetParams(GraphNode node, void* copy) {
  HALYARD_HIP_CALL(hipDrvGraphMemcpyNodeGetParams, gpu::kInitialized) {
    return read_driver_copy(node, copy);
  };
}

HALYARD_HIP_EXPORT Result hipGraphMemsetNodeGetParams(GraphNode node, FillNodeParams* fill) {
  HALYARD_HIP_CALL(hipGraphMemsetNodeGetParams, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(fill != nullptr, gpu::kInvalidValue);
    return read_fill(node, *fill);
  };
}

// The node owns the list, which is valid until it is replaced.
HALYARD_HIP_EXPORT Result hipGraphBatchMemOpNodeGetParams(GraphNode node, MemOpNodeParams* params) {
  HALYARD_HIP_CALL(hipGraphBatchMemOpNodeGetParams, gpu::kInitialized) {
    const auto* const work = gpu::work_of_node<gpu::MemOpWork>(node);
    HALYARD_GPU_REQUIRE(work != nullptr && params != nullptr, gpu::kInvalidValue);
    *params = {nullptr, static_cast<unsigned>(work->operations.size()),
               const_cast<MemOp*>(work->operations.data()), 0};
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphHostNodeGetParams(GraphNode node, HostParams* params) {
  HALYARD_HIP_CALL(hipGraphHostNodeGetParams, gpu::kInitialized) {
    const auto* const work = gpu::work_of_node<gpu::HostWork>(node);
    HALYARD_GPU_REQUIRE(work != nullptr && params != nullptr, gpu::kInvalidValue);
    *params = work->host;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphMemAllocNodeGetParams(GraphNode node, AllocNodeParams* params) {
  HALYARD_HIP_CALL(hipGraphMemAllocNodeGetParams, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(params != nullptr, gpu::kInvalidValue);
    gpu::AllocNodeParams of{};
    const Result result = gpu::alloc_node_params(node, &of);
    if (result != kSuccess) return result;
    *params = {};
    params->pool.type = of.pool.type;
    params->pool.location = of.pool.location;
    params->access = of.access;
    params->access_count = of.access_count;
    params->bytes = of.size;
    params->address = pointer_to(of.address);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphMemFreeNodeGetParams(GraphNode node, void* pointer) {
  HALYARD_HIP_CALL(hipGraphMemFreeNodeGetParams, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
    DevicePointer address = 0;
    const Result result = gpu::freed_address(node, &address);
    if (result == kSuccess) std::memcpy(pointer, &address, sizeof address);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipGraphEventRecordNodeGetEvent(GraphNode node, Event* event) {
  HALYARD_HIP_CALL(hipGraphEventRecordNodeGetEvent, gpu::kInitialized) {
    return gpu::recorded_event(node, event);
  };
}

HALYARD_HIP_EXPORT Result hipGraphEventWaitNodeGetEvent(GraphNode node, Event* event) {
  HALYARD_HIP_CALL(hipGraphEventWaitNodeGetEvent, gpu::kInitialized) {
    return gpu::awaited_event(node, event);
  };
}

HALYARD_HIP_EXPORT Result hipGraphChildGraphNodeGetGraph(GraphNode node, Graph* graph) {
  HALYARD_HIP_CALL(hipGraphChildGraphNodeGetGraph, gpu::kInitialized) {
    return gpu::child_graph(node, graph);
  };
}

namespace {

// hipLaunchAttributeAccessPolicyWindow, Cooperative, Priority
bool is_node_attribute(int id) { return id == 1 || id == kCooperativeAttribute || id == 8; }

}  // namespace

HALYARD_HIP_EXPORT Result hipGraphKernelNodeSetAttribute(GraphNode node, int id,
                                                         const gpu::AttributeValue* value) {
  HALYARD_HIP_CALL(hipGraphKernelNodeSetAttribute, gpu::kInitialized) {
    const auto* const work = gpu::work_of_node<gpu::KernelWork>(node);
    HALYARD_GPU_REQUIRE(work != nullptr && value != nullptr && is_node_attribute(id),
                        gpu::kInvalidValue);
    const_cast<gpu::KernelWork*>(work)->attributes[id] = *value;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphKernelNodeGetAttribute(GraphNode node, int id,
                                                         gpu::AttributeValue* value) {
  HALYARD_HIP_CALL(hipGraphKernelNodeGetAttribute, gpu::kInitialized) {
    const auto* const work = gpu::work_of_node<gpu::KernelWork>(node);
    HALYARD_GPU_REQUIRE(work != nullptr && value != nullptr && is_node_attribute(id),
                        gpu::kInvalidValue);
    const auto at = work->attributes.find(id);
    *value = at != work->attributes.end() ? at->second : gpu::AttributeValue{};
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphKernelNodeCopyAttributes(GraphNode from, GraphNode to) {
  HALYARD_HIP_CALL(hipGraphKernelNodeCopyAttributes, gpu::kInitialized) {
    const auto* const source = gpu::work_of_node<gpu::KernelWork>(from);
    const auto* const target = gpu::work_of_node<gpu::KernelWork>(to);
    HALYARD_GPU_REQUIRE(source != nullptr && target != nullptr, gpu::kInvalidValue);
    const_cast<gpu::KernelWork*>(target)->attributes = source->attributes;
    return kSuccess;
  };
}

}  // namespace halyard::inline v0::sim::hip
