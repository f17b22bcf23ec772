// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CudaProcess: what the cuda driver of a simulated program finds: the simulated libcuda in this
// program, and its faults.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/native_call.h"

namespace halyard::inline v0::sim {

// Of a plan over cuda://.
struct CudaOptions {
  std::uint32_t devices = 1;
  const char* completion_mode = "host_callback";  // docs/drivers/cuda.md
  unsigned poll_time = 0;                         // microseconds
  // Whatever CUDA permits and few programs expect, by the seed (docs/simulated-cuda.md).
  bool adversarial = false;
  std::uint64_t host_delay = 0;     // nanoseconds that host functions may be late
  std::uint64_t device_memory = std::uint64_t{1} << 30;  // bytes of each device
  bool scarce = false;                                    // which may not be enough
  // The n-th call of the driver fails, counted in the contexts of `faulty_device`; 0: none. Its
  // error is one that its manual names. One that sticks is the device's from then on.
  std::uint64_t failing_call = 0;
  std::uint32_t faulty_device = 0;
  bool fails_for_good = false;       // it is a fault of the device in any case
  std::uint64_t failing_kernel = 0;  // the n-th kernel of all devices has a fault; 0: none

  // Whether the device may be lost, and whether calls for it may fail otherwise.
  bool may_be_lost(std::uint32_t device) const noexcept {
    const bool its_call = failing_call != 0 && (adversarial || device == faulty_device);
    return its_call || failing_kernel != 0;
  }
  bool may_refuse(std::uint32_t device) const noexcept {
    return scarce || (failing_call != 0 && device == faulty_device);
  }
  bool fails() const noexcept {
    return failing_call != 0 || failing_kernel != 0 || scarce;
  }
};

class CudaProcess final : private base::CallObserver {
 public:
  CudaProcess(const CudaOptions& options, std::uint64_t seed);
  ~CudaProcess();
  CudaProcess(const CudaProcess&) = delete;
  CudaProcess& operator=(const CudaProcess&) = delete;

  // A fault of the device, from outside.
  void fault(std::uint32_t device);
  std::uint64_t faults() const noexcept { return faults_; }

  // Waits for what lanes of a lost device, which cannot be stopped, still run. It may notify
  // waiters of the registry, which is not destroyed before.
  void drain();
  // After the last use of the driver. Fails the simulation if the driver did what CUDA forbids, or,
  // without faults, has released less than it made. `may_keep`: what it keeps of a lost device for
  // good may stay.
  void end(bool may_keep);

 private:
  int before(const base::CallSite& site) noexcept override;

  const CudaOptions options_;
  std::uint64_t calls_ = 0;
  std::uint64_t faults_ = 0;
  bool ended_ = false;
};

}  // namespace halyard::inline v0::sim
