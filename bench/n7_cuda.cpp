// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N7 to N10: Halyard on a GPU, compared with raw calls of the same library in the same process.
// They run if HALYARD_CUDA_LIBRARY is set, as scripts/gpu-check does. With the simulated library
// their figures do not apply to a GPU.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation_trace.h"
#include "cuda_arms.h"

namespace halyard::bench {
namespace {

constexpr int kTimes = 100;  // of a repetition

// False if the simulated library runs in the mode that does nothing, which CudaDevice selects.
bool has_results(const hal::Device& device) {
  if (!device.info().name.starts_with("Halyard simulated")) return true;
  const char* const mode = std::getenv("HALYARD_SIM_CUDA_MODE");
  return mode == nullptr || std::string_view(mode).find("null") == std::string_view::npos;
}

// Both sides in one context, which is current.
struct Sides : CudaDevice {
  RawCuda& cuda = RawCuda::get();
  RawCuda::Stream stream = cuda.stream();
  RawCuda::Event event = cuda.event();
  bool verified = has_results(device);

  hal::SubmitInfo& next() {
    points[0] = {done, value};
    points[1] = {done, ++value};
    info = {.wait = {&points[0], 1}, .signal = {&points[1], 1}};
    return info;
  }
  void finish() { check(done.wait(value)); }
  void finish_raw() { RawCuda::expect(cuda.synchronize(stream)); }

  hal::Point points[2];
  hal::SubmitInfo info;
};

// The time of each of `count` turns.
template <class F>
std::function<Sample()> each(World& world, F turn, std::uint64_t operations = 1) {
  return [turn, operations, count = world.turns(kTimes)] {
    Sample sample;
    for (int i = 0; i < count; ++i) sample.times.push_back(time_each(operations, turn));
    return sample;
  };
}

// ---- N7: between the host and the GPU

struct Word {
  explicit Word(const RawCuda& cuda) {
    void* memory = nullptr;
    RawCuda::expect(cuda.allocate_host(&memory, 64, 3 /* PORTABLE, DEVICEMAP */));
    value = new (memory) std::atomic<std::uint64_t>(0);
    address = reinterpret_cast<std::uintptr_t>(memory);
  }
  void await(std::uint64_t wanted) const {
    while (value->load(std::memory_order_acquire) < wanted) continue;
  }
  std::atomic<std::uint64_t>* value;
  RawCuda::Address address;
};

struct Notices : Sides {
  Word ended{cuda}, gate{cuda};
  std::uint64_t count = 0, gates = 0, raw_gates = 0;
  hal::Semaphore opened = device.create_semaphore().value();

  void polled() {
    cuda.put(stream);
    RawCuda::expect(cuda.write_value(stream, ended.address, ++count, 0));
    ended.await(count);
  }
  void called_back() {
    cuda.put(stream);
    ++count;
    RawCuda::expect(cuda.call_host(
        stream,
        [](void* word) {
          static_cast<std::atomic<std::uint64_t>*>(word)->fetch_add(1, std::memory_order_release);
        },
        ended.value));
    ended.await(count);
  }
};

Arms gpu_to_host(World& world) {
  auto state = std::make_shared<Notices>();
  const auto halyard = [state] {
    state->dispatch(state->queue, state->next());
    state->finish();
  };
  const auto stream = [state] {
    state->cuda.put(state->stream);
    state->finish_raw();
  };
  const auto event = [state] {
    state->cuda.put(state->stream);
    RawCuda::expect(state->cuda.record(state->event, state->stream));
    RawCuda::expect(state->cuda.synchronize_event(state->event));
  };
  return {{"halyard: dispatch, wait", each(world, halyard)},
          Arm{"a polled word", each(world, [state] { state->polled(); })},
          {{"cuLaunchHostFunc", each(world, [state] { state->called_back(); })},
           {"cuStreamSynchronize", each(world, stream)},
           {"cuEventSynchronize", each(world, event)}}};
}

Arms host_to_gpu(World& world) {
  auto state = std::make_shared<Notices>();
  const auto halyard = [state] {
    hal::SubmitInfo& info = state->next();
    state->points[0] = {state->opened, ++state->gates};
    state->dispatch(state->queue, info);
    check(state->opened.signal(state->gates));
    state->finish();
  };
  const auto raw = [state] {
    const std::uint64_t opened = ++state->raw_gates;
    RawCuda::expect(
        state->cuda.wait_value(state->stream, state->gate.address, opened, 0 /* GEQ */));
    state->cuda.put(state->stream);
    RawCuda::expect(
        state->cuda.write_value(state->stream, state->ended.address, ++state->count, 0));
    state->gate.value->store(opened, std::memory_order_release);
    state->ended.await(state->count);
  };
  return {{"halyard: parked dispatch, signal, wait", each(world, halyard)},
          Arm{"cuStreamWaitValue64, polled word", each(world, raw)},
          {}};
}

// ---- N8: memory in the order of a queue

struct Pooled : Sides {
  // Neither side gives memory back to the system between turns.
  Pooled() {
    void* default_pool = nullptr;
    std::uint64_t all = ~std::uint64_t{0};
    RawCuda::expect(cuda.default_pool(&default_pool, 0));
    RawCuda::expect(cuda.set_pool(default_pool, 4 /* RELEASE_THRESHOLD */, &all));
  }

