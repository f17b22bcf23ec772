// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peers.h"

namespace halyard::bench {

// One thread: for a chain it is OpenMP's best, and an idle team would spin into the other arms.
TaskPeer openmp_peer() {
  const auto chain = [](std::span<const Call> calls) -> std::function<void()> {
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
  };
  return {"OpenMP", {}, chain};
}

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
    const hcq::Workgroup at{{group, 0, 0}, {count, 1, 1}};
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
