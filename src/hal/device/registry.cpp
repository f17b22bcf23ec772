// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/registry.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/format.h"
#include "base/number.h"
#include "base/program.h"
#include "hal/device/device.h"
#include "hal/device/uri.h"
#include "hal/object.h"

namespace halyard::inline v0::hal {
namespace {

// Closes a device that was opened and is not used.
void close(DeviceImpl& impl) {
  const Ref<timeline::EntryGuard> guard(impl.entry_guard());
  timeline::Entered(impl, guard.get())->close();
}

// "5s", "200ms"
Result<Nanoseconds> parse_duration(std::string_view name, std::string_view text) {
  std::string_view count = text;
  const Nanoseconds unit = count.ends_with("ms") ? 1'000'000 : 1'000'000'000;
  if (count.ends_with('s')) count.remove_suffix(unit == 1'000'000 ? 2 : 1);
  const auto number = base::parse_number(count, 1, 1'000'000);
  if (number && text.ends_with('s')) return *number * unit;
  return error(StatusCode::kInvalidArgument, "{}={}: expected 1 to 1000000 s or ms, as in {}=5s",
               name, text, name);
}

// Takes `hang_timeout` out of the options: drivers do not see it. 0: not given.
Result<Nanoseconds> take_hang_timeout(Uri& uri) {
  const auto at = uri.options.find("hang_timeout");
  if (at == uri.options.end()) return Nanoseconds{0};
  HALYARD_ASSIGN_OR_RETURN(const Nanoseconds timeout, parse_duration(at->first, at->second));
  uri.options.erase(at);
  return timeout;
}

// Takes `check` out of the options: whether the device's work is checked for missing ordering.
Result<bool> take_check(Uri& uri, bool by_default) {
  const auto at = uri.options.find("check");
  if (at == uri.options.end()) return by_default;
  const std::string text = std::move(at->second);
  uri.options.erase(at);
  if (text == "0" || text == "1") return text == "1";
  return error(StatusCode::kInvalidArgument, "check={}: expected 0 or 1", text);
}

void say(std::string_view text) { std::fputs(base::format("halyard: {}\n", text).c_str(), stderr); }

// HALYARD_CHECK: whether work is checked if the URI has no option `check`.
bool checks_by_default() {
  const char* const chosen = base::environment("HALYARD_CHECK");
  if (chosen == nullptr) return HALYARD_CHECK_BY_DEFAULT != 0;
  const std::string_view text = chosen;
  if (text == "0" || text == "1") return text == "1";
  say(base::format("HALYARD_CHECK={}: expected 0 or 1; 1 is used", text));
  return true;
}

// HALYARD_REPORT_WAITS: the time after which a wait without a deadline reports why it has not
// ended; 0: never.
void report_long_waits(timeline::Engine& engine) {
#ifdef NDEBUG
  constexpr const char* kDefault = "0";
#else
  constexpr const char* kDefault = "10s";
#endif
  const char* const chosen = base::environment("HALYARD_REPORT_WAITS");
  const std::string_view text = chosen != nullptr ? chosen : kDefault;
  if (text == "0") return;
  const Result<Nanoseconds> after = parse_duration("HALYARD_REPORT_WAITS", text);
  if (!after.ok()) return say(after.status().message());
  engine.report_long_waits(*after, [](const Status& why) noexcept {
    say(base::format("a wait goes on: {}", why.message()));
  });
}

// Adds the URI and its position to `status`, if the list has more than one.
Status in_list(const Status& status, std::string_view uri, std::size_t index, std::size_t count) {
  if (count == 1) return status;
  return at(status, "{:?}, {} of {}", uri, index + 1, count);
}

constexpr std::size_t kMaxUris = 64;

// Closes devices and reads the lanes into the trace for the last time, before the native libraries
// end. Exit handlers run in reverse order, and a driver's library registers its handler when a
// device is first opened, so we register a handler after each of those.
void end_before_library() {
  static const pid_t process = ::getpid();
  std::atexit([] {
    if (::getpid() != process) return;  // a child of fork() has no thread that closes them
    // A device whose work does not end stays open until the process ends.
    constexpr std::chrono::seconds kPatience(2);
    process_registry().wait_for_closing(kPatience);
    trace::FileTrace* const trace = process_registry().trace();
    if (trace == nullptr) return;
    trace->flush();
    trace->set_source(nullptr);
    trace->flush();  // returns once the trace thread has stopped using the source
  });
}

}  // namespace

DriverRegistry::DriverRegistry(std::unique_ptr<trace::FileTrace> trace)
    : trace_(std::move(trace)),
      threads_(std::make_unique<threads::ThreadShells>()),
      work_source_(*threads_),
      engine_(work_source_, {}, trace_ ? &trace_->tracer() : nullptr),
      files_(work_source_) {
  threads_->start(*this);
  if (trace_) trace_->set_source(&engine_);
}

DriverRegistry::DriverRegistry(base::WorkSource& work_source, trace::Tracer* tracer)
    : work_source_(work_source), engine_(work_source_, {}, tracer), files_(work_source_) {}

DriverRegistry::~DriverRegistry() {
  (void)shutdown(kForever);
  base::ParkerPool::release(none_closes_);
}

Status DriverRegistry::add(std::unique_ptr<Driver> driver) {
  base::LockGuard lock(mutex_);
  for (const auto& other : drivers_) {
    if (other->name() == driver->name()) {
      return error(StatusCode::kInvalidArgument, "registry: a second driver {:?}", driver->name());
    }
  }
  drivers_.push_back(std::move(driver));
  opened_.reserve(drivers_.size());
  return {};
}

Result<Driver*> DriverRegistry::find(std::string_view name) {
  base::LockGuard lock(mutex_);
  if (shut_down_) return Status(StatusCode::kFailedPrecondition, "registry: it is shut down");
  std::string names;
  for (const auto& driver : drivers_) {
    if (driver->name() == name) return driver.get();
    names.append(names.empty() ? "" : ", ").append(driver->name());
  }
  return error(StatusCode::kNotFound, "no driver {:?} in this build; it has: {}", name,
               names.empty() ? "none" : names);
}

Result<Device> DriverRegistry::create(std::unique_ptr<DeviceImpl> impl) {
  const Result<Peers::Domains> domains = peers_.domains_of(*impl);
  if (domains.ok()) return DeviceObject::create(*this, std::move(impl), *domains);
  close(*impl);
  return domains.status();
}

Result<std::vector<DriverRegistry::Target>> DriverRegistry::parse(std::string_view text) {
  const std::vector<std::string_view> uris = split_uris(text);
  if (uris.size() > kMaxUris) {
    return error(StatusCode::kInvalidArgument, "{} URIs: at most {} are allowed", uris.size(),
                 kMaxUris);
  }
  std::vector<Target> targets;
  for (const std::string_view part : uris) {
    const auto parse_one = [&]() -> Result<Target> {
      Target target{.text = part};
      HALYARD_ASSIGN_OR_RETURN(target.uri, parse_uri(part));
      HALYARD_ASSIGN_OR_RETURN(target.hang_timeout, take_hang_timeout(target.uri));
      HALYARD_ASSIGN_OR_RETURN(target.checks, take_check(target.uri, checks_by_default_));
      HALYARD_ASSIGN_OR_RETURN(target.driver, find(target.uri.driver));
      return target;
    };
    Result<Target> target = parse_one();
    if (!target.ok()) return in_list(target.status(), part, targets.size(), uris.size());
    targets.push_back(std::move(*target));
  }
  return targets;
}

Status DriverRegistry::start_threads(std::string_view text) {
  // These two must run: waits, queries and dropped handles rely on them and cannot fail.
  for (const base::Shell shell : {base::Shell::kReclaim, base::Shell::kCompletion}) {
    if (Status status = work_source_.ensure(shell); !status.ok()) {
      return at(status, "{}: the runtime's threads", text);
    }
  }
  return {};
}

Status DriverRegistry::open_one(const Target& target, std::vector<Device>& devices) {
  if (target.checks) engine_.check_accesses();
  HALYARD_ASSIGN_OR_RETURN(auto impls, target.driver->open(target.uri));
  const std::size_t before = devices.size();
  Status status;
  for (auto& impl : impls) {
    if (!status.ok()) {
      close(*impl);
      continue;
    }
    Result<Device> device = create(std::move(impl));
    status = device.status();
    if (!device.ok()) continue;
    device->object()->timeline().set_hang_timeout(target.hang_timeout);
    device->object()->set_checks(target.checks);
    devices.push_back(std::move(*device));
  }
  if (!status.ok()) return status;
  if (devices.size() == before) return error(StatusCode::kNotFound, "{}: no device", target.text);
  note_opened(*target.driver);
  return {};
}

void DriverRegistry::note_opened(const Driver& driver) {
  {
    base::LockGuard lock(mutex_);
    if (std::ranges::find(opened_, &driver) != opened_.end()) return;
    opened_.push_back(&driver);
  }
  if (driver_opened_ != nullptr) driver_opened_();
}

Result<std::vector<Device>> DriverRegistry::open_all(std::string_view text) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<Target> targets, parse(text));
  HALYARD_RETURN_IF_ERROR(start_threads(text));
  std::vector<Device> devices;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (Status status = open_one(targets[i], devices); !status.ok()) {
      return in_list(status, targets[i].text, i, targets.size());
    }
  }
  return devices;
}

