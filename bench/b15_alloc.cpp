// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B15: memory of a pool, allocated and freed in the order of a queue, compared with malloc and
// free.
#include <cstdlib>
#include <memory>
#include <vector>

#include "allocation_trace.h"
#include "world.h"

namespace halyard::bench {
namespace {

constexpr int kLoops = 20;
constexpr std::uint64_t kLoop = 200;

// Keeps the compiler from removing the pair.
void* opaque(void* memory) {
  asm volatile("" : "+r"(memory)::"memory");
  return memory;
}

struct Pooled {
  explicit Pooled(World& world) : device(world.device()) {}
  // Each submission waits for the previous one, so that the values come in order.
  hal::Buffer allocate(std::uint64_t size) {
    const std::uint64_t before = value++;
    return queue
        .allocate(pool, {.size = size, .memory = hal::MemoryType::kHostVisible},
                  {.wait = {{done, before}}, .signal = {{done, value}}})
        .value();
  }
  void deallocate(const hal::Buffer& buffer) {
    const std::uint64_t before = value++;
    check(queue.deallocate(buffer, {.wait = {{done, before}}, .signal = {{done, value}}}));
  }
  void finish() { check(done.wait(value)); }

  hal::Device device;
  hal::Queue queue = device.queue();
  hal::Pool pool = device.create_pool({.memory = hal::MemoryType::kHostVisible}).value();
  hal::Semaphore done = device.create_semaphore().value();
  std::uint64_t value = 0;
};

Arms pair_row(World& world, std::uint64_t size) {
  const auto run = [state = std::make_shared<Pooled>(world), size, count = world.turns(kLoops)] {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kLoop, [&] {
        for (std::uint64_t k = 0; k < kLoop; ++k) state->deallocate(state->allocate(size));
        state->finish();
      }));
    }
    verify(state->pool.statistics().used_bytes == 0, "blocks that have not come back");
    return sample;
  };
  const auto heap = [size, count = world.turns(kLoops)] {
    Sample sample;
    for (int i = 0; i < count; ++i) {
      sample.times.push_back(time_each(kLoop, [&] {
        for (std::uint64_t k = 0; k < kLoop; ++k) std::free(opaque(std::malloc(size)));
      }));
    }
    return sample;
  };
  return {{"halyard: allocate, deallocate", run}, Arm{"malloc, free", heap}, {}};
}

Arms trace_row(World& world) {
  const auto trace = std::make_shared<Trace>();
  const auto run = [&world, trace] {
    Pooled state(world);  // a pool without slabs
    std::vector<hal::Buffer> live(Trace::kLive);
    Sample sample;
    sample.times.push_back(time_each(Trace::kSteps, [&] {
      for (const auto& [slot, size] : trace->steps) {
        if (live[slot]) state.deallocate(live[slot]);
        live[slot] = state.allocate(size);
      }
      state.finish();
    }));
    // The pool has returned no slab so far.
    sample.metrics["reserved/live"] = static_cast<double>(state.pool.statistics().reserved_bytes) /
                                      static_cast<double>(trace->most_live);
    for (const hal::Buffer& buffer : live) state.deallocate(buffer);
    state.finish();
    verify(state.pool.statistics().used_bytes == 0, "blocks that have not come back");
    return sample;
  };
  const auto heap = [trace] {
    std::vector<void*> live(Trace::kLive);
    Sample sample;
    sample.times.push_back(time_each(Trace::kSteps, [&] {
      for (const auto& [slot, size] : trace->steps) {
        std::free(live[slot]);
        live[slot] = opaque(std::malloc(size));
      }
    }));
    for (void* memory : live) std::free(memory);
    return sample;
  };
  return {{"halyard: a trace", run}, Arm{"malloc, free", heap}, {}};
}

}  // namespace

std::vector<Row> allocation_rows() {
  using Kind = Target::Kind;
  std::vector<Row> rows;
  const auto add = [&](std::string id, std::uint64_t size) {
    rows.push_back({id,
                    "one allocation of a pool and its return, in a queue; per pair",
                    {{Kind::kLimit, 5}},
                    [size](World& world) { return pair_row(world, size); }});
  };
  add("B15.256B", 256);
  add("B15.4KiB", 4 << 10);
  add("B15.64KiB", 64 << 10);
  add("B15.1MiB", 1 << 20);
  add("B15.16MiB", 16 << 20);
  rows.push_back(
      {"B15.fragmented",
       "4096 allocations of 256 B to 1 MiB, up to 512 at once; each, and the pool's memory",
       {{Kind::kMetric, 1.1, "reserved/live"}},
       trace_row});
  return rows;
}

}  // namespace halyard::bench
