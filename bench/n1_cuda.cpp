// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N1 to N6: the host side of cuda://, on the simulated libcuda whose calls do nothing, beside the
// fewest calls of the same library that do the work. What is measured is neither a GPU nor CUDA:
// the difference of the two is what Halyard adds to CUDA's calls.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/native_call.h"
#include "cuda_arms.h"
#include "world.h"

namespace halyard::bench {
namespace {

// Counts Halyard's calls, and those of functions that hand work to the device. Threads of the
// runtime may ask for longer than it is installed, so it stays.
class Calls final : public base::CallObserver {
 public:
  int before(const base::CallSite& site) noexcept override {
    constexpr std::string_view kWork[] = {
        "cuda.cuLaunchKernel", "cuda.cuEventRecord",  "cuda.cuStreamWaitEvent",
        "cuda.cuGraphLaunch",  "cuda.cuLaunchHostFunc", "cuda.cuGraphExecKernelNodeSetParams"};
    for (const std::string_view name : kWork) work_ += site.name == name;
    all_ += site.name.starts_with("cuda.");
    return 0;
  }
  // While `turn` runs, for each of its `size` operations.
  template <class F>
  static void during(F&& turn, std::uint64_t size, Sample& sample) {
    static Calls calls;
    calls.work_ = calls.all_ = 0;
    base::observe_calls(&calls);
    turn();
    base::observe_calls(nullptr);
    const auto each = [size](std::uint64_t count) {
      return static_cast<double>(count) / static_cast<double>(size);
    };
    sample.metrics["calls that hand over work"] = each(calls.work_);
    sample.metrics["calls of CUDA, all"] = each(calls.all_);
  }

