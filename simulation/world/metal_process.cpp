// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GpuProcess of a program over metal://.
#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/native_call.h"
#include "simulation/metal/framework/process.h"
#include "simulation/metal/objc/accounting.h"
#include "simulation/metal/objc/thread_state.h"
#include "simulation/random.h"
#include "simulation/scheduler.h"
#include "simulation/world/gpu_process.h"

namespace halyard::inline v0::sim {
namespace {

// How many destroyed objects are kept, so that a later message to them is detected. More than most
// programs make.
constexpr std::size_t kZombies = 65'536;

class MetalProcess final : public GpuProcess, private base::CallObserver {
 public:
  MetalProcess(const GpuOptions& options, std::uint64_t seed);
  ~MetalProcess() override { base::observe_calls(nullptr); }

  void fault(std::uint32_t device) override;
  void drain() override { metal::drain_process(); }
  void end(bool may_keep) override;

 private:
  int before(const base::CallSite& site) noexcept override;

  Random random_;
  std::uint64_t calls_ = 0;
};

metal::Adversities draw_adversities(Random& random) {
  metal::Adversities drawn;
  for (bool* const adversity :
       {&drawn.out_of_order, &drawn.overtaking_waits, &drawn.late_handlers, &drawn.slow_completion,
        &drawn.late_listeners, &drawn.snapshot_shared, &drawn.reorder_encoders,
        &drawn.interleave_dispatches, &drawn.victims, &drawn.small_pipelines}) {
    *adversity = random.one_in(2);
  }
  return drawn;
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    all.push_back(text.substr(0, end));
  }
  return all;
}

MetalProcess::MetalProcess(const GpuOptions& options, std::uint64_t seed)
    : GpuProcess(options), random_(Random::mix(seed ^ 0x6d65746c)) {
  metal::Options process;
  process.devices.clear();
  for (std::uint32_t d = 0; d < options.metal.devices; ++d) {
    process.devices.push_back((options.metal.discrete >> d & 1) == 0 ? metal::DeviceKind::kUnified
                              : options.metal.removable              ? metal::DeviceKind::kRemovable
                                                        : metal::DeviceKind::kDiscrete);
  }
  process.prints = false;  // end() reports everything
  process.seed = seed;
  // Virtual time advances in leaps, so no timeout: a wait on the device that nothing ends is found
  // as a deadlock.
  process.wait_timeout = Deadline::kForeverTime;
  if (options.adversarial) process.adversities = draw_adversities(random_);
  process.failed_signals = static_cast<metal::FailedSignals>(random_.below(3));
  process.memory_bytes = options.device_memory;
  if (options.failing_kernel != 0) {
    process.failed_buffers.push_back({options.failing_kernel, options.metal.error});
  }
  if (options.failing_call != 0 && options.metal.nil_object) {
    process.nil_objects.push_back({"*", options.failing_call});
  }
  objc::set_zombies(kZombies);
  metal::begin_process(std::move(process));
  if (options.failing_call != 0 && !options.metal.nil_object) base::observe_calls(this);
}

void MetalProcess::fault(std::uint32_t device) {
  ++faults_;
  const std::uint32_t index = device % options_.metal.devices;
  if (options_.is_removable(device)) {
    metal::remove_device(index);
  } else {
    metal::fail_next(index, options_.metal.error);
  }
}

int MetalProcess::before(const base::CallSite& site) noexcept {
  if (site.area() != "metal" || site.error == 0 || ++calls_ != options_.failing_call) return 0;
  Scheduler& scheduler = *Scheduler::current();
  if (scheduler.tracing()) scheduler.trace(fmt::format("{} fails", site.name));
  if (options_.fails_for_good) {
    fault(options_.faulty_device);
    return 0;
  }
  ++faults_;
  return site.error;
}

void MetalProcess::end(bool may_keep) {
  base::observe_calls(nullptr);
  const metal::EndOfProcess end = metal::end_process();
  objc::forget_threads();
  objc::set_zombies(0);
  Scheduler& scheduler = *Scheduler::current();
  // After a loss the driver sets events from the host, and running buffers then signal them again.
  const bool loses = faults_ != 0 || options_.fails();
  for (const std::string_view line : lines(end.misuse)) {
    if (loses && line.starts_with("event-not-larger: ")) continue;
    scheduler.fail(fmt::format("the metal driver misuses Metal: {}", line));
  }
  if (!end.leaks.empty() && !may_keep) {
    scheduler.fail(fmt::format("the metal driver has not released: {}", end.leaks));
  }
}

}  // namespace

std::unique_ptr<GpuProcess> begin_metal_process(const GpuOptions& options, std::uint64_t seed) {
  return std::make_unique<MetalProcess>(options, seed);
}

}  // namespace halyard::inline v0::sim
