// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_gpu/core.h"

#include <cstring>

#include "simulation/gpu/launch.h"

namespace halyard::testing {
namespace {

constexpr gpu::DeviceLimits kLimits{.multiprocessors = 4,
                                    .warp = 64,
                                    .max_threads = 256,
                                    .max_block = {256, 256, 256},
                                    .max_grid = {1000, 1000, 1000},
                                    .max_total_threads = 1 << 16,
                                    .shared_per_block = 65536,
                                    .shared_per_block_opt_in = 65536,
                                    .shared_per_multiprocessor = 65536,
                                    .reserved_shared = 0,
                                    .registers_per_multiprocessor = 65536,
                                    .threads_per_multiprocessor = 1024,
                                    .blocks_per_multiprocessor = 16,
                                    .least_priority = 1,
                                    .greatest_priority = -1};

std::vector<int> all_visible(int count) {
  std::vector<int> visible;
  for (int i = 0; i < count; ++i) visible.push_back(i);
  return visible;
}

}  // namespace

gpu::ContextState& context_of(gpu::DeviceId device) {
  const gpu::Lock lock(gpu::state().mutex);
  gpu::DeviceState& of = gpu::state().devices[static_cast<std::size_t>(device)];
  if (of.primary == nullptr) {
    gpu::Context made = nullptr;
    gpu::retain_primary(&made, device);
  }
  return *of.primary->object;
}

gpu::Stream make_stream(gpu::DeviceId device) {
  gpu::Stream made = nullptr;
  call_on(device,
          [&](gpu::Call& call) { return gpu::create_stream(call, &made, gpu::kNonBlocking, 0); });
  return made;
}

gpu::Stream make_stream_beside(gpu::DeviceId device, gpu::Stream other, bool shares) {
  const auto queue = [](gpu::Stream stream) { return stream->object->number % kQueues; };
  for (;;) {
    const gpu::Stream made = make_stream(device);
    if ((queue(made) == queue(other)) == shares) return made;
  }
}

gpu::Event make_event(gpu::DeviceId device) {
  gpu::Event made = nullptr;
  call_on(device, [&](gpu::Call& call) { return gpu::create_event(call, &made, 0); });
  return made;
}

gpu::Result record(gpu::Event event, gpu::Stream stream) {
  return call_on(stream->object->context->device,
                 [&](gpu::Call&) { return gpu::record_event(event, stream); });
}

gpu::Result query(gpu::Event event) {
  return call_on(event->object->context->device,
                 [&](gpu::Call&) { return gpu::query_event(event); });
}

gpu::Result synchronize(gpu::Stream stream) {
  return call_on(stream->object->context->device,
                 [&](gpu::Call& call) { return gpu::synchronize_stream(call, stream); });
}

bool ends(gpu::Event event) {
  for (int i = 0; i < 5000; ++i) {
    if (query(event) != gpu::kNotReady) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool is_held_back(gpu::Event event) {
  for (int i = 0; i < 20; ++i) {
    if (query(event) != gpu::kNotReady) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Gate::Gate(gpu::Stream stream) : state_(std::make_shared<State>()) {
  const auto hold = [](void* data) {
    const std::unique_ptr<std::shared_ptr<State>> kept(static_cast<std::shared_ptr<State>*>(data));
    State& state = **kept;
    state.holds = true;
    while (!state.is_open) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  auto* const kept = new std::shared_ptr<State>(state_);
  call_on(stream->object->context->device,
          [&](gpu::Call&) { return gpu::launch_host_function(stream, hold, kept); });
}

void Gate::wait_until_it_holds() {
  while (!state_->holds) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

TestCode::TestCode(Kernel kernel) : kernel_(std::move(kernel)) {
  gpu::KernelInfo& info = kernels_.emplace_back();
  info.name = "kernel";
  info.parameters = {{0, 8}, {8, 4}};
  info.parameter_bytes = 12;
  info.max_threads = 128;
  segments_.push_back({64, 4096, false});
  variables_.push_back({"variable", 0, 16, 8, false});
}

std::optional<std::size_t> TestCode::find_kernel(std::string_view name) const {
  return name == "kernel" ? std::optional<std::size_t>(0) : std::nullopt;
}

std::optional<std::size_t> TestCode::find_variable(std::string_view name) const {
  return name == "variable" ? std::optional<std::size_t>(0) : std::nullopt;
}

std::vector<std::byte> TestCode::initial_bytes(std::size_t segment,
                                               std::span<const std::uint64_t> addresses) const {
  std::vector<std::byte> bytes(8);
  std::memcpy(bytes.data(), &addresses[segment], 8);
  return bytes;
}

gpu::Outcome TestCode::run(const gpu::KernelRun& run, gpu::ContextMemory& memory,
                           const gpu::RunOptions&) const {
  return kernel_(run, memory);
}

gpu::Module load(gpu::DeviceId device, TestCode::Kernel kernel) {
  gpu::Module made = nullptr;
  call_on(device, [&](gpu::Call& call) {
    return gpu::load_module(call, std::make_shared<TestCode>(std::move(kernel)), &made);
  });
  return made;
}

gpu::Function kernel_of(gpu::Module module) {
  gpu::Function function = nullptr;
  call_on(module->object->context->device,
          [&](gpu::Call&) { return gpu::module_function(&function, module, "kernel"); });
  return function;
}

gpu::Result launch(gpu::DeviceId device, gpu::Function function, gpu::Stream stream) {
  const unsigned one[3] = {1, 1, 1};
  std::uint64_t pointer = 0;
  std::uint32_t number = 0;
  void* parameters[] = {&pointer, &number};
  return call_on(device, [&](gpu::Call& call) {
    return gpu::launch(call, function, {one, one, 0, parameters, nullptr}, stream);
  });
}

}  // namespace halyard::testing

namespace halyard::inline v0::sim::gpu {

constinit const Rules kRules{
    .product = "GPU",
    .variables = "HALYARD_SIM_TEST_",
    .stream_thread = "test stream",
    .names = {"allocate", "free", "allocate_async", "free_async", "allocate_host", "free_host",
              "register_host", "allocate_managed", "map_memory", "unload_module", "wait_value",
              "write_value"},
    .result_from_name = [](std::string_view name) { return name == "broken" ? 700 : -1; },
    .read_options = [](Options&) {},
    .visible_devices = &halyard::testing::all_visible,
    .limits = &halyard::testing::kLimits,
    .beyond_limits =
        [](Beyond what) {
          return what == Beyond::kKernelThreads ? halyard::testing::kBeyond : kInvalidValue;
        },
    .parameters_end = 3,
    .fault_reach = [] { return halyard::testing::reach_of_faults; },
    .dead_stream = [] { return halyard::testing::kDead; },
    .hardware_queues = [] { return halyard::testing::kQueues; },
    .has_host_thread = true,
    .waits_for_destroyed_streams = false,
    .free_always_waits = true,
    .free_waits_for_pool_memory = [] { return true; },
    .copies_where_memory_is = true,
    .masks_waits = true,
    .destroying_ends_captures = true,
    .ends_own_captures_first = true,
};

}  // namespace halyard::inline v0::sim::gpu
