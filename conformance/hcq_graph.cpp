// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of hardware commands: order by bytes, replays, inputs, several devices.
#include <random>

#include "conformance/hcq.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace hcq_graph {
namespace {

using hcq::ComputeQueue;
using hcq::Graph;
using hcq::GraphBuffer;
using hcq::GraphRecorder;
using hcq::Program;
using hcq::Signal;

using Values = std::vector<std::uint32_t>;

GraphBuffer all(const Words& words) { return GraphBuffer(words.buffer()); }

// Records steps y = scale * x + offset; different orders of steps give different results.
class Steps {
 public:
  explicit Steps(Hardware& h) : scale_(h.program("scale_and_offset")) {}
  void record(GraphRecorder& recorder, hcq::Device& device, const GraphBuffer& x,
              const GraphBuffer& y, std::int32_t scale, const hcq::Value& offset) const {
    const auto n = static_cast<std::uint32_t>(y.size() / 4);
    recorder.exec(device, scale_, {x, y}, {scale, offset, n}, {(n + 63) / 64, 1, 1});
  }
  void record(GraphRecorder& recorder, hcq::Device& device, const Words& x, const Words& y,
              std::int32_t scale, std::int32_t offset) const {
    record(recorder, device, all(x), all(y), scale, offset);
  }

 private:
  Program scale_;
};

void replay_and_wait(Context& t, Graph& graph, std::span<const hcq::Buffer> inputs = {}) {
  VERIFY_OK(graph.replay(inputs, kWatchdog));
  VERIFY_OK(graph.wait(kWatchdog));
}

// ---- Order inside a graph

void replays_give_what_the_calls_in_order_give(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(100, 1)), y(h, Values(100, 2)), z(h, Values(100, 3));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, y, 3, 5);
  recorder.copy(h.device(0), all(z), all(y), 400);
  steps.record(recorder, h.device(1), z, x, 2, 7);
  Graph graph = recorder.finish().value();
  std::uint32_t expected = 1;
  for (int i = 0; i < 50; ++i) {
    VERIFY_OK(graph.replay({}, kWatchdog));
    expected = 2 * (3 * expected + 5) + 7;
  }
  VERIFY_OK(graph.wait(kWatchdog));
  VERIFY(x.read() == Values(100, expected));
}

