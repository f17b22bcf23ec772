// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/framework/process.h"

#include <algorithm>
#include <utility>

#include "simulation/metal/framework/device.h"
#include "simulation/metal/framework/queue.h"
#include "simulation/metal/framework/report.h"

namespace halyard::inline v0::sim::metal {
namespace {

Device* device_at(std::size_t index) {
  const std::vector<Device*> devices = all_devices();
  return index < devices.size() ? devices[index] : nullptr;
}

void post(Device& device, RemovalNotice notice) {
  std::vector<RemovalObserver> observers;
  {
    const gpu::Lock lock(state().mutex);
    observers = state().removal_observers;
  }
  for (const RemovalObserver& observer : observers) observer.function(device, notice);
}

}  // namespace

void drain_process() {
  gpu::Lock lock(state().mutex);
  state().progress.wait(lock, [] { return state().unfinished == 0; });
}

void fail_next(std::size_t index, int code) {
  Device* const device = device_at(index);
  if (device == nullptr) return;
  const gpu::Lock lock(state().mutex);
  device->next_fault = static_cast<ErrorCode>(code);
}

void request_removal(std::size_t index) {
  Device* const device = device_at(index);
  if (device != nullptr) post(*device, RemovalNotice::kRequested);
}

void remove_device(std::size_t index) {
  Device* const device = device_at(index);
  if (device == nullptr) return;
  {
    const gpu::Lock lock(state().mutex);
    device->is_removed.store(true);
    for (Queue* const queue : state().queues) {
      if (&queue->device() == device) queue->doom_all(make_error(ErrorCode::kDeviceRemoved));
    }
  }
  post(*device, RemovalNotice::kRemoved);
}

void begin_process(Options options) {
  set_options(std::move(options));
  clear_misuse();
  reset_counts();
}

EndOfProcess end_process() {
  drain_process();
  {
    State& all = state();
    gpu::Lock lock(all.mutex);
    all.is_ending = true;
    for (Queue* const queue : all.queues) queue->notify_end();
    all.later_arrived.notify_all();
    all.worker_ended.wait(lock, [&] {
      return std::ranges::all_of(all.workers, &Worker::has_ended,
                                 [](const auto& worker) -> const Worker& { return *worker; });
    });
    for (const auto& worker : all.workers) worker->thread.join();
    all.workers.clear();
  }
  if (state().forget_objects != nullptr) state().forget_objects();
  EndOfProcess end = {misuse_text(), leaks_text()};
  delete std::exchange(state_of_process(), new State);
  begin_process({});
  return end;
}

}  // namespace halyard::inline v0::sim::metal
