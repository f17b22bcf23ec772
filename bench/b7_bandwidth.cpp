// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B7: large dispatches and copies over all cores, compared with OpenMP's loops over the same
// memory. The rows for memory are STREAM's triad and copy. The others measure how a dispatch is
// divided among threads: workgroups of unequal cost, and many very cheap ones.
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::size_t kElements = std::size_t{32} << 20;  // 128 MiB an array
constexpr int kPasses = 2;
constexpr float kScale = 3;
constexpr std::uint32_t kUnevenGroups = 1024, kRounds = 64;
constexpr int kUnevenPasses = 5;
constexpr std::uint32_t kTinyGroups = 100'000;
constexpr int kTinyPasses = 20;

// Longer than OpenMP's threads spin after their last loop; they would take a core from the next
// arm.
constexpr auto kTeamSettles = std::chrono::milliseconds(20);

// Runs once per pass, each timed; `bytes` is the memory traffic of a pass.
template <class F>
Sample passes(int count, std::size_t bytes, F&& fn) {
  Sample sample;
  for (int i = 0; i < count; ++i) sample.times.push_back(time_each(1, fn));
  if (bytes != 0) sample.metrics["GB/s"] = static_cast<double>(bytes) / median(sample.times);
  return sample;
}

struct Cores {
  hal::Device device = World::open_all_cores();
  hal::Queue queue = device.queue();
  hal::Executable kernels = World::load(device, "bench");
  hal::Semaphore done = device.create_semaphore().value();
  std::uint64_t value = 0;

  // submit(info) submits; the host helps while it waits.
  template <class Submit>
  void run(Submit&& submit) {
    check(submit(hal::SubmitInfo{.signal = {{done, ++value}}}));
    check(done.wait(value));
  }
};

struct Array {
  explicit Array(const hal::Device& device)
      : buffer(device
                   .allocate(
                       {.size = kElements * sizeof(float), .memory = hal::MemoryType::kHostVisible})
                   .value()),
        mapping(buffer.map().value()),
        values(mapping.as<float>().data()) {}
  hal::Buffer buffer;
  hal::Mapping mapping;
  float* values;
};

struct Stream : Cores {
  hal::Function triad = kernels.function("triad").value();
  Array a{device}, b{device}, c{device};

  // Integers, so that every result is exact.
  Stream() {
    std::uint32_t random = 1;
    for (std::size_t i = 0; i < kElements; ++i) {
      random = random * 1664525 + 1013904223;
      b.values[i] = static_cast<float>(random >> 20);
      c.values[i] = static_cast<float>(random >> 8 & 0xfff);
    }
  }
  void poison() { std::memset(a.values, 0xff, kElements * sizeof(float)); }
  void expect_triad() const {
    bool right = true;
    for (std::size_t i = 0; i < kElements; ++i) {
      right &= a.values[i] == b.values[i] + kScale * c.values[i];
    }
    verify(right, "triad");
  }
  void expect_copy() const {
    verify(std::memcmp(a.values, b.values, kElements * sizeof(float)) == 0, "copy");
  }
};

Arms triad_row(World&) {
  const auto state = std::make_shared<Stream>();
  constexpr std::size_t kBytes = 3 * kElements * sizeof(float);
  const auto run = [state] {
    Stream& s = *state;
    s.poison();
    Sample sample = passes(kPasses, kBytes, [&] {
      s.run([&](const hal::SubmitInfo& info) {
        return s.queue.dispatch(s.triad, {.items = {kElements}},
                                {s.a.buffer, s.b.buffer, s.c.buffer},
                                {kScale, static_cast<std::uint32_t>(kElements)}, info);
      });
    });
    s.expect_triad();
    return sample;
  };
  Arms arms{{"halyard: dispatch", run}, std::nullopt, {}};
#if defined(HALYARD_BENCH_OPENMP)
  arms.peers.push_back({"OpenMP", [state] {
                          Stream& s = *state;
                          s.poison();
                          Sample sample = passes(kPasses, kBytes, [&] {
                            openmp_triad(s.a.values, s.b.values, s.c.values, kScale, kElements);
                          });
                          s.expect_triad();
                          return sample;
                        }});
#endif
  return arms;
}

