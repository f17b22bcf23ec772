// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DriverRegistry: one runtime. It owns the drivers, the engine and the threads, and opens devices.
//
//     hal::open() ──> process_registry() ── or one of your own ──> drivers ──> devices
//                                                │
//                                     engine, shells (threads)
//
// Semaphores and memory of one registry cannot be used with another. All functions may be called
// from any thread. A registry must outlive all handles that it returned; its destructor waits until
// its devices are closed.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/array.h"
#include "base/mutex.h"
#include "base/work_source.h"
#include "hal/device/driver.h"
#include "hal/device/peers.h"
#include "hal/files/file_transfers.h"
#include "hal/queue/copy_path.h"
#include "halyard/base/clock.h"
#include "halyard/base/result.h"
#include "halyard/hal/device.h"
#include "threads/thread_shells.h"
#include "timeline/engine.h"
#include "trace/file_trace.h"

namespace halyard::inline v0::hal {

class DeviceObject;

class DriverRegistry final : private threads::Work {
 public:
  // How often the shell checks a device that cannot close yet.
  static constexpr Nanoseconds kRetireInterval = 1'000'000;

  // Owns its threads; each is started before the first call that needs it. `trace` (may be null)
  // records events.
  explicit DriverRegistry(std::unique_ptr<trace::FileTrace> trace = nullptr);
  // Has no threads: the owner of `work_source`, which outlives this, calls step() when it is woken.
  // `tracer` (may be null) outlives this and all memory of its devices.
  explicit DriverRegistry(base::WorkSource& work_source, trace::Tracer* tracer = nullptr);
  // shutdown(kForever).
  ~DriverRegistry();
  DriverRegistry(const DriverRegistry&) = delete;
  DriverRegistry& operator=(const DriverRegistry&) = delete;

  // Returns kInvalidArgument if a driver has the same name.
  Status add(std::unique_ptr<Driver> driver);

  // Sets a function that is called once for each driver, when its first device has been opened, on
  // the thread that opens it. Call it before the first open().
  void set_driver_opened(void (*opened)()) noexcept { driver_opened_ = opened; }

  // The default for devices whose URI has no option `check`; off unless set. Call it before the
  // first open().
  void check_by_default(bool check) noexcept { checks_by_default_ = check; }

  // Contracts in halyard/hal/device.h.
  Result<Device> open(std::string_view uri);
  Result<std::vector<Device>> open_all(std::string_view uri);
  Result<std::vector<DeviceInfo>> enumerate();

  std::vector<Driver*> drivers();

  // Waits until the devices whose last handle is gone are closed, or until the deadline. Must not
  // be called on a thread of this runtime.
  void wait_for_closing(Deadline deadline) noexcept;

  // Waits until all devices are closed, then ends the threads. Must not be called on a thread of
  // this runtime. After it has succeeded, no device can be opened. Returns kDeadlineExceeded,
  // naming the work that still runs; it can then be called again.
  Status shutdown(Deadline deadline);

  // Does work of one kind (threads::Work).
  bool step(base::Shell shell) noexcept override;
  Nanoseconds next_step(base::Shell shell) noexcept override;
  // Steps each retiring device. True if one of them is now closed.
  bool step_reclaim() noexcept;

  timeline::Engine& engine() noexcept { return engine_; }
  const Peers& peers() const noexcept { return peers_; }
  FileTransfers& files() noexcept { return files_; }
  trace::FileTrace* trace() noexcept { return trace_.get(); }  // or null

 private:
  friend class DeviceObject;
  // Called before the device's first queue is opened.
  void device_opened(const DeviceImpl& device, const Peers::Domains& domains);
  void device_closing(const DeviceImpl& device) noexcept { peers_.remove(device); }
  void device_closed() noexcept;
  // A name for messages, different from the names of all open devices.
  std::string take_name(const std::string& uri);
  void give_back_name(std::string_view name) noexcept;
  // Called when a device closes, with its clock (may be null), which ends: writes the recorded
  // events to the file.
  void flush_trace(const trace::DeviceClock* clock) noexcept;
  // Hands over a device whose last handle is gone.
  void retire(DeviceObject& device) noexcept;

  // The path for copies between two open devices that cannot use each other's memory; there is one
  // for each pair.
  Result<Ref<CopyPath>> copy_path(DeviceObject& one, DeviceObject& other);
  // Whether copies of this device are in flight; they end by themselves.
  bool copies_in_flight(const DeviceObject& device) noexcept;
  // Called when `device` closes.
  void close_copy_paths(const DeviceObject& device) noexcept;

  // One URI of a list.
  struct Target {
    std::string_view text;
    Uri uri;
    Nanoseconds hang_timeout = 0;
    bool checks = false;
    Driver* driver = nullptr;
  };
  Result<std::vector<Target>> parse(std::string_view text);
  Status start_threads(std::string_view text);
  void note_opened(const Driver& driver);
  // Adds the devices that it opens to `devices`.
  Status open_one(const Target& target, std::vector<Device>& devices);
  Result<Device> create(std::unique_ptr<DeviceImpl> impl);
  Result<Driver*> find(std::string_view name);

  const std::unique_ptr<trace::FileTrace> trace_;
  std::unique_ptr<threads::ThreadShells> threads_;  // null when stepped
  base::WorkSource& work_source_;
  timeline::Engine engine_;
  Peers peers_{engine_};
  FileTransfers files_;
  PendingFrees pending_frees_;

  void (*driver_opened_)() = nullptr;
  bool checks_by_default_ = false;

  base::Mutex paths_mutex_;  // guards copy_paths_
  base::Array<Ref<CopyPath>> copy_paths_;

  base::Mutex mutex_;  // guards the rest
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<const Driver*> opened_;  // those that have opened a device
  DeviceObject* retiring_ = nullptr;
  std::vector<std::string> names_;  // of devices
  std::size_t open_devices_ = 0;
  std::size_t closing_devices_ = 0;  // those without a handle
  bool shut_down_ = false;
  base::Parker& none_closes_ = base::ParkerPool::acquire();
};

// The registry that hal::open() uses. It is created on first use with all drivers of the build, and
// never destroyed, so that static objects may hold handles.
DriverRegistry& process_registry();

// Generated from the enabled drivers (src/hal/CMakeLists.txt).
Status register_all_drivers(DriverRegistry& registry);

}  // namespace halyard::inline v0::hal
