// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring: a hardware command queue in software, and the command processor that executes it.
//
//   producer ── push ──> [ packet packet packet ... ] ──> role holder ──> job chunks ──> any thread
//                                                            │
//                                                            └─> sequence := lane value
//
// One producer at a time (the caller ensures it). The command processor is a state machine that no
// thread owns. The thread that takes the ring's *role* executes packets in order until its slice
// ends, the ring is empty, or a packet blocks. A blocked ring occupies no thread: its signal makes
// it runnable again. A packet of several workgroups, or of many bytes, becomes a *job*. Any thread
// may run chunks of the job; the one that finishes the last chunk inherits the role.
//
// A packet's slot is freed only when the packet is complete: work in flight is never overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "base/parker.h"
#include "drivers/cpu/packet.h"
#include "drivers/cpu/slice.h"
#include "halyard/base/result.h"
#include "halyard/hcq/cpu.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::cpu {

class HostImage;
class RingGroup;
class TaskGraph;

// The order of the rings in a group (ring_group.h).
enum class RingPriority : std::uint8_t { kLow, kNormal, kHigh };
inline constexpr int kRingPriorities = 3;

// Receives feed() when slots become free while `wants_room` is set. The role holder calls it.
class RingFeeder {
 public:
  base::Atomic<bool> wants_room{false};
  virtual void feed() noexcept = 0;

 protected:
  ~RingFeeder() = default;
};

// Receives the fault of a packet, before the ring stops. The role holder calls it.
class RingFaults {
 public:
  virtual void fault(const Status& cause) noexcept = 0;

 protected:
  ~RingFaults() = default;
};

class Ring final : private base::Notify {
 public:
  // Limit on the bindings of a kernel whose addresses are resolved when it runs.
  static constexpr std::size_t kScratchPointers = 64;
  // The size of scratch(). Checked kernels need more than the addresses.
  static constexpr std::size_t kScratchBytes = 1088;

  // `capacity` is a number of packets, a power of two. `sequence` (may be null) receives the lane
  // values; only this ring writes it. `group`, `feeder` and `faults` outlive the ring; the latter
  // may be null, `faults` if no packet has one. Errors: kResourceExhausted.
  static Result<std::unique_ptr<Ring>> create(RingGroup& group, hcq::SignalObject* sequence,
                                              std::size_t capacity, RingFeeder* feeder = nullptr,
                                              RingPriority priority = RingPriority::kNormal,
                                              RingFaults* faults = nullptr);
  // Precondition: close() has returned, or nothing was ever pushed.
  ~Ring();

  RingPriority priority() const noexcept { return priority_; }

  // ---- Producer.

  std::size_t capacity() const noexcept { return mask_ + 1; }
  // True if `packets` more packets fit now.
  bool has_room(std::size_t packets) noexcept {
    return packets <= capacity() - (tail_ - retired_seen_) || refresh_room(packets);
  }
  // The slot at the tail, which the caller fills and then publishes. Precondition: has_room(1).
  Packet& next_slot() noexcept { return slots_[tail_ & mask_]; }
  void publish(PacketKind kind, std::uint32_t flags = 0) noexcept {
    const std::uint32_t header =
        lap_at(tail_) << Packet::kLapShift | flags | static_cast<std::uint32_t>(kind);
    next_slot().header.store(header, std::memory_order_release);
    ++tail_;
  }
  template <class... Words>
  void push(PacketKind kind, std::uint64_t lane_value, Words... words) noexcept {
    static_assert(sizeof...(Words) <= kPacketWords);
    Packet& packet = next_slot();
    packet.lane_value = lane_value;
    std::uint64_t* word = packet.words;
    ((*word++ = words), ...);
    publish(kind);
  }
  // Packet::retires of the last packet that was reported as complete.
  std::uint32_t retires() const noexcept { return retires_.load(std::memory_order_seq_cst); }

  // ---- Command processor: any thread.