  hal::Pool pool = device.create_pool({}).value();
  hal::Buffer allocate_one(std::uint64_t size) {
    return queue.allocate(pool, {.size = size}, next()).value();
  }
  RawCuda::Address raw_one(std::uint64_t size) {
    RawCuda::Address address = 0;
    RawCuda::expect(cuda.allocate_async(&address, size, stream));
    return address;
  }
};

Arms allocation(World& world, std::uint64_t size) {
  // A large cuMemAlloc takes as long as hundreds of small ones.
  const bool is_large = size >= std::uint64_t{1} << 30;
  const std::uint64_t pairs = is_large ? 2 : 100;
  auto state = std::make_shared<Pooled>();
  const auto halyard = [state, size, pairs] {
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const hal::Buffer buffer = state->allocate_one(size);
      check(state->queue.deallocate(buffer, state->next()));
    }
    state->finish();
  };
  const auto raw = [state, size, pairs] {
    for (std::uint64_t i = 0; i < pairs; ++i) {
      RawCuda::expect(state->cuda.free_async(state->raw_one(size), state->stream));
    }
    state->finish_raw();
  };
  const auto blocking = [state, size, pairs] {
    for (std::uint64_t i = 0; i < pairs; ++i) {
      RawCuda::Address address = 0;
      RawCuda::expect(state->cuda.allocate(&address, size));
      RawCuda::expect(state->cuda.free(address));
    }
  };
  return {{"halyard: allocate, deallocate", each(world, halyard, pairs)},
          Arm{"cuMemAllocAsync, cuMemFreeAsync", each(world, raw, pairs)},
          {{"cuMemAlloc, cuMemFree", each(world, blocking, pairs)}}};
}

Arms fragmented(World&) {
  const auto trace = std::make_shared<Trace>();
  const auto halyard = [trace] {
    Pooled state;  // a pool without slabs
    std::vector<hal::Buffer> live(Trace::kLive);
    Sample sample;
    sample.times.push_back(time_each(Trace::kSteps, [&] {
      for (const auto& [slot, size] : trace->steps) {
        if (live[slot]) check(state.queue.deallocate(live[slot], state.next()));
        live[slot] = state.allocate_one(size);
      }
      state.finish();
    }));
    sample.metrics["reserved/live"] = static_cast<double>(state.pool.statistics().reserved_bytes) /
                                      static_cast<double>(trace->most_live);
    for (const hal::Buffer& buffer : live) check(state.queue.deallocate(buffer, state.next()));
    state.finish();
    return sample;
  };
  const auto raw = [trace, state = std::make_shared<Pooled>()] {
    std::vector<RawCuda::Address> live(Trace::kLive);
    Sample sample;
    sample.times.push_back(time_each(Trace::kSteps, [&] {
      for (const auto& [slot, size] : trace->steps) {
        if (live[slot] != 0) RawCuda::expect(state->cuda.free_async(live[slot], state->stream));
        live[slot] = state->raw_one(size);
      }
      state->finish_raw();
    }));
    for (const RawCuda::Address address : live) {
      RawCuda::expect(state->cuda.free_async(address, state->stream));
    }
    state->finish_raw();
    return sample;
  };
  return {{"halyard: a trace", halyard}, Arm{"cuMemAllocAsync, cuMemFreeAsync", raw}, {}};
}

// ---- N9: bytes

enum class Way { kIn, kOut, kOnDevice, kFill, kTriad };

struct Bytes : Sides {
  Bytes(Way its_way, std::uint64_t its_size) : way(its_way), size(its_size) {
    const auto make = [&](bool on_host) {
      return device
          .allocate(
              {.size = size,
               .memory = on_host ? hal::MemoryType::kHostVisible : hal::MemoryType::kDeviceLocal})
          .value();
    };
    source = make(way == Way::kIn);
    other = make(false);
    target = make(way == Way::kOut);
    for (const hal::Buffer& buffer : {source, other}) {
      check(queue.fill(buffer, 0x3f80'0000 /* 1.0f */, 4, next()));
    }
    finish();
    if (way == Way::kTriad) triad = World::load(device, "bench").function("triad").value();
  }
  std::uint32_t elements() const { return static_cast<std::uint32_t>(size / 4); }

  void halyard() {
    if (way == Way::kFill) {
      check(queue.fill(target, kPattern, 4, next()));
    } else if (way == Way::kTriad) {
      check(queue.dispatch(triad, {.items = {elements()}}, {target, source, other},
                           {2.0F, elements()}, next()));
    } else {
      check(queue.copy(source, target, next()));
    }
    finish();
  }
  void raw() {
    const RawCuda::Address to = target.device_address(), from = source.device_address();
    if (way == Way::kFill) {
      RawCuda::expect(cuda.fill(to, kPattern, size / 4, stream));
    } else if (way == Way::kTriad) {
      RawCuda::Address a = to, b = from, c = other.device_address();
      float scale = 2.0F;
      std::uint32_t n = elements();
      void* parameters[] = {&a, &b, &c, &scale, &n};
      RawCuda::expect(cuda.launch(cuda.triad, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream,
                                  parameters, nullptr));
    } else {
      RawCuda::expect(cuda.copy(to, from, size, stream));
    }
    finish_raw();
  }
  // Checks the last word of the target.
  void expect_result() {
    if (!verified) return;
    const hal::Buffer seen =
        device.allocate({.size = 4, .memory = hal::MemoryType::kHostVisible}).value();
    check(queue.copy({target, size - 4, 4}, seen, next()));
    finish();
    const std::uint32_t expected = way == Way::kFill    ? kPattern
                                   : way == Way::kTriad ? 0x4040'0000 /* 3.0f */
                                                        : 0x3f80'0000;
    verify(seen.map().value().as<std::uint32_t>()[0] == expected, "the last word");
    check(queue.fill(target, 0, 4, next()));
    finish();
  }

  static constexpr std::uint32_t kPattern = 0x0102'0304;
  Way way;
  std::uint64_t size;
  hal::Buffer source, other, target;
  hal::Function triad;
};

Arms bytes(World& world, Way way, std::uint64_t size) {
  auto state = std::make_shared<Bytes>(way, size);
  const auto verified = [&world, state](auto turn) {
    return [state, run = each(world, turn)] {
      Sample sample = run();
      state->expect_result();
      return sample;
    };
  };
  const auto raw = verified([state] { state->raw(); });
  const auto halyard = [run = verified([state] { state->halyard(); }), raw] {
    Sample sample = run();
    sample.metrics["ns beyond the raw call"] = median(sample.times) - median(raw().times);
    return sample;
  };
  return {{"halyard", halyard}, Arm{"the raw call, cuStreamSynchronize", raw}, {}};
}

// ---- N10: a thousand small kernels, as in a step of a decoder

// 250 layers: a kernel, then two independent kernels, then a kernel that depends on both.
Arms small_kernels(World& world) {
  constexpr std::uint32_t kLayers = 250;
  struct Decoder : Sides {
    hal::Buffer y = device.allocate({.size = 4}).value(), z = device.allocate({.size = 4}).value();
    hal::CommandBuffer commands;
    std::uint32_t replays = 0;
    void* executable = nullptr;
  };
  auto state = std::make_shared<Decoder>();
  hal::Recorder recorder(state->device);
  const auto record = [&](const hal::Buffer& buffer) {
    recorder.dispatch(state->add, {.groups = {1}}, {buffer}, {std::uint32_t{1}});
  };
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    if (i != 0) recorder.barrier();
    record(state->x);
    recorder.barrier();
    record(state->y);
    record(state->z);
    recorder.barrier();
    record(state->x);
  }
  state->commands = recorder.finish().value();
  const RawCuda& cuda = state->cuda;
  for (const hal::Buffer& buffer : {state->x, state->y, state->z}) {
    check(state->queue.fill(buffer, 0, 4, state->next()));
  }
  state->finish();

  RawCuda::Address address = 0;
  std::uint32_t amount = 1;
  void* parameters[] = {&address, &amount};
  const RawCuda::KernelNode node = RawCuda::kernel_node(cuda.add, parameters);
  void* graph = nullptr;
  RawCuda::expect(cuda.create_graph(&graph, 0));
  std::vector<void*> before;
  for (std::uint32_t i = 0; i < 3 * kLayers; ++i) {
    std::vector<void*> row(i % 3 == 1 ? 2 : 1);
    for (void*& it : row) {
      address = (i % 3 != 1 ? state->x : &it == row.data() ? state->y : state->z).device_address();
      RawCuda::expect(cuda.add_kernel(&it, graph, before.data(), before.size(), &node));
    }
    before = std::move(row);
  }
  RawCuda::expect(cuda.instantiate(&state->executable, graph, 0));

  const auto halyard =
      [state, run = each(world, [state] {
                check(state->queue.execute(
                    state->commands, {.wait = state->next().wait, .signal = state->info.signal}));
                state->finish();
                ++state->replays;
              })] {
        Sample sample = run();
        if (!state->verified) return sample;
        const hal::Buffer seen =
            state->device.allocate({.size = 4, .memory = hal::MemoryType::kHostVisible}).value();
        check(state->queue.copy(state->x, seen, state->next()));
        state->finish();
        verify(seen.map().value().as<std::uint32_t>()[0] == 2 * kLayers * state->replays,
               "the word of the chain");
        return sample;
      };
  const auto raw = [state] {
    RawCuda::expect(state->cuda.launch_graph(state->executable, state->stream));
    state->finish_raw();
    ++state->replays;
  };
  const auto eager = [state] {
    for (std::uint32_t i = 0; i < 4 * kLayers; ++i) state->cuda.put(state->stream);
    state->finish_raw();
  };
  return {{"halyard: a recording", halyard},
          Arm{"cuGraphLaunch", each(world, raw)},
          {{"1000 cuLaunchKernel", each(world, eager)}}};
}

}  // namespace

std::vector<Row> gpu_rows() {
  using Kind = Target::Kind;
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  std::vector<Row> rows = {
      {"N7.to_host",
       "a dispatch, until the host has seen its end",
       {{Kind::kLimit, 1.2}, {Kind::kPeer, 0.5, "cuLaunchHostFunc"}},
       gpu_to_host},
      {"N7.to_gpu",
       "a dispatch that waits for the host's signal, until the host has seen its end",
       {},
       host_to_gpu},
      {"N8.fragmented",
       "4096 allocations of 256 B to 1 MiB, up to 512 at once; each",
       {{Kind::kMetric, 1.1, "reserved/live"}},
       fragmented},
      {"N10",
       "a recording of 1000 small dispatches, a chain with forks",
       {{Kind::kLimit, 1.02}},
       small_kernels},
  };
  const auto pair = [&](std::string id, std::uint64_t size) {
    rows.push_back({id,
                    "one allocation of a pool and its return, in a queue; per pair",
                    {{Kind::kLimit, 0.3}},
                    [size](World& world) { return allocation(world, size); }});
  };
  pair("N8.256B", 256);
  pair("N8.1MiB", kMebi);
  pair("N8.1GiB", 1024 * kMebi);
  const auto moved = [&](std::string id, std::string what, Way way, std::uint64_t size) {
    const Target target = size < kMebi ? Target{Kind::kMetric, 300, "ns beyond the raw call"}
                                       : Target{Kind::kLimit, 1.01};
    rows.push_back({id, what, {target}, [=](World& world) { return bytes(world, way, size); }});
  };
  moved("N9.in.4KiB", "a copy of 4 KiB to the GPU, and its wait", Way::kIn, 4096);
  moved("N9.in.64MiB", "the same of 64 MiB", Way::kIn, 64 * kMebi);
  moved("N9.out.4KiB", "a copy of 4 KiB from the GPU, and its wait", Way::kOut, 4096);
  moved("N9.out.64MiB", "the same of 64 MiB", Way::kOut, 64 * kMebi);
  moved("N9.copy.64MiB", "a copy of 64 MiB on the GPU", Way::kOnDevice, 64 * kMebi);
  moved("N9.fill.64MiB", "a fill of 64 MiB", Way::kFill, 64 * kMebi);
  moved("N9.triad.64MiB", "a = b + s * c, 64 MiB each", Way::kTriad, 64 * kMebi);
  if (std::getenv("HALYARD_CUDA_LIBRARY") == nullptr) {
    for (Row& row : rows) {
      row.prepare = [](World&) -> Arms { throw Unavailable("HALYARD_CUDA_LIBRARY is not set"); };
    }
  }
  return rows;
}

}  // namespace halyard::bench
