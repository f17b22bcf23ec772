// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/node_work.h"

#include "simulation/gpu/copy.h"
#include "simulation/gpu/graph_nodes.h"
#include "simulation/gpu/launch.h"
#include "simulation/hip/copy.h"
#include "simulation/hip/device.h"
#include "simulation/hip/registered.h"

namespace halyard::inline v0::sim::hip {
namespace {

Result make_copy_work(Call& call, const gpu::Copy3D& copy, int kind, gpu::Work& work) {
  const Result result = gpu::work_of(copy, &call.context(), work);
  if (result == kSuccess) std::get<gpu::CopyWork>(work).kind = kind;
  return result;
}

}  // namespace

Result make_kernel(Call& call, const KernelNodeParams* params, gpu::Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr && params->function != nullptr, gpu::kInvalidValue);
  Function function = nullptr;
  Result result = any_function(params->function, call.context().device, function);
  if (result != kSuccess) return result;
  const unsigned grid[3] = {params->grid.x, params->grid.y, params->grid.z};
  const unsigned block[3] = {params->block.x, params->block.y, params->block.z};
  void** const extra = has_bug(Bug::kOldExtraIgnored) ? nullptr : params->extra;
  // The node is on the device of its function.
  ContextState& context = *function->object->module->context;
  gpu::KernelWork kernel;
  result = gpu::make_kernel_work(
      context, function, {grid, block, params->shared_bytes, params->parameters, extra}, kernel);
  work = std::move(kernel);
  return result;
}

Result make_copy(Call& call, const Copy3D* copy, gpu::Work& work) {
  HALYARD_GPU_REQUIRE(copy != nullptr, gpu::kInvalidValue);
  gpu::Copy3D whole{};
  const Result result = convert(*copy, whole);
  if (result != kSuccess) return result;
  return make_copy_work(call, whole, static_cast<int>(CopyForm::kBox) | copy->kind, work);
}

Result make_driver_copy(Call& call, const void* copy, gpu::Work& work) {
  gpu::Copy3D whole{};
  const Result result = convert_driver_copy(copy, whole);
  if (result != kSuccess) return result;
  return make_copy_work(call, whole, static_cast<int>(CopyForm::kDriver), work);
}

Result make_linear_copy(Call& call, const void* dst, const void* src, std::size_t size, int kind,
                        CopyForm form, gpu::Work& work) {
  HALYARD_GPU_REQUIRE(dst != nullptr && src != nullptr && size != 0 && dst != src,
                      gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(is_copy_kind(kind), kInvalidDirection);
  // As for calls, bytes beyond an allocation are an invalid value.
  for (const void* const side : {dst, src}) {
    const gpu::Place& place = gpu::memory().place(address_of(side));
    HALYARD_GPU_REQUIRE(!place.is_allocated || size <= place.end - address_of(side),
                        gpu::kInvalidValue);
  }
  const gpu::Linear linear{gpu::kUnified, address_of(dst), gpu::kUnified, address_of(src), size};
  return make_copy_work(call, gpu::from_linear(linear), static_cast<int>(form) | kind, work);
}

Result make_fill(Call& call, const FillNodeParams* fill, gpu::Work& work) {
  HALYARD_GPU_REQUIRE(fill != nullptr && fill->dst != nullptr && fill->height != 0,
                      gpu::kInvalidValue);
  const unsigned size = fill->element_size;
  HALYARD_GPU_REQUIRE(size == 1 || size == 2 || size == 4, gpu::kInvalidValue);
  // IREE passes four equal bytes for 1-byte elements; only the low element counts.
  const unsigned value = size == 4 ? fill->value : fill->value & ((1U << (size * 8)) - 1);
  const std::size_t row = fill->width * size;
  const std::size_t bytes = (fill->height - 1) * fill->pitch + row;
  const gpu::Place& place = gpu::memory().place(address_of(fill->dst));
  HALYARD_GPU_REQUIRE(place.is_allocated && bytes <= place.end - address_of(fill->dst),
                      gpu::kInvalidValue);
  return gpu::work_of(
      gpu::Fill{address_of(fill->dst), fill->pitch, value, size, fill->width, fill->height},
      &call.context(), work);
}

Result make_any(Call& call, const NodeParams* params, gpu::Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr, gpu::kInvalidValue);
  switch (params->type) {
    case kKernelNode:
      return make_kernel(call, &params->kernel, work);
    case kCopyNode:
      return make_copy(call, &params->copy.copy, work);
    case kFillNode:
      return make_fill(call, &params->fill, work);
    case kHostNode:
      return gpu::make_host(&params->host, work);
    case kGraphNode:
      return gpu::make_child(params->graph, work);
    case kEmptyNode:
      work = gpu::EmptyWork{};
      return kSuccess;
    case kWaitEventNode:
    case kRecordEventNode:
      return gpu::make_event(params->event, params->type == kRecordEventNode, work);
    default:
      return gpu::kNotSupported;
  }
}

