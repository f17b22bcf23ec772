// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CopyPath: staging memory for copies between two devices that cannot use each other's memory.
// StagedCopy: one copy on a path. It is done in pieces, through a ring of blocks that both use:
//
//     reader queue   source ──> block 0   ──> block 1   ──> block 2   ──> block 0 ...
//                       filled = 1 │     2 │     3 │     4 │
//     writer queue                 └──> target  └──> target  └──> target ...
//                                  drained = 1   2   3 ... n, and `turn` = end
//
//     piece i   reads:  waits filled >= i, drained >= i - k + 1   signals filled = i + 1
//               writes: waits drained >= i, filled >= i + 1       signals drained = i + 1
//
// All pieces are submitted at once. The first piece also has the user's waits, and waits for
// `turn`, which the host signals once no submission can be refused any more. A submission after the
// last piece waits for the end of `turn` and has the user's signals.
//
// If a piece fails, the user's signals fail only once no piece runs any more, so that nothing is
// written to the target afterwards. Therefore no piece fails `turn`: the copy fails it when the
// last of its pieces has ended (Submission::set_ended).
//
// A ring is given to a copy when its first piece is issued, so parked copies hold none. Rings and
// copies return to the path, and the steady state allocates nothing.
//
// Locks: the engine's queues, queue, path.
#pragma once

#include <cstdint>
#include <string>

#include "base/atomic.h"
#include "base/intrusive_list.h"
#include "base/mutex.h"
#include "hal/memory/memory.h"
#include "hal/recording/command.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/timeline/point.h"
#include "timeline/effects.h"
#include "timeline/gate.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::timeline {
class LaneTracker;
class Queue;
}  // namespace halyard::inline v0::timeline

namespace halyard::inline v0::hal {

class CopyPath;
class DeviceObject;

// The pieces of a copy, and the ring that it needs, by length.
struct CopyShape {
  std::uint32_t ring;   // a kind of ring that the path keeps, or kOwnRing
  std::uint32_t slots;  // blocks of the ring
  std::uint64_t piece;  // bytes of a block
  std::uint32_t pieces;

  static constexpr std::uint32_t kRings = 4;
  static constexpr std::uint32_t kOwnRing = kRings;  // allocated only for this copy
  static constexpr std::uint32_t kMostPieces = 256;
  // Precondition: `length` is not 0.
  static CopyShape of(std::uint64_t length) noexcept;
};

// Staging memory, as each of the two devices uses it.
struct StagingRing {
  Ref<Memory> memory[2];
  bool shared = false;  // both are the same bytes; otherwise the host copies between them
  std::uint32_t kind = 0;
  StagingRing* next = nullptr;  // spare
};

struct WaitingCopyTag {};
struct ActiveCopyTag {};

// One reference for each piece, and one for the submitting thread.
class StagedCopy final : public timeline::WorkItem,
                         public base::ListHook<WaitingCopyTag>,
                         public base::ListHook<ActiveCopyTag> {
 public:
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  const CopyShape& shape() const noexcept { return shape_; }
  std::uint64_t length_of(std::uint32_t piece) const noexcept;
  bool needs_host() const noexcept;

  timeline::Point filled(std::uint64_t pieces) const noexcept {
    return {filled_.get(), base_ + pieces};
  }
  timeline::Point moved(std::uint64_t pieces) const noexcept {
    return {moved_.get(), base_ + pieces};
  }
  timeline::Point drained(std::uint64_t pieces) const noexcept {
    return {drained_.get(), base_ + pieces};
  }
  // begin() is signalled by the host when everything is submitted, end() by the last piece.
  timeline::Point begin() const noexcept { return {turn_.get(), turn_base_ + 1}; }
  timeline::Point end() const noexcept { return {turn_.get(), turn_base_ + 2}; }

  // Counts a piece before it is submitted, and again when it has ended, or was refused.
  void add_piece() noexcept { unended_.fetch_add(1, std::memory_order_relaxed); }
  void piece_ended(const Status& cause) noexcept;
  // Called by the submitting thread: submitted() starts the copy, refused() fails the pieces that
  // are already submitted.
  void submitted() noexcept;
  void refused(const Status& cause) noexcept;

  // Called by the gate of the first piece, in `queue`: whether the copy has a ring.
  timeline::Gate::Answer take_ring(timeline::Queue& queue, Status& cause) noexcept;
  // Called when the first piece has ended, or before its queue may end.
  void leave_line() noexcept;
  // Called when the first piece was issued: from then on the devices do not close before the copy
  // has ended.
  void note_begun() noexcept;
  // Called when the last piece was issued to a lane. Retires that lane if other copies wait for the
  // ring, since perhaps no thread waits for this copy.
  void note_last(const timeline::LanePoint& at) noexcept;
  std::string describe() const;
  // The block of a piece, for the device that reads or writes. Precondition: the copy has a ring.
  BoundRange block(std::uint32_t piece, bool writes) const noexcept;

 private:
  friend class CopyPath;
  enum class Phase : std::uint8_t { kRunning, kEnded, kUnused };

  void run(bool shell) noexcept override;
  void post() noexcept;
  void fail_all(const Status& cause) noexcept;
  void watch() noexcept;

  Ref<CopyPath> path_;
  CopyShape shape_{};
  std::uint64_t length_ = 0;
  unsigned reader_ = 0;  // which side of the path reads
  StagingRing* ring_ = nullptr;
  HandleRef<timeline::Semaphore> filled_, moved_, drained_, turn_;
  std::uint64_t base_ = 0;
  std::uint64_t turn_base_ = 0;

  base::Atomic<std::uint32_t> references_{0};
  base::Atomic<std::uint32_t> unended_{0};
  base::Mutex mutex_;  // guards cause_
  Status cause_;       // the first failure
  Phase phase_ = Phase::kUnused;

  // Under the path's lock.
  timeline::Queue* waits_in_ = nullptr;  // retried when there is a ring
  bool begun_ = false;
  StagedCopy* next_ = nullptr;  // spare
};

class CopyPath final : public RefCounted {
 public:
  // `one` and `other` are open; only begin() uses them, and its caller keeps them open.
  CopyPath(DeviceObject& one, DeviceObject& other);

