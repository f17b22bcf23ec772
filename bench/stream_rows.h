// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N1 to N6: the host side of a driver with streams, on a simulated library whose calls do nothing,
// compared with the fewest calls of the same library that do the work. The rows measure neither a
// GPU nor the vendor's library: the difference between the two arms is the cost that Halyard adds.
//
// `Raw` is the library: RawCuda (cuda_arms.h) or RawHip (hip_arms.h).
#pragma once

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
#include "world.h"

namespace halyard::bench {

// The device that all rows use, on the library of `Raw`.
template <class Raw>
struct StreamDevice {
  hal::Device device;
  hal::Queue queue;
  hal::Function add;
  hal::Buffer x;
  hal::Semaphore done;
  std::uint64_t value = 0;

  explicit StreamDevice(const std::string& options = "") {
    Raw::choose_library();
    auto opened = hal::open(std::string(Raw::kDriver) + "://0" + options);
    if (!opened.ok()) throw Unavailable(opened.status().to_string());
    device = *std::move(opened);
    queue = device.queue();
    add = World::load(device, "bench").function("add").value();
    x = device.allocate({.size = 4}).value();
    done = device.create_semaphore().value();
    (void)Raw::get();
  }

  void dispatch(const hal::Queue& where, const hal::SubmitInfo& info) const {
    check(where.dispatch(add, {.groups = {1}}, {x}, {std::uint32_t{1}}, info));
  }
};

template <class Raw>
void wait_raw(typename Raw::Event event) {
  while (Raw::get().query(event) != 0) {
  }
}

// Counts Halyard's calls, and separately the calls that submit work to the device. Threads of the
// runtime may call it after it is uninstalled, so it is static.
template <class Raw>
class Calls final : public base::CallObserver {
 public:
  int before(const base::CallSite& site) noexcept override {
    for (const std::string_view name : Raw::kWork) work_ += site.name == name;
    all_ += site.area() == Raw::kDriver;
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
    sample.metrics["calls of the library, all"] = each(calls.all_);
  }

 private:
  std::atomic<std::uint64_t> work_{0}, all_{0};
};

// A pattern of submissions, which both sides do.
struct Pattern {
  const char* name;
  std::uint64_t size;  // operations per turn
  std::function<void()> halyard, raw;
};

template <class Raw>
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
    sample.metrics["ns beyond the library's calls"] =
        median(sample.times) - median(turns(pattern.raw).times);
    Calls<Raw>::during(pattern.halyard, pattern.size, sample);
    return sample;
  };
  return {{std::string("halyard: ") + pattern.name, halyard},
          Arm{std::string("raw: ") + pattern.name, [=] { return turns(pattern.raw); }},
          {}};
}

template <class Raw>
Arms dispatch_and_wait(World& world) {
  auto state = std::make_shared<StreamDevice<Raw>>();
  Raw& raw_api = Raw::get();
  const auto halyard = [state] {
    for (int i = 0; i < 100; ++i) {
      state->dispatch(state->queue, {.signal = {{state->done, ++state->value}}});
      check(state->done.wait(state->value));
    }
  };
  const auto raw = [&raw_api, stream = raw_api.stream(), event = raw_api.event()] {
    for (int i = 0; i < 100; ++i) {
      raw_api.put(stream);
      Raw::expect(raw_api.record(event, stream));
      wait_raw<Raw>(event);
    }
  };
  return arms_of<Raw>({"dispatch, wait", 100, halyard, raw}, world.turns(40));
}

template <class Raw>
Arms chain(World& world) {
  auto state = std::make_shared<StreamDevice<Raw>>();
  Raw& raw_api = Raw::get();
  const auto halyard = [state] {
    for (int i = 0; i < 1000; ++i, ++state->value) {
      state->dispatch(state->queue, {.wait = {{state->done, state->value}},
                                     .signal = {{state->done, state->value + 1}}});
    }
    check(state->done.wait(state->value));
  };
  const auto raw = [&raw_api, stream = raw_api.stream(), event = raw_api.event()] {
    for (int i = 1; i <= 1000; ++i) {
      raw_api.put(stream);
      if (i % 32 == 0 || i == 1000) Raw::expect(raw_api.record(event, stream));
    }
    wait_raw<Raw>(event);
  };
  return arms_of<Raw>({"chain of 1000", 1000, halyard, raw}, world.turns(20));
}

