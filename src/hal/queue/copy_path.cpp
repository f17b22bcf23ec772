// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/queue/copy_path.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/pages.h"
#include "hal/device/device.h"
#include "timeline/engine.h"
#include "timeline/lane_tracker.h"
#include "timeline/queue.h"

namespace halyard::inline v0::hal {

using Answer = timeline::Gate::Answer;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The rings that a path keeps: 47 MiB at most. With pieces of 1 MiB, copying (100 us at 10 GB/s)
// hides the hand-over between the queues (some 10 us).
struct RingKind {
  std::uint64_t piece;
  std::uint32_t slots;
  std::uint64_t longest;  // copy that uses it
  std::uint32_t most;     // rings
};
constexpr RingKind kRingKinds[CopyShape::kRings] = {
    {64 << 10, 1, 64 << 10, 8},
    {kMiB, 1, kMiB, 4},
    {kMiB, 3, 16 * kMiB, 6},
    {4 * kMiB, 3, 4 * kMiB* CopyShape::kMostPieces, 2},
};
constexpr std::uint32_t kOwnSlots = 3;

void free_ring(StagingRing* ring) noexcept { delete ring; }

}  // namespace

CopyShape CopyShape::of(std::uint64_t length) noexcept {
  const auto shape = [&](std::uint32_t ring, std::uint32_t slots, std::uint64_t piece) {
    const auto pieces = static_cast<std::uint32_t>((length - 1) / piece + 1);
    return CopyShape{ring, std::min(slots, pieces), piece, pieces};
  };
  for (std::uint32_t i = 0; i < kRings; ++i) {
    if (length <= kRingKinds[i].longest) return shape(i, kRingKinds[i].slots, kRingKinds[i].piece);
  }
  const std::uint64_t piece = (length - 1) / kMostPieces / kMiB * kMiB + kMiB;
  return shape(kOwnRing, kOwnSlots, piece);
}

// ---- StagedCopy

void StagedCopy::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) post();
}

// The end of a copy is an effect: it may be detected under a lane's retire role, and it releases
// other work.
void StagedCopy::post() noexcept {
  timeline::EffectScope scope(path_->engine(), timeline::EffectScope::Mode::kDefer);
  timeline::EffectScope::add(*this);
}

