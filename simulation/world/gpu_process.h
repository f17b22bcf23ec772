// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GpuProcess: what the cuda or the hip driver of a simulated program finds: the simulated libcuda
// or libamdhip64 in this program, and its faults.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/native_call.h"

namespace halyard::inline v0::sim {

enum class GpuLibrary : std::uint8_t { kCuda, kHip };

// Of a plan over cuda:// or hip://.
struct GpuOptions {
  GpuLibrary library = GpuLibrary::kCuda;
  // Of HIP, as major * 100 + minor. Before 7.0 a fault ends the process, so plans with faults have
  // another.
  int hip_version = 715;
  std::uint32_t devices = 1;
  const char* completion_mode = "host_callback";  // docs/drivers/cuda.md, hip.md
  unsigned poll_time = 0;                         // microseconds
  // Whatever the API permits and few programs expect, by the seed (docs/simulated-cuda.md).
  bool adversarial = false;
  std::uint64_t host_delay = 0;  // nanoseconds that host functions may be late
  std::uint64_t device_memory = std::uint64_t{1} << 30;  // bytes of each device
  bool scarce = false;                                   // which may not be enough
  // The n-th call of the driver fails, counted where `faulty_device` is current; 0: none. Its
  // error is one that its manual names. One that sticks is the device's from then on.
  std::uint64_t failing_call = 0;
  std::uint32_t faulty_device = 0;
  bool fails_for_good = false;       // it is a fault of the device in any case
  std::uint64_t failing_kernel = 0;  // the n-th kernel of all devices has a fault; 0: none

  // Whether the fault of one device may be reported for another, which is then lost as well.
  // From 7.0 on HIP's always is.
  bool shares_faults() const noexcept { return adversarial || library == GpuLibrary::kHip; }
  // Whether the device may be lost, and whether calls for it may fail otherwise.
  bool may_be_lost(std::uint32_t device) const noexcept {
    const bool its_call = failing_call != 0 && (shares_faults() || device == faulty_device);
    return its_call || failing_kernel != 0;
  }
  bool may_refuse(std::uint32_t device) const noexcept {
    return scarce || (failing_call != 0 && device == faulty_device);
  }
  bool fails() const noexcept { return failing_call != 0 || failing_kernel != 0 || scarce; }
};

class GpuProcess final : private base::CallObserver {
 public:
  GpuProcess(const GpuOptions& options, std::uint64_t seed);
  ~GpuProcess();
  GpuProcess(const GpuProcess&) = delete;
  GpuProcess& operator=(const GpuProcess&) = delete;

  // A fault of the device, from outside.
  void fault(std::uint32_t device);
  std::uint64_t faults() const noexcept { return faults_; }

  // Waits for what lanes of a lost device, which cannot be stopped, still run. It may notify
  // waiters of the registry, which is not destroyed before.
  void drain();
  // After the last use of the driver. Fails the simulation if the driver did what the API forbids,
  // or, without faults, has released less than it made. `may_keep`: what it keeps of a lost device
  // for good may stay.
  void end(bool may_keep);

 private:
  bool is_hip() const noexcept { return options_.library == GpuLibrary::kHip; }
  int before(const base::CallSite& site) noexcept override;

  const GpuOptions options_;
  std::uint64_t calls_ = 0;
  std::uint64_t faults_ = 0;
  bool ended_ = false;
};

}  // namespace halyard::inline v0::sim
