// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A native queue library that is simulated: streams that run packets in order, each on its own
// thread; events; host functions; progress words; notices; memory. Modelled on the CUDA driver API
// and on hardware command queues. The seed decides the duration of packets, the delay of notices,
// and which call fails.
//
// It checks its callers: a stream must not wait for work that was not issued before (timelines.md,
// rule 14), an event must not be recorded again before it was reached or while a wait for it is
// being called, a host function must not call the library, no object may be used after its
// destruction, and every object must be destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic.h"
#include "base/parker.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "simulation/scheduler.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::sim {

struct NativeOptions {
  Nanoseconds longest_packet = 2'000;  // each takes up to that long
  Nanoseconds longest_notice = 0;      // the greatest delay of a notice
  std::uint32_t notices_lost = 0;      // in 256
  std::uint32_t stops_late = 0;        // in 256: a running packet ignores a request to end, and
                                       // hangs in a fault until then
  std::uint64_t failing_call = 0;      // the n-th call fails; 0: none
  bool fails_for_good = false;         // so do all later calls of that device: it is lost
  std::uint64_t device_memory = 1 << 20;
  // Deliberate bugs, which the checks must detect.
  bool skips_operations = false;
  bool ignores_waits = false;
};

class NativeDevice;

// A stream's marker. A wait captures the latest record at the time of the call. Packets that name
// the event own it.
struct NativeEvent : std::enable_shared_from_this<NativeEvent> {
  std::uint64_t generation = 0;  // records
  std::uint64_t passed = 0;
};

class NativeStream {
 public:
  explicit NativeStream(NativeDevice& device);
  // Requires that abandon() has returned true.
  ~NativeStream();

  // Appends a packet to the stream. The packet calls `run`, unless that is null, then sets the
  // progress to `value`, unless that is 0.
  Status launch(std::function<void()> run, std::uint64_t value);
  // Like launch() with a null `run`, but never fails: a write to the ring.
  void skip_to(std::uint64_t value);
  Status record(NativeEvent& event);
  Status wait(NativeEvent& event);
  // The function runs on the thread that delivers notices, and can get lost as notices can.
  Status call_host(void (*function)(void* argument), void* argument);
  Status wait(const NativeStream& other, std::uint64_t value);
  // Calls notify.notify() once a notice has reported that the progress reached `value`.
  Status notify_at(std::uint64_t value, base::Notify& notify);
  // The fault of the device, if it has one.
  Status query();
  std::uint64_t progress() const noexcept { return progress_.load(); }
  // Drops pending packets and ends the running packet, at once or later as the seed decides.
  // Returns true once no packet and no host function of the stream runs or will run. May be called
  // again.
  bool abandon();

 private:
  friend class NativeDevice;
  struct Packet {
    std::function<void()> run;
    std::uint64_t value = 0;
    void (*host_function)(void*) = nullptr;
    void* argument = nullptr;  // the host function's
    std::shared_ptr<NativeEvent> record;
    std::shared_ptr<NativeEvent> wait_event;  // for `generation`
    std::uint64_t generation = 0;
    const NativeStream* wait_stream = nullptr;  // for `value`
  };
  static void run(void* self);
  bool step();  // false: the stream has ended
  bool stops_late() const;
  bool sleep_while_alive(const void* address);
  bool call_host(const Packet& packet);
  void push(Packet packet);

  NativeDevice& device_;
  Scheduler::Thread* thread_ = nullptr;
  std::deque<Packet> packets_;
  // Advances as notices are delivered, which is later than progress_. Notices outlive the stream.
  const std::shared_ptr<timeline::NotifyList> armed_ = std::make_shared<timeline::NotifyList>();
  base::Atomic<std::uint64_t> progress_{0};
  std::uint64_t issued_ = 0;  // the last value that was launched
  const void* sleeps_on_ = nullptr;
  bool host_function_ended_ = false;
  bool ended_ = false;
  bool runs_on_ = false;  // the stream has ended, its current packet has not
  bool running_ = false;  // a packet
  bool hangs_ = false;    // and does until it is abandoned
};

class NativeDevice {
 public:
  NativeDevice(std::string name, const NativeOptions& options);
  ~NativeDevice();

  // Bytes of memory that are allocated; memory outlives its device.
  const std::shared_ptr<std::uint64_t>& memory_used() const noexcept { return memory_used_; }

  // Counts a call, which may fail. Every call of the library makes this call first.
  Status call(std::string_view what);
  Result<std::shared_ptr<NativeEvent>> create_event();
  Result<bool> query(const NativeEvent& event);
  // The next call of that name fails, like options().failing_call.
  void fail_next(std::string_view what) noexcept { fails_next_ = what; }
  // Makes every later call fail, and stops all streams.
  void fault(std::string_view why);
  bool faulted() const noexcept { return !fault_.ok(); }
  // Ends the thread that delivers notices. Call it once.
  void close();

  const std::string& name() const noexcept { return name_; }
  const NativeOptions& options() const noexcept { return options_; }

 private:
  friend class NativeStream;
  struct Notice {
    Nanoseconds due;
    std::shared_ptr<timeline::NotifyList> armed;  // null: a host function
    std::uint64_t progress = 0;
    void (*function)(void*) = nullptr;
    void* argument = nullptr;
    NativeStream* stream = nullptr;
  };
  static void deliver(void* self);
  // Returns false if the notice gets lost.
  bool post(Notice notice);

  const std::string name_;
  const NativeOptions options_;
  Status fault_;
  std::uint64_t calls_ = 0;
  std::string_view fails_next_;
  std::vector<NativeStream*> streams_;
  std::vector<Notice> notices_;
  const NativeStream* runs_host_function_of_ = nullptr;
  std::uint64_t delivers_ = 0;  // the delivering thread
  Scheduler::Thread* interrupts_ = nullptr;
  bool closed_ = false;
  const std::shared_ptr<std::uint64_t> memory_used_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace halyard::inline v0::sim