 private:
  std::atomic<std::uint64_t> work_{0}, all_{0};
};

// A pattern of submissions, which both sides do.
struct Pattern {
  const char* name;
  std::uint64_t size;  // operations of one turn
  std::function<void()> halyard, raw;
};

Arms arms_of(Pattern pattern, int loops) {
  const auto turns = [loops, size = pattern.size](const std::function<void()>& turn) {
    Sample sample;
    for (int i = 0; i < loops; ++i) sample.times.push_back(time_each(size, turn));
    return sample;
  };
  pattern.halyard();
  pattern.raw();
  const auto halyard = [=] {
    Sample sample = turns(pattern.halyard);
    sample.metrics["ns beyond CUDA's calls"] =
        median(sample.times) - median(turns(pattern.raw).times);
    Calls::during(pattern.halyard, pattern.size, sample);
    return sample;
  };
  return {{std::string("halyard: ") + pattern.name, halyard},
          Arm{std::string("raw: ") + pattern.name, [=] { return turns(pattern.raw); }},
          {}};
}

Arms dispatch_and_wait(World& world) {
  auto state = std::make_shared<CudaDevice>();
  RawCuda& cuda = RawCuda::get();
  const auto halyard = [state] {
    for (int i = 0; i < 100; ++i) {
      state->dispatch(state->queue, {.signal = {{state->done, ++state->value}}});
      check(state->done.wait(state->value));
    }
  };
  const auto raw = [&cuda, stream = cuda.stream(), event = cuda.event()] {
    for (int i = 0; i < 100; ++i) {
      cuda.put(stream);
      RawCuda::expect(cuda.record(event, stream));
      wait_raw(event);
    }
  };
  return arms_of({"dispatch, wait", 100, halyard, raw}, world.turns(40));
}

Arms chain(World& world) {
  auto state = std::make_shared<CudaDevice>();
  RawCuda& cuda = RawCuda::get();
  const auto halyard = [state] {
    for (int i = 0; i < 1000; ++i, ++state->value) {
      state->dispatch(state->queue, {.wait = {{state->done, state->value}},
                                     .signal = {{state->done, state->value + 1}}});
    }
    check(state->done.wait(state->value));
  };
  const auto raw = [&cuda, stream = cuda.stream(), event = cuda.event()] {
    for (int i = 1; i <= 1000; ++i) {
      cuda.put(stream);
      if (i % 32 == 0 || i == 1000) RawCuda::expect(cuda.record(event, stream));
    }
    wait_raw(event);
  };
  return arms_of({"chain of 1000", 1000, halyard, raw}, world.turns(20));
}

Arms ping_pong(World& world) {
  struct TwoQueues : CudaDevice {
    hal::Queue second = device.create_queue({}).value();
  };
  auto state = std::make_shared<TwoQueues>();
  RawCuda& cuda = RawCuda::get();
  const auto halyard = [state] {
    for (int i = 0; i < 500; ++i, ++state->value) {
      state->dispatch(i % 2 == 0 ? state->queue : state->second,
                      {.wait = {{state->done, state->value}},
                       .signal = {{state->done, state->value + 1}}});
    }
    check(state->done.wait(state->value));
  };
  const auto raw = [&cuda, streams = std::array{cuda.stream(), cuda.stream()},
                    events = std::array{cuda.event(), cuda.event()}] {
    for (std::size_t i = 0; i < 500; ++i) {
      const std::size_t its = i % 2;
      if (i != 0) RawCuda::expect(cuda.wait(streams[its], events[1 - its], 0));
      cuda.put(streams[its]);
      RawCuda::expect(cuda.record(events[its], streams[its]));
    }
    wait_raw(events[1]);
  };
  return arms_of({"two queues in turn", 500, halyard, raw}, world.turns(20));
}

Arms fork_and_join(World& world) {
  constexpr std::size_t kBranches = 8;
  struct Fork : CudaDevice {
    std::vector<hal::Queue> queues;
    std::vector<hal::Semaphore> ended;
    std::vector<hal::Point> all{kBranches};
    std::uint64_t turn = 0;
    Fork() {
      for (std::size_t i = 0; i < kBranches; ++i) {
        queues.push_back(device.create_queue({}).value());
        ended.push_back(device.create_semaphore().value());
      }
    }
  };
  auto state = std::make_shared<Fork>();
  RawCuda& cuda = RawCuda::get();
  const auto halyard = [state] {
    for (int k = 0; k < 50; ++k) {
      const std::uint64_t turn = ++state->turn;
      state->dispatch(state->queue, {.signal = {{state->done, ++state->value}}});
      for (std::size_t i = 0; i < kBranches; ++i) {
        state->dispatch(state->queues[i], {.wait = {{state->done, state->value}},
                                           .signal = {{state->ended[i], turn}}});
        state->all[i] = {state->ended[i], turn};
      }
      state->dispatch(state->queue,
                      {.wait = state->all, .signal = {{state->done, ++state->value}}});
      check(state->done.wait(state->value));
    }
  };
  std::vector<RawCuda::Stream> streams;
  std::vector<RawCuda::Event> events;
  for (std::size_t i = 0; i <= kBranches; ++i) {
    streams.push_back(cuda.stream());
    events.push_back(cuda.event());
  }
  const auto raw = [&cuda, streams, events] {
    for (int k = 0; k < 50; ++k) {
      cuda.put(streams[0]);
      RawCuda::expect(cuda.record(events[0], streams[0]));
      for (std::size_t i = 1; i <= kBranches; ++i) {
        RawCuda::expect(cuda.wait(streams[i], events[0], 0));
        cuda.put(streams[i]);
        RawCuda::expect(cuda.record(events[i], streams[i]));
      }
      for (std::size_t i = 1; i <= kBranches; ++i) {
        RawCuda::expect(cuda.wait(streams[0], events[i], 0));
      }
      cuda.put(streams[0]);
      RawCuda::expect(cuda.record(events[0], streams[0]));
      wait_raw(events[0]);
    }
  };
  return arms_of({"fork and join of 8", 50 * (kBranches + 2), halyard, raw}, world.turns(20));
}

// A recording of 100 dispatches in a chain, of which `changed` get another buffer each time.
Arms replay(World& world, std::size_t changed, const std::string& uri = "cuda://0") {
  constexpr std::size_t kNodes = 100;
  struct Recorded : CudaDevice {
    using CudaDevice::CudaDevice;
    hal::CommandBuffer commands;
    std::vector<hal::Buffer> others;
    std::vector<hal::BufferRange> table;
    std::size_t turn = 0;
  };
  auto state = std::make_shared<Recorded>(uri);
  hal::Recorder recorder(state->device);
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (i != 0) recorder.barrier();
    if (i < changed) {
      const hal::Slot slot = hal::slot(static_cast<std::uint32_t>(i), 0, 4);
      recorder.dispatch(state->add, {.groups = {1}}, {slot}, {std::uint32_t{1}});
    } else {
      recorder.dispatch(state->add, {.groups = {1}}, {state->x}, {std::uint32_t{1}});
    }
  }
  state->commands = recorder.finish().value();
  for (int i = 0; i < 2; ++i) state->others.push_back(state->device.allocate({.size = 4}).value());
  state->table.resize(changed);
  const auto halyard = [state] {
    for (int k = 0; k < 50; ++k) {
      for (auto& range : state->table) range = state->others[state->turn % 2];
      ++state->turn;
      check(state->queue.execute(state->commands, {.bindings = state->table,
                                                   .signal = {{state->done, ++state->value}}}));
      check(state->done.wait(state->value));
    }
  };
  RawCuda& cuda = RawCuda::get();
  void *graph = nullptr, *exec = nullptr, *before = nullptr;
  RawCuda::expect(cuda.create_graph(&graph, 0));
  std::vector<void*> nodes(kNodes);
  RawCuda::Address address = cuda.word;
  std::uint32_t amount = 1;
  void* parameters[] = {&address, &amount};
  KernelNode node{cuda.add, {1, 1, 1}, {1, 1, 1}, 0, parameters, nullptr};
  for (void*& it : nodes) {
    RawCuda::expect(cuda.add_kernel(&it, graph, &before, before != nullptr ? 1 : 0, &node));
    before = it;
  }
  RawCuda::expect(cuda.instantiate(&exec, graph, 0));
  const auto raw = [&cuda, exec, nodes, changed, stream = cuda.stream(), event = cuda.event()] {
    RawCuda::Address its_address = cuda.word;
    std::uint32_t its_amount = 1;
    void* its_parameters[] = {&its_address, &its_amount};
    const KernelNode its{cuda.add, {1, 1, 1}, {1, 1, 1}, 0, its_parameters, nullptr};
    for (int k = 0; k < 50; ++k) {
      for (std::size_t i = 0; i < changed; ++i) {
        RawCuda::expect(cuda.set_kernel(exec, nodes[i], &its));
      }
      RawCuda::expect(cuda.launch_graph(exec, stream));
      RawCuda::expect(cuda.record(event, stream));
      wait_raw(event);
    }
  };
  return arms_of({"recording of 100", 50, halyard, raw}, world.turns(20));
}

// A chain of `size`, parked and then released: each, from its submission to the end.
Arms parked(World& world, std::uint64_t size) {
  auto state = std::make_shared<CudaDevice>();
  RawCuda& cuda = RawCuda::get();
  const auto halyard = [state, size] {
    const std::uint64_t base = state->value;
    for (std::uint64_t i = 1; i <= size; ++i) {
      state->dispatch(state->queue, {.wait = {{state->done, base + i}},
                                     .signal = {{state->done, base + i + 1}}});
    }
    check(state->done.signal(base + 1));
    state->value = base + size + 1;
    check(state->done.wait(state->value));
  };
  const auto raw = [&cuda, size, stream = cuda.stream(), event = cuda.event()] {
    for (std::uint64_t i = 1; i <= size; ++i) {
      cuda.put(stream);
      if (i % 32 == 0 || i == size) RawCuda::expect(cuda.record(event, stream));
    }
    wait_raw(event);
  };
  return arms_of({"a parked chain", size, halyard, raw}, world.turns(16));
}

}  // namespace

