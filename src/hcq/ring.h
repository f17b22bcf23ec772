// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring: a hardware command queue in software, and the command processor that executes it.
//
//   producer ── push ──> [ packet packet packet ... ] ──> role holder ──> job chunks ──> anyone
//                                                            │
//                                                            └─> sequence := lane value
//
// One producer at a time (the caller's role). The command processor is a state machine that no
// thread owns: whoever takes the ring's *role* executes packets in order until it has had enough,
// the ring is empty, or a packet blocks. A blocked ring costs no thread: its signal makes it
// runnable again. A packet of several workgroups, or of many bytes, becomes a *job*, whose chunks
// any thread may run; the thread that finishes the last one inherits the role and goes on.
//
// A packet's slot is free again only when the packet is done: work in flight is never overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "base/parker.h"
#include "halyard/base/result.h"
#include "hcq/packet.h"
#include "hcq/signal_object.h"
#include "hcq/slice.h"

namespace halyard::inline v0::hcq {

class HostImage;
class RingGroup;
class TaskGraph;

// Which ring of a group goes first (ring_group.h).
enum class RingPriority : std::uint8_t { kLow, kNormal, kHigh };
inline constexpr int kRingPriorities = 3;

// Told when slots have become free while `wants_room` is set. Called by the role holder.
class RingFeeder {
 public:
  base::Atomic<bool> wants_room{false};
  virtual void feed() noexcept = 0;

 protected:
  ~RingFeeder() = default;
};

class Ring final : private base::Notify {
 public:
  // Bindings of one kernel whose addresses are known only when it runs: room for so many.
  static constexpr std::size_t kScratchPointers = 64;

  // `capacity`: packets, a power of two. `sequence` (may be null) takes the lane values; only this
  // ring writes it. kResourceExhausted. `group` and `feeder` (may be null) outlive the ring.
  static Result<std::unique_ptr<Ring>> create(RingGroup& group, SignalObject* sequence,
                                              std::size_t capacity, RingFeeder* feeder = nullptr,
                                              RingPriority priority = RingPriority::kNormal);
  // After close(), or when nothing was ever pushed.
  ~Ring();

  RingPriority priority() const noexcept { return priority_; }

  // ---- Producer.

  std::size_t capacity() const noexcept { return mask_ + 1; }
  // Whether `packets` more fit now.
  bool has_room(std::size_t packets) noexcept {
    return packets <= capacity() - (tail_ - retired_seen_) || refresh_room(packets);
  }
  // The slot at the tail, to be filled and then published. Precondition: has_room(1).
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
  // What packets done so far have released (Packet::retires).
  std::uint32_t retires() const noexcept { return retires_.load(std::memory_order_seq_cst); }

  // ---- Command processor: any thread.

  // Some thread holds the role, or the ring is blocked or closed: a producer need wake nobody.
  bool attended() const noexcept { return state_.load(std::memory_order_seq_cst) != kFree; }
  // There is a packet and nobody attends to it; or a job has chunks left. Hints.
  bool ready() const noexcept;
  bool has_chunk() const noexcept { return unclaimed_.load(std::memory_order_relaxed) != 0; }
  // Waits for a signal; costs no thread.
  bool blocked() const noexcept { return state_.load(std::memory_order_acquire) == kBlocked; }

  // One visit: takes the role and executes packets, or runs a chunk. False if there was nothing to
  // do. Gives the role back, and wakes a worker if `wake` and packets are left.
  bool step(Slice& slice, bool wake) noexcept;

  // The parts of step(), for workers, who keep the role while they look for more.
  enum class Visit : std::uint8_t {
    kEmpty,  // no more packets; the role is still held
    kSpent,  // the slice is used up, or the ring closes; the role is still held
    kGone,   // the role went to a signal or a job
  };
  bool acquire() noexcept;
  Visit run(Slice& slice) noexcept;
  // Gives the role back. True if there is a packet nobody may have noticed.
  bool release() noexcept;
  // For the holder of the role: is there a packet?
  bool pending() const noexcept { return published(head_); }
  // Claims one chunk. If true, run_chunk() must follow; it answers whether the role was inherited.
  bool claim_chunk(std::uint32_t& chunk) noexcept;
  // `brief`: the thread has to look at something else soon.
  bool run_chunk(std::uint32_t chunk, bool brief) noexcept;

  // Drops all packets that have not run. On return nothing of the ring runs or will run. Waits for
  // the piece of work that runs right now. The producer has stopped.
  void close() noexcept;

  // ---- For packets that are executing: the holder of the role.

