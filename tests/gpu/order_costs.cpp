// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of events, values in memory, host synchronization and memory, and of host work without a
// GPU.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/format.h"
#include "gpu/cores.h"
#include "gpu/cost_objects.h"
#include "gpu/cost_table.h"

namespace halyard::testing::cuda {
namespace {

constexpr std::size_t kOrderCalls = 20000;
constexpr std::size_t kOrderBurst = 128;

// Microseconds per edge of 100 edges that alternate between two streams. `edge(i, from, to)` makes
// `to` wait for the work in `from`.
std::vector<double> edges(const EmptyKernels& kernels,
                          const std::function<void(std::uint64_t, Stream, Stream)>& edge) {
  constexpr std::uint64_t kEdges = 100;
  const OwnStream streams[2];
  std::uint64_t point = 0;
  std::vector<double> samples;
  for (int turn = 0; turn < 200; ++turn) {
    const double start = now();
    for (std::uint64_t i = 0; i < kEdges; ++i) {
      const OwnStream &from = streams[i % 2], &to = streams[(i + 1) % 2];
      kernels.launch(from);
      edge(++point, from, to);
    }
    streams[kEdges % 2].synchronize();
    if (turn >= 20) samples.push_back((now() - start) * 1e6 / double{kEdges});
  }
  streams[0].synchronize();
  streams[1].synchronize();
  return samples;
}

std::vector<double> batches(unsigned operations) {
  const OwnStream stream;
  const MappedWord word;
  std::vector<BatchMemOp> batch(operations);
  for (BatchMemOp& operation : batch) operation = {kWriteValue64, 0, word.address, 1, 0, 0, 0};
  return time_each(
      kOrderCalls, kOrderBurst,
      [&] { check(gpu().api.batch(stream, operations, batch.data(), 0), "cuStreamBatchMemOp"); },
      [&] { stream.synchronize(); });
}

// Time from the launch of an empty kernel until `wait` has seen its end.
std::vector<double> notice(const EmptyKernels& kernels, const std::function<void(Stream)>& after,
                           const std::function<void(Stream)>& wait) {
  const OwnStream stream;
  return time_each(
      2000, 100,
      [&] {
        kernels.launch(stream);
        after(stream);
        wait(stream);
      },
      [&] { stream.synchronize(); });
}

// Time of round trips between two pinned threads; `wait(word, value)` returns when the word has the
// value.
std::vector<double> round_trips(const std::function<void(std::atomic<int>&, int)>& wait,
                                const std::function<void(std::atomic<int>&)>& wake) {
  constexpr int kTrips = 2000;
  alignas(64) std::atomic<int> there = 0;
  alignas(64) std::atomic<int> back = 0;
  const OneCore mine(0);
  std::jthread other([&] {
    const OneCore its(1);
    for (int i = 1; i <= kTrips; ++i) {
      wait(there, i);
      back.store(i);
      wake(back);
    }
  });
  std::vector<double> samples;
  for (int i = 1; i <= kTrips; ++i) {
    const double start = now();
    there.store(i);
    wake(there);
    wait(back, i);
    samples.push_back((now() - start) * 1e6);
  }
  return samples;
}

}  // namespace

void print_order_costs(CostTable& table) {
  const Api& api = gpu().api;
  const EmptyKernels kernels;
  const OwnStream stream;
  const auto drain = [&] { stream.synchronize(); };

  table.group("Events");
  for (const auto& [what, flags] : {std::pair("cuEventRecord with timing", 0u),
                                    std::pair("cuEventRecord without", kEventWithoutTiming)}) {
    table.line(what, "us a call", [&] {
      const OwnEvent event(flags);
      return time_each(kOrderCalls, kOrderBurst, [&] { event.record(stream); }, drain);
    });
  }
  const OwnEvent event(kEventWithoutTiming);
  event.record(stream);
  table.line("cuStreamWaitEvent", "us a call", [&] {
    return time_each(
        kOrderCalls, kOrderBurst,
        [&] { check(api.wait_event(stream, event, 0), "cuStreamWaitEvent"); }, drain);
  });
  table.line("cuEventQuery", "us a call", [&] {
    return time_each(
        kOrderCalls, kOrderBurst, [&] { check(api.query_event(event), "cuEventQuery"); }, drain);
  });

  table.group("Values in memory");
  const MappedWord word;
  table.line("cuStreamWriteValue64", "us a call", [&] {
    return time_each(kOrderCalls, kOrderBurst, [&] { word.make_stream_write(stream, 1); }, drain);
  });
  table.line("cuStreamWaitValue64, value reached", "us a call", [&] {
    return time_each(kOrderCalls, kOrderBurst, [&] { word.make_stream_wait(stream, 0); }, drain);
  });
  for (const unsigned operations : {2u, 8u}) {
    table.line(fmt::format("cuStreamBatchMemOp of {} writes", operations), "us a call",
               [&] { return batches(operations); });
  }
  table.line("kernel and edge to another stream, by an event", "us each", [&] {
    return edges(kernels, [&](std::uint64_t, Stream from, Stream to) {
      event.record(from);
      check(api.wait_event(to, event, 0), "cuStreamWaitEvent");
    });
  });
  table.line("kernel and edge to another stream, by a value", "us each", [&] {
    const MappedWord point;
    return edges(kernels, [&](std::uint64_t value, Stream from, Stream to) {
      point.make_stream_write(from, value);
      point.make_stream_wait(to, value);
    });
  });

  table.group("The host's part");
  table.line("empty kernel, cuLaunchHostFunc, until it has run", "us", [&] {
    std::atomic<bool> ran = false;
    return notice(
        kernels,
        [&](Stream to) {
          ran = false;
          check(
              api.launch_host(
                  to, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &ran),
              "cuLaunchHostFunc");
        },
        [&](Stream) {
          while (!ran.load(std::memory_order_relaxed)) continue;
        });
  });
  table.line("empty kernel, cuStreamWriteValue64, until polled", "us", [&] {
    std::uint64_t value = 0;
    const MappedWord done;
    return notice(
        kernels, [&](Stream to) { done.make_stream_write(to, ++value); },
        [&](Stream) {
          while (done.word->load(std::memory_order_relaxed) != value) continue;
        });
  });
  for (const auto& [what, flags] :
       {std::pair("empty kernel, cuStreamSynchronize, spinning", kScheduleSpin),
        std::pair("the same, yielding", kScheduleYield),
        std::pair("the same, blocking", kScheduleBlocking)}) {
    table.line(what, "us", [&] {
      check(api.set_context_flags(gpu().device, flags), "cuDevicePrimaryCtxSetFlags");
      std::vector<double> samples = notice(
          kernels, [](Stream) {},
          [&](Stream to) { check(api.synchronize(to), "cuStreamSynchronize"); });
      check(api.set_context_flags(gpu().device, 0), "cuDevicePrimaryCtxSetFlags");
      return samples;
    });
  }
}

void print_memory_costs(CostTable& table) {
  const Api& api = gpu().api;
  const OwnStream stream;
  const auto drain = [&] { stream.synchronize(); };
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  table.group("Memory");
  table.line("cuMemAllocAsync and cuMemFreeAsync, 1 MiB, warm", "us both", [&] {
    return time_each(
        2000, 100,
        [&] {
          DevicePointer memory = 0;
          check(api.allocate_async(&memory, kMebi, stream), "cuMemAllocAsync");
          check(api.free_async(memory, stream), "cuMemFreeAsync");
        },
        drain);
  });
  table.line("cuMemAlloc and cuMemFree, 1 MiB", "us both", [&] {
    return time_each(
        500, 50,
        [&] {
          DevicePointer memory = 0;
          check(api.allocate(&memory, kMebi), "cuMemAlloc");
          check(api.free(memory), "cuMemFree");
        },
        drain);
  });
  constexpr std::size_t kLarge = 64 * kMebi;
  DevicePointer memory = 0, other = 0;
  void* host = nullptr;
  check(api.allocate(&memory, kLarge), "cuMemAlloc");
  check(api.allocate(&other, kLarge), "cuMemAlloc");
  check(api.allocate_host(&host, kLarge, kHostPortable), "cuMemHostAlloc");
  table.line("cuMemcpyHtoDAsync, 4 bytes", "us a call", [&] {
    return time_each(
        kOrderCalls, kOrderBurst,
        [&] { check(api.copy_in_async(memory, host, 4, stream), "cuMemcpyHtoDAsync"); }, drain);
  });
  const auto bandwidth = [&](const std::function<int()>& copy) {
    const OwnEvent first, last;
    std::vector<double> samples;
    for (int turn = 0; turn < 20; ++turn) {
      first.record(stream);
      check(copy(), "the copy");
      last.record(stream);
      stream.synchronize();
      samples.push_back(double{kLarge} / between(first, last) * 1e-3);
    }
    return samples;
  };
  table.line("cuMemcpyHtoDAsync, 64 MiB, pinned", "GB/s", [&] {
    return bandwidth([&] { return api.copy_in_async(memory, host, kLarge, stream); });
  });
  table.line("cuMemcpyDtoHAsync, 64 MiB, pinned", "GB/s", [&] {
    return bandwidth([&] { return api.copy_out_async(host, memory, kLarge, stream); });
  });
  table.line("cuMemcpyDtoDAsync, 64 MiB, on one device", "GB/s copied", [&] {
    return bandwidth([&] { return api.copy_on_device_async(other, memory, kLarge, stream); });
  });
  api.free_host(host);
  api.free(other);
  api.free(memory);
}

void print_host_costs(CostTable& table) {
  table.group("The host alone");
  const auto call = [](const std::function<void()>& what) {
    return time_each(
        200, 1,
        [&] {
          for (int i = 0; i < 1000; ++i) what();
        },
        [] {});
  };
  table.line("clock_gettime", "ns", [&] {
    timespec time;
    return call([&] { clock_gettime(CLOCK_MONOTONIC, &time); });
  });
  table.line("a system call", "ns", [&] { return call([] { syscall(SYS_getppid); }); });
  table.line("a cache line to another core and back", "us", [] {
    return round_trips(
        [](std::atomic<int>& word, int value) {
          while (word.load() != value) continue;
        },
        [](std::atomic<int>&) {});
  });
  table.line("a futex wake to another core and back", "us", [] {
    return round_trips(
        [](std::atomic<int>& word, int value) {
          while (word.load() != value) {
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value - 1, nullptr, nullptr, 0);
          }
        },
        [](std::atomic<int>& word) {
          syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        });
  });
}

}  // namespace halyard::testing::cuda