std::vector<Row> cuda_rows() {
  using Kind = Target::Kind;
  const auto within = [](double calls) {
    return std::vector<Target>{{Kind::kMetric, 250, "ns beyond CUDA's calls"},
                               {Kind::kMetric, calls, "calls that hand over work"}};
  };
  // For a GPU: what it costs that the thread sleeps.
  const auto asleep = [](const char* id, std::string mode) {
    return Row{id, "N5 with poll_time=0, so that the thread sleeps", {}, [mode](World& world) {
                 return replay(world, 0, "cuda://0?poll_time=0&" + mode);
               }};
  };
  return {
      {"N1", "a dispatch on cuda:// and its wait", within(2), dispatch_and_wait},
      {"N2", "a chain of 1000 dispatches in a queue; each", within(1.032), chain},
      {"N3", "500 dispatches in turn on two queues, each after the one before; each", within(3),
       ping_pong},
      {"N4", "a dispatch, 8 after it on 8 queues, and one after those; each", within(3.6),
       fork_and_join},
      {"N5", "a recording of 100 dispatches, executed", within(2),
       [](World& world) { return replay(world, 0); }},
      {"N5.slots", "the same with 3 slots that change", within(5),
       [](World& world) { return replay(world, 3); }},
      asleep("N5.asleep.host_callback", "completion_mode=host_callback"),
      asleep("N5.asleep.event", "completion_mode=event"),
      asleep("N5.asleep.flag", "completion_mode=flag"),
      {"N6.256", "a chain of 256 that is parked and then released; each", within(1.04),
       [](World& world) { return parked(world, 256); }},
      {"N6.4096", "the same of 4096; each", within(1.04),
       [](World& world) { return parked(world, 4096); }},
  };
}

}  // namespace halyard::bench
