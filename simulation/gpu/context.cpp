// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/call.h"
#include "simulation/gpu/memory.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/pool.h"
#include "simulation/gpu/process.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

void report_leaks(const ContextState& context, const char* where) {
  std::map<MemoryKind, std::pair<std::uint64_t, std::uint64_t>> leaked;
  for (const Allocation& allocation : memory().of(&context)) {
    if (allocation.is_freed) continue;
    const std::shared_ptr<GraphMemory> of_node = graph_memory_at(allocation.begin);
    if (of_node != nullptr && !of_node->is_live) continue;
    auto& [count, bytes] = leaked[allocation.kind];
    ++count;
    bytes += allocation.size;
  }
  const Names& of = rules().names;
  const std::string names[] = {std::string(of.allocate) + " memory",
                               std::string(of.allocate_async) + " memory",
                               "variables of modules",
                               std::string(of.allocate_host) + " memory",
                               std::string(of.register_host) + " ranges",
                               std::string(of.allocate_managed) + " memory",
                               std::string(of.map_memory) + " mappings",
                               "arrays"};
  for (const auto& [kind, counts] : leaked) {
    if (kind == MemoryKind::kVariable) continue;  // counted with their modules
    report_leak(where, names[static_cast<int>(kind)].c_str(), counts.first, counts.second);
  }
  report_leak(where, "streams", context.live_streams, 0);
  report_leak(where, "events", context.live_events, 0);
  report_leak(where, "modules", context.live_modules, 0);
}

Result initialize() {
  State& all = state();
  if (all.is_initialized.load()) return kSuccess;
  const std::vector<int> visible = visible_devices(options().devices);
  HALYARD_GPU_REQUIRE(!visible.empty(), kNoDevice);
  // A child of a process that had initialized the library cannot use it. CUDA does not document it,
  // but all calls of the child return this error, including cuInit: triton-lang/triton, pull
  // request 10443, and inducer/pycuda, issue 137. HIP is not usable in a child either:
  // ROCm/rocm-systems, issue 8119.
  HALYARD_GPU_REQUIRE(!all.is_child, kNotInitialized);
  for (const int index : visible) all.devices.emplace_back().index = index;
  all.is_initialized.store(true);
  return kSuccess;
}

ContextState* make_context(DeviceId device, unsigned flags, bool is_primary) {
  State& all = state();
  auto context = std::make_shared<ContextState>();
  context->device = device;
  context->flags = flags;
  context->id = all.next_id++;
  context->is_primary = is_primary;
  context->legacy = std::make_shared<StreamState>();
  context->legacy->context = context.get();
  context->legacy->is_legacy = true;
  context->legacy->id = all.next_id++;
  context->legacy->number = all.streams_made++;
  context->limits = {{0, 1024}, {1, 1 << 20}, {2, 8 << 20}, {3, 2}, {4, 2048}, {5, 128}, {6, 0}};
  context->queues.resize(rules().hardware_queues());
  context->handle = make_handle(context);
  all.contexts.push_back(context);
  return context.get();
}

void end_context(Lock& lock, ContextState& context, const char* where) {
  drain(lock, context);
  report_leaks(context, where);
  for (const Allocation& allocation : memory().of(&context)) release_allocation(allocation);
  end_streams(context);
  context.is_destroyed.store(true);
  for (const auto& other : state().contexts) other->peers.erase(&context);
  end_handle(context.handle);
}

Result retain_primary(Context* context, DeviceId device) {
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  if (of.primary == nullptr) {
    HALYARD_GPU_REQUIRE(of.lost == kSuccess, of.lost);
    of.primary = make_context(device, of.primary_flags, true)->handle;
  }
  ++of.primary_references;
  *context = of.primary;  // cuda.h: "does not push the context to the stack"
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
