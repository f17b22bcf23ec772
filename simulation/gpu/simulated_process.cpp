// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads and processes of halyard-sim: a thread is a fiber, a process is a run.
#include <memory>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "simulation/gpu/process.h"
#include "simulation/gpu/report.h"
#include "simulation/gpu/stream.h"
#include "simulation/gpu/work.h"

namespace halyard::inline v0::sim::gpu {
namespace {

// Indexed by the scheduler's thread numbers. Needs no lock, because no other simulated thread runs
// meanwhile.
std::vector<std::unique_ptr<ThreadState>>& threads() {
  static auto* const all = new std::vector<std::unique_ptr<ThreadState>>;
  return *all;
}

}  // namespace

ThreadState& this_thread() {
  const std::uint64_t number = base::this_thread();
  if (threads().size() <= number) threads().resize(number + 1);
  std::unique_ptr<ThreadState>& thread = threads()[number];
  if (thread == nullptr) thread = std::make_unique<ThreadState>();
  return *thread;
}

std::vector<int> visible_devices(int count) {
  std::vector<int> visible(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) visible[static_cast<std::size_t>(i)] = i;
  return visible;
}

void begin_process(const Rules& rules, const Options& options) {
  rules_of_process = &rules;
  options_of_process() = options;
  reset_report();
}

DeviceId current_device() {
  const ContextState* const context = this_thread().current();
  return context != nullptr ? context->device : -1;
}

void fail_device(DeviceId device, Result fault) {
  const Lock lock(state().mutex);
  if (!is_device(device)) return;
  const Context primary = state().devices[static_cast<std::size_t>(device)].primary;
  if (primary != nullptr) fail_context(*primary->object, fault);
}

void drain_process() {
  Lock lock(state().mutex);
  const std::vector<std::shared_ptr<ContextState>> contexts = state().contexts;
  for (const auto& context : contexts) drain(lock, *context);
}

EndOfProcess end_process() {
  drain_process();
  EndOfProcess end;
  {
    Lock lock(state().mutex);
    report_unreleased();
    for (const auto& context : state().contexts) end_streams(*context);
    state().is_ending = true;
    state().host_call_arrived.notify_all();
    state().progress.wait(lock, [] { return state().stream_threads == 0; });
  }
  for_each_misuse([&](const std::string& rule, const std::string& first) {
    end.misuse.append(rule).append(": ").append(first).append("\n");
  });
  for_each_leak([&](const std::string& line) { end.leaks.append(line).append("\n"); });
  threads().clear();
  reset_process();
  delete std::exchange(state_of_process(), new State);
  delete std::exchange(memory_of_process(), new MemoryTable);
  begin_process(rules(), {});
  return end;
}

}  // namespace halyard::inline v0::sim::gpu