Result read_kernel(GraphNode node, KernelNodeParams& params) {
  const auto* const work = gpu::work_of_node<gpu::KernelWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr, gpu::kInvalidValue);
  // The node owns the packed parameters. The pointers refer to them and are valid until the
  // parameters are replaced.
  auto& kernel = const_cast<gpu::KernelWork&>(*work);
  kernel.pointers.clear();
  for (const gpu::Parameter& parameter : kernel.function->info().parameters) {
    kernel.pointers.push_back(kernel.parameters.data() + parameter.offset);
  }
  params = {};
  params.block = {kernel.block[0], kernel.block[1], kernel.block[2]};
  params.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]};
  params.function = gpu::function_of(*kernel.function->module, kernel.function->entry);
  params.shared_bytes = kernel.shared_bytes;
  params.parameters = kernel.pointers.data();
  return kSuccess;
}

Result read_copy(GraphNode node, Copy3D& copy) {
  const auto* const work = gpu::work_of_node<gpu::CopyWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr, gpu::kInvalidValue);
  const gpu::Copy3D& of = work->copy;
  copy = {};
  copy.src_at = {of.src_x, of.src_y, of.src_z};
  copy.src = {pointer_to(of.src_device), of.src_pitch, of.width, of.src_height};
  copy.dst_at = {of.dst_x, of.dst_y, of.dst_z};
  copy.dst = {pointer_to(of.dst_device), of.dst_pitch, of.width, of.dst_height};
  copy.extent = {of.width, of.height, of.depth};
  copy.kind = work->kind & 0xff;
  return kSuccess;
}

namespace {

template <class T>
void write_driver_copy(const gpu::Copy3D& of, unsigned type, T& copy) {
  copy = {};
  const auto set = [](auto& to, std::size_t value) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(value);
  };
  copy.src_type = copy.dst_type = type;
  set(copy.src_x, of.src_x);
  set(copy.src_y, of.src_y);
  set(copy.src_z, of.src_z);
  set(copy.src_pitch, of.src_pitch);
  set(copy.src_height, of.src_height);
  set(copy.dst_x, of.dst_x);
  set(copy.dst_y, of.dst_y);
  set(copy.dst_z, of.dst_z);
  set(copy.dst_pitch, of.dst_pitch);
  set(copy.dst_height, of.dst_height);
  copy.src_device = pointer_to(of.src_device);
  copy.dst_device = pointer_to(of.dst_device);
  set(copy.width, of.width);
  set(copy.height, of.height);
  set(copy.depth, of.depth);
}

}  // namespace

Result read_driver_copy(GraphNode node, void* copy) {
  const auto* const work = gpu::work_of_node<gpu::CopyWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && copy != nullptr, gpu::kInvalidValue);
  if (is_since(kVersion60)) {
    write_driver_copy(work->copy, memory_type::kUnified, *static_cast<DriverCopy*>(copy));
  } else {
    write_driver_copy(work->copy, memory_type::kOldUnified, *static_cast<DriverCopyOld*>(copy));
  }
  return kSuccess;
}

Result read_fill(GraphNode node, FillNodeParams& fill) {
  const auto* const work = gpu::work_of_node<gpu::FillWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr, gpu::kInvalidValue);
  const gpu::Fill& of = work->fill;
  fill = {pointer_to(of.dst), of.element_size, of.height, of.pitch, of.value, of.width};
  return kSuccess;
}

Result set_exec(GraphExec exec, GraphNode node, Result made, gpu::Work work) {
  HALYARD_GPU_REQUIRE(made == kSuccess, made);
  const gpu::ExecState* const of = gpu::resolve(exec);
  const gpu::NodeState* const to = gpu::resolve(node);
  HALYARD_GPU_REQUIRE(of != nullptr && to != nullptr, gpu::kInvalidValue);
  const auto at = of->index.find(to->id);
  HALYARD_GPU_REQUIRE(at != of->index.end(), gpu::kInvalidValue);
  const gpu::Work& old = of->plan->nodes[at->second].work;
  // hip_graph.cpp: parameters of a form only apply to nodes of that form, and the node keeps its
  // old kind.
  const auto* const old_copy = std::get_if<gpu::CopyWork>(&old);
  const auto* const new_copy = std::get_if<gpu::CopyWork>(&work);
  if (old_copy != nullptr && new_copy != nullptr && old_copy->kind != new_copy->kind) {
    if ((old_copy->kind & ~0xff) != (new_copy->kind & ~0xff)) {
      gpu::report_misuse("copy-node-of-another-form",
                         "parameters of one form were set for a copy node that was made with "
                         "another, which the real library does not check");
    }
    return gpu::kInvalidValue;
  }
  if (std::holds_alternative<gpu::KernelWork>(work) && has_bug(Bug::kStaleKernelNode)) {
    return kSuccess;  // and the node keeps its old work
  }
  return gpu::set_in_exec(exec, node, made, std::move(work));
}

}  // namespace halyard::inline v0::sim::hip
