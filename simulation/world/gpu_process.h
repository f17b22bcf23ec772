// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GpuProcess: what the cuda, hip or metal driver of a simulated program finds: the simulated
// libcuda, libamdhip64 or Metal framework in this program, and its faults.
#pragma once

#include <cstdint>
#include <memory>

namespace halyard::inline v0::sim {

enum class GpuLibrary : std::uint8_t { kCuda, kHip, kMetal };

// Of a plan over metal://, beside the other options.
struct MetalOptions {
  // MTLDevices. Where the driver opens more devices, these share them, and so the faults.
  std::uint32_t devices = 1;
  std::uint32_t discrete = 0;  // a bit for each of them that has memory of its own
  bool removable = false;      // a fault of a discrete one removes it
  bool heaps = false;          // options of the driver (docs/drivers/metal.md)
  std::uint32_t split = 0;
  // The MTLCommandBufferError of what fails.
  int error = 1;
  // GpuOptions::failing_call counts the framework's objects, of which that one is nil, and not the
  // driver's calls.
  bool nil_object = false;
};

// Of a plan over cuda://, hip:// or metal://.
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
  bool fails_for_good = false;  // it is a fault of the device in any case
  // The n-th kernel of all devices has a fault, of Metal the n-th command buffer; 0: none.
  std::uint64_t failing_kernel = 0;
  MetalOptions metal;

  // Whether the fault of one device may be reported for another, which is then lost as well.
  // From 7.0 on HIP's always is.
  bool shares_faults() const noexcept {
    if (library == GpuLibrary::kMetal) return metal.devices < devices;
    return adversarial || library == GpuLibrary::kHip;
  }
  // Whether a call that fails is one of this device. Metal's objects are counted over all.
  bool is_faulty(std::uint32_t device) const noexcept {
    return failing_call != 0 && (library == GpuLibrary::kMetal || device == faulty_device);
  }
  // Whether the device may be lost, and whether calls for it may fail otherwise.
  bool may_be_lost(std::uint32_t device) const noexcept {
    return failing_kernel != 0 || is_faulty(device) || (failing_call != 0 && shares_faults());
  }
  bool may_refuse(std::uint32_t device) const noexcept { return scarce || is_faulty(device); }
  // Whether a fault removes it. A removed device makes nothing, which does not say why.
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

  // A fault of the device, from outside.
  virtual void fault(std::uint32_t device) = 0;
  std::uint64_t faults() const noexcept { return faults_; }

  // Waits for what lanes of a lost device, which cannot be stopped, still run. It may notify
  // waiters of the registry, which is not destroyed before.
  virtual void drain() = 0;
  // After the last use of the driver. Fails the simulation if the driver did what the API forbids,
  // or, without faults, has released less than it made. `may_keep`: what it keeps of a lost device
  // for good may stay.
  virtual void end(bool may_keep) = 0;

 protected:
  explicit GpuProcess(const GpuOptions& options) noexcept : options_(options) {}

  const GpuOptions options_;
  std::uint64_t faults_ = 0;
};

// For begin(), of the libraries whose drivers are built in.
std::unique_ptr<GpuProcess> begin_stream_process(const GpuOptions& options, std::uint64_t seed);
std::unique_ptr<GpuProcess> begin_metal_process(const GpuOptions& options, std::uint64_t seed);

}  // namespace halyard::inline v0::sim
