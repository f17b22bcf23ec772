// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/graph.h"

#include <algorithm>

#include "simulation/gpu/copy.h"
#include "simulation/gpu/managed.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {

GraphState::~GraphState() = default;

NodeType type_of(const Work& work) {
  constexpr NodeType kTypes[] = {
      kEmptyNode,     kKernelNode, kCopyNode, kFillNode,  kHostNode,  kHostNode, kRecordEventNode,
      kWaitEventNode, kMemOpNode,  kFreeNode, kGraphNode, kAllocNode, kFreeNode};
  static_assert(std::size(kTypes) == std::variant_size_v<Work>);
  return kTypes[work.index()];
}

namespace {

std::uint64_t pinned_at(MemoryType type, const void* host, DevicePointer device) {
  const std::optional<Allocation> found =
      memory().find(type == kHost ? reinterpret_cast<DevicePointer>(host) : device);
  return found && found->kind == MemoryKind::kHost ? found->id : 0;
}
PinnedEnds pinned_ends(const Copy3D& copy) {
  return {pinned_at(copy.src_type, copy.src_host, copy.src_device),
          pinned_at(copy.dst_type, copy.dst_host, copy.dst_device)};
}

// On an H200, cuGraphLaunch crashes the process in this case.
void report_replaced_memory(const Plan& plan) {
  for (const PlanNode& node : plan.nodes) {
    const auto* const work = std::get_if<CopyWork>(&node.work);
    if (work == nullptr || !node.is_enabled) continue;
    const PinnedEnds now = pinned_ends(work->copy);
    if ((work->pinned.source == 0 || work->pinned.source == now.source) &&
        (work->pinned.target == 0 || work->pinned.target == now.target)) {
      continue;
    }
    report_misuse("copy-of-freed-memory",
                  std::string("a graph was launched that copies memory of ") +
                      rules().names.allocate_host +
                      " which was freed since, whatever has its address now");
  }
}

}  // namespace

void note_pinned_ends(Work& work) {
  if (auto* const copy = std::get_if<CopyWork>(&work)) copy->pinned = pinned_ends(copy->copy);
}

NodeState& append_node(GraphState& graph, std::vector<NodeState*> dependencies, Work work) {
  auto node = std::make_shared<NodeState>();
  node->graph = &graph;
  node->id = node->serial = state().next_id++;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  node->handle = make_handle(node);
  graph.nodes.push_back(node);
  return *node;
}

Result add_node(GraphState& graph, std::span<const GraphNode> dependencies, Work work,
                GraphNode* node) {
  HALYARD_GPU_REQUIRE(node != nullptr, kInvalidValue);
  std::vector<NodeState*> before;
  for (const GraphNode handle : dependencies) {
    NodeState* const dependency = resolve(handle);
    HALYARD_GPU_REQUIRE(dependency != nullptr && dependency->graph == &graph, kInvalidValue);
    // cuda.h, cuGraphAddNode: "dependencies may not have any duplicate entries"
    HALYARD_GPU_REQUIRE(std::ranges::find(before, dependency) == before.end(), kInvalidValue);
    before.push_back(dependency);
  }
  *node = append_node(graph, std::move(before), std::move(work)).handle;
  return kSuccess;
}

std::shared_ptr<GraphState> clone(const GraphState& graph) {
  auto copy = std::make_shared<GraphState>();
  copy->users = graph.users;
  std::map<const NodeState*, NodeState*> copies;
  for (const auto& node : graph.nodes) {
    Work work = node->work;
    if (auto* const child = std::get_if<GraphWork>(&work)) {
      child->graph = clone(*child->graph);
      child->graph->is_child = true;
    }
    NodeState& twin = append_node(*copy, {}, std::move(work));
    twin.id = node->id;
    copies[node.get()] = &twin;
  }
  for (const auto& node : graph.nodes) {
    for (NodeState* const before : node->dependencies) {
      copies[node.get()]->dependencies.push_back(copies[before]);
    }
  }
  return copy;
}