Arms copy_row(World&) {
  const auto state = std::make_shared<Stream>();
  constexpr std::size_t kBytes = 2 * kElements * sizeof(float);
  const auto run = [state] {
    Stream& s = *state;
    s.poison();
    Sample sample = passes(kPasses, kBytes, [&] {
      s.run(
          [&](const hal::SubmitInfo& info) { return s.queue.copy(s.b.buffer, s.a.buffer, info); });
    });
    s.expect_copy();
    return sample;
  };
  Arms arms{{"halyard: copy", run}, std::nullopt, {}};
#if defined(HALYARD_BENCH_OPENMP)
  arms.peers.push_back({"OpenMP", [state] {
                          Stream& s = *state;
                          s.poison();
                          Sample sample = passes(kPasses, kBytes, [&] {
                            openmp_copy(s.a.values, s.b.values, kElements);
                          });
                          s.expect_copy();
                          return sample;
                        }});
#endif
  return arms;
}

// A kernel of one buffer, y[group], and one constant.
struct Groups : Cores {
  Groups(std::string_view name, std::uint32_t group_count, std::uint32_t constant_value)
      : function(kernels.function(name).value()),
        count(group_count),
        constant(constant_value),
        y(device, group_count) {}

  template <class Expected>
  Sample measure(int turns, Expected&& expected, const std::function<void()>& pass) {
    std::fill_n(&y[0], count, 0xdeadbeefu);
    Sample sample = passes(turns, 0, pass);
    for (std::uint32_t g = 0; g < count; ++g) verify(y[g] == expected(g), "a group's value");
    return sample;
  }
  void dispatch() {
    run([&](const hal::SubmitInfo& info) {
      return queue.dispatch(function, {.groups = count}, {y.buffer()}, {constant}, info);
    });
  }
  // The same for the peers.
  Call call() {
    buffers[0] = &y[0];
    return {World::entry(function), buffers, &constant};
  }

  hal::Function function;
  std::uint32_t count;
  alignas(8) std::uint32_t constant;
  Words y;
  void* buffers[1] = {};
};

template <class Expected>
Arms groups_row(std::shared_ptr<Groups> state, int turns, Expected expected,
                [[maybe_unused]] std::vector<std::pair<const char*, Schedule>> schedules) {
  Arms arms{{"halyard: dispatch",
             [=] { return state->measure(turns, expected, [&] { state->dispatch(); }); }},
            std::nullopt,
            {}};
#if defined(HALYARD_BENCH_OPENMP)
  for (const auto& [name, schedule] : schedules) {
    arms.peers.push_back({name, [=] {
                            Sample sample = state->measure(turns, expected, [&] {
                              openmp_groups(state->call(), state->count, schedule);
                            });
                            std::this_thread::sleep_for(kTeamSettles);
                            return sample;
                          }});
  }
#endif
  return arms;
}

Arms uneven_row(World&) {
  std::vector<std::uint32_t> values(kUnevenGroups);
  for (std::uint32_t g = 0; g < kUnevenGroups; ++g) {
    values[g] = g;
    for (std::uint32_t i = 0; i < g * kRounds; ++i) values[g] = values[g] * 1664525 + 1013904223;
  }
  return groups_row(std::make_shared<Groups>("triangle", kUnevenGroups, kRounds), kUnevenPasses,
                    [values](std::uint32_t g) { return values[g]; },
                    {{"OpenMP dynamic", Schedule::kDynamic}, {"OpenMP guided", Schedule::kGuided}});
}

Arms tiny_row(World&) {
  return groups_row(std::make_shared<Groups>("triangle", kTinyGroups, 0), kTinyPasses,
                    [](std::uint32_t g) { return g; }, {{"OpenMP static", Schedule::kStatic}});
}

}  // namespace

std::vector<Row> bandwidth_rows() {
  // At least 0.97 of OpenMP's bandwidth.
  const Target target{Target::Kind::kPeer, 1 / 0.97, "OpenMP"};
  return {
      {"B7.triad", "a = b + 3 c over 3 x 128 MiB, all cores; per pass", {target}, triad_row},
      {"B7.copy", "128 MiB copied, all cores; per pass", {target}, copy_row},
      {"B7.uneven",
       "1024 workgroups, the last of which costs 1023 times the second",
       {},
       uneven_row},
      {"B7.tiny", "100,000 workgroups of one item that stores one word", {}, tiny_row},
  };
}

}  // namespace halyard::bench
