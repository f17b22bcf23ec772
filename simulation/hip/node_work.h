// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of graph nodes, made from HIP's parameters. The State is locked.
#pragma once

#include "simulation/gpu/graph.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// The form of a copy node. Only calls of the form that created the node may set its parameters. It
// is part of CopyWork::kind, which an update must not change (hip_graph.cpp:1192).
enum class CopyForm : int { kLinear = 0, kBox = 0x100, kDriver = 0x200, kSymbol = 0x300 };

Result make_kernel(Call& call, const KernelNodeParams* params, gpu::Work& work);
Result make_copy(Call& call, const Copy3D* copy, gpu::Work& work);
// Takes HIP_MEMCPY3D in the layout of the version.
Result make_driver_copy(Call& call, const void* copy, gpu::Work& work);
Result make_linear_copy(Call& call, const void* dst, const void* src, std::size_t size, int kind,
                        CopyForm form, gpu::Work& work);
Result make_fill(Call& call, const FillNodeParams* fill, gpu::Work& work);
// Makes the work of hipGraphAddNode, except for allocation and free nodes.
Result make_any(Call& call, const NodeParams* params, gpu::Work& work);

Result read_kernel(GraphNode node, KernelNodeParams& params);
Result read_copy(GraphNode node, Copy3D& copy);
Result read_driver_copy(GraphNode node, void* copy);
Result read_fill(GraphNode node, FillNodeParams& fill);

// Replaces the parameters of a node of an executable graph.
Result set_exec(GraphExec exec, GraphNode node, Result made, gpu::Work work);

}  // namespace halyard::inline v0::sim::hip