Result instantiate(GraphState& graph, std::uint64_t flags, std::shared_ptr<ExecState>& exec) {
  auto made = std::make_shared<ExecState>();
  auto plan = std::make_shared<Plan>();
  made->flags = flags;
  std::map<const NodeState*, std::size_t> place;
  while (place.size() < graph.nodes.size()) {
    const std::size_t before = place.size();
    for (const auto& node : graph.nodes) {
      if (place.contains(node.get()) ||
          !std::ranges::all_of(node->dependencies, [&](const NodeState* dependency) {
            return place.contains(dependency);
          })) {
        continue;
      }
      PlanNode planned{node->work, {}, true};
      if (auto* const child = std::get_if<GraphWork>(&planned.work)) {
        std::shared_ptr<ExecState> inner;
        if (const Result result = instantiate(*child->graph, 0, inner); result != kSuccess) {
          return result;
        }
        *child = GraphWork{inner->plan, nullptr};
      }
      for (const NodeState* dependency : node->dependencies) {
        planned.dependencies.push_back(place[dependency]);
      }
      place[node.get()] = plan->nodes.size();
      made->index[node->id] = plan->nodes.size();
      made->ids.push_back(node->id);
      plan->nodes.push_back(std::move(planned));
    }
    HALYARD_GPU_REQUIRE(place.size() > before, kInvalidValue);  // a cycle
  }
  for (const auto& node : graph.nodes) made->order.push_back(place[node.get()]);
  plan->only_computes = std::ranges::all_of(plan->nodes, [](const PlanNode& node) {
    const NodeType type = type_of(node.work);
    return type == kEmptyNode || type == kKernelNode || type == kCopyNode || type == kFillNode;
  });
  for (const auto& [object, references] : graph.users) plan->users.push_back(object);
  made->plan = std::move(plan);
  exec = std::move(made);
  return kSuccess;
}

namespace {

// Properties that an update must not change; CUDA documents them at cuGraphExecUpdate and at each
// SetParams function.
UpdateResult may_replace(const Work& old, const Work& now) {
  if (type_of(old) != type_of(now)) return kNodeTypeChanged;
  if (const auto* kernel = std::get_if<KernelWork>(&now)) {
    if (kernel->context != std::get<KernelWork>(old).context) return kFunctionChanged;
  } else if (const auto* copy = std::get_if<CopyWork>(&now)) {
    const Copy3D& before = std::get<CopyWork>(old).copy;
    if (before.src_type != copy->copy.src_type || before.dst_type != copy->copy.dst_type ||
        std::get<CopyWork>(old).context != copy->context ||
        std::get<CopyWork>(old).kind != copy->kind) {
      return kParametersChanged;
    }
  } else if (const auto* fill = std::get_if<FillWork>(&now)) {
    // cuda.h, cuGraphExecMemsetNodeSetParams and cuGraphExecUpdate: the context must not change; a
    // 2-D memset may only change its address and value.
    const FillWork& before = std::get<FillWork>(old);
    if (before.context != fill->context) return kParametersChanged;
    if ((before.fill.height > 1 || fill->fill.height > 1) &&
        (before.fill.width != fill->fill.width || before.fill.height != fill->fill.height ||
         before.fill.pitch != fill->fill.pitch ||
         before.fill.element_size != fill->fill.element_size)) {
      return kParametersChanged;
    }
  }
  return kUpdateSuccess;
}

}  // namespace

void keep_attributes(Work& from, Work& to) {
  auto* const old = std::get_if<KernelWork>(&from);
  auto* const now = std::get_if<KernelWork>(&to);
  if (old != nullptr && now != nullptr) now->attributes = std::move(old->attributes);
}

