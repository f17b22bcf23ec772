// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/driver/native.h"

#include <algorithm>
#include <limits>

#include "base/format.h"

namespace halyard::inline v0::sim {
namespace {

constexpr int kAll = std::numeric_limits<int>::max();

Scheduler& scheduler() { return *Scheduler::current(); }

void require(bool condition, std::string_view what) {
  if (!condition) scheduler().fail(what);
}

}  // namespace

NativeStream::NativeStream(NativeDevice& device) : device_(device) {
  device_.streams_.push_back(this);
  thread_ = &scheduler().start(device_.name() + " stream", &run, this);
}

NativeStream::~NativeStream() {
  require(ended_, "native: a stream is destroyed that was not abandoned");
  scheduler().join(*thread_);
  std::erase(device_.streams_, this);
}

void NativeStream::push(Packet packet) {
  require(!ended_, "native: a packet for a stream that was abandoned");
  packets_.push_back(std::move(packet));
  scheduler().wake(this, 1);
}

Status NativeStream::launch(std::function<void()> function, std::uint64_t value) {
  HALYARD_RETURN_IF_ERROR(device_.call("launch"));
  require(value == 0 || value > issued_, "native: the progress of a stream goes back");
  if (value != 0) issued_ = value;
  push({.run = std::move(function), .value = value});
  return {};
}

void NativeStream::skip_to(std::uint64_t value) {
  issued_ = value;
  push({.value = value});
}

Status NativeStream::record(NativeEvent& event) {
  HALYARD_RETURN_IF_ERROR(device_.call("record"));
  require(event.passed == event.generation,
          "native: an event is recorded again while it is pending");
  push({.record = event.shared_from_this(), .generation = ++event.generation});
  return {};
}

Status NativeStream::wait(NativeEvent& event) {
  const std::uint64_t generation = event.generation;
  HALYARD_RETURN_IF_ERROR(device_.call("wait for event"));
  // A call may take as long as a packet.
  Random& random = scheduler().random();
  if (random.one_in(8)) {
    scheduler().sleep_for(static_cast<Nanoseconds>(
        random.below(static_cast<std::uint64_t>(device_.options_.longest_packet) + 1)));
  }
  require(event.generation == generation,
          "native: an event is recorded again during a wait for it");
  require(event.generation != 0, "native: a wait for an event that was never recorded");
  push({.wait_event = event.shared_from_this(), .generation = event.generation});
  return {};
}

Status NativeStream::call_host(void (*function)(void*), void* argument) {
  HALYARD_RETURN_IF_ERROR(device_.call("host function"));
  push({.host_function = function, .argument = argument});
  return {};
}

Status NativeStream::wait(const NativeStream& other, std::uint64_t value) {
  HALYARD_RETURN_IF_ERROR(device_.call("wait for value"));
  require(other.issued_ >= value, "native: a wait for what was not issued");
  push({.value = value, .wait_stream = &other});
  return {};
}

Status NativeStream::notify_at(std::uint64_t value, base::Notify& notify) {
  HALYARD_RETURN_IF_ERROR(device_.call("notify"));
  armed_->arm(value, notify);
  if (progress_.peek() >= value) {
    (void)device_.post({.armed = armed_, .progress = progress_.peek()});
  }
  return {};
}

Status NativeStream::query() { return device_.call("query"); }

bool NativeStream::stops_late() const {
  const std::uint32_t late = device_.options_.stops_late;
  return late != 0 && scheduler().random().below(256) < late;
}

bool NativeStream::abandon() {
  if (std::exchange(ended_, true)) return !runs_on_;
  runs_on_ = running_ && (hangs_ || stops_late());
  packets_.clear();
  scheduler().wake(sleeps_on_, kAll);  // others may sleep there as well
  std::erase_if(device_.notices_, [&](const auto& notice) { return notice.stream == this; });
  while (device_.runs_host_function_of_ == this) {
    (void)scheduler().sleep(&device_.runs_host_function_of_, Deadline::kForeverTime);
  }
  return !runs_on_;
}

void NativeStream::run(void* self) {
  while (static_cast<NativeStream*>(self)->step()) {
  }
}

// Sleeps once; false if the stream has ended meanwhile.
bool NativeStream::sleep_while_alive(const void* address) {
  sleeps_on_ = address;
  if (!ended_) (void)scheduler().sleep(address, Deadline::kForeverTime);
  return !ended_;
}

bool NativeStream::step() {
  while (packets_.empty() || device_.faulted()) {
    if (!sleep_while_alive(this)) return false;
  }
  const Packet packet = packets_.front();
  const bool of_event = packet.wait_event != nullptr;
  const auto reached = [&] {
    if (device_.options_.ignores_waits) return true;
    if (of_event) return packet.wait_event->passed >= packet.generation;
    return packet.wait_stream == nullptr || packet.wait_stream->progress_.peek() >= packet.value;
  };
  while (!reached()) {
    const void* const address = of_event ? static_cast<const void*>(packet.wait_event.get())
                                         : &packet.wait_stream->progress_;
    if (!sleep_while_alive(address)) return false;
  }
  if (packet.run != nullptr) {
    const auto sleep_up_to = [](Nanoseconds longest) {
      scheduler().sleep_for(static_cast<Nanoseconds>(
          scheduler().random().below(static_cast<std::uint64_t>(longest) + 1)));
    };
    running_ = true;
    sleep_up_to(device_.options_.longest_packet);
    hangs_ = device_.faulted() && !ended_ && stops_late();
    if (hangs_) {
      while (sleep_while_alive(this)) {
      }
      sleep_up_to(20'000);
    }
    running_ = false;
    if (ended_ && !runs_on_) return false;
    if (device_.faulted() && !runs_on_) return true;  // a fault also stops the running packet
    if (!device_.options_.skips_operations)
      packet.run();  // one step: nothing in it is a schedule point
    runs_on_ = false;
    if (ended_) return false;
  }
  if (packet.host_function != nullptr && !call_host(packet)) return false;
  packets_.pop_front();
  if (packet.record != nullptr) {
    packet.record->passed = packet.generation;
    scheduler().wake(packet.record.get(), kAll);
  }
  if (packet.wait_stream == nullptr && packet.value != 0) {
    progress_.store(packet.value);
    scheduler().wake(&progress_, kAll);
  }
  if (armed_->least() <= progress_.peek()) {
    (void)device_.post({.armed = armed_, .progress = progress_.peek()});
  }
  return !ended_;
}

bool NativeStream::call_host(const Packet& packet) {
  host_function_ended_ = false;
  if (!device_.post(
          {.function = packet.host_function, .argument = packet.argument, .stream = this})) {
    return true;
  }
  while (!host_function_ended_) {
    if (!sleep_while_alive(&host_function_ended_)) return false;
  }
  return !ended_;
}

NativeDevice::NativeDevice(std::string name, const NativeOptions& options)
    : name_(std::move(name)), options_(options) {
  interrupts_ = &scheduler().start(name_ + " interrupts", &deliver, this);
}

NativeDevice::~NativeDevice() {
  require(closed_, "native: a device is destroyed that was not closed");
  require(streams_.empty(), "native: a device ends before its streams");
}

void NativeDevice::close() {
  closed_ = true;
  scheduler().wake(this, 1);
  scheduler().join(*interrupts_);
}

Status NativeDevice::call(std::string_view what) {
  require(runs_host_function_of_ == nullptr || scheduler().this_thread() != delivers_,
          "native: a host function calls the library");
  base::schedule_point(this, base::Touch::kWrite);
  if (!fault_.ok()) return fault_;
  const bool planted = what == fails_next_;
  if (planted) fails_next_ = {};
  if (++calls_ != options_.failing_call && !planted) return {};
  if (scheduler().tracing()) scheduler().trace(fmt::format("{}: {} fails", name_, what));
  if (options_.fails_for_good) {
    fault(what);
    return fault_;
  }
  return error(StatusCode::kResourceExhausted, "{}: {}: out of memory, planted", name_, what);
}

Result<std::shared_ptr<NativeEvent>> NativeDevice::create_event() {
  HALYARD_RETURN_IF_ERROR(call("create event"));
  return std::make_shared<NativeEvent>();
}

Result<bool> NativeDevice::query(const NativeEvent& event) {
  HALYARD_RETURN_IF_ERROR(call("query event"));
  return event.passed == event.generation;
}

void NativeDevice::fault(std::string_view why) {
  if (!fault_.ok()) return;
  fault_ = error(StatusCode::kDeviceLost, "{}: {}: fault, planted", name_, why);
  if (scheduler().tracing()) scheduler().trace(fault_.to_string());
}

bool NativeDevice::post(Notice notice) {
  Random& random = scheduler().random();
  if (random.below(256) < options_.notices_lost) return false;
  const auto late = static_cast<std::uint64_t>(options_.longest_notice);
  notice.due = scheduler().now() + static_cast<Nanoseconds>(random.below(late + 1));
  notices_.push_back(std::move(notice));
  scheduler().wake(this, 1);
  return true;
}

void NativeDevice::deliver(void* self) {
  auto& device = *static_cast<NativeDevice*>(self);
  device.delivers_ = scheduler().this_thread();
  while (!device.closed_) {
    const auto first = std::ranges::min_element(device.notices_, {}, &Notice::due);
    if (first == device.notices_.end()) {
      (void)scheduler().sleep(&device, Deadline::kForeverTime);
    } else if (first->due > scheduler().now()) {
      (void)scheduler().sleep(&device, first->due);
    } else {
      const Notice notice = *first;
      device.notices_.erase(first);
      if (notice.armed != nullptr) {
        notice.armed->advance(notice.progress);
        continue;
      }
      device.runs_host_function_of_ = notice.stream;
      if (!device.faulted()) notice.function(notice.argument);  // never called after a fault
      device.runs_host_function_of_ = nullptr;
      notice.stream->host_function_ended_ = true;
      scheduler().wake(&notice.stream->host_function_ended_, kAll);
      scheduler().wake(&device.runs_host_function_of_, kAll);
    }
  }
}

}  // namespace halyard::inline v0::sim
