// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver in memory: "fake://", "fake://?devices=2", "fake://?domain=own" (of waits and memory),
// "fake://?memory=own". Its lanes hold issued work until the test runs them, or run it at once if
// `automatic`. Control records all calls.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.h"
#include "compiler/hyx_writer.h"
#include "hal/device/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"

namespace halyard::hal::testing {

// The arguments of a dispatch when it ran.
struct Launch {
  std::uint32_t function;
  std::uint32_t groups[3];
  std::vector<BoundRange> bindings;
  std::vector<std::byte> constants;
};

class FakeLane;

struct Control {
  std::atomic<bool> automatic{true};
  std::atomic<bool> log_launches{true};
  std::atomic<std::size_t> lane_capacity{1024};
  std::atomic<int> open_devices{0};
  std::atomic<int> live_memories{0};
  std::atomic<int> live_executables{0};
  std::atomic<int> live_recordings{0};
  std::mutex mutex;
  std::vector<FakeLane*> lanes;  // compute and copy of each device, as opened; null: closed
  std::vector<Launch> launches;
  DeviceLimits limits{.max_buffer_size = 1 << 30,
                      .max_groups = {0xffff'ffff, 1 << 16, 1 << 10},
                      .max_workgroup_items = 1024,
                      .max_shared_bytes = 48 << 10,
                      .max_bindings = 16,
                      .max_constants_bytes = 256,
                      .max_in_flight = 1024};
  Status fail_open_lane;
  Status fail_allocate;
  int most_memories = 1 << 20;  // the number of memories that may exist
  Status fail_dispatch;  // fails the next dispatch that is issued, and none after it
  std::vector<std::pair<std::uint64_t, std::uint64_t>> flushed, invalidated;  // offset, length
  Status fail_prepare;
  std::function<void(const RecordedCommands&)> on_prepare;
  std::function<void()> on_load;    // before a file is loaded
  std::function<void()> on_free;    // when memory is freed; called once
  std::string builder;              // name of the devices' image builder; empty: they have none
  std::string built = "built for";  // the beginning of its images
  Status fail_build;
  std::atomic<int> builds{0};
  Ref<timeline::EntryGuard> guard;          // of devices and lanes that are opened
  std::function<void(const char*)> inside;  // called in every call to a device, builder or lane
  bool frees_may_block = false;
  InstanceInfo instances;               // of recordings that are prepared
  std::uint32_t depth = 1;              // and how many native commands they are
  std::vector<std::uint32_t> replayed;  // the instances of recordings as they were issued
  RecordingUse last_use = RecordingUse::kOften;
  void note(const char* call) const {
    if (inside) inside(call);
  }
  // Results for devices of different domains. If empty, those of DeviceImpl.
  std::function<bool(const DeviceImpl& waiter, const DeviceImpl& producer)> can_wait_on;
  std::function<bool(const DeviceImpl& user, const DeviceImpl& owner)> can_access;
  bool needs_host_blocks = false;
  bool works_in_host_memory = false;  // of devices that are opened
  Status fail_import;
  std::atomic<int> imports{0};
  std::atomic<int> updates_from_driver_memory{0};
};

class FakeMemory final : public Memory {
 public:
  FakeMemory(std::shared_ptr<Control> control, std::uint64_t size, MemoryType type,
             const void* domain)
      : FakeMemory(std::move(control), std::make_unique<std::byte[]>(size + 1), size, type,
                   domain) {}
  FakeMemory(std::shared_ptr<Control> control, std::byte* imported, std::uint64_t size,
             const void* domain)
      : Memory(size, MemoryType::kHostLocal, imported, reinterpret_cast<std::uint64_t>(imported),
               domain),
        control_(std::move(control)) {
    ++control_->live_memories;
  }
  ~FakeMemory() override {
    control_->note("free memory");
    --control_->live_memories;
    if (control_->on_free) std::exchange(control_->on_free, {})();
  }
  Status flush(std::uint64_t offset, std::uint64_t length) noexcept override {
    control_->note("flush");
    control_->flushed.push_back({offset, length});
    return {};
  }
  Status invalidate(std::uint64_t offset, std::uint64_t length) noexcept override {
    control_->note("invalidate");
    control_->invalidated.push_back({offset, length});
    return {};
  }
  std::byte* bytes() const { return bytes_.get(); }