  // True if a thread holds the role, or the ring is blocked or closed: the producer need not ring
  // the doorbell.
  bool attended() const noexcept { return state_.load(std::memory_order_seq_cst) != kFree; }
  // True if a packet is unattended or a job has unclaimed chunks. A hint.
  bool ready() const noexcept;
  bool has_chunk() const noexcept {
    return unclaimed_.load(std::memory_order_relaxed) != 0 ||
           rest_.load(std::memory_order_relaxed) != 0;
  }
  // True if the ring waits for a signal. It occupies no thread then.
  bool blocked() const noexcept { return state_.load(std::memory_order_acquire) == kBlocked; }

  // One visit: takes the role and executes packets, or runs a chunk. Releases the role, and wakes a
  // worker if `wake` and packets are left. False if there was nothing to do.
  bool step(Slice& slice, bool wake) noexcept;

  // The parts of step(), for workers, which keep the role while they search for more work.
  enum class Visit : std::uint8_t {
    kEmpty,  // no more packets; the role is still held
    kSpent,  // the slice is used up, or the ring closes; the role is still held
    kGone,   // the role went to a signal or a job
  };
  bool acquire() noexcept;
  Visit run(Slice& slice) noexcept;
  // Releases the role. True if there is a packet that may be unattended.
  bool release() noexcept;
  // For the role holder: true if there is a packet.
  bool pending() const noexcept { return published(head_); }
  // A chunk of a job: its index and, of a dispatch, how many of its workgroups have run.
  struct Chunk {
    std::uint32_t index;
    std::uint64_t groups_done;
  };
  // Claims one chunk. If true, run_chunk() must follow; it returns true if the caller inherits the
  // role.
  bool claim_chunk(Chunk& chunk) noexcept;
  // `brief`: the thread has other work soon, and leaves what it does not finish in 20 us.
  bool run_chunk(Chunk chunk, bool brief) noexcept;

  // Drops all packets that have not run. Waits for the running piece of work, until this time of
  // Clock::steady(). True: no work of the ring runs or will run. False: the piece still runs, and
  // no work will run after it; the ring and the objects it refers to must stay alive. Precondition:
  // the producer has stopped.
  bool close(Nanoseconds until = Deadline::kForeverTime) noexcept;

  // ---- For packets that are executing, in the thread that holds the role.

  std::uint64_t& cursor() noexcept { return cursor_; }
  void** scratch() noexcept { return scratch_; }
  // These run the work and return true, or make a job of it and return false. After false the
  // packet's function returns kJob and no longer accesses the ring: another thread may already have
  // finished the job and hold the role. The arguments' memory stays alive until the job is done.
  bool start_groups(hcq::Kernel kernel, const std::uint32_t (&groups)[3], void* const* buffers,
                    const void* constants) noexcept;
  bool start_copy(void* target, const void* source, std::uint64_t size) noexcept;
  bool start_fill(void* target, std::uint64_t size, std::uint32_t pattern,
                  std::uint32_t pattern_size) noexcept;
  // Makes a job of a run that TaskGraph::begin() has started.
  void start_tasks(TaskGraph& tasks) noexcept;
  // The packet cannot end. The ring runs nothing any more, and its sequence stays: it waits for
  // close(). The function returns the result.
  Outcome fault(const Status& cause) noexcept;

  // ---- For threads that run tasks.

  RingGroup& group() const noexcept { return group_; }
  bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  // A task is ready for other threads: makes idle seats claimable again.
  void recall_idle() noexcept {
    if (idle_seats_.load(std::memory_order_relaxed) == 0) return;
    unclaimed_.fetch_add(idle_seats_.exchange(0, std::memory_order_relaxed),
                         std::memory_order_release);
  }

 private:
  // kArming: held, about to block. A notification in this state restores kHeld.
  enum State : std::uint32_t { kFree, kHeld, kArming, kBlocked, kClosed };

  // The role holder writes it while no chunk is claimed or claimable.
  struct Job {
    PacketKind kind;  // kCustom: tasks
    TaskGraph* tasks;
    hcq::Kernel kernel;
    void* const* buffers;
    const void* constants;
    std::uint32_t groups[3];
    std::byte* target;
    const std::byte* source;
    std::uint32_t pattern;
    std::uint32_t pattern_size;
    std::uint64_t total;       // workgroups or bytes
    std::uint64_t chunk_size;  // in the unit of total
    std::uint32_t chunks;
  };

