// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/bugs.h"

#include <array>
#include <cstring>

#include "simulation/gpu/pool.h"

namespace halyard::inline v0::sim::hip {
namespace {

std::array<int, gpu::kMostDevices> waiting_threads{};  // guarded by the lock of the State

}  // namespace

WaitScope::WaitScope(DeviceId device) : device_(device) {
  ++waiting_threads[static_cast<std::size_t>(device)];
}

WaitScope::~WaitScope() {
  if (--waiting_threads[static_cast<std::size_t>(device_)] == 0) state().progress.notify_all();
}

void await_waits(Call& call, DeviceId device) {
  if (!settings().has(Bug::kBlockingQueries)) [[likely]]
    return;
  const int& others = waiting_threads[static_cast<std::size_t>(device)];
  state().progress.wait(call.lock(), [&] { return others == 0; });
}

void clear_pools(const ContextState& context) {
  if (!settings().has(Bug::kZeroedPools)) [[likely]]
    return;
  for (const gpu::Allocation& of : gpu::memory().of(&context)) {
    if (of.kind != gpu::MemoryKind::kPool || of.pool == nullptr || !gpu::is_handle(of.pool)) {
      continue;
    }
    const gpu::PoolState& pool = *of.pool->object;
    if (pool.release_threshold != ~std::uint64_t{0}) std::memset(of.host, 0, of.size);
  }
}

}  // namespace halyard::inline v0::sim::hip