 private:
  FakeMemory(std::shared_ptr<Control> control, std::unique_ptr<std::byte[]> bytes,
             std::uint64_t size, MemoryType type, const void* domain)
      : Memory(size, type, type == MemoryType::kDeviceLocal ? nullptr : bytes.get(),
               reinterpret_cast<std::uint64_t>(bytes.get()), domain),
        control_(std::move(control)),
        bytes_(std::move(bytes)) {
    ++control_->live_memories;
  }
  std::shared_ptr<Control> control_;
  std::unique_ptr<std::byte[]> bytes_;
};

class FakeExecutable final : public ExecutableImpl {
 public:
  FakeExecutable(std::shared_ptr<Control> control, kernel::Hyx file)
      : ExecutableImpl(std::move(file)), control_(std::move(control)) {
    ++control_->live_executables;
  }
  ~FakeExecutable() override {
    control_->note("unload");
    --control_->live_executables;
  }

 private:
  std::shared_ptr<Control> control_;
};

// Its images are a text and the size of the file.
class FakeBuilder final : public ImageBuilder {
 public:
  explicit FakeBuilder(std::shared_ptr<Control> control) : control_(std::move(control)) {}
  std::string_view name() const noexcept override { return control_->builder; }
  Result<std::vector<std::byte>> build(const kernel::Hyx& file) override {
    control_->note("build");
    ++control_->builds;
    if (!control_->fail_build.ok()) return control_->fail_build;
    const std::string image = image_of(file);
    const auto bytes = std::as_bytes(std::span(image));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  Result<Ref<ExecutableImpl>> load(kernel::Hyx&& file, std::span<const std::byte> image) override {
    const std::string expected = image_of(file);
    if (!std::ranges::equal(image, std::as_bytes(std::span(expected)))) {
      return Status(StatusCode::kDataLoss, "no image of the fake builder");
    }
    return Ref<ExecutableImpl>(
        Ref<FakeExecutable>::adopt(new FakeExecutable(control_, std::move(file))));
  }

 private:
  std::string image_of(const kernel::Hyx& file) const {
    return control_->built + std::to_string(file.bytes().size());
  }
  std::shared_ptr<Control> control_;
};

struct FakeCommands final : NativeCommands {
  FakeCommands(Control& c, const RecordedCommands& r) : NativeCommands(r), control(c) {
    ++control.live_recordings;
  }
  ~FakeCommands() override {
    control.note("destroy recording");
    --control.live_recordings;
  }
  std::uint32_t depth() const noexcept override { return control.depth; }
  InstanceInfo instances() const noexcept override { return control.instances; }
  Control& control;
};

class FakeLane final : public timeline::NativeQueue {
 public:
  explicit FakeLane(Control& control) : control_(control) {}

  const timeline::QueueCapabilities& capabilities() const noexcept override {
    return capabilities_;
  }
  timeline::EntryGuard* entry_guard() const noexcept override { return control_.guard.get(); }
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell) noexcept override {
    std::size_t count = 0;
    Status failure;
    {
      std::lock_guard lock(mutex_);
      for (const timeline::Issue& issue : batch) {
        if (!control_.fail_dispatch.ok() && is_dispatch(issue)) {
          failure = std::exchange(control_.fail_dispatch, {});
          break;
        }
        note_replay(issue);
        if (control_.automatic && pending_.empty() && reached(issue.waits)) {
          execute(*static_cast<const Operation*>(issue.operation));
          ++done_;
          ++count;
          continue;
        }
        if (pending_.size() == control_.lane_capacity) break;
        pending_.push_back({{issue.waits.begin(), issue.waits.end()}, issue.operation});
        ++count;
      }
    }
    if (control_.automatic) run();
    return {.count = count, .busy = failure.ok() && count != batch.size(), .status = failure};
  }
  timeline::Progress poll() noexcept override { return {done_.load(), {}}; }
  Status probe() noexcept override {
    std::lock_guard lock(mutex_);
    return fault_;
  }
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override {
    {
      std::lock_guard lock(mutex_);
      if (done_ < sequence) {
        armed_ = &notify;
        return {};
      }
    }
    notify.notify();
    return {};
  }
  bool help(std::uint64_t) noexcept override { return control_.automatic && run() != 0; }
  timeline::Abandoned abandon(const Status&, Nanoseconds) noexcept override {
    std::lock_guard lock(mutex_);
    pending_.clear();
    return timeline::Abandoned::kStopped;
  }

