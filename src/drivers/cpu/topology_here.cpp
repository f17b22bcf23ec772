// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sched.h>

#include <cerrno>
#include <vector>

#include "base/native_call.h"
#include "drivers/cpu/topology.h"

namespace halyard::inline v0::cpu {
namespace {

HALYARD_CALL_SITE(kAffinity, "cpu.affinity", EINVAL);

constexpr unsigned kMaxProcessors = 8192;  // the largest value that Linux can be built for

}  // namespace

Result<Topology> Topology::here() {
  std::vector<cpu_set_t> set(kMaxProcessors / CPU_SETSIZE);
  const std::size_t size = set.size() * sizeof(cpu_set_t);
  Processors allowed;
  if (base::native_call(kAffinity, [&] { return sched_getaffinity(0, size, set.data()); }) == 0) {
    for (unsigned i = 0; i < kMaxProcessors; ++i) {
      if (CPU_ISSET_S(i, size, set.data())) allowed.push_back(i);
    }
  }
  return read("/sys/devices/system", allowed);
}

}  // namespace halyard::inline v0::cpu
