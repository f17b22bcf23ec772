// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A native queue library that is simulated: streams that run packets in order, each on a thread of
// its own; events; host functions; progress words; notices; memory. Modelled on the CUDA driver API
// and on hardware command queues. How long packets take, when notices come, and which call
// fails comes from the seed.
//
// It checks its callers: a stream must not wait for what was not issued before (timelines.md, rule
// 14), no event may be recorded again before it was reached or while a wait for it is being called,
// a host function must not call the library, nothing may be used after its end, and all that was
// made must be given back.
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
  Nanoseconds longest_notice = 0;      // notices come up to so much later
  std::uint32_t notices_lost = 0;      // in 256
  std::uint32_t stops_late = 0;        // in 256: what runs does not end when it is asked to, and
                                       // hangs in a fault until then
  std::uint64_t failing_call = 0;      // the n-th call fails; 0: none
  bool fails_for_good = false;         // and so do all of that device after it: it is lost
  std::uint64_t device_memory = 1 << 20;
  // Lies, to see that they are found out.
  bool skips_operations = false;
  bool ignores_waits = false;
};

class NativeDevice;

// A stream's marker. A wait for one is for its latest record at that time. Kept by the packets that
// name it.
struct NativeEvent : std::enable_shared_from_this<NativeEvent> {
  std::uint64_t generation = 0;  // records
  std::uint64_t passed = 0;
};

class NativeStream {
 public:
  explicit NativeStream(NativeDevice& device);
  // After abandon() has said true.
  ~NativeStream();

  // In order, behind what is there. `run` may be null. Then the progress becomes `value`, unless
  // that is 0.
  Status launch(std::function<void()> run, std::uint64_t value);
  // As a launch of nothing, which never fails: a write to the ring.
  void skip_to(std::uint64_t value);
  Status record(NativeEvent& event);
  Status wait(NativeEvent& event);
  // On the thread that delivers notices; lost as they are.
  Status call_host(void (*function)(void* argument), void* argument);
  Status wait(const NativeStream& other, std::uint64_t value);
  // Calls notify.notify() once a notice has said that the progress is `value`.
  Status notify_at(std::uint64_t value, base::Notify& notify);
  // The fault of the device, if it has one.
  Status query();
  std::uint64_t progress() const noexcept { return progress_.load(); }
  // Drops what has not run, and ends what runs now or later, as the seed has it. True: nothing runs
  // any more, nor will; neither do its host functions. May be called again.
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
  // Of what notices have delivered, which is behind progress_. Notices outlive the stream.
  const std::shared_ptr<timeline::NotifyList> armed_ = std::make_shared<timeline::NotifyList>();
  base::Atomic<std::uint64_t> progress_{0};
  std::uint64_t issued_ = 0;  // the last value that was launched
  const void* sleeps_on_ = nullptr;
  bool host_function_ended_ = false;
  bool ended_ = false;
  bool runs_on_ = false;  // although it has ended: the packet that runs does
  bool running_ = false;  // a packet
  bool hangs_ = false;    // and does until it is abandoned
};

class NativeDevice {
 public:
  NativeDevice(std::string name, const NativeOptions& options);
  ~NativeDevice();

  // Bytes of memory that are allocated; memory outlives its device.
  const std::shared_ptr<std::uint64_t>& memory_used() const noexcept { return memory_used_; }

  // Every call passes here.
  Status call(std::string_view what);
  Result<std::shared_ptr<NativeEvent>> create_event();
  Result<bool> query(const NativeEvent& event);
  // The next call of that name fails, like options().failing_call.
  void fail_next(std::string_view what) noexcept { fails_next_ = what; }
  // From now on every call fails and no stream runs any more.
  void fault(std::string_view why);
  bool faulted() const noexcept { return !fault_.ok(); }
  // Ends the thread that delivers notices. Once.
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
  // False: it is lost.
  bool post(Notice notice);

  const std::string name_;
  const NativeOptions options_;
  Status fault_;
  std::uint64_t calls_ = 0;
  std::string_view fails_next_;
  std::vector<NativeStream*> streams_;
  std::vector<Notice> notices_;
  const NativeStream* runs_host_function_of_ = nullptr;
  std::uint64_t delivers_ = 0;  // the thread that does
  Scheduler::Thread* interrupts_ = nullptr;
  bool closed_ = false;
  const std::shared_ptr<std::uint64_t> memory_used_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace halyard::inline v0::sim
