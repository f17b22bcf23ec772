// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/ring.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/futex.h"
#include "drivers/cpu/host_image.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/task_graph.h"
#include "drivers/cpu/work.h"

namespace halyard::inline v0::cpu {
namespace {

// Retired packets are reported to the producer in batches of this size: one write to a shared line
// per 4 KiB of ring.
constexpr std::uint64_t kWriteBack = 64;

// A dispatch is cut into this many chunks for each thread that may help, in four lots, each of half
// the remaining workgroups. With costs that rise from 0 the last of 2 threads ends 2.6 % after the
// ideal, the last of 16 6.4 %. With 8 equal chunks a thread it would be 6.3 and 12.4, with 4 of
// them 12.6 and 23.8 (simulated: 1024 workgroups, a claim costs 5 % of a workgroup). One chunk
// costs two read-modify-writes on lines that all the threads share.
constexpr std::uint64_t kChunksPerThread = 8;
constexpr std::uint64_t kLots = 4;

// While a ring closes, the closing thread re-checks the running piece of work at this interval.
constexpr Nanoseconds kClosePoll = 1'000'000;

// The first workgroup of a chunk; `total` for the index after the last chunk.
std::uint64_t first_group(std::uint64_t chunk, std::uint64_t chunks, std::uint64_t total) noexcept {
  const std::uint64_t lot = kLots * chunk / chunks;
  if (lot == kLots) return total;
  // Too few for lots, where the smallest chunk would be empty.
  if (total < 2 * chunks) return total * chunk / chunks;
  const std::uint64_t left = total >> lot;
  const std::uint64_t size = lot + 1 < kLots ? left - (left >> 1) : left;
  return total - left + size * (kLots * chunk % chunks) / chunks;
}

// Ring::rest_.
constexpr int kRestShift = 16;
constexpr std::uint64_t kMaxRestIndex = 0xffff;

template <class T>
T* pointer(std::uint64_t word) noexcept {
  return reinterpret_cast<T*>(word);
}

// Releases the object that a packet keeps.
void drop(const Packet& packet, std::uint32_t header) noexcept {
  if ((header & Packet::kKeeps) != 0) pointer<RefCounted>(packet.words[5])->release();
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::create(RingGroup& group, hcq::SignalObject* sequence,
                                           std::size_t capacity, RingFeeder* feeder,
                                           RingPriority priority, RingFaults* faults) {
  assert(std::has_single_bit(capacity) && capacity >= 2);
  std::unique_ptr<Packet[]> slots(new (std::nothrow) Packet[capacity]);
  if (slots == nullptr) {
    return error(StatusCode::kResourceExhausted, "ring: no memory for {} packets", capacity);
  }
  std::unique_ptr<Ring> ring(new (std::nothrow) Ring(group, sequence, std::move(slots), capacity,
                                                     feeder, priority, faults));
  if (ring == nullptr) return error(StatusCode::kResourceExhausted, "ring: no memory");
  HALYARD_RETURN_IF_ERROR(group.add(*ring));
  return ring;
}

Ring::Ring(RingGroup& group, hcq::SignalObject* sequence, std::unique_ptr<Packet[]> slots,
           std::size_t capacity, RingFeeder* feeder, RingPriority priority,
           RingFaults* faults) noexcept
    : slots_(std::move(slots)),
      mask_(capacity - 1),
      shift_(std::countr_zero(capacity)),
      group_(group),
      sequence_(sequence),
      feeder_(feeder),
      priority_(priority),
      faults_(faults) {}

Ring::~Ring() { assert(!pending() || state_.load(std::memory_order_relaxed) == kClosed); }

bool Ring::refresh_room(std::size_t packets) noexcept {
  retired_seen_ = retired_.load(std::memory_order_seq_cst);
  return packets <= capacity() - (tail_ - retired_seen_);
}

bool Ring::ready() const noexcept {
  return state_.load(std::memory_order_seq_cst) == kFree &&
         published(retired_.load(std::memory_order_acquire)) &&
         !closing_.load(std::memory_order_relaxed);
}

bool Ring::acquire() noexcept {
  if (!ready()) return false;
  std::uint32_t expected = kFree;
  return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed);
}

bool Ring::release() noexcept {
  write_back();
  const std::uint64_t head = head_;
  state_.exchange(kFree, std::memory_order_seq_cst);
  base::fence_after_rmw();  // as in RingGroup::bell: packet and state, here in the other order
  return published(head) && !closing_.load(std::memory_order_relaxed);
}

bool Ring::step(Slice& slice, bool wake) noexcept {
  if (acquire()) {
    end_visit(run(slice), wake);
    return true;
  }
  Chunk chunk;
  if (!claim_chunk(chunk)) return false;
  (void)slice.take_chunk();
  if (run_chunk(chunk, slice.spent())) end_visit(run(slice), wake);
  return true;
}

void Ring::end_visit(Visit visit, bool wake) noexcept {
  const bool left = visit == Visit::kGone ? has_chunk() : release();
  if (left && wake) group_.wake(1);
}

Ring::Visit Ring::run(Slice& slice) noexcept {
  for (;;) {
    Packet& packet = slots_[head_ & mask_];
    const std::uint32_t header = packet.header.load(std::memory_order_acquire);
    if (header >> Packet::kLapShift != lap_at(head_)) {
      if (head_ == written_back_) return Visit::kEmpty;
      write_back();  // may bring packets from the backlog
      continue;
    }
    if (closing_.load(std::memory_order_relaxed)) return Visit::kSpent;
    const auto kind = static_cast<PacketKind>(header & (Packet::kKeeps - 1));
    switch (execute(packet, kind, slice)) {
      case Step::kDone:
        retire(packet, header);
        slice.spend(1);
        break;
      case Step::kYield:
        return Visit::kSpent;
      case Step::kBlocked:
        return Visit::kGone;
      case Step::kJob:
        if (!work_on_job(slice)) return Visit::kGone;
        continue;  // visit the packet again even if the slice is spent: it may be complete
    }
    if (slice.spent()) return Visit::kSpent;
  }
}

Ring::Step Ring::execute(Packet& packet, PacketKind kind, Slice& slice) noexcept {
  const std::uint64_t* words = packet.words;
  const auto done_or_job = [](bool done) { return done ? Step::kDone : Step::kJob; };
  switch (kind) {
    case PacketKind::kNop:
      return Step::kDone;
    case PacketKind::kSignal:
      pointer<hcq::SignalObject>(words[0])->advance(words[1]);
      return Step::kDone;
    case PacketKind::kWait:
      return wait(*pointer<hcq::SignalObject>(words[0]), words[1]);
    case PacketKind::kWaitList:
      return wait_list(packet);
    case PacketKind::kExec: {
      if (std::exchange(job_done_, false)) return Step::kDone;
      const std::uint32_t groups[3] = {static_cast<std::uint32_t>(words[3]),
                                       static_cast<std::uint32_t>(words[3] >> 32),
                                       static_cast<std::uint32_t>(words[4])};
      return done_or_job(start_groups(reinterpret_cast<hcq::Kernel>(words[0]), groups,
                                      pointer<void*>(words[1]), pointer<const void>(words[2])));
    }
    case PacketKind::kCopy:
      if (std::exchange(job_done_, false)) return Step::kDone;
      return done_or_job(
          start_copy(pointer<void>(words[0]), pointer<const void>(words[1]), words[2]));
    case PacketKind::kFill:
      if (std::exchange(job_done_, false)) return Step::kDone;
      return done_or_job(start_fill(pointer<void>(words[0]), words[1],
                                    static_cast<std::uint32_t>(words[2]),
                                    static_cast<std::uint32_t>(words[3])));
    case PacketKind::kTimestamp:
      pointer<base::Atomic<std::uint64_t>>(words[0])->store(
          static_cast<std::uint64_t>(Clock::steady().now()), std::memory_order_release);
      return Step::kDone;
    case PacketKind::kBarrier:
      // Packets run in order, and each change of thread in between is a release and an acquire.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return Step::kDone;
    case PacketKind::kCall:
      reinterpret_cast<void (*)(const std::uint64_t*)>(words[0])(words + 1);
      return Step::kDone;
    case PacketKind::kIndirect:
      return run_indirect(*pointer<HostImage>(words[0]), slice);
    case PacketKind::kCustom: {
      job_done_ = false;
      const auto function = reinterpret_cast<CustomFunction>(words[0]);
      switch (function(*this, words, slice)) {
        case Outcome::kDone:
          return Step::kDone;
        case Outcome::kYield:
          return Step::kYield;
        case Outcome::kJob:
          return Step::kJob;
        case Outcome::kFault:
          // Blocked without a signal: only close() can take the role.
          write_back();
          state_.store(kBlocked, std::memory_order_release);
          return Step::kBlocked;
      }
    }
  }
  assert(false && "not a packet");
  return Step::kDone;
}

// A visit that ends between the packets continues at indirect_.
Ring::Step Ring::run_indirect(HostImage& image, Slice& slice) noexcept {
  for (; indirect_ < image.packet_count(); ++indirect_) {
    if (slice.spent()) return Step::kYield;
    Packet& packet = image.packet(indirect_);
    const auto kind = static_cast<PacketKind>(packet.header.load(std::memory_order_relaxed));
    const Step step = execute(packet, kind, slice);
    if (step != Step::kDone) return step;
    slice.spend(1);
  }
  indirect_ = 0;
  return Step::kDone;
}

Ring::Step Ring::wait(hcq::SignalObject& signal, std::uint64_t value) noexcept {
  while (signal.value() < value) {
    write_back();
    waits_for_ = &signal;
    state_.store(kArming, std::memory_order_relaxed);  // seen by notify() through the signal's lock
    if (!signal.arm(waiter_, value)) {
      state_.store(kHeld, std::memory_order_relaxed);
      break;
    }
    ++armed_;
    std::uint32_t expected = kArming;
    if (state_.compare_exchange_strong(expected, kBlocked, std::memory_order_acq_rel)) {
      return Step::kBlocked;
    }
  }
  waits_for_ = nullptr;
  return Step::kDone;
}

Ring::Step Ring::wait_list(const Packet& packet) noexcept {
  WaitPoint* points = pointer<WaitPoint>(packet.words[0]);
  for (; cursor_ < packet.words[1]; ++cursor_) {
    if (wait(*points[cursor_].signal, points[cursor_].value) == Step::kBlocked) {
      return Step::kBlocked;
    }
  }
  delete[] points;
  return Step::kDone;
}

void Ring::notify() noexcept {
  std::uint32_t seen = state_.load(std::memory_order_relaxed);
  while (seen == kArming || seen == kBlocked) {
    const std::uint32_t next = seen == kArming ? kHeld : kFree;
    if (!state_.compare_exchange_weak(seen, next, std::memory_order_seq_cst)) continue;
    if (next == kFree) group_.bell(*this);
    break;
  }
  notified_.fetch_add(1, std::memory_order_release);  // the last access: close() may be waiting
}

void Ring::retire(const Packet& packet, std::uint32_t header) noexcept {
  if (packet.lane_value != 0) sequence_->publish(packet.lane_value);
  retires_seen_ = packet.retires;
  drop(packet, header);
  cursor_ = 0;
  ++head_;
  if (head_ - written_back_ >= kWriteBack) write_back();
}

void Ring::write_back() noexcept {
  if (head_ == written_back_) return;
  written_back_ = head_;
  if (feeder_ == nullptr) {
    retired_.store(head_, std::memory_order_release);
    return;
  }
  // Pairs with a producer that sets wants_room and then re-checks.
  retires_.store(retires_seen_, std::memory_order_seq_cst);
  retired_.store(head_, std::memory_order_seq_cst);
  if (feeder_->wants_room.load(std::memory_order_seq_cst)) feeder_->feed();
}

bool Ring::start_groups(hcq::Kernel kernel, const std::uint32_t (&groups)[3], void* const* buffers,
                        const void* constants) noexcept {
  const std::uint64_t total = std::uint64_t{groups[0]} * groups[1] * groups[2];
  if (total <= 1) {
    static constexpr Workgroup kOnly{{0, 0, 0}, {1, 1, 1}};
    if (total == 1) kernel(&kOnly, buffers, constants);
    return true;
  }
  job_.kernel = kernel;
  job_.buffers = buffers;
  job_.constants = constants;
  std::copy_n(groups, 3, job_.groups);
  const std::uint64_t chunks = kChunksPerThread * group_.threads();
  open_job(PacketKind::kExec, total, (total + chunks - 1) / chunks);
  return false;
}

bool Ring::start_copy(void* target, const void* source, std::uint64_t size) noexcept {
  const auto to = reinterpret_cast<std::uintptr_t>(target);
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  const bool overlap = to < from + size && from < to + size;
  if (overlap || size <= 2 * kChunkBytes) {
    if (size != 0) std::memmove(target, source, size);
    return true;
  }
  job_.target = static_cast<std::byte*>(target);
  job_.source = static_cast<const std::byte*>(source);
  open_job(PacketKind::kCopy, size, kChunkBytes);
  return false;
}

bool Ring::start_fill(void* target, std::uint64_t size, std::uint32_t pattern,
                      std::uint32_t pattern_size) noexcept {
  auto* bytes = static_cast<std::byte*>(target);
  if (size <= 2 * kChunkBytes) {
    if (size != 0) fill_bytes(bytes, size, pattern, pattern_size);
    return true;
  }
  job_.target = bytes;
  job_.pattern = pattern;
  job_.pattern_size = pattern_size;
  open_job(PacketKind::kFill, size, kChunkBytes);
  return false;
}

void Ring::start_tasks(TaskGraph& tasks) noexcept {
  tasks_over_.store(false, std::memory_order_relaxed);
  job_.tasks = &tasks;
  open_job(PacketKind::kCustom, tasks.seats(), 1);
}

Outcome Ring::fault(const Status& cause) noexcept {
  assert(faults_ != nullptr);
  faults_->fault(cause);
  return Outcome::kFault;
}

// A chunk is a seat here. A thread that leaves before the run is complete returns its seat: to be
// claimed at once if work is left, otherwise after recall_idle().
bool Ring::work_on_tasks(TaskGraph& tasks, bool brief) noexcept {
  switch (tasks.work(*this, brief)) {
    case TaskGraph::Exit::kComplete: {
      // The free seats are complete. Sequentially consistent: either this thread sees a seat that
      // another thread returns below, or that thread sees tasks_over_.
      tasks_over_.store(true, std::memory_order_seq_cst);
      const std::uint32_t unclaimed = unclaimed_.exchange(0, std::memory_order_seq_cst);
      const std::uint32_t idle = idle_seats_.exchange(0, std::memory_order_seq_cst);
      return finish_chunks(1 + unclaimed + idle);
    }
    case TaskGraph::Exit::kOver:
      return finish_chunks(1);
    case TaskGraph::Exit::kIdle:
      idle_seats_.fetch_add(1, std::memory_order_seq_cst);
      break;
    case TaskGraph::Exit::kSpent:
      unclaimed_.fetch_add(1, std::memory_order_seq_cst);
      break;
  }
  // From here on the job may be over, and the ring may run another one.
  if (!tasks_over_.load(std::memory_order_seq_cst)) return false;
  recall_idle();
  Chunk seat;
  return claim_chunk(seat) && run_chunk(seat, brief);
}

void Ring::open_job(PacketKind kind, std::uint64_t total, std::uint64_t chunk_size) noexcept {
  job_.kind = kind;
  job_.total = total;
  job_.chunk_size = chunk_size;
  job_.chunks = static_cast<std::uint32_t>((total + chunk_size - 1) / chunk_size);
  finished_.store(0, std::memory_order_relaxed);
  unclaimed_.store(job_.chunks, std::memory_order_release);
}

bool Ring::work_on_job(Slice& slice) noexcept {
  Chunk chunk;
  Nanoseconds start = group_.may_wake() ? Clock::steady().now() : 0;
  while (slice.take_chunk() && claim_chunk(chunk)) {
    if (job_.kind == PacketKind::kCustom) start = 0;  // tasks wake threads themselves
    if (run_chunk(chunk, slice.spent())) return true;
    // The job may be over by now, so only unclaimed_ can be read.
    if (start != 0) {
      const std::uint32_t left = unclaimed_.load(std::memory_order_relaxed);
      if ((Clock::steady().now() - start) * left > kWorthWaking) group_.wake(left);
      start = 0;
    }
    // Any thread, also this one, may run the other chunks later.
    if (group_.any_ready_above(priority_)) return false;
  }
  return false;
}

bool Ring::claim_chunk(Chunk& chunk) noexcept {
  // First, as only one chunk at a time can be left.
  if (std::uint64_t rest = rest_.load(std::memory_order_relaxed); rest != 0) [[unlikely]] {
    if (rest_.compare_exchange_strong(rest, 0, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
      chunk = {static_cast<std::uint32_t>(rest & kMaxRestIndex), rest >> kRestShift};
      return true;
    }
  }
  std::uint32_t unclaimed = unclaimed_.load(std::memory_order_relaxed);
  while (unclaimed != 0) {
    if (unclaimed_.compare_exchange_weak(unclaimed, unclaimed - 1, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      chunk = {job_.chunks - unclaimed, 0};
      return true;
    }
  }
  return false;
}

bool Ring::run_chunk(Chunk chunk, bool brief) noexcept {
  if (job_.kind == PacketKind::kCustom) return work_on_tasks(*job_.tasks, brief);
  if (job_.kind == PacketKind::kExec) {
    const std::uint64_t first =
        first_group(chunk.index, job_.chunks, job_.total) + chunk.groups_done;
    const std::uint64_t end = first_group(chunk.index + 1, job_.chunks, job_.total);
    if (brief && end - first > 1) return run_briefly(chunk, first, end);
    run_groups(job_.kernel, job_.buffers, job_.constants, job_.groups, first, end - first);
    return finish_chunks(1);
  }
  const std::uint64_t first = chunk.index * job_.chunk_size;
  const std::uint64_t count = std::min(job_.chunk_size, job_.total - first);
  if (job_.kind == PacketKind::kCopy) {
    std::memcpy(job_.target + first, job_.source + first, count);
  } else {
    fill_bytes(job_.target + first, count, job_.pattern, job_.pattern_size);
  }
  return finish_chunks(1);
}

bool Ring::run_briefly(Chunk chunk, std::uint64_t first, std::uint64_t end) noexcept {
  const Nanoseconds start = Clock::steady().now();
  std::uint64_t done = 0;
  for (std::uint64_t groups = 1;;) {
    groups = std::min(groups, end - first - done);
    run_groups(job_.kernel, job_.buffers, job_.constants, job_.groups, first + done, groups);
    done += groups;
    if (first + done == end) return finish_chunks(1);
    const Nanoseconds spent = std::max<Nanoseconds>(Clock::steady().now() - start, 1);
    if (spent >= Slice::kTime) {
      if (leave_rest({chunk.index, chunk.groups_done + done})) return false;
      groups = done;
    } else {
      // As many as fit at this pace: reading the clock (30 ns) costs as much as a small workgroup.
      groups = 1 + done * static_cast<std::uint64_t>(Slice::kTime - spent) /
                       static_cast<std::uint64_t>(spent);
    }
  }
}

// After true the job may be over: another thread claims the rest, or close() drops it.
bool Ring::leave_rest(Chunk chunk) noexcept {
  std::uint64_t none = 0;
  return chunk.index <= kMaxRestIndex && chunk.groups_done <= ~std::uint64_t{0} >> kRestShift &&
         rest_.compare_exchange_strong(none, chunk.groups_done << kRestShift | chunk.index,
                                       std::memory_order_release, std::memory_order_relaxed);
}

bool Ring::finish_chunks(std::uint32_t count) noexcept {
  const std::uint32_t chunks = job_.chunks;
  if (finished_.fetch_add(count, std::memory_order_acq_rel) + count != chunks) return false;
  job_done_ = true;
  return true;
}

bool Ring::close(Nanoseconds until) noexcept {
  closing_.store(true, std::memory_order_seq_cst);
  for (;;) {
    // Unclaimed chunks will not run. The thread that finishes the last claimed one inherits the
    // role and releases it; here that is this thread.
    const std::uint32_t cut = unclaimed_.exchange(0, std::memory_order_acq_rel) +
                              (rest_.exchange(0, std::memory_order_acq_rel) != 0 ? 1 : 0) +
                              idle_seats_.exchange(0, std::memory_order_acq_rel);
    if (cut != 0 && finish_chunks(cut)) {
      state_.store(kClosed, std::memory_order_relaxed);
      break;
    }
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    if (seen == kClosed) return true;
    if ((seen == kFree || seen == kBlocked) &&
        state_.compare_exchange_strong(seen, kClosed, std::memory_order_acquire)) {
      break;
    }
    const Nanoseconds now = Clock::steady().now();
    if (now >= until) return false;
    base::futex_wait(state_, seen, now + kClosePoll);
  }
  // A signal of another device may still be notifying this ring.
  if (waits_for_ != nullptr && waits_for_->unlink(waiter_)) --armed_;
  while (notified_.load(std::memory_order_acquire) != armed_) base::spin_yield();
  for (; pending(); ++head_) {
    const Packet& packet = slots_[head_ & mask_];
    const std::uint32_t header = packet.header.load(std::memory_order_relaxed);
    if (static_cast<PacketKind>(header & (Packet::kKeeps - 1)) == PacketKind::kWaitList) {
      delete[] pointer<WaitPoint>(packet.words[0]);
    }
    drop(packet, header);
  }
  return true;
}

}  // namespace halyard::inline v0::cpu