void write_follows_write_on_another_queue(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(20'000, 1)), y(h, Values(20'000, 2)), z(h, Values(20'000, 3));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, z, 1, 0);
  recorder.copy(h.device(1), all(z), all(y), 80'000);
  Graph graph = recorder.finish().value();
  replay_and_wait(t, graph);
  VERIFY(z.read() == Values(20'000, 2));
}

void write_follows_the_reads_before_it(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(20'000, 1)), y(h, Values(20'000)), z(h, Values(20'000));
  GraphRecorder recorder;
  recorder.copy(h.device(0), all(y), all(x), 80'000);
  recorder.copy(h.device(1), all(z), all(x), 80'000);
  steps.record(recorder, h.device(0), x, x, 10, 0);
  Graph graph = recorder.finish().value();
  replay_and_wait(t, graph);
  VERIFY(y.read() == Values(20'000, 1));
  VERIFY(z.read() == Values(20'000, 1));
  VERIFY(x.read() == Values(20'000, 10));
}

void read_follows_the_write_before_it(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(20'000, 1)), y(h, Values(20'000)), z(h, Values(20'000));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, y, 4, 1);
  recorder.copy(h.device(1), all(z), all(y), 80'000);
  Graph graph = recorder.finish().value();
  replay_and_wait(t, graph);
  VERIFY(z.read() == Values(20'000, 5));
}

void partial_write_leaves_the_rest_its_own(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(3000, 1)), y(h, Values(3000)), z(h, Values(3000));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, y, 2, 0);
  // The second call writes only the middle, so both ends keep the values of the first call.
  steps.record(recorder, h.device(1), all(x).slice(0, 4000), all(y).slice(4000, 4000), 3, 0);
  recorder.copy(h.device(0), all(z), all(y), 12'000);
  Graph graph = recorder.finish().value();
  replay_and_wait(t, graph);
  Values expected(3000, 2);
  std::fill_n(expected.begin() + 1000, 1000, 3);
  VERIFY(z.read() == expected);
}

void views_that_overlap_are_the_same_bytes(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(3000, 1)), y(h, Values(2000));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), all(x), GraphBuffer(x.part(0, 2000)), 5, 0);
  recorder.copy(h.device(1), all(y), GraphBuffer(x.part(1000, 2000)), 8000);
  Graph graph = recorder.finish().value();
  replay_and_wait(t, graph);
  Values expected(2000, 1);
  std::fill_n(expected.begin(), 1000, 5);
  VERIFY(y.read() == expected);
}

void independent_calls_need_no_waits(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(100, 1)), y(h, Values(100)), z(h, Values(100));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, y, 2, 0);
  steps.record(recorder, h.device(1), x, z, 3, 0);
  Graph graph = recorder.finish().value();
  VERIFY_EQ(graph.statistics().queues, 2u);
  VERIFY_EQ(graph.statistics().waits, 0u);
  replay_and_wait(t, graph);
  VERIFY(y.read() == Values(100, 2));
  VERIFY(z.read() == Values(100, 3));
}

void random_graphs_give_what_the_host_gives(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  constexpr std::uint64_t kCells = 40;
  for (std::uint32_t seed = 0; seed < t.rounds(6); ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    Values expected(kCells);
    for (std::uint32_t i = 0; i < kCells; ++i) expected[i] = i;
    const Words memory(h, expected);
    struct Step {
      bool copy;
      std::uint64_t target, source, n;
      std::int32_t scale, offset;
    };
    std::vector<Step> recorded;
    GraphRecorder recorder;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t n = 1 + below(4);
      const Step step{below(3) == 0,
                      below(kCells + 1 - n),
                      below(kCells + 1 - n),
                      n,
                      static_cast<std::int32_t>(below(5)),
                      static_cast<std::int32_t>(below(100))};
      const std::uint64_t apart =
          step.target > step.source ? step.target - step.source : step.source - step.target;
      if (apart < n) continue;
      const GraphBuffer target(memory.part(step.target, n)), source(memory.part(step.source, n));
      hcq::Device& device = h.device(below(2));
      if (step.copy) {
        recorder.copy(device, target, source, 4 * n);
      } else {
        steps.record(recorder, device, source, target, step.scale, step.offset);
      }
      recorded.push_back(step);
    }
    Graph graph = recorder.finish().value();
    for (int replay = 0; replay < 10; ++replay) {
      VERIFY_OK(graph.replay({}, kWatchdog));
      for (const Step& s : recorded) {
        for (std::uint64_t i = 0; i < s.n; ++i) {
          const std::uint32_t value = expected[s.source + i];
          expected[s.target + i] = s.copy ? value
                                          : value * static_cast<std::uint32_t>(s.scale) +
                                                static_cast<std::uint32_t>(s.offset);
        }
      }
    }
    VERIFY_OK(graph.wait(kWatchdog));
    if (memory.read() != expected) t.fail(__FILE__, __LINE__, fmt::format("seed {}", seed));
  }
}

// ---- Inputs that change between replays

void each_replay_takes_its_own_inputs(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  GraphRecorder recorder;
  const GraphBuffer in = recorder.add_input(400), out = recorder.add_input(400);
  steps.record(recorder, h.device(0), in, out, 2, 1);
  Graph graph = recorder.finish().value();
  std::vector<std::unique_ptr<Words>> ins, outs;
  for (std::uint32_t i = 0; i < 10; ++i) {
    ins.push_back(std::make_unique<Words>(h, Values(100, i)));
    outs.push_back(std::make_unique<Words>(h, Values(100)));
  }
  for (std::size_t i = 0; i < 10; ++i) {
    const hcq::Buffer inputs[] = {ins[i]->buffer(), outs[i]->buffer()};
    VERIFY_OK(graph.replay(inputs, kWatchdog));
  }
  VERIFY_OK(graph.wait(kWatchdog));
  for (std::uint32_t i = 0; i < 10; ++i) VERIFY(outs[i]->read() == Values(100, 2 * i + 1));
}

void values_change_constants_and_sizes(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(64, 1)), y(h, Values(64));
  GraphRecorder recorder;
  const hcq::Symbol offset = recorder.add_value(1), groups = recorder.add_value(0);
  recorder.exec(h.device(), h.program("scale_and_offset"), {all(x), all(y)},
                {std::int32_t{3}, hcq::Value(hcq::Value::Type::kInt32, offset), std::uint32_t{64}},
                {groups, 1, 1});
  Graph graph = recorder.finish().value();
  replay_and_wait(t, graph);
  VERIFY(y.read() == Values(64));
  graph.set(groups, 1);
  graph.set(offset, 10);
  replay_and_wait(t, graph);
  VERIFY(y.read() == Values(64, 13));
}

// ---- Order between replays and other work

// Makes `device` wait until the host raises the gate.
void hold(Hardware& h, std::size_t device, const Signal& gate) {
  ComputeQueue q;
  q.wait(gate, 1).signal(h.device(device).next_timeline());
  check(q.submit(h.device(device)));
}

void replay_follows_what_its_devices_had_to_do(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(10, 1)), y(h, Values(10)), z(h, Values(10));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, y, 2, 0);
  steps.record(recorder, h.device(1), x, z, 3, 0);
  Graph graph = recorder.finish().value();
  const Signal gate = h.signal();
  hold(h, 1, gate);
  VERIFY_OK(graph.replay({}, kNow));
  VERIFY_CODE(graph.wait(kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_CODE(h.device(0).synchronize(kAWhile), StatusCode::kDeadlineExceeded);
  gate.set(1);
  VERIFY_OK(h.device(0).synchronize(kWatchdog));
  VERIFY(y.read() == Values(10, 2));
  VERIFY(z.read() == Values(10, 3));
}

void work_after_a_replay_follows_all_of_it(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(5000, 1)), y(h, Values(5000)), z(h, Values(5000));
  GraphRecorder recorder;
  steps.record(recorder, h.device(0), x, y, 7, 0);
  recorder.copy(h.device(1), all(z), all(y), 20'000);
  steps.record(recorder, h.device(0), y, x, 1, 0);
  Graph graph = recorder.finish().value();
  std::uint32_t expected = 1;
  for (int i = 0; i < 10; ++i) {
    VERIFY_OK(graph.replay({}, kWatchdog));
    expected *= 7;
    VERIFY(z.read() == Values(5000, expected));  // read through device 0, while device 1 copies
  }
}

void replay_waits_for_the_one_before_until_its_deadline(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(10, 1));
  GraphRecorder recorder;
  steps.record(recorder, h.device(), x, x, 2, 1);
  Graph graph = recorder.finish().value();
  const Signal gate = h.signal();
  hold(h, 0, gate);
  VERIFY_OK(graph.replay({}, kNow));
  VERIFY_CODE(graph.replay({}, kAWhile), StatusCode::kDeadlineExceeded);
  gate.set(1);
  replay_and_wait(t, graph);
  VERIFY(x.read() == Values(10, 7));
}

void graphs_of_one_device_follow_each_other(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(1000, 1)), y(h, Values(1000)), z(h, Values(1000));
  GraphRecorder first, second, third;
  steps.record(first, h.device(), x, y, 2, 1);
  second.copy(h.device(), all(z), all(y), 4000);
  steps.record(third, h.device(), z, x, 10, 0);
  Graph graphs[] = {first.finish().value(), second.finish().value(), third.finish().value()};
  const Signal gate = h.signal();
  hold(h, 0, gate);
  for (Graph& graph : graphs) VERIFY_OK(graph.replay({}, kNow));
  gate.set(1);
  VERIFY_OK(graphs[2].wait(kWatchdog));
  VERIFY(x.read() == Values(1000, 30));
}

void dropped_graph_leaves_another_of_the_same_memory_alone(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(10, 1)), y(h, Values(10));
  const auto make = [&](std::int32_t scale) {
    GraphRecorder recorder;
    steps.record(recorder, h.device(), x, y, scale, 0);
    return recorder.finish().value();
  };
  Graph kept = make(2);
  {
    Graph dropped = make(3);
    replay_and_wait(t, dropped);
  }
  replay_and_wait(t, kept);
  VERIFY(y.read() == Values(10, 2));
}

void graph_may_go_while_its_replay_is_in_flight(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(10, 1)), y(h, Values(10));
  const Signal gate = h.signal();
  {
    GraphRecorder recorder;
    steps.record(recorder, h.device(0), x, x, 2, 0);
    recorder.copy(h.device(1), all(y), all(x), 40);
    Graph graph = recorder.finish().value();
    hold(h, 0, gate);
    VERIFY_OK(graph.replay({}, kNow));
  }
  gate.set(1);
  VERIFY_OK(h.device(1).synchronize(kWatchdog));
  VERIFY(y.read() == Values(10, 2));
}

void threads_replay_graphs_of_the_same_devices(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  std::vector<std::unique_ptr<Words>> words;
  for (std::uint32_t i = 0; i < t.threads(4); ++i) {
    words.push_back(std::make_unique<Words>(h, Values(10, 1)));
  }
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(4); ++i) {
    threads.start([&, i] {
      GraphRecorder recorder;
      steps.record(recorder, h.device(i % 2), *words[i], *words[i], 1, 1);
      steps.record(recorder, h.device(1 - i % 2), *words[i], *words[i], 1, 1);
      Graph graph = recorder.finish().value();
      for (std::uint32_t n = 0; n < t.rounds(15); ++n) VERIFY_OK(graph.replay({}, kWatchdog));
      VERIFY_OK(graph.wait(kWatchdog));
    });
  }
  threads.join();
  for (const auto& each : words) VERIFY(each->read() == Values(10, 1 + 2 * t.rounds(15)));
}

void profile_tells_when_each_call_ran(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(10, 1)), y(h, Values(10));
  GraphRecorder recorder({.profiling = true});
  steps.record(recorder, h.device(0), x, x, 2, 0);
  recorder.copy(h.device(1), all(y), all(x), 40);
  Graph graph = recorder.finish().value();
  const Nanoseconds before = Clock::steady().now();
  replay_and_wait(t, graph);
  const Nanoseconds after = Clock::steady().now();
  const std::vector<hcq::CallTimes> times = graph.profile();
  VERIFY_EQ(times.size(), 2u);
  if (times.size() != 2) return;
  VERIFY_EQ(times[0].name, "scale_and_offset");
  VERIFY_EQ(times[1].name, "copy");
  VERIFY(times[0].device == &h.device(0));
  VERIFY(times[1].device == &h.device(1));
  VERIFY(before <= times[0].begin);
  VERIFY(times[0].begin <= times[0].end);
  VERIFY(times[0].end <= times[1].begin);
  VERIFY(times[1].end <= after);
}

// ---- Refused uses

void wrong_recordings_are_refused(Context& t) {
  Hardware h(t);
  const Words x(h, Values(10, 1)), y(h, Values(10));
  const auto refused = [&](StatusCode code, std::string_view text, auto record) {
    GraphRecorder recorder;
    record(recorder);
    const Status status = recorder.finish().status();
    VERIFY_CODE(status, code);
    if (status.message().find(text) == std::string_view::npos) VERIFY_EQ(status.message(), text);
  };
  const auto kInvalid = StatusCode::kInvalidArgument;
  refused(kInvalid, "graph: nothing was recorded", [](GraphRecorder&) {});
  refused(kInvalid, "program 'increment'", [&](GraphRecorder& r) {
    r.exec(h.device(), h.program("increment"), {all(x)}, {}, {1, 1, 1});
  });
  refused(StatusCode::kOutOfRange, "graph: copy of 41 bytes from 40 to 40 bytes",
          [&](GraphRecorder& r) { r.copy(h.device(), all(y), all(x), 41); });
  refused(kInvalid, "graph: ", [&](GraphRecorder& r) {
    r.copy(h.device(), all(x).slice(0, 16), all(x).slice(8, 16), 16);
  });
  refused(kInvalid, "graph: an input of another recorder", [&](GraphRecorder& r) {
    GraphRecorder other;
    r.copy(h.device(), all(x), other.add_input(40), 40);
  });
}

void wrong_inputs_are_refused_and_the_graph_stays_usable(Context& t) {
  Hardware h(t);
  const Steps steps(h);
  const Words x(h, Values(20, 1)), y(h, Values(20, 5));
  GraphRecorder recorder;
  const GraphBuffer in = recorder.add_input(40), out = recorder.add_input(40);
  steps.record(recorder, h.device(), in, out, 2, 0);
  Graph graph = recorder.finish().value();
  const auto status_of_replay = [&](std::vector<hcq::Buffer> inputs) {
    return graph.replay(inputs, kWatchdog);
  };
  const Status count = status_of_replay({x.buffer()});
  VERIFY_CODE(count, StatusCode::kInvalidArgument);
  VERIFY(count.message().find("graph: 1 input given, it takes 2") != std::string_view::npos);
  const Status size = status_of_replay({x.buffer(), y.part(0, 9)});
  VERIFY_CODE(size, StatusCode::kOutOfRange);
  VERIFY(size.message().find("graph: input 1 of 36 bytes, it takes 40") != std::string_view::npos);
  VERIFY_CODE(status_of_replay({x.part(0, 10), x.part(5, 10)}), StatusCode::kInvalidArgument);
  VERIFY(y.read() == Values(20, 5));
  VERIFY_OK(status_of_replay({x.part(0, 10), y.part(5, 10)}));
  VERIFY_OK(graph.wait(kWatchdog));
  VERIFY_EQ(y.read(4), 5u);
  VERIFY_EQ(y.read(5), 2u);
}

#define CASE(name) {"hcq_graph", #name, name}
constexpr Case kCases[] = {
    CASE(replays_give_what_the_calls_in_order_give),
    CASE(write_follows_write_on_another_queue),
    CASE(write_follows_the_reads_before_it),
    CASE(read_follows_the_write_before_it),
    CASE(partial_write_leaves_the_rest_its_own),
    CASE(views_that_overlap_are_the_same_bytes),
    CASE(independent_calls_need_no_waits),
    CASE(random_graphs_give_what_the_host_gives),
    CASE(each_replay_takes_its_own_inputs),
    CASE(values_change_constants_and_sizes),
    CASE(replay_follows_what_its_devices_had_to_do),
    CASE(work_after_a_replay_follows_all_of_it),
    CASE(replay_waits_for_the_one_before_until_its_deadline),
    CASE(graphs_of_one_device_follow_each_other),
    CASE(dropped_graph_leaves_another_of_the_same_memory_alone),
    CASE(graph_may_go_while_its_replay_is_in_flight),
    CASE(threads_replay_graphs_of_the_same_devices),
    CASE(profile_tells_when_each_call_ran),
    CASE(wrong_recordings_are_refused),
    CASE(wrong_inputs_are_refused_and_the_graph_stays_usable),
};
#undef CASE

}  // namespace
}  // namespace hcq_graph

std::span<const Case> hcq_graph_cases() noexcept { return hcq_graph::kCases; }

}  // namespace halyard::inline v0::conformance
