// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/graph_params.h"

#include "simulation/gpu/graph_nodes.h"
#include "simulation/gpu/launch.h"
#include "simulation/gpu/module.h"

namespace halyard::inline v0::sim::cuda {

Result work_of(const KernelParams& params, ContextState* current, Work& work) {
  // cuda.h, CUDA_KERNEL_NODE_PARAMS: the context is the node's or the current one, "This field is
  // ignored if func is set". A function belongs to the context of its module.
  Function function = params.function;
  ContextState* context = current;
  if (function != nullptr && !is_handle(reinterpret_cast<Kernel>(function))) {
    const FunctionState* const of = resolve(function);
    HALYARD_GPU_REQUIRE(of != nullptr, kInvalidHandle);
    context = of->module->context;
  } else if (params.context != nullptr) {
    context = resolve(params.context);
  }
  HALYARD_GPU_REQUIRE(function != nullptr || params.kernel != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
  if (function == nullptr) {
    if (const Result result = function_of_kernel(*context, params.kernel, function);
        result != kSuccess) {
      return result;
    }
  }
  KernelWork kernel;
  const Result result = make_kernel_work(
      *context, function,
      {params.grid, params.block, params.shared_bytes, params.parameters, params.extra}, kernel);
  work = std::move(kernel);
  return result;
}

Result work_of(const NodeParams& params, ContextState* current, Work& work) {
  switch (params.type) {
    case kKernelNode:
      return work_of(params.kernel, current, work);
    case kCopyNode: {
      ContextState* context = current;
      if (params.copy.context != nullptr) context = resolve(params.copy.context);
      return work_of(params.copy.copy, context, work);
    }
    case kFillNode: {
      ContextState* context = current;
      if (params.fill.context != nullptr) context = resolve(params.fill.context);
      return work_of(params.fill, context, work);
    }
    case kHostNode:
      HALYARD_GPU_REQUIRE(params.host.function != nullptr, kInvalidValue);
      work = HostWork{params.host};
      return kSuccess;
    case kEmptyNode:
      work = EmptyWork{};
      return kSuccess;
    case kWaitEventNode:
    case kRecordEventNode: {
      EventState* const event = resolve(params.event);
      HALYARD_GPU_REQUIRE(event != nullptr, kInvalidValue);
      if (params.type == kWaitEventNode) {
        work = WaitWork{params.event->object};
      } else {
        work = RecordWork{params.event->object, nullptr};
      }
      return kSuccess;
    }
    case kGraphNode: {
      GraphState* const child = resolve(params.graph);
      HALYARD_GPU_REQUIRE(child != nullptr, kInvalidValue);
      std::shared_ptr<GraphState> copy = clone(*child);
      copy->is_child = true;
      work = GraphWork{nullptr, std::move(copy)};
      return kSuccess;
    }
    case kMemOpNode: {
      const MemOpNodeParams& batch = params.operations;
      HALYARD_GPU_REQUIRE(batch.operations != nullptr && batch.count != 0, kInvalidValue);
      work = MemOpWork{0, {batch.operations, batch.operations + batch.count}};
      return kSuccess;
    }
    default:
      return kNotSupported;
  }
}

}  // namespace halyard::inline v0::sim::cuda