  Ring(RingGroup& group, hcq::SignalObject* sequence, std::unique_ptr<Packet[]> slots,
       std::size_t capacity, RingFeeder* feeder, RingPriority priority,
       RingFaults* faults) noexcept;

  // 24 bits. The first lap is 1, so that zeroed memory holds no packet.
  std::uint32_t lap_at(std::uint64_t index) const noexcept {
    return static_cast<std::uint32_t>((index >> shift_) + 1) & 0xff'ffffu;
  }
  bool published(std::uint64_t index) const noexcept {
    return slots_[index & mask_].header.load(std::memory_order_acquire) >> Packet::kLapShift ==
           lap_at(index);
  }
  bool refresh_room(std::size_t packets) noexcept;

  enum class Step : std::uint8_t { kDone, kYield, kJob, kBlocked };
  Step execute(Packet& packet, PacketKind kind, Slice& slice) noexcept;
  Step wait(hcq::SignalObject& signal, std::uint64_t value) noexcept;
  Step wait_list(const Packet& packet) noexcept;
  Step run_indirect(HostImage& image, Slice& slice) noexcept;
  void retire(const Packet& packet, std::uint32_t header) noexcept;
  void write_back() noexcept;
  void open_job(PacketKind kind, std::uint64_t total, std::uint64_t chunk_size) noexcept;
  bool work_on_job(Slice& slice) noexcept;
  bool work_on_tasks(TaskGraph& tasks, bool brief) noexcept;
  void end_visit(Visit visit, bool wake) noexcept;
  bool run_briefly(Chunk chunk, std::uint64_t first, std::uint64_t end) noexcept;
  bool leave_rest(Chunk chunk) noexcept;
  bool finish_chunks(std::uint32_t count) noexcept;
  void notify() noexcept override;

  // The producer's cache line.
  alignas(64) std::uint64_t tail_ = 0;
  std::uint64_t retired_seen_ = 0;

  // Constant.
  alignas(64) const std::unique_ptr<Packet[]> slots_;
  const std::uint64_t mask_;
  const int shift_;
  RingGroup& group_;
  hcq::SignalObject* const sequence_;
  RingFeeder* const feeder_;
  const RingPriority priority_;
  RingFaults* const faults_;
  base::Atomic<bool> closing_{false};  // set once, read for each packet

  // The role, and the values that its holder publishes.
  alignas(64) base::Atomic<std::uint32_t> state_{kFree};
  base::Atomic<std::uint32_t> retires_{0};
  base::Atomic<std::uint64_t> retired_{0};  // packets completed; exact while the role is free

  // Owned by the role holder.
  alignas(64) std::uint64_t head_ = 0;
  std::uint64_t written_back_ = 0;
  std::uint64_t cursor_ = 0;
  std::uint64_t indirect_ = 0;  // index of the next packet of a kIndirect
  std::uint32_t retires_seen_ = 0;
  bool job_done_ = false;
  hcq::SignalObject* waits_for_ = nullptr;
  std::uint64_t armed_ = 0;  // notifications armed so far
  hcq::SignalObject::Waiter waiter_{*this};
  Job job_{};

  // Claims. A chunk can be claimed only while its job exists, so the claiming thread may read job_.
  alignas(64) base::Atomic<std::uint32_t> unclaimed_{0};
  base::Atomic<std::uint64_t> rest_{0};  // an unfinished chunk: groups done << 16 | index, or 0
  base::Atomic<std::uint32_t> idle_seats_{0};
  base::Atomic<bool> tasks_over_{false};
  base::Atomic<std::uint32_t> finished_{0};
  base::Atomic<std::uint64_t> notified_{0};  // notifications that have returned

  alignas(64) void* scratch_[kScratchBytes / sizeof(void*)];
};

}  // namespace halyard::inline v0::cpu
