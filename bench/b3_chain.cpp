// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B3: 10,000 dependent kernels of one item, recorded once and replayed.
#include <memory>
#include <random>

#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::size_t kKernels = 10'000;
constexpr int kReplays = 20;

// A chain over one word; each arm has its own word, the same machine code and the same kind of
// arguments.
struct Chain {
  Words words;
  void* buffers[1];
  alignas(8) std::uint32_t amount = 7;  // block of constants
  std::vector<hal::Function> functions;
  std::vector<hcq::Kernel> kernels;
  std::vector<std::uint8_t> order;  // kKernels indices of functions

  Chain(World& world, std::vector<std::string_view> names) : words(world.device(), 1) {
    buffers[0] = &words[0];
    for (const std::string_view name : names) {
      functions.push_back(world.function(name));
      kernels.push_back(World::entry(functions.back()));
    }
    // Random, so that no branch predictor learns the order.
    std::mt19937 random(1);
    std::uniform_int_distribution<std::size_t> pick(0, names.size() - 1);
    for (std::size_t i = 0; i < kKernels; ++i) {
      order.push_back(static_cast<std::uint8_t>(pick(random)));
    }
  }

  Call call(std::size_t index) const { return {kernels[order[index]], buffers, &amount}; }
  std::vector<Call> calls() const {
    std::vector<Call> list;
    for (std::size_t i = 0; i < kKernels; ++i) list.push_back(call(i));
    return list;
  }
  hal::CommandBuffer record(World& world) const {
    hal::Recorder recorder(world.device());
    for (const std::uint8_t index : order) {
      const hal::Function& function = functions[index];
      if (function.constant_count() == 0) {
        recorder.dispatch(function, {.groups = 1}, {words.buffer()});
      } else {
        recorder.dispatch(function, {.groups = 1}, {words.buffer()}, {amount});
      }
      recorder.barrier();
    }
    return recorder.finish().value();
  }

  // The result of a replay on a word: the same definitions as in bench.hyk.
  std::uint32_t expected(std::uint32_t x) const {
    for (const std::uint8_t index : order) {
      const std::string_view name = functions[index].name();
      if (name == "increment") x += 1;
      if (name == "add") x += amount;
      if (name == "scramble") x = x * 1664525 + 1013904223;
      if (name == "fold") x ^= x >> 15;
    }
    return x;
  }

  template <class F>
  Sample replay(int count, F&& run) {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      const std::uint32_t after = expected(words[0]);
      sample.times.push_back(time_each(kKernels, run));
      verify(words[0] == after, "a chain of kernels");
    }
    return sample;
  }
};

Arms chain_row(World& world, const std::vector<std::string_view>& names) {
  const auto fresh = [&] { return std::make_shared<Chain>(world, names); };
  const int count = world.turns(kReplays);

  auto chain = fresh();
  const Arm halyard{
      "halyard: execute_and_wait",
      [chain, commands = chain->record(world), queue = world.device().queue(), count] {
        return chain->replay(count, [&] { check(queue.execute_and_wait(commands, {})); });
      }};
  const Arm limit{"call loop", [own = fresh(), count] {
                    // Through variables that are opaque to the compiler, like a recording.
                    const hcq::Kernel* kernels = own->kernels.data();
                    asm volatile("" : "+r"(kernels));
                    return own->replay(count, [&] {
                      for (const std::uint8_t index : own->order) {
                        Call{kernels[index], own->buffers, &own->amount}();
                      }
                    });
                  }};
  std::vector<Arm> peers;
  for (const TaskPeer& peer : world.task_peers()) {
    if (!peer.chain) continue;
    auto own = fresh();
    auto calls = std::make_shared<const std::vector<Call>>(own->calls());
    peers.push_back({peer.name, [own, calls, replay = peer.chain(*calls), count] {
                       return own->replay(count, replay);
                     }});
  }
  return {halyard, limit, std::move(peers)};
}

}  // namespace

std::vector<Row> chain_rows() {
  using Kind = Target::Kind;
  return {
      {"B3.same",
       "10,000 dependent one-item kernels in a recording, per kernel; one kernel",
       {{Kind::kLimit, 5}, {Kind::kPeer, 0.33, "TBB"}},
       [](World& world) { return chain_row(world, {"increment"}); }},
      {"B3.mixed",
       "the same with four kernels in random order",
       {{Kind::kLimit, 1.6}, {Kind::kPeer, 0.4, "TBB"}},
       [](World& world) { return chain_row(world, {"increment", "add", "scramble", "fold"}); }}};
}

}  // namespace halyard::bench
