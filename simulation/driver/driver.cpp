// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/driver/driver.h"

#include <new>
#include <span>
#include <utility>

#include "base/format.h"
#include "kernel/hyx.h"
#include "simulation/driver/command_buffer.h"
#include "simulation/driver/executable.h"
#include "simulation/driver/lane.h"
#include "simulation/driver/marker_lane.h"

namespace halyard::inline v0::sim {
namespace {

// Kernels run on this processor, so the .hyx format sets their limits.
constexpr hal::DeviceLimits kLimits{.max_buffer_size = std::uint64_t{1} << 40,
                                    .max_groups = {0xffff'ffff, 0xffff, 0xffff},
                                    .max_workgroup_items = kernel::kMaxWorkgroupItems,
                                    .max_shared_bytes = kernel::kMaxSharedBytes,
                                    .max_bindings = kernel::kMaxBindings,
                                    .max_constants_bytes = kernel::kMaxConstantsBytes};
constexpr std::align_val_t kAlignment{4096};

class DeviceMemory final : public hal::Memory {
 public:
  DeviceMemory(std::uint64_t size, hal::MemoryType type, std::byte* data, const void* domain,
               std::shared_ptr<std::uint64_t> used) noexcept
      : Memory(size, type, data, reinterpret_cast<std::uintptr_t>(data), domain),
        used_(std::move(used)) {}

 private:
  ~DeviceMemory() override {
    if (used_ == nullptr) return;  // imported
    ::operator delete(host_pointer(), kAlignment);
    *used_ -= size();
  }
  const std::shared_ptr<std::uint64_t> used_;
};

class SimDevice final : public hal::DeviceImpl {
 public:
  SimDevice(unsigned ordinal, const SimDriverOptions& options, const void* domain)
      : ordinal_(ordinal),
        options_(options),
        domain_(domain != nullptr ? domain : this),
        native_(fmt::format("sim{}", ordinal), native_options(ordinal, options)) {
    info_.uri = fmt::format("sim://{}", ordinal);
    info_.driver = "sim";
    info_.name = "simulated device";
    info_.memory_size = options.native.device_memory;
    info_.workers = 1;
    info_.limits = kLimits;
    info_.limits.max_in_flight = options.max_in_flight;
    info_.limits.max_backlog = options.max_backlog;
    if (options.devices != nullptr) options.devices->push_back(&native_);
  }

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  const void* wait_domain() const noexcept override { return domain_; }
  const void* memory_domain() const noexcept override { return domain_; }
  bool can_wait_on(const hal::DeviceImpl& producer) const noexcept override {
    return options_.one_way && static_cast<const SimDevice&>(producer).ordinal_ < ordinal_;
  }
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t,
                                    hal::MemoryType type) override {
    if (options_.allocations_fail || native_.faulted()) {
      HALYARD_RETURN_IF_ERROR(native_.call("allocate"));
    }
    auto& used = native_.memory_used();
    if (*used + size > options_.native.device_memory) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for {} bytes", native_.name(),
                   size);
    }
    *used += size;
    auto* const data = static_cast<std::byte*>(::operator new(size, kAlignment));
    return Ref<hal::Memory>(
        Ref<DeviceMemory>::adopt(new DeviceMemory(size, type, data, domain_, used)));
  }
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override {
    return Ref<hal::Memory>(Ref<DeviceMemory>::adopt(
        new DeviceMemory(size, hal::MemoryType::kHostLocal, data, domain_, nullptr)));
  }
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override {
    HALYARD_RETURN_IF_ERROR(native_.call("load"));
    return Executable::load(std::move(file));
  }
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override {
    return std::unique_ptr<hal::NativeCommands>(std::make_unique<CommandBuffer>(recording));
  }
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind, hal::QueuePriority) override {
    if (!options_.marks_every_submission) {
      HALYARD_ASSIGN_OR_RETURN(auto lane, MarkerLane::create(native_, options_));
      return lanes_.emplace_back(std::move(lane)).get();
    }
    HALYARD_RETURN_IF_ERROR(native_.call("open stream"));
    return lanes_.emplace_back(std::make_unique<Lane>(native_, options_)).get();
  }
  void close() override {
    for (const auto& lane : lanes_) (void)lane->abandon({}, 0);
    lanes_.clear();
    native_.close();
  }

 private:
  static NativeOptions native_options(unsigned ordinal, const SimDriverOptions& options) {
    NativeOptions native = options.native;
    if (ordinal != options.faulty_device) native.failing_call = 0;
    return native;
  }

  const unsigned ordinal_;
  const SimDriverOptions& options_;
  const void* const domain_;
  NativeDevice native_;
  hal::DeviceInfo info_;
  std::vector<std::unique_ptr<timeline::NativeQueue>> lanes_;
};

class SimDriver final : public hal::Driver {
 public:
  explicit SimDriver(const SimDriverOptions& options) : options_(options) {}
  std::string_view name() const noexcept override { return "sim"; }
  Result<std::vector<hal::DeviceInfo>> enumerate() override {
    return std::vector<hal::DeviceInfo>{};
  }
  std::span<const hal::Option> options() const noexcept override {
    static constexpr hal::Option kOptions[] = {{.name = "devices", .least = 1, .most = 64}};
    return kOptions;
  }
  Result<std::vector<std::unique_ptr<hal::DeviceImpl>>> open_devices(
      const hal::Uri&, const hal::OptionValues& values) override {
    const unsigned count = values.get("devices", 1);
    std::vector<std::unique_ptr<hal::DeviceImpl>> devices;
    for (unsigned i = 0; i < count; ++i) {
      devices.push_back(
          std::make_unique<SimDevice>(i, options_, options_.own_domains ? nullptr : this));
    }
    return devices;
  }

 private:
  const SimDriverOptions options_;
};

}  // namespace

std::unique_ptr<hal::Driver> make_sim_driver(const SimDriverOptions& options) {
  return std::make_unique<SimDriver>(options);
}

}  // namespace halyard::inline v0::sim
