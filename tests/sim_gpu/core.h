// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only the core of the simulated libraries, with rules that differ from CUDA's wherever possible,
// and code whose kernels are functions of the test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "simulation/gpu/module.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/state.h"
#include "simulation/gpu/stream_operations.h"

namespace halyard::testing {

namespace gpu = sim::gpu;

// Results of the rules.
inline gpu::FaultReach reach_of_faults = gpu::FaultReach::kProcess;
inline constexpr unsigned kQueues = 2;
inline constexpr gpu::Result kBeyond = gpu::kLaunchFailed, kDead = gpu::kContextIsDestroyed;

// The primary context of a device.
gpu::ContextState& context_of(gpu::DeviceId device);

// Runs `body` like a function of the API, with a current device.
template <class Body>
gpu::Result call_on(gpu::DeviceId device, unsigned needs, Body body) {
  static constinit gpu::Entry entry("function", true);
  {
    const gpu::Lock lock(gpu::state().mutex);
    if (const gpu::Result result = gpu::initialize(); result != gpu::kSuccess) return result;
  }
  gpu::this_thread().contexts.assign(1, &context_of(device));
  gpu::Call call(entry, needs);
  return call.is_refused() ? call.refusal() : body(call);
}
template <class Body>
gpu::Result call_on(gpu::DeviceId device, Body body) {
  return call_on(device, gpu::kCurrent, std::move(body));
}

gpu::Stream make_stream(gpu::DeviceId device);
// Create a stream that shares the hardware queue of `other`, or that does not.
gpu::Stream make_stream_beside(gpu::DeviceId device, gpu::Stream other, bool shares);
gpu::Event make_event(gpu::DeviceId device);
gpu::Result record(gpu::Event event, gpu::Stream stream);
gpu::Result query(gpu::Event event);
gpu::Result synchronize(gpu::Stream stream);
// Waits until the event has completed; returns false after a few seconds.
bool ends(gpu::Event event);
// Returns true unless the event completes within a few milliseconds.
bool is_held_back(gpu::Event event);

// A host function that blocks its stream until open() or the destructor.
class Gate {
 public:
  explicit Gate(gpu::Stream stream);
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { state_->is_open = true; }
  void wait_until_it_holds();

 private:
  struct State {
    std::atomic<bool> holds = false, is_open = false;
  };
  const std::shared_ptr<State> state_;
};

// Code with a single kernel, "kernel", which takes a pointer and a number, and a single segment of
// 64 bytes, which begins with its own address and has the variable "variable" at offset 16.
class TestCode : public gpu::Code {
 public:
  using Kernel = std::function<gpu::Outcome(const gpu::KernelRun&, gpu::ContextMemory&)>;
  explicit TestCode(Kernel kernel);
  std::optional<std::size_t> find_kernel(std::string_view name) const override;
  std::optional<std::size_t> find_variable(std::string_view name) const override;
  std::vector<std::byte> initial_bytes(std::size_t segment,
                                       std::span<const std::uint64_t> addresses) const override;
  gpu::Outcome run(const gpu::KernelRun& run, gpu::ContextMemory& memory,
                   const gpu::RunOptions& options) const override;

 private:
  const Kernel kernel_;
};
gpu::Module load(gpu::DeviceId device, TestCode::Kernel kernel);
gpu::Function kernel_of(gpu::Module module);
// Launches a single block of one thread.
gpu::Result launch(gpu::DeviceId device, gpu::Function function, gpu::Stream stream);

}  // namespace halyard::testing
