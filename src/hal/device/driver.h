// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface that a driver implements for the HAL: Driver, DeviceImpl, ExecutableImpl, and
// timeline::NativeQueue.
//
// The HAL validates; a driver trusts its input. Functions return a Status for failures of the
// system and assert nothing about the caller. Unless noted otherwise, functions may be called from
// any thread. They must not call the HAL or the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/work_source.h"
#include "hal/device/capabilities.h"
#include "hal/device/options.h"
#include "hal/device/uri.h"
#include "hal/memory/memory.h"
#include "hal/memory/reclaim.h"
#include "hal/recording/command.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/device.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/types.h"
#include "kernel/hyx.h"
#include "timeline/native_queue.h"
#include "trace/tracer.h"

namespace halyard::inline v0::hal {

// The kernels of one .hyx prepared for one device. Retained by functions, recordings and
// submissions; like Memory it may outlive its device.
class ExecutableImpl : public Reclaimed {
 public:
  explicit ExecutableImpl(kernel::Hyx file) noexcept : file_(std::move(file)) {}
  const kernel::Hyx& file() const noexcept { return file_; }

  // Called each time before the HAL returns a function, so that a driver compiles only functions
  // that are used. The function respects DeviceLimits. Returns kUnavailable if it exceeds a limit
  // that DeviceLimits does not list.
  virtual Status prepare(std::uint32_t function) {
    (void)function;
    return {};
  }

  // The registers and memory that a function uses, as the device's compiler reports them.
  virtual Result<FunctionResources> resources(std::uint32_t function) {
    (void)function;
    return Status(StatusCode::kUnimplemented, "the device does not say what a kernel occupies");
  }

  // The names of its kernels in a trace, in the file's order; empty without a tracer.
  const std::vector<trace::Name>& names() const noexcept { return names_; }
  // Called once, before the object is shared.
  void add_names(trace::Tracer& tracer) {
    for (const kernel::KernelInfo& kernel : file_.kernels()) {
      names_.push_back(tracer.add_name(kernel.name));
    }
  }

 private:
  kernel::Hyx file_;
  std::vector<trace::Name> names_;
};

// A driver's compiler: the slow step from a file to code for one device, whose result can be
// cached.
class ImageBuilder {
 public:
  virtual ~ImageBuilder() = default;
  // Names the builder and its target, with versions. Images that were built under another name are
  // not used.
  virtual std::string_view name() const noexcept = 0;
  virtual Result<std::vector<std::byte>> build(const kernel::Hyx& file) = 0;
  // Returns kDataLoss if `image` is not a result of build(). Takes `file` only if it succeeds.
  virtual Result<Ref<ExecutableImpl>> load(kernel::Hyx&& file,
                                           std::span<const std::byte> image) = 0;
};

class DeviceImpl {
 public:
  // After close().
  virtual ~DeviceImpl() = default;

  virtual const DeviceInfo& info() const noexcept = 0;

  // The guard that is entered around every other call to this device, its builder and its
  // recordings. Null: a calling thread needs no preparation. Called once, when the device is
  // opened.
  virtual timeline::EntryGuard* entry_guard() const noexcept { return nullptr; }

  // Devices with the same wait domain can wait on each other's lanes natively; devices with the
  // same memory domain can use each other's Memory. A domain is constant for the process: the
  // address of an object of the driver, not of a device that may be opened again. A runtime takes
  // 15 wait domains (timeline/domain.h) and 64 memory domains (hal/peers.h).
  virtual const void* wait_domain() const noexcept = 0;
  virtual const void* memory_domain() const noexcept = 0;
  // Whether this device's lanes can wait on lanes of another wait domain, and whether it can use
  // memory of another memory domain; the other device may belong to any driver. Called once for
  // each pair of domains and direction, with any device of each domain. The result holds for all
  // devices of the two domains for the life of the process. Not called within a domain.
  virtual bool can_wait_on(const DeviceImpl& producer) const noexcept {
    return wait_domain() == producer.wait_domain();
  }
  virtual bool can_access(const DeviceImpl& owner) const noexcept {
    return memory_domain() == owner.memory_domain();
  }

  // True: freeing memory, unloading an executable or destroying a recording may block or call the
  // native library, so the HAL drops the last reference to each of them on the reclaim thread.
  virtual bool frees_may_block() const noexcept { return false; }

  // True: the device can use any host address like its own memory, so import_memory() costs
  // nothing. The HAL then copies directly between this device and host memory of other drivers.
  virtual bool works_in_host_memory() const noexcept { return false; }

  // True: the device only copies from memory that the driver allocated. The HAL then keeps the
  // bytes of updates in kHostLocal memory from allocate() (UpdateCommand::source_memory).
  virtual bool needs_host_blocks() const noexcept { return false; }

  // `size` may be 0; `alignment` is a power of two up to base::page_size(), or 0.
  virtual Result<Ref<Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                       MemoryType type) = 0;
  // [data, data + size) of the host as kHostLocal memory. The HAL calls the user's release function
  // after the Memory is destroyed; the Memory's destructor only undoes the driver's own import.
  virtual Result<Ref<Memory>> import_memory(std::byte* data, std::uint64_t size) = 0;
  virtual Result<Ref<ExecutableImpl>> load(kernel::Hyx file) = 0;
  // Null if the files contain code that is ready to run. Otherwise load() performs both steps of
  // the builder.
  virtual ImageBuilder* image_builder() noexcept { return nullptr; }
  // Null: the device cannot (capabilities.h).
  virtual DescriptorSharing* descriptor_sharing() noexcept { return nullptr; }
  virtual NativeInterop* native_interop() noexcept { return nullptr; }
  // `recording` outlives the result.
  virtual Result<std::unique_ptr<NativeCommands>> prepare(const RecordedCommands& recording) = 0;

  // Opens a lane for a queue: when the device is opened, when the user creates a queue, and when
  // the engine replaces a quarantined lane. Valid until close(). A device without priorities
  // ignores `priority`. Returns kResourceExhausted if no more lanes fit.
  virtual Result<timeline::NativeQueue*> open_lane(QueueKind kind, QueuePriority priority) = 0;

  // The clock of the timestamps that its queues record; null: the tracer's clock. Valid until
  // close().
  virtual trace::DeviceClock* clock() noexcept { return nullptr; }

  // Ends the device's threads. Called once, on the reclaim shell, when nothing is in flight and
  // nothing more will be issued; may wait for the threads.
  virtual void close() = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::string_view name() const noexcept = 0;
  // The devices of this machine. No driver or no device is an empty list, not an error.
  virtual Result<std::vector<DeviceInfo>> enumerate() = 0;
  virtual std::span<const Option> options() const noexcept = 0;
  // Opens the devices that `uri` names. Also returns the errors of OptionValues::parse().
  Result<std::vector<std::unique_ptr<DeviceImpl>>> open(const Uri& uri) {
    HALYARD_ASSIGN_OR_RETURN(const OptionValues values, OptionValues::parse(uri, options()));
    return open_devices(uri, values);
  }

 protected:
  // Returns kNotFound if there is no device with an ordinal.
  virtual Result<std::vector<std::unique_ptr<DeviceImpl>>> open_devices(
      const Uri& uri, const OptionValues& values) = 0;
};

}  // namespace halyard::inline v0::hal