  // Runs the lane's entries up to an edge that is not reached. Returns their number.
  int run() {
    int ran = 0;
    base::Notify* notify = nullptr;
    {
      std::lock_guard lock(mutex_);
      while (!pending_.empty() && reached(pending_.front().waits)) {
        execute(*static_cast<const Operation*>(pending_.front().operation));
        pending_.pop_front();
        ++done_;
        ++ran;
      }
      if (ran != 0) notify = std::exchange(armed_, nullptr);
    }
    if (notify != nullptr) notify->notify();
    return ran;
  }
  std::size_t pending() {
    std::lock_guard lock(mutex_);
    return pending_.size();
  }
  // Sets a fault that polls return, without a notification.
  void fault(const Status& status) {
    std::lock_guard lock(mutex_);
    fault_ = status;
  }

 private:
  struct Entry {
    std::vector<timeline::Edge> waits;
    const timeline::Operation* operation;
  };
  void note_replay(const timeline::Issue& issue) {
    const auto& operation = *static_cast<const Operation*>(issue.operation);
    if (operation.kind == OperationKind::kExecute) control_.replayed.push_back(operation.instance);
  }
  static bool is_dispatch(const timeline::Issue& issue) {
    const auto& operation = *static_cast<const Operation*>(issue.operation);
    return operation.kind == OperationKind::kCommand &&
           operation.command.kind == CommandKind::kDispatch;
  }
  static bool reached(std::span<const timeline::Edge> waits) {
    for (const timeline::Edge& edge : waits) {
      if (static_cast<FakeLane*>(edge.queue)->done_ < edge.sequence) return false;
    }
    return true;
  }
  static std::byte* bytes(const BoundRange& range) {
    return reinterpret_cast<std::byte*>(range.memory->device_address()) + range.offset;
  }
  void execute(const Operation& operation) {
    if (operation.kind == OperationKind::kCommand) execute(operation.command, nullptr);
    if (operation.kind != OperationKind::kExecute) return;
    const auto& native = *static_cast<const FakeCommands*>(operation.native);
    for (const Command& command : native.recording().commands) execute(command, operation.table);
  }
  void execute(const Command& command, const BoundRange* table) {
    switch (command.kind) {
      case CommandKind::kBarrier:
      case CommandKind::kSetEvent:
      case CommandKind::kResetEvent:
      case CommandKind::kWaitEvent:
        break;
      case CommandKind::kFill: {
        const BoundRange target = bind(command.fill.target, table);
        for (std::uint64_t i = 0; i < target.length; ++i) {
          const std::uint32_t byte = command.fill.pattern >> 8 * (i % command.fill.pattern_size);
          bytes(target)[i] = static_cast<std::byte>(byte);
        }
        break;
      }
      case CommandKind::kUpdate: {
        const BoundRange target = bind(command.update.target, table);
        const std::byte* source = command.update.source;
        if (control_.needs_host_blocks && target.length != 0) {
          ++control_.updates_from_driver_memory;
          source = bytes(at_root({command.update.source_memory, command.update.source_offset, 0}));
        }
        std::memcpy(bytes(target), source, target.length);
        break;
      }
      case CommandKind::kCopy: {
        const BoundRange target = bind(command.copy.target, table);
        std::memcpy(bytes(target), bytes(bind(command.copy.source, table)), target.length);
        break;
      }
      case CommandKind::kDispatch: {
        if (!control_.log_launches) break;
        const DispatchCommand& dispatch = command.dispatch;
        const std::byte* const constants = constants_of(dispatch, table);
        Launch launch{dispatch.function,
                      {dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]},
                      {},
                      {constants, constants + dispatch.constants_size}};
        for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) {
          launch.bindings.push_back(bind(dispatch.bindings[i], table));
        }
        if (dispatch.counts != nullptr) {
          std::memcpy(launch.groups, bytes(bind(*dispatch.counts, table)), sizeof launch.groups);
        }
        std::lock_guard lock(control_.mutex);
        control_.launches.push_back(std::move(launch));
        break;
      }
    }
  }

  Control& control_;
  timeline::QueueCapabilities capabilities_{};
  std::mutex mutex_;
  std::deque<Entry> pending_;
  base::Notify* armed_ = nullptr;
  Status fault_;
  std::atomic<std::uint64_t> done_{0};
};

