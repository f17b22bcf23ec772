// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B10: a bound hcq queue of N kernels is submitted again with k of its arguments changed. The cost
// must depend on the changes, not on the length of the queue. The hardware queue waits for a gate
// meanwhile, so that no submission pays for waking a worker.
#include <algorithm>
#include <memory>
#include <vector>

#include "halyard/hcq/cpu.h"
#include "halyard/hcq/queue.h"
#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::size_t kShort = 10, kLong = 1000;
constexpr std::size_t kMost = 10;  // arguments that change
constexpr int kSubmissions = 500;

void add(const Workgroup*, void* const* buffers, const void*) {
  ++*static_cast<std::uint64_t*>(buffers[0]);
}

// Each of the first kMost kernels has its own buffer, whose address is a symbol.
struct Replay {
  Replay(hcq::Device& to, std::size_t kernels) : device(to) {
    const hcq::Program program = hcq::cpu_program(&add, {.name = "add", .buffer_count = 1}).value();
    for (std::size_t i = 0; i < kMost; ++i) buffers.push_back(symbols.add(address(0)));
    for (std::size_t i = 0; i < kernels; ++i) {
      queue.exec(program,
                 program.fill_kernargs({{i < kMost ? hcq::Operand(buffers[i]) : address(0), 8}}),
                 {1, 1, 1}, {1, 1, 1});
    }
    check(queue.bind(device));
    gate = device.create_signal().value();
    done = device.create_signal().value();
  }
  std::uint64_t address(std::size_t counter) const {
    return reinterpret_cast<std::uintptr_t>(&counters[counter]);
  }

  // The median time of submissions while the hardware queue waits.
  template <class Submit>
  double time(Submit&& submit) {
    std::vector<double> times;
    for (int i = 0; i < kSubmissions; ++i) {
      ++turn;
      hcq::ComputeQueue before, after;
      check(before.wait(gate, turn).submit(device));
      times.push_back(time_each(1, [&] { submit(i); }));
      // A separate submission: the queue is no longer in flight once it completes.
      check(after.signal(done, turn).submit(device));
      gate.set(turn);
      check(done.wait(turn));
    }
    return median(times);
  }
  // Replays with `changed` buffers exchanged.
  double replay(std::size_t changed) {
    submissions += kSubmissions;
    return time([&](int i) {
      for (std::size_t k = 0; k < changed; ++k) symbols.set(buffers[k], address(i % 2));
      check(queue.submit(device, symbols));
    });
  }

  hcq::Device& device;
  std::uint64_t counters[2] = {};
  hcq::SymbolTable symbols;
  std::vector<hcq::Symbol> buffers;
  hcq::ComputeQueue queue;
  hcq::Signal gate, done;
  std::uint64_t turn = 0, submissions = 0;
};

struct State {
  std::unique_ptr<hcq::Device> device = hcq::open_cpu(1).value();
  Replay few{*device, kShort}, many{*device, kLong};
};

Arms replay_row(World&) {
  const auto state = std::make_shared<State>();
  const auto run = [state] {
    Sample sample;
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, kMost}) {
      const double few = state->few.replay(k), many = state->many.replay(k);
      const std::string suffix = "k=" + std::to_string(k);
      sample.metrics["ns(1000) " + suffix] = many;
      sample.metrics["t(1000)/t(10) " + suffix] = many / few;
      sample.times = {many};
    }
    const Replay& many = state->many;
    verify(many.counters[0] + many.counters[1] == many.submissions * kLong, "increments");
    return sample;
  };
  // The limit writes as much memory and submits one command.
  const auto limit = [state, words = std::make_shared<std::vector<std::uint64_t>>(kMost * 8)] {
    hcq::ComputeQueue one;
    one.memory_barrier();
    Sample sample;
    sample.times.push_back(state->few.time([&](int i) {
      volatile std::uint64_t* word = words->data();
      for (std::size_t k = 0; k < kMost; ++k) word[8 * k] = static_cast<std::uint64_t>(i);
      check(one.submit(*state->device));
    }));
    return sample;
  };
  return {{"halyard: 1000 kernels, 10 changed", run}, Arm{"10 words, one command", limit}, {}};
}

}  // namespace

std::vector<Row> replay_rows() {
  return {
      {"B10",
       "a bound hcq queue of 1000 kernels submitted again, 10 arguments changed; with the clock",
       {{Target::Kind::kMetric, 1.3, "t(1000)/t(10) k=0"},
        {Target::Kind::kMetric, 1.3, "t(1000)/t(10) k=1"},
        {Target::Kind::kMetric, 1.3, "t(1000)/t(10) k=10"}},
       replay_row}};
}

}  // namespace halyard::bench