Result set_exec_node(ExecState& exec, const NodeState& node, Work work) {
  const auto at = exec.index.find(node.id);
  HALYARD_GPU_REQUIRE(at != exec.index.end(), kInvalidValue);
  // In null mode no work in flight uses the plan.
  auto plan = options().null && exec.plan->only_computes ? std::const_pointer_cast<Plan>(exec.plan)
                                                         : std::make_shared<Plan>(*exec.plan);
  PlanNode& planned = plan->nodes[at->second];
  HALYARD_GPU_REQUIRE(may_replace(planned.work, work) == kUpdateSuccess, kInvalidValue);
  keep_attributes(planned.work, work);
  planned.work = std::move(work);
  exec.plan = std::move(plan);
  return kSuccess;
}

UpdateResult update_exec(ExecState& exec, GraphState& graph, NodeState*& culprit) {
  culprit = nullptr;
  if (graph.nodes.size() != exec.order.size()) {
    if (graph.nodes.size() > exec.order.size()) culprit = graph.nodes[exec.order.size()].get();
    return kTopologyChanged;
  }
  auto plan = std::make_shared<Plan>(*exec.plan);
  std::map<const NodeState*, std::size_t> place;
  // cuda.h, cuGraphExecUpdate: nodes are paired in the order in which they were added.
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) place[graph.nodes[i].get()] = exec.order[i];
  for (const auto& node : graph.nodes) {
    PlanNode& planned = plan->nodes[place[node.get()]];
    culprit = node.get();
    std::vector<std::size_t> before;
    for (const NodeState* dependency : node->dependencies) before.push_back(place[dependency]);
    std::ranges::sort(before);
    std::ranges::sort(planned.dependencies);
    Work work = node->work;
    if (type_of(work) != type_of(planned.work)) return kNodeTypeChanged;
    if (before != planned.dependencies) return kTopologyChanged;
    if (const UpdateResult result = may_replace(planned.work, work); result != kUpdateSuccess) {
      return result;
    }
    if (auto* const child = std::get_if<GraphWork>(&work)) {
      std::shared_ptr<ExecState> inner;
      if (instantiate(*child->graph, 0, inner) != kSuccess ||
          inner->plan->nodes.size() != std::get<GraphWork>(planned.work).plan->nodes.size()) {
        return kTopologyChanged;
      }
      work = GraphWork{inner->plan, nullptr};
    }
    planned.work = std::move(work);
  }
  plan->users.clear();
  for (const auto& [object, references] : graph.users) plan->users.push_back(object);
  exec.plan = std::move(plan);
  culprit = nullptr;
  return kUpdateSuccess;
}

namespace {

// Notes the launch in the contexts of nodes that differ from the stream's context.
void note_foreign_launch(const Plan& plan, const Wait& launch) {
  for (const PlanNode& node : plan.nodes) {
    if (const auto* const child = std::get_if<GraphWork>(&node.work)) {
      note_foreign_launch(*child->plan, launch);
      continue;
    }
    ContextState* const context = context_of(node.work);
    if (context == nullptr || context == launch.stream->context) continue;
    std::vector<Wait>& launches = context->foreign_launches;
    const bool is_noted = !launches.empty() && launches.back().stream == launch.stream &&
                          launches.back().sequence == launch.sequence;
    if (is_noted) continue;
    std::erase_if(launches, has_passed);
    launches.push_back(launch);
  }
}

// The memory of a plan's nodes.
struct PlanMemory {
  std::vector<GraphMemory*> allocated, freed;
};

void collect_memory(const Plan& plan, PlanMemory& memory) {
  for (const PlanNode& node : plan.nodes) {
    if (const auto* const allocation = std::get_if<AllocNodeWork>(&node.work)) {
      memory.allocated.push_back(allocation->memory.get());
    } else if (const auto* const free = std::get_if<FreeNodeWork>(&node.work)) {
      memory.freed.push_back(free->memory.get());
    } else if (const auto* const child = std::get_if<GraphWork>(&node.work)) {
      collect_memory(*child->plan, memory);
    }
  }
}

bool contains(const std::vector<GraphMemory*>& list, const GraphMemory* memory) {
  return std::ranges::find(list, memory) != list.end();
}

// cuda.h, cuGraphLaunch: "If any allocations created by hGraphExec remain unfreed (from a previous
// launch) and hGraphExec was not instantiated with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
// the launch will fail with CUDA_ERROR_INVALID_VALUE."
Result check_memory(const PlanMemory& memory, bool frees_on_launch) {
  for (const GraphMemory* const each : memory.allocated) {
    HALYARD_GPU_REQUIRE(!each->is_live || frees_on_launch, kInvalidValue);
  }
  for (const GraphMemory* const each : memory.freed) {
    HALYARD_GPU_REQUIRE(each->is_live || contains(memory.allocated, each), kInvalidValue);
  }
  return kSuccess;
}

void note_memory_of_launch(const PlanMemory& of) {
  for (GraphMemory* const each : of.allocated) {
    each->is_live = !contains(of.freed, each);
    memory().mark_allocated(each->address);
  }
  for (GraphMemory* const each : of.freed) {
    if (!contains(of.allocated, each)) free_graph_memory(*each);
  }
}

}  // namespace

