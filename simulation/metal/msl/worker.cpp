// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/worker.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "simulation/metal/msl/group.h"

namespace halyard::inline v0::sim::msl {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostIdle = 2048;

// Not base::Mutex: it must not be a scheduling point, because kernels run in one step of
// halyard-sim and the store keeps workers of other seeds.
struct Store {
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
};
Store& store() {
  static Store* const all = new Store;
  return *all;
}

}  // namespace

Worker::Worker() {
  const std::size_t size = 2 * __HY_STACK_SIZE;
  void* const mapping = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) std::abort();
  const auto begin = reinterpret_cast<std::uint64_t>(mapping);
  const std::uint64_t aligned = (begin + __HY_STACK_SIZE - 1) & ~(__HY_STACK_SIZE - 1);
  memory_ = reinterpret_cast<std::byte*>(aligned);
  if (aligned != begin) ::munmap(mapping, aligned - begin);
  ::munmap(memory_ + __HY_STACK_SIZE, begin + size - aligned - __HY_STACK_SIZE);
  // An overflow of the stack faults before it reaches the base.
  (void)::mprotect(memory_ + kPage, kPage, PROT_NONE);
  new (memory_) Base{};
  base().worker = this;
  fiber_ = std::make_unique<Fiber>(&body, this, memory_ + 2 * kPage, __HY_STACK_SIZE - 2 * kPage);
}

Worker::~Worker() {
  fiber_.reset();
  ::munmap(memory_, __HY_STACK_SIZE);
}

void Worker::restart() noexcept {
  fiber_->restart(&body, this);
  broken = false;
}

void Worker::body(void* worker) {
  auto& self = *static_cast<Worker*>(worker);
  while (true) self.group->run_threads(self);
}

std::unique_ptr<Worker> Worker::take() {
  {
    const std::lock_guard lock(store().mutex);
    std::vector<std::unique_ptr<Worker>>& idle = store().idle;
    if (!idle.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle.back());
      idle.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>();
}

void Worker::give(std::unique_ptr<Worker> worker) {
  if (worker->broken) worker->restart();
  worker->group = nullptr;
  const std::lock_guard lock(store().mutex);
  if (store().idle.size() < kMostIdle) store().idle.push_back(std::move(worker));
}

}  // namespace halyard::inline v0::sim::msl
