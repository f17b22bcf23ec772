// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/framework/device.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "simulation/metal/framework/queue.h"

namespace halyard::inline v0::sim::metal {
namespace {

const char* name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kUnified:
      return "Halyard Simulated GPU (unified)";
    case DeviceKind::kDiscrete:
      return "Halyard Simulated GPU (discrete)";
    case DeviceKind::kRemovable:
      return "Halyard Simulated GPU (removable)";
  }
  return "";
}

void run_worker(void* argument) {
  auto* const worker = static_cast<Worker*>(argument);
  {
    const std::function<void()> body = std::move(worker->body);
    body();
  }
  const gpu::Lock lock(state().mutex);
  worker->has_ended = true;
  state().worker_ended.notify_all();
}

void run_later_worker() {
  State& all = state();
  gpu::Lock lock(all.mutex);
  for (;;) {
    if (all.later.empty()) {
      if (all.is_ending) return;
      all.later_arrived.wait(lock, [&] { return !all.later.empty() || all.is_ending; });
      continue;
    }
    const auto first = std::ranges::min_element(all.later, {}, &Later::time);
    const Nanoseconds time = first->time;
    if (time > gpu::now()) {
      const std::size_t count = all.later.size();
      (void)all.later_arrived.wait_until(lock, time, [&] { return all.later.size() != count; });
      continue;
    }
    const std::function<void()> function = std::move(first->function);
    all.later.erase(first);
    lock.unlock();
    function();
    lock.lock();
  }
}

}  // namespace

Error make_error(ErrorCode code, const std::string& detail) {
  // The texts of macOS, as quoted in issues of programs (pytorch#144634, mlx#479, flutter#127151,
  // omlx#1387).
  const char* text = "";
  switch (code) {
    case ErrorCode::kNone:
      break;
    case ErrorCode::kInternal:
      text = "Internal Error (0000000e:Internal Error)";
      break;
    case ErrorCode::kTimeout:
      text = "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)";
      break;
    case ErrorCode::kPageFault:
      text = "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)";
      break;
    case ErrorCode::kAccessRevoked:
      text =
          "Ignored (for causing prior/excessive GPU errors) "
          "(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)";
      break;
    case ErrorCode::kNotPermitted:
      text =
          "Insufficient Permission (to submit GPU work from background) "
          "(00000006:kIOGPUCommandBufferCallbackErrorBackgroundExecutionNotPermitted)";
      break;
    case ErrorCode::kOutOfMemory:
      text = "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)";
      break;
    case ErrorCode::kInvalidResource:
      text = "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)";
      break;
    case ErrorCode::kMemoryless:
      text = "Memoryless resources exceeded the tile memory";
      break;
    case ErrorCode::kDeviceRemoved:
      text = "The device was removed";
      break;
    case ErrorCode::kStackOverflow:
      text = "Stack overflow in a shader";
      break;
  }
  std::string full = text;
  if (!detail.empty()) full.append(": ").append(detail);
  return {code, std::move(full)};
}

bool Device::supports_family(int wanted) const {
  // Apple, "Metal Feature Set Tables": Apple families contain the lower ones; Mac2 is supported by
  // Apple silicon from M1 (Apple7) on; Common1-3 by all of both kinds here.
  if (wanted >= 3001 && wanted <= 3003) return true;
  if (wanted == 5001) return options().has_metal3;
  if (is_unified()) {
    return (wanted >= 1001 && wanted <= family) ||
           (wanted <= 2002 && wanted >= 2001 && family >= 1007);
  }
  return wanted >= 2001 && wanted <= family;
}

bool Device::account(std::uint64_t bytes) {
  std::uint64_t seen = allocated.load();
  do {
    if (bytes > options().memory_bytes || seen > options().memory_bytes - bytes) return false;
  } while (!allocated.compare_exchange_weak(seen, seen + bytes));
  return true;
}

std::vector<Device*> all_devices() {
  State& all = state();
  if (all.is_child.load()) return {};
  const gpu::Lock lock(all.mutex);
  if (all.devices.empty()) {
    for (const DeviceKind kind : options().devices) {
      auto device = std::make_unique<Device>();
      device->index = all.devices.size();
      device->kind = kind;
      device->name = name_of(kind);
      device->registry_id = 0x1000'0000 + device->index;
      device->family = device->is_unified() ? options().unified_family : options().discrete_family;
      all.devices.push_back(std::move(device));
    }
  }
  std::vector<Device*> list;
  for (const auto& device : all.devices) list.push_back(device.get());
  return list;
}

void join_ended_workers() {
  State& all = state();
  for (auto worker = all.workers.begin(); worker != all.workers.end();) {
    if ((*worker)->has_ended) {
      (*worker)->thread.join();
      worker = all.workers.erase(worker);
    } else {
      ++worker;
    }
  }
}

void start_worker(const char* name, std::function<void()> body) {
  State& all = state();
  join_ended_workers();
  Worker& worker = *all.workers.emplace_back(std::make_unique<Worker>());
  worker.body = std::move(body);
  if (worker.thread.start(name, &run_worker, &worker) != 0) std::abort();
}

void run_later(Nanoseconds delay, std::function<void()> function) {
  State& all = state();
  all.later.push_back({gpu::now() + delay, std::move(function)});
  if (!std::exchange(all.has_later_worker, true)) start_worker("metal-later", &run_later_worker);
  all.later_arrived.notify_all();
}

std::uint64_t decide(std::uint64_t limit) { return choose(++state().decisions, 0x6d65, limit); }

void note_progress() {
  State& all = state();
  all.last_progress = gpu::now();
  all.progress.notify_all();
  for (Queue* const queue : all.queues) queue->notify_event();
}

}  // namespace halyard::inline v0::sim::metal