Result<Device> DriverRegistry::open(std::string_view text) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<Target> targets, parse(text));
  HALYARD_RETURN_IF_ERROR(start_threads(text));
  std::vector<Device> devices;
  if (Status status = open_one(targets[0], devices); !status.ok()) {
    return in_list(status, targets[0].text, 0, targets.size());
  }
  return devices[0];
}

std::vector<Driver*> DriverRegistry::drivers() {
  std::vector<Driver*> drivers;
  base::LockGuard lock(mutex_);
  for (const auto& driver : drivers_) drivers.push_back(driver.get());
  return drivers;
}

Result<std::vector<DeviceInfo>> DriverRegistry::enumerate() {
  std::vector<DeviceInfo> all;
  for (Driver* driver : drivers()) {
    HALYARD_ASSIGN_OR_RETURN(auto infos, driver->enumerate());
    std::move(infos.begin(), infos.end(), std::back_inserter(all));
  }
  return all;
}

Result<Ref<CopyPath>> DriverRegistry::copy_path(DeviceObject& one, DeviceObject& other) {
  base::LockGuard lock(paths_mutex_);
  for (const Ref<CopyPath>& path : copy_paths_) {
    if (path->joins(one, other)) return path;
  }
  Ref<CopyPath> path = Ref<CopyPath>::adopt(new (std::nothrow) CopyPath(one, other));
  if (!path || !copy_paths_.push_back(path)) {
    return error(StatusCode::kResourceExhausted, "no memory for copies between {} and {}",
                 one.name(), other.name());
  }
  return path;
}