class FakeDevice final : public DeviceImpl {
 public:
  // A null domain gives the device a domain of its own.
  FakeDevice(std::shared_ptr<Control> control, unsigned ordinal, const void* wait_domain,
             const void* memory_domain)
      : control_(std::move(control)),
        wait_domain_(wait_domain != nullptr ? wait_domain : this),
        domain_(memory_domain != nullptr ? memory_domain : this) {
    info_.uri = "fake://" + std::to_string(ordinal);
    info_.driver = "fake";
    info_.name = "a fake";
    info_.limits = control_->limits;
    ++control_->open_devices;
  }
  ~FakeDevice() override {
    EXPECT_TRUE(closed_) << "close() comes before destruction";
    std::lock_guard lock(control_->mutex);
    for (const auto& lane : lanes_) std::ranges::replace(control_->lanes, lane.get(), nullptr);
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  const void* wait_domain() const noexcept override { return wait_domain_; }
  const void* memory_domain() const noexcept override { return domain_; }
  timeline::EntryGuard* entry_guard() const noexcept override { return control_->guard.get(); }
  bool frees_may_block() const noexcept override { return control_->frees_may_block; }
  bool needs_host_blocks() const noexcept override { return control_->needs_host_blocks; }
  bool works_in_host_memory() const noexcept override { return control_->works_in_host_memory; }
  bool can_wait_on(const DeviceImpl& producer) const noexcept override {
    return control_->can_wait_on ? control_->can_wait_on(*this, producer)
                                 : DeviceImpl::can_wait_on(producer);
  }
  bool can_access(const DeviceImpl& owner) const noexcept override {
    return control_->can_access ? control_->can_access(*this, owner)
                                : DeviceImpl::can_access(owner);
  }
  Result<Ref<Memory>> allocate(std::uint64_t size, std::uint64_t, MemoryType type) override {
    control_->note("allocate");
    if (control_->live_memories >= control_->most_memories) {
      return Status(StatusCode::kResourceExhausted, "no memory");
    }
    if (!control_->fail_allocate.ok()) return control_->fail_allocate;
    return Ref<Memory>(Ref<FakeMemory>::adopt(new FakeMemory(control_, size, type, domain_)));
  }
  Result<Ref<Memory>> import_memory(std::byte* data, std::uint64_t size) override {
    control_->note("import");
    ++control_->imports;
    if (!control_->fail_import.ok()) return control_->fail_import;
    if (!control_->fail_allocate.ok()) return control_->fail_allocate;
    return Ref<Memory>(Ref<FakeMemory>::adopt(new FakeMemory(control_, data, size, domain_)));
  }
  ImageBuilder* image_builder() noexcept override {
    return control_->builder.empty() ? nullptr : &builder_;
  }
  Result<Ref<ExecutableImpl>> load(kernel::Hyx file) override {
    control_->note("load");
    if (control_->on_load) control_->on_load();
    return Ref<ExecutableImpl>(
        Ref<FakeExecutable>::adopt(new FakeExecutable(control_, std::move(file))));
  }
  Result<std::unique_ptr<NativeCommands>> prepare(const RecordedCommands& recording) override {
    control_->note("prepare");
    control_->last_use = recording.use;
    if (!control_->fail_prepare.ok()) return control_->fail_prepare;
    if (control_->on_prepare) control_->on_prepare(recording);
    return std::unique_ptr<NativeCommands>(std::make_unique<FakeCommands>(*control_, recording));
  }
  Result<timeline::NativeQueue*> open_lane(QueueKind, QueuePriority) override {
    control_->note("open lane");
    if (!control_->fail_open_lane.ok()) return control_->fail_open_lane;
    lanes_.push_back(std::make_unique<FakeLane>(*control_));
    std::lock_guard lock(control_->mutex);
    control_->lanes.push_back(lanes_.back().get());
    return lanes_.back().get();
  }
  void close() override {
    control_->note("close");
    EXPECT_FALSE(closed_);
    for (const auto& lane : lanes_) EXPECT_EQ(lane->pending(), 0u);
    closed_ = true;
    --control_->open_devices;
  }

 private:
  std::shared_ptr<Control> control_;
  const void* const wait_domain_;
  const void* const domain_;
  FakeBuilder builder_{control_};
  DeviceInfo info_;
  std::vector<std::unique_ptr<FakeLane>> lanes_;
  bool closed_ = false;
};

class FakeDriver final : public Driver {
 public:
  explicit FakeDriver(std::shared_ptr<Control> control) : control_(std::move(control)) {}
  std::string_view name() const noexcept override { return "fake"; }
  Result<std::vector<DeviceInfo>> enumerate() override {
    return std::vector<DeviceInfo>{{.uri = "fake://0", .driver = "fake"}};
  }
  std::span<const Option> options() const noexcept override {
    static constexpr Option kOptions[] = {{.name = "devices", .most = 64},
                                          {.name = "domain", .is_text = true},
                                          {.name = "memory", .is_text = true}};
    return kOptions;
  }
  Result<std::vector<std::unique_ptr<DeviceImpl>>> open_devices(
      const Uri&, const OptionValues& values) override {
    static const int shared_domain = 0;
    const bool own = values.find("domain").has_value();
    const auto count = static_cast<int>(values.get("devices", 1));
    std::vector<std::unique_ptr<DeviceImpl>> impls;
    for (int i = 0; i < count; ++i) {
      impls.push_back(
          std::make_unique<FakeDevice>(control_, i, own ? nullptr : &shared_domain,
                                       own || values.find("memory") ? nullptr : &shared_domain));
    }
    return impls;
  }

