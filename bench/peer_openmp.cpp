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

}  // namespace halyard::bench