template <class Raw>
Arms ping_pong(World& world) {
  struct TwoQueues : StreamDevice<Raw> {
    hal::Queue second = this->device.create_queue({}).value();
  };
  auto state = std::make_shared<TwoQueues>();
  Raw& raw_api = Raw::get();
  const auto halyard = [state] {
    for (int i = 0; i < 500; ++i, ++state->value) {
      state->dispatch(
          i % 2 == 0 ? state->queue : state->second,
          {.wait = {{state->done, state->value}}, .signal = {{state->done, state->value + 1}}});
    }
    check(state->done.wait(state->value));
  };
  const auto raw = [&raw_api, streams = std::array{raw_api.stream(), raw_api.stream()},
                    events = std::array{raw_api.event(), raw_api.event()}] {
    for (std::size_t i = 0; i < 500; ++i) {
      const std::size_t its = i % 2;
      if (i != 0) Raw::expect(raw_api.wait(streams[its], events[1 - its], 0));
      raw_api.put(streams[its]);
      Raw::expect(raw_api.record(events[its], streams[its]));
    }
    wait_raw<Raw>(events[1]);
  };
  return arms_of<Raw>({"two queues in turn", 500, halyard, raw}, world.turns(20));
}

template <class Raw>
Arms fork_and_join(World& world) {
  constexpr std::size_t kBranches = 8;
  struct Fork : StreamDevice<Raw> {
    std::vector<hal::Queue> queues;
    std::vector<hal::Semaphore> ended;
    std::vector<hal::Point> all{kBranches};
    std::uint64_t turn = 0;
    Fork() {
      for (std::size_t i = 0; i < kBranches; ++i) {
        queues.push_back(this->device.create_queue({}).value());
        ended.push_back(this->device.create_semaphore().value());
      }
    }
  };
  auto state = std::make_shared<Fork>();
  Raw& raw_api = Raw::get();
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
  std::vector<typename Raw::Stream> streams;
  std::vector<typename Raw::Event> events;
  for (std::size_t i = 0; i <= kBranches; ++i) {
    streams.push_back(raw_api.stream());
    events.push_back(raw_api.event());
  }
  const auto raw = [&raw_api, streams, events] {
    for (int k = 0; k < 50; ++k) {
      raw_api.put(streams[0]);
      Raw::expect(raw_api.record(events[0], streams[0]));
      for (std::size_t i = 1; i <= kBranches; ++i) {
        Raw::expect(raw_api.wait(streams[i], events[0], 0));
        raw_api.put(streams[i]);
        Raw::expect(raw_api.record(events[i], streams[i]));
      }
      for (std::size_t i = 1; i <= kBranches; ++i) {
        Raw::expect(raw_api.wait(streams[0], events[i], 0));
      }
      raw_api.put(streams[0]);
      Raw::expect(raw_api.record(events[0], streams[0]));
      wait_raw<Raw>(events[0]);
    }
  };
  return arms_of<Raw>({"fork and join of 8", 50 * (kBranches + 2), halyard, raw}, world.turns(20));
}

// A recording of 100 dispatches in a chain, of which `changed` get another buffer each time.
template <class Raw>
Arms replay(World& world, std::size_t changed, const std::string& options = "") {
  constexpr std::size_t kNodes = 100;
  struct Recorded : StreamDevice<Raw> {
    using StreamDevice<Raw>::StreamDevice;
    hal::CommandBuffer commands;
    std::vector<hal::Buffer> others;
    std::vector<hal::BufferRange> table;
    std::size_t turn = 0;
  };
  auto state = std::make_shared<Recorded>(options);
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
      check(state->queue.execute(
          state->commands, {.bindings = state->table, .signal = {{state->done, ++state->value}}}));
      check(state->done.wait(state->value));
    }
  };
  Raw& raw_api = Raw::get();
  void *graph = nullptr, *exec = nullptr, *before = nullptr;
  Raw::expect(raw_api.create_graph(&graph, 0));
  std::vector<void*> nodes(kNodes);
  typename Raw::Address address = raw_api.word;
  std::uint32_t amount = 1;
  void* parameters[] = {&address, &amount};
  const auto node = Raw::kernel_node(raw_api.add, parameters);
  for (void*& it : nodes) {
    Raw::expect(raw_api.add_kernel(&it, graph, &before, before != nullptr ? 1 : 0, &node));
    before = it;
  }
  Raw::expect(raw_api.instantiate(&exec, graph, 0));
  const auto raw = [&raw_api, exec, nodes, changed, stream = raw_api.stream(),
                    event = raw_api.event()] {
    typename Raw::Address its_address = raw_api.word;
    std::uint32_t its_amount = 1;
    void* its_parameters[] = {&its_address, &its_amount};
    const auto its = Raw::kernel_node(raw_api.add, its_parameters);
    for (int k = 0; k < 50; ++k) {
      for (std::size_t i = 0; i < changed; ++i) {
        Raw::expect(raw_api.set_kernel(exec, nodes[i], &its));
      }
      Raw::expect(raw_api.launch_graph(exec, stream));
      Raw::expect(raw_api.record(event, stream));
      wait_raw<Raw>(event);
    }
  };
  return arms_of<Raw>({"recording of 100", 50, halyard, raw}, world.turns(20));
}

