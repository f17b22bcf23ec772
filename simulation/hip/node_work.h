// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of graph nodes, made from HIP's parameters. The State is locked.
#pragma once

#include "simulation/gpu/graph.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// Which calls may set the parameters of a copy node: those of the form that it was made with. It is
// part of CopyWork::kind, which an update may not change (hip_graph.cpp:1192).
enum class CopyForm : int { kLinear = 0, kBox = 0x100, kDriver = 0x200, kSymbol = 0x300 };

Result make_kernel(Call& call, const KernelNodeParams* params, gpu::Work& work);
Result make_copy(Call& call, const Copy3D* copy, gpu::Work& work);
// HIP_MEMCPY3D in the layout of the version.
Result make_driver_copy(Call& call, const void* copy, gpu::Work& work);
Result make_linear_copy(Call& call, const void* dst, const void* src, std::size_t size, int kind,
                        CopyForm form, gpu::Work& work);
Result make_fill(Call& call, const FillNodeParams* fill, gpu::Work& work);
// Of hipGraphAddNode; allocation and free nodes are added otherwise.
Result make_any(Call& call, const NodeParams* params, gpu::Work& work);

Result read_kernel(GraphNode node, KernelNodeParams& params);
Result read_copy(GraphNode node, Copy3D& copy);
Result read_driver_copy(GraphNode node, void* copy);
Result read_fill(GraphNode node, FillNodeParams& fill);

// A node of an executable graph gets new parameters.
Result set_exec(GraphExec exec, GraphNode node, Result made, gpu::Work work);

}  // namespace halyard::inline v0::sim::hip