  bool joins(const DeviceObject& one, const DeviceObject& other) const noexcept {
    return (devices_[0] == &one && devices_[1] == &other) ||
           (devices_[0] == &other && devices_[1] == &one);
  }
  bool has(const DeviceObject& device) const noexcept {
    return devices_[0] == &device || devices_[1] == &device;
  }

  // Returns a copy of `length` bytes, not 0, from memory of `reader` to memory of the other device;
  // its pieces are not submitted yet. Allocates staging memory if the path has too little. Returns
  // kResourceExhausted, errors of the drivers, and kUnimplemented if the host cannot see memory of
  // one of the devices.
  Result<Ref<StagedCopy>> begin(const DeviceObject& reader, std::uint64_t length);

  // Whether copies are in flight; they end by themselves. Retires their lanes.
  bool in_flight() noexcept;
  // Called when one of the devices closes: frees spare rings and copies, and refuses new copies.
  void close() noexcept;

  timeline::Engine& engine() const noexcept { return engine_; }

 private:
  friend class StagedCopy;
  enum class Sharing : std::uint8_t { kUnknown, kOfFirst, kOfSecond, kNone };

  ~CopyPath() override;
  Status prepare(StagedCopy& copy);
  Result<StagingRing*> make_ring(const CopyShape& shape);
  Status fill_ring(StagingRing& ring, std::uint64_t size);
  void give(StagingRing& ring) noexcept;  // under the lock
  void settle(StagedCopy& copy) noexcept;
  void recycle(StagedCopy& copy) noexcept;

  static constexpr unsigned kSpareCopies = 16;

  DeviceObject* const devices_[2];
  timeline::Engine& engine_;
  const std::string names_[2];

  base::Mutex mutex_;  // guards the rest
  bool closed_ = false;
  Sharing sharing_ = Sharing::kUnknown;
  struct Kind {
    StagingRing* spare = nullptr;
    std::uint32_t made = 0;                                   // existing rings
    std::uint32_t making = 0;                                 // rings being made
    std::uint32_t wanted = 0;                                 // by copies that have not ended
    base::IntrusiveList<StagedCopy, WaitingCopyTag> waiting;  // first come, first served
  };
  Kind kinds_[CopyShape::kRings];
  base::IntrusiveList<StagedCopy, ActiveCopyTag> active_;
  std::uint32_t begun_ = 0;
  StagedCopy* spare_ = nullptr;
  unsigned spare_count_ = 0;
};

}  // namespace halyard::inline v0::hal