// A chain of `size`, parked and then released: each, from its submission to the end.
template <class Raw>
Arms parked(World& world, std::uint64_t size) {
  auto state = std::make_shared<StreamDevice<Raw>>();
  Raw& raw_api = Raw::get();
  const auto halyard = [state, size] {
    const std::uint64_t base = state->value;
    for (std::uint64_t i = 1; i <= size; ++i) {
      state->dispatch(state->queue,
                      {.wait = {{state->done, base + i}}, .signal = {{state->done, base + i + 1}}});
    }
    check(state->done.signal(base + 1));
    state->value = base + size + 1;
    check(state->done.wait(state->value));
  };
  const auto raw = [&raw_api, size, stream = raw_api.stream(), event = raw_api.event()] {
    for (std::uint64_t i = 1; i <= size; ++i) {
      raw_api.put(stream);
      if (i % 32 == 0 || i == size) Raw::expect(raw_api.record(event, stream));
    }
    wait_raw<Raw>(event);
  };
  return arms_of<Raw>({"a parked chain", size, halyard, raw}, world.turns(16));
}

// `suffix` is appended to the rows' names ("N1").
template <class Raw>
std::vector<Row> stream_rows(const std::string& suffix) {
  using Kind = Target::Kind;
  const auto row = [&](std::string id, std::string what, double calls,
                       std::function<Arms(World&)> arms) {
    return Row{id + suffix,
               std::move(what),
               {{Kind::kMetric, 250, "ns beyond the library's calls"},
                {Kind::kMetric, calls, "calls that hand over work"}},
               std::move(arms)};
  };
  // For a GPU: the cost of a waiting thread that sleeps.
  const auto asleep = [&](std::string mode) {
    return Row{"N5.asleep." + mode + suffix,
               "N5 with poll_time=0, so that the thread sleeps",
               {},
               [mode](World& world) {
                 return replay<Raw>(world, 0, "?poll_time=0&completion_mode=" + mode);
               }};
  };
  const std::string scheme = std::string(Raw::kDriver) + "://";
  return {
      row("N1", "a dispatch on " + scheme + " and its wait", 2, dispatch_and_wait<Raw>),
      row("N2", "a chain of 1000 dispatches in a queue; each", 1.032, chain<Raw>),
      row("N3", "500 dispatches in turn on two queues, each after the one before; each", 3,
          ping_pong<Raw>),
      row("N4", "a dispatch, 8 after it on 8 queues, and one after those; each", 3.6,
          fork_and_join<Raw>),
      row("N5", "a recording of 100 dispatches, executed", 2,
          [](World& world) { return replay<Raw>(world, 0); }),
      row("N5.slots", "the same with 3 slots that change", 5,
          [](World& world) { return replay<Raw>(world, 3); }),
      asleep("host_callback"),
      asleep("event"),
      asleep("flag"),
      row("N6.256", "a chain of 256 that is parked and then released; each", 1.04,
          [](World& world) { return parked<Raw>(world, 256); }),
      row("N6.4096", "the same of 4096; each", 1.04,
          [](World& world) { return parked<Raw>(world, 4096); }),
  };
}

}  // namespace halyard::bench