  std::uint64_t& cursor() noexcept { return cursor_; }
  void** scratch() noexcept { return scratch_; }
  // Run the work, or make a job of it and answer false: then the packet's function answers kJob and
  // touches nothing of the ring any more, for another thread may have finished the job and have the
  // role already. What the pointers refer to stays alive until the job is done.
  bool start_groups(Kernel kernel, const std::uint32_t (&groups)[3], void* const* buffers,
                    const void* constants) noexcept;
  bool start_copy(void* target, const void* source, std::uint64_t size) noexcept;
  bool start_fill(void* target, std::uint64_t size, std::uint32_t pattern,
                  std::uint32_t pattern_size) noexcept;
  // Makes a job of a run that has begun (TaskGraph::begin).
  void start_tasks(TaskGraph& tasks) noexcept;

  // ---- For who works on tasks.

  RingGroup& group() const noexcept { return group_; }
  bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  // Some task is ready for others: seats that were given up may be taken again.
  void recall_idle() noexcept {
    if (idle_seats_.load(std::memory_order_relaxed) == 0) return;
    unclaimed_.fetch_add(idle_seats_.exchange(0, std::memory_order_relaxed),
                         std::memory_order_release);
  }

 private:
  // kArming: held, about to block; a notification that comes early turns it back into kHeld.
  enum State : std::uint32_t { kFree, kHeld, kArming, kBlocked, kClosed };

  // Written by the role holder while no chunk is claimed or claimable.
  struct Job {
    PacketKind kind;  // kCustom: tasks
    TaskGraph* tasks;
    Kernel kernel;
    void* const* buffers;
    const void* constants;
    std::uint32_t groups[3];
    std::byte* target;
    const std::byte* source;
    std::uint32_t pattern;
    std::uint32_t pattern_size;
    std::uint64_t total;       // workgroups or bytes
    std::uint64_t chunk_size;  // of the same
    std::uint32_t chunks;
  };

  Ring(RingGroup& group, SignalObject* sequence, std::unique_ptr<Packet[]> slots,
       std::size_t capacity, RingFeeder* feeder, RingPriority priority) noexcept;

  // 24 bits; the first lap is 1, so that fresh memory holds no packet.
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
  Step wait(SignalObject& signal, std::uint64_t value) noexcept;
  Step wait_list(const Packet& packet) noexcept;
  Step run_indirect(HostImage& image, Slice& slice) noexcept;
  void retire(const Packet& packet, std::uint32_t header) noexcept;
  void write_back() noexcept;
  void open_job(PacketKind kind, std::uint64_t total, std::uint64_t chunk_size) noexcept;
  bool work_on_job(Slice& slice) noexcept;
  bool work_on_tasks(TaskGraph& tasks, bool brief) noexcept;
  void end_visit(Visit visit, bool wake) noexcept;
  bool finish_chunks(std::uint32_t count) noexcept;
  void notify() noexcept override;

  // The producer's line.
  alignas(64) std::uint64_t tail_ = 0;
  std::uint64_t retired_seen_ = 0;

  // Constant.
  alignas(64) const std::unique_ptr<Packet[]> slots_;
  const std::uint64_t mask_;
  const int shift_;
  RingGroup& group_;
  SignalObject* const sequence_;
  RingFeeder* const feeder_;
  const RingPriority priority_;
  base::Atomic<bool> closing_{false};  // set once, read for each packet

  // The role, and what its holder publishes.
  alignas(64) base::Atomic<std::uint32_t> state_{kFree};
  base::Atomic<std::uint32_t> retires_{0};
  base::Atomic<std::uint64_t> retired_{0};  // packets done; exact while the role is free

  // The role holder's own.
  alignas(64) std::uint64_t head_ = 0;
  std::uint64_t written_back_ = 0;
  std::uint64_t cursor_ = 0;
  std::uint64_t indirect_ = 0;  // the packet of a kIndirect that is next
  std::uint32_t retires_seen_ = 0;
  bool job_done_ = false;
  SignalObject* waits_for_ = nullptr;
  std::uint64_t armed_ = 0;  // notifications asked for
  SignalObject::Waiter waiter_{*this};
  Job job_{};

  // Claims. A chunk can be claimed only while its job lives, so who has claimed one may read job_.
  alignas(64) base::Atomic<std::uint32_t> unclaimed_{0};
  base::Atomic<std::uint32_t> idle_seats_{0};
  base::Atomic<bool> tasks_over_{false};
  base::Atomic<std::uint32_t> finished_{0};
  base::Atomic<std::uint64_t> notified_{0};  // notifications that are over

  alignas(64) void* scratch_[kScratchPointers];
};

}  // namespace halyard::inline v0::hcq
