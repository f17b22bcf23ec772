// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcuda that forwards to the real libcuda, with which it is linked, and times some of the
// calls:
//
//     HALYARD_CUDA_LIBRARY=$PWD/libcuda-timed.so halyard-bench --filter N2
//
// When the process ends it prints, to stderr, the duration of each call, and the time between two
// calls of a thread. Callers that found a function by cuGetProcAddress, as Halyard does, are listed
// apart from callers that found it by dlsym, as the raw arms of halyard-bench do. Timing adds 20 to
// 30 ns to a call. Needs CUDA 12, and x86-64 for its clock.
#include <dlfcn.h>
#include <fmt/format.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

// Name, parameters, arguments. The declarations are those of cuda.h, with a pointer for a handle.
#define TIMED_FUNCTIONS(X)                                                                       \
  X(cuLaunchKernel,                                                                              \
    (void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,      \
     unsigned shared, void* stream, void** parameters, void** extra),                            \
    (f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))                              \
  X(cuEventRecord, (void* event, void* stream), (event, stream))                                 \
  X(cuEventQuery, (void* event), (event))                                                        \
  X(cuStreamWaitEvent, (void* stream, void* event, unsigned flags), (stream, event, flags))      \
  X(cuStreamQuery, (void* stream), (stream))                                                     \
  X(cuLaunchHostFunc, (void* stream, void (*f)(void*), void* user), (stream, f, user))           \
  X(cuMemcpyAsync, (unsigned long long to, unsigned long long from, std::size_t n, void* stream), \
    (to, from, n, stream))                                                                       \
  X(cuGraphLaunch, (void* graph, void* stream), (graph, stream))                                 \
  X(cuGraphExecKernelNodeSetParams, (void* graph, void* node, const void* parameters),           \
    (graph, node, parameters))                                                                   \
  X(cuCtxGetCurrent, (void** context), (context))                                                \
  X(cuCtxSetCurrent, (void* context), (context))                                                 \
  X(cuThreadExchangeStreamCaptureMode, (int* mode), (mode))

enum Function : std::uint8_t {
#define TIMED_ENUM(name, parameters, arguments) k_##name,
  TIMED_FUNCTIONS(TIMED_ENUM)
#undef TIMED_ENUM
};
constexpr const char* kNames[] = {
#define TIMED_NAME(name, parameters, arguments) #name,
    TIMED_FUNCTIONS(TIMED_NAME)
#undef TIMED_NAME
};

struct Call {
  std::uint64_t begin = 0, end = 0;  // ticks of the time stamp counter
  std::uint32_t thread = 0;
  Function function{};
  bool asked_for = false;  // found by cuGetProcAddress
};
// Initialized in advance, so that no call pays for a new page. Calls beyond its size are not
// recorded.
std::vector<Call> calls(4'000'000);
std::atomic<std::size_t> count{0};
std::atomic<std::uint32_t> threads{0};

void note(std::uint64_t begin, Function function, bool asked_for) {
  const std::uint64_t end = __rdtsc();
  static thread_local const std::uint32_t thread = ++threads;
  const std::size_t at = count.fetch_add(1, std::memory_order_relaxed);
  if (at < calls.size()) calls[at] = {begin, end, thread, function, asked_for};
}

void* find(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return dlsym(library, name);
}

#define TIMED_DEFINE(name, parameters, arguments)            \
  int(*real_##name) parameters = nullptr;                    \
  int asked_for_##name parameters {                          \
    const std::uint64_t begin = __rdtsc();                   \
    const int result = real_##name arguments;                \
    note(begin, k_##name, true);                             \
    return result;                                           \
  }
TIMED_FUNCTIONS(TIMED_DEFINE)
#undef TIMED_DEFINE

double nanoseconds_of_a_tick() {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double began = now();
  const std::uint64_t ticks = __rdtsc();
  while (now() - began < 2e7) {
  }
  return (now() - began) / static_cast<double>(__rdtsc() - ticks);
}

void print(const char* found, std::uint32_t thread, const std::string& what,
           std::vector<double>& times) {
  std::ranges::sort(times);
  double sum = 0;
  for (const double time : times) sum += time;
  const auto at = [&](std::size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  fmt::print(stderr, "| {} | {} | {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} |\n", found,
             thread, what, times.size(), at(10), at(50), at(90), at(99), sum * 1e-6);
}

struct Report {
  ~Report() {
    using Key = std::tuple<bool, std::uint32_t, int, int>;  // of a call: without the last
    std::map<Key, std::vector<double>> within, between;
    std::map<std::uint32_t, const Call*> latest;
    const double tick = nanoseconds_of_a_tick();
    const std::size_t noted = std::min(count.load(), calls.size());
    for (const Call& call : std::span(calls).first(noted)) {
      if (call.end == 0) continue;  // a thread was about to note it
      within[{call.asked_for, call.thread, call.function, 0}].push_back(
          static_cast<double>(call.end - call.begin) * tick);
      const Call*& before = latest[call.thread];
      if (before != nullptr && before->asked_for == call.asked_for) {
        between[{call.asked_for, call.thread, before->function, call.function}].push_back(
            static_cast<double>(call.begin - before->end) * tick);
      }
      before = &call;
    }
    fmt::print(stderr,
               "\n| found by | thread | call, or from one to the next | times | 10 % ns | median "
               "| 90 % | 99 % | all, ms |\n|---|---|---|---|---|---|---|---|---|\n");
    const auto found = [](bool asked_for) { return asked_for ? "cuGetProcAddress" : "dlsym"; };
    for (auto& [key, times] : within) {
      const auto& [asked_for, thread, function, none] = key;
      print(found(asked_for), thread, kNames[function], times);
    }
    for (auto& [key, times] : between) {
      const auto& [asked_for, thread, from, to] = key;
      print(found(asked_for), thread, fmt::format("{} to {}", kNames[from], kNames[to]), times);
    }
  }
} report;

}  // namespace

#define TIMED_EXPORT(name, parameters, arguments)                                         \
  extern "C" [[gnu::visibility("default")]] int name parameters {                         \
    static const auto real = reinterpret_cast<int(*) parameters>(find(#name));            \
    const std::uint64_t begin = __rdtsc();                                                \
    const int result = real arguments;                                                    \
    note(begin, k_##name, false);                                                         \
    return result;                                                                        \
  }
TIMED_FUNCTIONS(TIMED_EXPORT)
#undef TIMED_EXPORT

extern "C" [[gnu::visibility("default")]] int cuGetProcAddress_v2(const char* name, void** function,
                                                                  int version,
                                                                  std::uint64_t flags,
                                                                  int* status) {
  static const auto real =
      reinterpret_cast<decltype(&cuGetProcAddress_v2)>(find("cuGetProcAddress_v2"));
  const int result = real(name, function, version, flags, status);
  if (result != 0 || *function == nullptr) return result;
#define TIMED_ANSWER(its, parameters, arguments)                      \
  if (std::string_view(name) == #its) {                               \
    real_##its = reinterpret_cast<int(*) parameters>(*function);      \
    *function = reinterpret_cast<void*>(&asked_for_##its);            \
  }
  TIMED_FUNCTIONS(TIMED_ANSWER)
#undef TIMED_ANSWER
  return result;
}