Result make_free_node(const GraphState& graph, DevicePointer address, Work& work) {
  std::shared_ptr<GraphMemory> memory = graph_memory_at(address);
  HALYARD_GPU_REQUIRE(memory != nullptr, kInvalidValue);
  for (const auto& node : graph.nodes) {
    const auto* const free = std::get_if<FreeNodeWork>(&node->work);
    HALYARD_GPU_REQUIRE(free == nullptr || free->memory != memory, kInvalidValue);
  }
  work = FreeNodeWork{address, std::move(memory)};
  return kSuccess;
}

Result free_graph_memory(GraphMemory& of) {
  if (!of.is_live) {
    report_misuse("free-of-no-allocation",
                  "memory of an allocation node was freed that no launch has allocated, or that "
                  "its own graph frees");
    return kInvalidValue;
  }
  of.is_live = false;
  memory().mark_freed(of.address);
  return kSuccess;
}

Result launch_graph(ExecState& exec, StreamState& stream) {
  if (const Result result = check_stream(stream); result != kSuccess) return result;
  if (exec.plan->only_computes && takes_nothing(stream)) return kSuccess;
  PlanMemory used;
  collect_memory(*exec.plan, used);
  if (const Result result = check_memory(used, (exec.flags & kInstantiateAutoFree) != 0);
      result != kSuccess) {
    return result;
  }
  if (stream.capture == nullptr && exec.latest.stream != nullptr && !has_passed(exec.latest)) {
    stream.waits.push_back(exec.latest);
  }
  report_replaced_memory(*exec.plan);
  const Result result = submit(stream, GraphWork{exec.plan, nullptr});
  if (result != kSuccess) return result;
  note_memory_of_launch(used);
  exec.latest = {stream.shared_from_this(), stream.submitted, nullptr};
  note_foreign_launch(*exec.plan, exec.latest);
  guard_managed_memory();
  return kSuccess;
}

Result work_of(const Fill& params, ContextState* context, Work& work) {
  // cuda.h, CUDA_MEMSET_NODE_PARAMS: "Size of each element in bytes. Must be 1, 2, or 4."
  HALYARD_GPU_REQUIRE(
      params.element_size == 1 || params.element_size == 2 || params.element_size == 4,
      kInvalidValue);
  HALYARD_GPU_REQUIRE(params.dst != 0 && params.dst % params.element_size == 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(params.width != 0 && params.height != 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(params.height == 1 || params.pitch >= params.width * params.element_size,
                      kInvalidValue);
  if (exceeds_element(params)) {
    report_misuse("fill-value-beyond-its-element",
                  "a memset node has a value with bits beyond its element");
  }
  work = FillWork{params, context};
  return kSuccess;
}

Result work_of(const Copy3D& copy, ContextState* context, Work& work) {
  CopyWork copy_work;
  copy_work.copy = copy;
  if (const Result result = check_copy(copy_work.copy); result != kSuccess) return result;
  copy_work.context = context;
  work = std::move(copy_work);
  note_pinned_ends(work);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
