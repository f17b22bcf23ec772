// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GpuProcess of a program over cuda:// or hip://.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/native_call.h"
#include "drivers/cuda/error.h"
#include "drivers/hip/error.h"
#include "simulation/gpu/process.h"
#include "simulation/gpu_loaders.h"
#include "simulation/hip/settings.h"
#include "simulation/scheduler.h"
#include "simulation/world/gpu_process.h"

namespace halyard::inline v0::sim {
namespace {

constexpr int kFault = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS, hipErrorIllegalAddress

// Calls that never fail by themselves: queries, which only report earlier faults, and calls that
// prepare a thread, whose failure a later call would show.
constexpr std::string_view kSound[] = {"cuda.cuStreamQuery",
                                       "cuda.cuStreamSynchronize",
                                       "cuda.cuCtxGetCurrent",
                                       "cuda.cuCtxSetCurrent",
                                       "cuda.cuThreadExchangeStreamCaptureMode",
                                       "hip.hipStreamQuery",
                                       "hip.hipGetDevice",
                                       "hip.hipSetDevice",
                                       "hip.hipThreadExchangeStreamCaptureMode"};

bool is_of_lost_device(GpuLibrary library, int error) {
  const StatusCode code =
      library == GpuLibrary::kHip
          ? halyard::hip::status_code(static_cast<halyard::hip::hipError_t>(error))
          : halyard::cuda::status_code(static_cast<halyard::cuda::CUresult>(error));
  return code == StatusCode::kDeviceLost;
}

class StreamProcess final : public GpuProcess, private base::CallObserver {
 public:
  StreamProcess(const GpuOptions& options, std::uint64_t seed);
  ~StreamProcess() override {
    if (!ended_) base::observe_calls(nullptr);
  }

  void fault(std::uint32_t device) override;
  void drain() override { gpu::drain_process(); }
  void end(bool may_keep) override;

 private:
  bool is_hip() const noexcept { return options_.library == GpuLibrary::kHip; }
  int before(const base::CallSite& site) noexcept override;

  std::uint64_t calls_ = 0;
  bool ended_ = false;
};

StreamProcess::StreamProcess(const GpuOptions& options, std::uint64_t seed) : GpuProcess(options) {
  gpu::Options process;
  process.devices = static_cast<int>(options.devices);
  process.seed = seed;
  process.adversarial = options.adversarial;
  process.host_delay = options.host_delay;
  process.memory_bytes = options.device_memory;
  if (options.failing_kernel != 0) {
    process.faults.emplace("kernel", gpu::Fault{options.failing_kernel, kFault});
  }
  gpu::begin_process(is_hip() ? gpu::kHipRules : gpu::kCudaRules, process);
  hip::Settings settings;
  settings.version = options.hip_version;
  settings.aborts_on_fault = options.hip_version < hip::kVersion70;
  hip::settings_of_process() = settings;
  if (options.failing_call != 0) base::observe_calls(this);
}

void StreamProcess::fault(std::uint32_t device) {
  ++faults_;
  gpu::fail_device(static_cast<int>(device), static_cast<gpu::Result>(kFault));
}

int StreamProcess::before(const base::CallSite& site) noexcept {
  if (site.area() != (is_hip() ? "hip" : "cuda") || site.error == 0) return 0;
  if (std::ranges::find(kSound, site.name) != std::end(kSound)) return 0;
  if (gpu::current_device() != static_cast<int>(options_.faulty_device)) return 0;
  if (++calls_ != options_.failing_call) return 0;
  Scheduler& scheduler = *Scheduler::current();
  if (scheduler.tracing()) scheduler.trace(fmt::format("{} fails", site.name));
  const bool sticks = is_of_lost_device(options_.library, site.error);
  if (options_.fails_for_good || sticks) {
    fault(options_.faulty_device);
    return 0;  // the call itself finds the fault
  }
  ++faults_;
  return site.error;
}

void StreamProcess::end(bool may_keep) {
  base::observe_calls(nullptr);
  (is_hip() ? unload_hip : unload_cuda)(/*in_use=*/may_keep);
  const gpu::EndOfProcess end = gpu::end_process();
  ended_ = true;
  Scheduler& scheduler = *Scheduler::current();
  const std::string_view name = is_hip() ? "hip" : "cuda";
  if (!end.misuse.empty())
    scheduler.fail(fmt::format("the {} driver misuses its API: {}", name, end.misuse));
  if (!end.leaks.empty() && faults_ == 0 && !options_.fails()) {
    scheduler.fail(fmt::format("the {} driver has not released: {}", name, end.leaks));
  }
}

}  // namespace

std::unique_ptr<GpuProcess> begin_stream_process(const GpuOptions& options, std::uint64_t seed) {
  return std::make_unique<StreamProcess>(options, seed);
}

}  // namespace halyard::inline v0::sim