bool DriverRegistry::copies_in_flight(const DeviceObject& device) noexcept {
  base::LockGuard lock(paths_mutex_);
  bool any = false;
  for (const Ref<CopyPath>& path : copy_paths_) any |= path->has(device) && path->in_flight();
  return any;
}

void DriverRegistry::close_copy_paths(const DeviceObject& device) noexcept {
  base::LockGuard lock(paths_mutex_);
  std::size_t kept = 0;
  for (Ref<CopyPath>& path : copy_paths_) {
    if (path->has(device)) {
      path->close();
    } else {
      std::swap(copy_paths_[kept++], path);
    }
  }
  copy_paths_.shrink(kept);
}

void DriverRegistry::device_opened(const DeviceImpl& device, const Peers::Domains& domains) {
  peers_.add(device, domains);
  base::LockGuard lock(mutex_);
  ++open_devices_;
}

std::string DriverRegistry::take_name(const std::string& uri) {
  base::LockGuard lock(mutex_);
  std::string name = uri;
  for (int n = 2; std::ranges::find(names_, name) != names_.end(); ++n) {
    name = base::format("{} #{}", uri, n);
  }
  return names_.emplace_back(std::move(name));
}

void DriverRegistry::give_back_name(std::string_view name) noexcept {
  base::LockGuard lock(mutex_);
  names_.erase(std::ranges::find(names_, name));
}

void DriverRegistry::device_closed() noexcept {
  base::LockGuard lock(mutex_);
  --open_devices_;
  // Under the lock: a thread that sees 0 under it may destroy this registry.
  if (--closing_devices_ == 0) none_closes_.wake();
}

void DriverRegistry::retire(DeviceObject& device) noexcept {
  {
    base::LockGuard lock(mutex_);
    ++closing_devices_;
    device.next_retiring_ = retiring_;
    retiring_ = &device;
  }
  work_source_.wake(base::Shell::kReclaim);
}

