// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GpuProcess: the simulated libcuda, libamdhip64 or Metal framework that the cuda, hip or metal
// driver of a simulated program uses, with its faults.
#pragma once

#include <cstdint>
#include <memory>

namespace halyard::inline v0::sim {

enum class GpuLibrary : std::uint8_t { kCuda, kHip, kMetal };

// Further options of a plan over metal://.
struct MetalOptions {
  // The number of MTLDevices. If the driver opens more devices, they share MTLDevices and their
  // faults.
  std::uint32_t devices = 1;
  std::uint32_t discrete = 0;  // bit i: device i has memory of its own
  bool removable = false;      // a fault of a discrete device removes it
  bool heaps = false;          // options of the driver (docs/drivers/metal.md)
  std::uint32_t split = 0;
  // The MTLCommandBufferError of a failing command buffer.
  int error = 1;
  // If true, GpuOptions::failing_call counts objects that the framework makes, not calls of the
  // driver, and the counted object is nil.
  bool nil_object = false;
};

// Options of a plan over cuda://, hip:// or metal://.
struct GpuOptions {
  GpuLibrary library = GpuLibrary::kCuda;
  // The HIP version, as major * 100 + minor. Before 7.0 a fault ends the process, so plans with
  // faults use a later version.
  int hip_version = 715;
  std::uint32_t devices = 1;
  const char* completion_mode = "host_callback";  // docs/drivers/cuda.md, hip.md
  unsigned poll_time = 0;                         // microseconds
  // Behaviour that the API permits and few programs expect, drawn from the seed
  // (docs/simulated-cuda.md).
  bool adversarial = false;
  std::uint64_t host_delay = 0;  // nanoseconds that host functions may be late
  std::uint64_t device_memory = std::uint64_t{1} << 30;  // bytes of each device
  bool scarce = false;                                   // the memory may not suffice
  // The n-th call of the driver that has `faulty_device` current fails; 0: none. The error is one
  // that the manual of the call names. The device keeps a sticky error.
  std::uint64_t failing_call = 0;
  std::uint32_t faulty_device = 0;
  bool fails_for_good = false;  // the error is sticky in any case
  // The n-th kernel of all devices (Metal: the n-th command buffer) has a fault; 0: none.
  std::uint64_t failing_kernel = 0;
  MetalOptions metal;

  // True if a fault of one device may be reported for another, which is then also lost. From 7.0
  // on, HIP always does that.
  bool shares_faults() const noexcept {
    if (library == GpuLibrary::kMetal) return metal.devices < devices;
    return adversarial || library == GpuLibrary::kHip;
  }
  // True if the failing call may be for this device. Metal's objects are counted over all devices.
  bool is_faulty(std::uint32_t device) const noexcept {
    return failing_call != 0 && (library == GpuLibrary::kMetal || device == faulty_device);
  }
  // True if the device may be lost; and true if calls for it may fail without a loss.
  bool may_be_lost(std::uint32_t device) const noexcept {
    return failing_kernel != 0 || is_faulty(device) || (failing_call != 0 && shares_faults());
  }
  bool may_refuse(std::uint32_t device) const noexcept { return scarce || is_faulty(device); }
  // True if a fault removes the device. A removed device makes no objects, and gives no reason.
  bool is_removable(std::uint32_t device) const noexcept {
    return library == GpuLibrary::kMetal && metal.removable &&
           (metal.discrete >> device % metal.devices & 1) != 0;
  }
  bool fails() const noexcept { return failing_call != 0 || failing_kernel != 0 || scarce; }
};

class GpuProcess {
 public:
  // Precondition: the driver of the library is built in.
  static std::unique_ptr<GpuProcess> begin(const GpuOptions& options, std::uint64_t seed);
  virtual ~GpuProcess() = default;
  GpuProcess(const GpuProcess&) = delete;
  GpuProcess& operator=(const GpuProcess&) = delete;

  // Injects a fault into the device.
  virtual void fault(std::uint32_t device) = 0;
  std::uint64_t faults() const noexcept { return faults_; }

  // Waits for work that lanes of a lost device still run and that cannot be stopped. This work may
  // notify waiters of the registry, so call it before the registry is destroyed.
  virtual void drain() = 0;
  // Called after the last use of the driver. Fails the simulation if the driver violated the API
  // or, without faults, leaked an object. `may_keep`: objects leaked for a lost device are
  // accepted.
  virtual void end(bool may_keep) = 0;

 protected:
  explicit GpuProcess(const GpuOptions& options) noexcept : options_(options) {}

  const GpuOptions options_;
  std::uint64_t faults_ = 0;
};

// Used by begin(), for the libraries whose drivers are built in.
std::unique_ptr<GpuProcess> begin_stream_process(const GpuOptions& options, std::uint64_t seed);
std::unique_ptr<GpuProcess> begin_metal_process(const GpuOptions& options, std::uint64_t seed);

}  // namespace halyard::inline v0::sim
