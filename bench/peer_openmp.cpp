// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peers.h"

#include <omp.h>

#include <atomic>

namespace halyard::bench {
namespace {

// One thread: for a chain it is OpenMP's best, and an idle team would spin during the other arms.
std::function<void()> task_chain(std::span<const Call> calls) {
  return [calls] {
    int link = 0;
#pragma omp parallel num_threads(1) shared(link)
    for (const Call& call : calls) {
#pragma omp task depend(inout : link) firstprivate(call)
      {
        call();
        ++link;
      }
    }
  };
}

// Tasks that count their own predecessors, which is faster than depend. One ready successor runs at
// once.
struct Tasks {
  explicit Tasks(const Dag& of) : dag(of), pending(of.calls.size()) {}
  void run(std::uint32_t node) {
    for (;;) {
      dag.calls[node]();
      std::uint32_t next = kNone;
      for (const std::uint32_t after : dag.before[node]) {
        if (pending[after].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        pending[after].store(static_cast<std::uint32_t>(dag.after[after].size()),
                             std::memory_order_relaxed);
        if (next == kNone) {
          next = after;
          continue;
        }
#pragma omp task firstprivate(after)
        run(after);
      }
      if (next == kNone) return;
      node = next;
    }
  }
  static constexpr std::uint32_t kNone = ~0u;
  const Dag& dag;
  std::vector<std::atomic<std::uint32_t>> pending;
};

std::function<void()> task_dag(const Dag& dag) {
  auto tasks = std::make_shared<Tasks>(dag);
  for (std::size_t i = 0; i < dag.calls.size(); ++i) {
    tasks->pending[i] = static_cast<std::uint32_t>(dag.after[i].size());
  }
  return [tasks] {
#pragma omp parallel
#pragma omp single
    for (std::uint32_t i = 0; i < tasks->dag.calls.size(); ++i) {
      if (!tasks->dag.after[i].empty()) continue;
#pragma omp task firstprivate(i)
      tasks->run(i);
    }
    omp_pause_resource_all(omp_pause_soft);  // ends the team, which would spin otherwise
  };
}

}  // namespace

std::vector<TaskPeer> openmp_peers() { return {{"OpenMP", {}, task_chain, task_dag}}; }

void openmp_triad(float* a, const float* b, const float* c, float scale, std::size_t count) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
}

void openmp_copy(float* a, const float* b, std::size_t count) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i];
}

void openmp_groups(const Call& call, std::size_t count, Schedule schedule) {
  const auto run = [&](std::size_t group) {
    const Workgroup at{{group, 0, 0}, {count, 1, 1}};
    call.kernel(&at, call.buffers, call.constants);
  };
  switch (schedule) {
    case Schedule::kStatic:
#pragma omp parallel for schedule(static)
      for (std::size_t group = 0; group < count; ++group) run(group);
      break;
    case Schedule::kDynamic:
#pragma omp parallel for schedule(dynamic)
      for (std::size_t group = 0; group < count; ++group) run(group);
      break;
    case Schedule::kGuided:
#pragma omp parallel for schedule(guided)
      for (std::size_t group = 0; group < count; ++group) run(group);
      break;
  }
}

}  // namespace halyard::bench