bool DriverRegistry::step_reclaim() noexcept {
  DeviceObject* list = nullptr;
  {
    base::LockGuard lock(mutex_);
    std::swap(list, retiring_);
  }
  bool closed = false;
  while (list != nullptr) {
    DeviceObject& device = *list;
    list = device.next_retiring_;
    if (device.step_retire()) {
      closed = true;
      continue;
    }
    base::LockGuard lock(mutex_);
    device.next_retiring_ = retiring_;
    retiring_ = &device;
  }
  return closed;
}

bool DriverRegistry::step(base::Shell shell) noexcept {
  switch (shell) {
    case base::Shell::kIssue:
      return engine_.step_issue();
    case base::Shell::kCompletion:
      return engine_.step_completion();
    case base::Shell::kHost:
      return engine_.step_host();
    case base::Shell::kReclaim: {
      // Runs before devices close, because a posted pool keeps its device from closing.
      const bool ran = engine_.step_reclaim();
      return step_reclaim() || ran;
    }
    case base::Shell::kFile:
      return files_.step();
  }
  return false;
}

Nanoseconds DriverRegistry::next_step(base::Shell shell) noexcept {
  if (shell == base::Shell::kCompletion) return engine_.next_check();
  // A wait in the backend can end spuriously.
  if (shell == base::Shell::kFile && files_.in_flight()) return engine_.clock().now();
  if (shell == base::Shell::kReclaim) {
    base::LockGuard lock(mutex_);
    if (retiring_ != nullptr) return engine_.clock().now() + kRetireInterval;
  }
  return Deadline::kForeverTime;
}

void DriverRegistry::wait_for_closing(Deadline deadline) noexcept {
  const Nanoseconds until = deadline.resolve(engine_.clock());
  for (;;) {
    const std::uint32_t epoch = none_closes_.prepare();
    {
      base::LockGuard lock(mutex_);
      if (closing_devices_ == 0) return;
    }
    if (!work_source_.park(none_closes_, epoch, until)) return;
  }
}

Status DriverRegistry::shutdown(Deadline deadline) {
  const Nanoseconds until = deadline.resolve(engine_.clock());
  for (bool in_time = true;;) {
    const std::uint32_t epoch = none_closes_.prepare();
    std::size_t left = 0, closing = 0;
    {
      base::LockGuard lock(mutex_);
      left = open_devices_;
      closing = closing_devices_;
      if (left == 0) shut_down_ = true;
    }
    if (left == 0) break;
    if (!in_time) {
      return error(StatusCode::kDeadlineExceeded,
                   "registry: shutdown: {} {} not closed: {} held by a handle (of a device, a "
                   "buffer, a semaphore ...), {} by work in flight\n{}",
                   base::counted(left, "device"), left == 1 ? "is" : "are", left - closing, closing,
                   engine_.dump_timelines());
    }
    in_time = work_source_.park(none_closes_, epoch, until);
  }
  if (threads_) threads_->shutdown();
  if (trace_) trace_->close();
  return {};
}

void DriverRegistry::flush_trace(const trace::DeviceClock* clock) noexcept {
  trace::Tracer* const tracer = engine_.tracer();
  if (tracer != nullptr && clock != nullptr) tracer->end_clock(*clock);
  if (trace_) trace_->flush();
}

DriverRegistry& process_registry() {
  static DriverRegistry* const registry = [] {
    auto* made = new DriverRegistry(trace::from_environment());
    report_long_waits(made->engine());
    made->check_by_default(checks_by_default());
    if (made->trace() != nullptr) {
      // A program may end without shutdown().
      std::atexit([] { process_registry().trace()->close(); });
    }
    made->set_driver_opened(end_before_library);
    // Two drivers with the same name would be a defect of the build; the first one is used.
    (void)register_all_drivers(*made);
    return made;
  }();
  return *registry;
}

Result<Device> open(std::string_view uri) { return process_registry().open(uri); }

Result<std::vector<Device>> open_all(std::string_view uri) {
  return process_registry().open_all(uri);
}

Result<std::vector<DeviceInfo>> enumerate() { return process_registry().enumerate(); }

Status shutdown(Deadline deadline) { return process_registry().shutdown(deadline); }

}  // namespace halyard::inline v0::hal