void StagedCopy::piece_ended(const Status& cause) noexcept {
  if (!cause.ok()) {
    base::LockGuard lock(mutex_);
    if (cause_.ok()) cause_ = cause;
  }
  if (unended_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  retain();  // for the effect
  post();
}

void StagedCopy::submitted() noexcept {
  (void)turn_->signal(begin().value());
  piece_ended({});
}

void StagedCopy::refused(const Status& cause) noexcept {
  fail_all(cause);
  piece_ended(cause);
}

void StagedCopy::fail_all(const Status& cause) noexcept {
  turn_->fail(cause);
  filled_->fail(cause);
  if (moved_) moved_->fail(cause);
  drained_->fail(cause);
}

// Runs twice: when the pieces have ended, and when the devices do not access the blocks any more.
void StagedCopy::run(bool) noexcept {
  if (phase_ == Phase::kRunning) {
    phase_ = Phase::kEnded;
    if (!cause_.ok()) fail_all(cause_);
    path_->settle(*this);
    return release();
  }
  const Ref<CopyPath> path = std::move(path_);
  if (cause_.ok()) {
    base_ += shape_.pieces;
    turn_base_ += 2;
  } else {
    for (auto* semaphore : {&filled_, &moved_, &drained_, &turn_}) *semaphore = {};
    cause_ = {};
  }
  phase_ = Phase::kUnused;
  path->recycle(*this);
}

std::uint64_t StagedCopy::length_of(std::uint32_t piece) const noexcept {
  return std::min(shape_.piece, length_ - piece * shape_.piece);
}

bool StagedCopy::needs_host() const noexcept { return static_cast<bool>(moved_); }

timeline::Gate::Answer StagedCopy::take_ring(timeline::Queue& queue, Status& cause) noexcept {
  CopyPath& path = *path_;
  base::LockGuard lock(path.mutex_);
  if (ring_ != nullptr) return Answer::kGo;
  if (path.closed_) {
    cause = error(StatusCode::kCancelled, "copy between {} and {}: one of them is closed",
                  path.names_[0], path.names_[1]);
    return Answer::kFail;
  }
  CopyPath::Kind& kind = path.kinds_[shape_.ring];
  const bool in_line = base::ListHook<WaitingCopyTag>::linked();
  if (kind.spare != nullptr && kind.waiting.empty()) {
    ring_ = std::exchange(kind.spare, kind.spare->next);
    return Answer::kGo;
  }
  if (!in_line) kind.waiting.push_back(*this);
  waits_in_ = &queue;
  path.active_.for_each([](StagedCopy& copy) { copy.watch(); });
  return Answer::kLater;
}

void StagedCopy::leave_line() noexcept {
  base::LockGuard lock(path_->mutex_);
  if (base::ListHook<WaitingCopyTag>::linked()) path_->kinds_[shape_.ring].waiting.erase(*this);
  waits_in_ = nullptr;
}

void StagedCopy::note_begun() noexcept {
  base::LockGuard lock(path_->mutex_);
  if (!std::exchange(begun_, true)) ++path_->begun_;
}

void StagedCopy::note_last(const timeline::LanePoint& at) noexcept {
  if (shape_.ring == CopyShape::kOwnRing) return;
  base::LockGuard lock(path_->mutex_);
  if (!path_->kinds_[shape_.ring].waiting.empty()) at.lane->watch(at.sequence);
}

// Retires the lanes of its last pieces, for which perhaps no other thread waits.
void StagedCopy::watch() noexcept {
  if (!begun_) return;
  for (const timeline::Point& point :
       {filled(shape_.pieces), moved(shape_.pieces), drained(shape_.pieces)}) {
    if (point.semaphore() == nullptr) continue;
    const auto promise = point.semaphore()->find_promise(point.value(), timeline::kHostDomain);
    if (promise) promise->watch(promise.sequence());
  }
}

std::string StagedCopy::describe() const {
  return base::format("staging memory between {} and {} for {} bytes", path_->names_[0],
                      path_->names_[1], length_);
}

BoundRange StagedCopy::block(std::uint32_t piece, bool writes) const noexcept {
  const unsigned side = writes ? 1 - reader_ : reader_;
  return {ring_->memory[side].get(), piece % shape_.slots * shape_.piece, length_of(piece)};
}

// ---- CopyPath

CopyPath::CopyPath(DeviceObject& one, DeviceObject& other)
    : devices_{&one, &other},
      engine_(one.engine()),
      names_{std::string(one.name()), std::string(other.name())} {}

CopyPath::~CopyPath() { close(); }

Result<Ref<StagedCopy>> CopyPath::begin(const DeviceObject& reader, std::uint64_t length) {
  StagedCopy* copy = nullptr;
  {
    base::LockGuard lock(mutex_);
    if (spare_ != nullptr) {
      copy = std::exchange(spare_, spare_->next_);
      --spare_count_;
    }
  }
  if (copy == nullptr) copy = new (std::nothrow) StagedCopy;
  if (copy == nullptr) return Status(StatusCode::kResourceExhausted, "no memory for a copy");
  copy->path_ = Ref<CopyPath>(this);
  copy->shape_ = CopyShape::of(length);
  copy->length_ = length;
  copy->reader_ = &reader == devices_[0] ? 0 : 1;
  copy->begun_ = false;
  copy->unended_.store(1, std::memory_order_relaxed);  // for the submitting thread
  Ref<StagedCopy> ref(copy);
  {
    base::LockGuard lock(mutex_);
    if (copy->shape_.ring != CopyShape::kOwnRing) ++kinds_[copy->shape_.ring].wanted;
  }
  // From here on dropping the last reference returns the copy.
  Status status = prepare(*copy);
  if (!status.ok()) {
    copy->phase_ = StagedCopy::Phase::kEnded;
    copy->cause_ = status;
    return status;
  }
  copy->phase_ = StagedCopy::Phase::kRunning;
  base::LockGuard lock(mutex_);
  active_.push_back(*copy);
  return ref;
}

Status CopyPath::prepare(StagedCopy& copy) {
  const CopyShape& shape = copy.shape_;
  if (shape.ring == CopyShape::kOwnRing) {
    HALYARD_ASSIGN_OR_RETURN(copy.ring_, make_ring(shape));
  } else {
    Kind& kind = kinds_[shape.ring];
    bool make = false;
    {
      base::LockGuard lock(mutex_);
      make = sharing_ == Sharing::kUnknown ||
             kind.made + kind.making < std::min(kind.wanted, kRingKinds[shape.ring].most);
      if (make) ++kind.making;
    }
    if (make) {
      Result<StagingRing*> ring = make_ring(shape);
      timeline::EffectScope scope(engine_, timeline::EffectScope::Mode::kRun);
      base::LockGuard lock(mutex_);
      --kind.making;
      if (ring.ok()) {
        ++kind.made;
        give(**ring);
      } else if (kind.made == 0) {
        return ring.status();
      }
    }
  }
  bool needs_host = false;
  {
    base::LockGuard lock(mutex_);
    needs_host = sharing_ == Sharing::kNone;
  }
  if (needs_host) HALYARD_RETURN_IF_ERROR(engine_.work_source().ensure(base::Shell::kHost));
  const auto open = [&](HandleRef<timeline::Semaphore>& semaphore, const char* what) -> Status {
    if (semaphore) return {};
    HALYARD_ASSIGN_OR_RETURN(
        semaphore,
        timeline::Semaphore::create(
            engine_, 0, base::format("copy between {} and {}: {}", names_[0], names_[1], what),
            nullptr));
    return {};
  };
  if (!copy.filled_) copy.base_ = copy.turn_base_ = 0;
  HALYARD_RETURN_IF_ERROR(open(copy.filled_, "pieces read"));
  if (needs_host) HALYARD_RETURN_IF_ERROR(open(copy.moved_, "pieces moved by the host"));
  HALYARD_RETURN_IF_ERROR(open(copy.drained_, "pieces written"));
  return open(copy.turn_, "begin and end");
}

Result<StagingRing*> CopyPath::make_ring(const CopyShape& shape) {
  // A ring that is kept serves every copy of its kind.
  const std::uint64_t slots =
      shape.ring == CopyShape::kOwnRing ? shape.slots : kRingKinds[shape.ring].slots;
  auto* ring = new (std::nothrow) StagingRing;
  if (ring == nullptr) return Status(StatusCode::kResourceExhausted, "no memory for a copy");
  ring->kind = shape.ring;
  if (Status status = fill_ring(*ring, slots * shape.piece); !status.ok()) {
    free_ring(ring);
    return status;
  }
  return ring;
}

Status CopyPath::fill_ring(StagingRing& ring, std::uint64_t size) {
  Sharing known = Sharing::kUnknown;
  {
    base::LockGuard lock(mutex_);
    known = sharing_;
  }
  const auto found = [&](Sharing sharing) {
    base::LockGuard lock(mutex_);
    sharing_ = sharing;
  };
  const auto allocate = [&](unsigned side) {
    return devices_[side]->allocate_host_memory(size, base::page_size());
  };
  // Prefer memory of the driver that pins its allocations; a driver that works in host memory can
  // import any memory.
  const unsigned first = devices_[0]->works_in_host_memory() ? 1 : 0;
  for (const unsigned owner : {first, 1 - first}) {
    const Sharing sharing = owner == 0 ? Sharing::kOfFirst : Sharing::kOfSecond;
    if (known != Sharing::kUnknown && known != sharing) continue;
    HALYARD_ASSIGN_OR_RETURN(Ref<Memory> memory, allocate(owner));
    if (memory->host_pointer() == nullptr) continue;
    Result<Ref<Memory>> imported = devices_[1 - owner]->import_memory_of(*memory);
    if (imported.ok()) {
      ring.memory[owner] = std::move(memory);
      ring.memory[1 - owner] = std::move(*imported);
      ring.shared = true;
      found(sharing);
      return {};
    }
    // These two failures are permanent, others are temporary.
    const StatusCode code = imported.status().code();
    if (code != StatusCode::kUnimplemented && code != StatusCode::kInvalidArgument) {
      return imported.status();
    }
  }
  for (unsigned side = 0; side < 2; ++side) {
    HALYARD_ASSIGN_OR_RETURN(ring.memory[side], allocate(side));
    if (ring.memory[side]->host_pointer() == nullptr) {
      return error(StatusCode::kUnimplemented, "the host sees no memory of {}", names_[side]);
    }
  }
  found(Sharing::kNone);
  return {};
}

void CopyPath::give(StagingRing& ring) noexcept {
  Kind& kind = kinds_[ring.kind];
  if (StagedCopy* const next = kind.waiting.pop_front()) {
    next->ring_ = &ring;
    std::exchange(next->waits_in_, nullptr)->retry();
    return;
  }
  ring.next = std::exchange(kind.spare, &ring);
}

void CopyPath::settle(StagedCopy& copy) noexcept {
  base::LockGuard lock(mutex_);
  active_.erase(copy);
  if (std::exchange(copy.begun_, false)) --begun_;
}

void CopyPath::recycle(StagedCopy& copy) noexcept {
  StagingRing* const ring = std::exchange(copy.ring_, nullptr);
  bool free_copy = true;
  bool free_its_ring = false;
  {
    base::LockGuard lock(mutex_);
    const bool own = copy.shape_.ring == CopyShape::kOwnRing;
    if (!own) --kinds_[copy.shape_.ring].wanted;
    free_its_ring = ring != nullptr && (own || closed_);
    if (ring != nullptr && !free_its_ring) give(*ring);
    if (!closed_ && spare_count_ < kSpareCopies) {
      copy.next_ = std::exchange(spare_, &copy);
      ++spare_count_;
      free_copy = false;
    }
  }
  if (free_its_ring) free_ring(ring);
  if (free_copy) delete &copy;
}

bool CopyPath::in_flight() noexcept {
  timeline::EffectScope scope(engine_, timeline::EffectScope::Mode::kDefer);
  base::LockGuard lock(mutex_);
  if (begun_ == 0) return false;
  active_.for_each([](StagedCopy& copy) { copy.watch(); });
  return true;
}

void CopyPath::close() noexcept {
  StagingRing* rings = nullptr;
  StagedCopy* copies = nullptr;
  {
    timeline::EffectScope scope(engine_, timeline::EffectScope::Mode::kDefer);
    base::LockGuard lock(mutex_);
    closed_ = true;
    copies = std::exchange(spare_, nullptr);
    spare_count_ = 0;
    for (Kind& kind : kinds_) {
      while (kind.spare != nullptr) {
        StagingRing* const ring = std::exchange(kind.spare, kind.spare->next);
        ring->next = std::exchange(rings, ring);
      }
      // The gates run again and fail.
      kind.waiting.for_each([](StagedCopy& copy) { copy.waits_in_->retry(); });
    }
  }
  while (rings != nullptr) free_ring(std::exchange(rings, rings->next));
  while (copies != nullptr) delete std::exchange(copies, copies->next_);
}

}  // namespace halyard::inline v0::hal