 private:
  std::shared_ptr<Control> control_;
};

// Two kernels: saxpy(x: float read, y: float; a: float, n: uint), 256 items a group; and
// wide(z: double; k: long), 8 x 4 items.
inline std::vector<std::byte> sample_hyx() {
  using kernel::Access;
  using kernel::ElementType;
  compiler::Contents contents;
  contents.kernels = {
      {.name = "saxpy",
       .workgroup_size = {256, 1, 1},
       .bindings = {{"x", Access::kRead, ElementType::kFloat32},
                    {"y", Access::kReadWrite, ElementType::kFloat32}},
       .constants = {{"a", ElementType::kFloat32, 0}, {"n", ElementType::kUint32, 4}},
       .constants_bytes = 8},
      {.name = "wide",
       .workgroup_size = {8, 4, 1},
       .bindings = {{"z", Access::kWrite, ElementType::kFloat64}},
       .constants = {{"k", ElementType::kInt64, 0}},
       .constants_bytes = 8,
       .may_overlap = true},
  };
  contents.images = {{"x86-64-v1", "hy-cpu-1", "code"}};
  return compiler::write_hyx(contents);
}

// A runtime with threads, a fake driver, one device.
class FakeWorld : public ::testing::Test {
 protected:
  Executable load(const Device& on) { return on.load(sample_hyx(), "sample.hyx").value(); }
  Buffer buffer(std::uint64_t size, MemoryType memory = MemoryType::kHostVisible) {
    return device.allocate({.size = size, .memory = memory}).value();
  }
  FakeLane& lane(std::size_t index = 0) {
    std::lock_guard lock(control->mutex);
    return *control->lanes.at(index);
  }

  std::shared_ptr<Control> control = std::make_shared<Control>();
  DriverRegistry registry;
  Device device = [this] {
    check(registry.add(std::make_unique<FakeDriver>(control)));
    return registry.open("fake://").value();
  }();
  Queue queue = device.queue();
};

// Counts wake-ups; the test steps.
class StepSource : public base::WorkSource {
 public:
  struct ShiftedClock final : Clock {
    Nanoseconds now() noexcept override { return Clock::steady().now() + ahead.load(); }
    std::atomic<Nanoseconds> ahead{0};
  };
  ShiftedClock& clock() noexcept override { return clock_; }
  void wake(base::Shell shell) noexcept override { ++wakes[static_cast<int>(shell)]; }
  Status ensure(base::Shell) noexcept override { return {}; }
  Status start_thread(void (*)(void*), void*) noexcept override {
    return Status(StatusCode::kResourceExhausted, "a stepped world has no threads");
  }
  void pause(unsigned) noexcept override {}
  bool park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept override {
    return parker.park(epoch, deadline);
  }
  std::atomic<int> wakes[base::kShellCount]{};

 private:
  ShiftedClock clock_;
};

// The code of an error whose message contains `part`.
#define EXPECT_ERROR(expression, expected, part)                                         \
  do {                                                                                   \
    const ::halyard::Status status_of_it = (expression);                                 \
    EXPECT_EQ(::halyard::to_string(status_of_it.code()), ::halyard::to_string(expected)) \
        << status_of_it.to_string();                                                     \
    EXPECT_NE(status_of_it.message().find(part), std::string_view::npos)                 \
        << status_of_it.to_string();                                                     \
  } while (false)

}  // namespace halyard::hal::testing
