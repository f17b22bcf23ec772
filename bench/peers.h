// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The peers that Halyard is compared with. A peer is part of the build only if its library was
// found.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halyard/hcq/cpu.h"

namespace halyard::bench {

// A kernel with its arguments, ready to call.
struct Call {
  hcq::Kernel kernel;
  void* const* buffers;
  const void* constants;

  void operator()() const {
    static constexpr Workgroup kOnly{{0, 0, 0}, {1, 1, 1}};
    kernel(&kOnly, buffers, constants);
  }
};

// Calls, each of which follows some earlier ones.
struct Dag {
  std::vector<Call> calls;
  std::vector<std::vector<std::uint32_t>> after;   // of each call, those it follows
  std::vector<std::vector<std::uint32_t>> before;  // and those that follow it
};

// A scheduler of tasks.
struct TaskPeer {
  std::string name;
  // Starts `count` unordered tasks that run `call`, waits for them, and returns the nanoseconds per
  // start. Empty if the peer has no such operation.
  std::function<double(const Call& call, std::uint64_t count)> spawn;
  // Builds a chain of the calls, each after the previous one; the result runs it once. `calls` must
  // outlive it.
  std::function<std::function<void()>(std::span<const Call> calls)> chain;
  // The same for any graph, on one thread per core. `dag` must outlive it.
  std::function<std::function<void()>(const Dag& dag)> dag{};
};
std::vector<TaskPeer> tbb_peers();
std::vector<TaskPeer> openmp_peers();
std::vector<TaskPeer> taskflow_peers();

// Trees of eight steps (steps.h) on one thread, each from the result of the previous one, beginning
// with x; returns the last result.
struct ComposePeers {
  std::string name;
  using Run = std::uint32_t (*)(std::uint64_t trees, std::uint32_t x);
  Run map, and_then, zip;
};
ComposePeers stdexec_peers();  // in the build where HALYARD_BENCH_STDEXEC is defined

// OpenMP loops over all cores; defined if HALYARD_BENCH_OPENMP is. The team spins for milliseconds
// after the end.
void openmp_triad(float* a, const float* b, const float* c, float scale, std::size_t count);
void openmp_copy(float* a, const float* b, std::size_t count);
// Groups 0 to count - 1 of a kernel.
enum class Schedule { kStatic, kDynamic, kGuided };
void openmp_groups(const Call& call, std::size_t count, Schedule schedule);

// An OpenCL CPU device (PoCL) with a kernel that increments a counter.
class OpenCl {
 public:
  virtual ~OpenCl() = default;
  virtual std::string name() const = 0;
  virtual void enqueue() = 0;
  virtual void finish() = 0;
  // Enqueued work waits from here on, until open_gate().
  virtual void close_gate() = 0;
  virtual void open_gate() = 0;
  virtual std::uint32_t counter() = 0;
};
// Null with the reason in `problem`. Probes it in a child process first, for at most half a minute:
// an OpenCL installation that crashes or hangs counts as absent. Call it before starting threads.
std::unique_ptr<OpenCl> open_opencl(std::string& problem);

}  // namespace halyard::bench
