// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/pool.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "hal/device/device.h"
#include "hal/object.h"
#include "timeline/engine.h"
#include "timeline/lane_tracker.h"

namespace halyard::inline v0::hal {

using timeline::Gate;
using Answer = Gate::Answer;

Result<Ref<PoolObject>> PoolObject::create(DeviceObject& device, const PoolInfo& info) {
  auto* pool = new (std::nothrow) PoolObject(device, info);
  if (pool == nullptr) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for a pool", device.name());
  }
  device.add_pool(*pool);
  return Ref<PoolObject>::adopt(pool);
}

PoolObject::PoolObject(DeviceObject& device, const PoolInfo& info)
    : engine_(device.engine()),
      name_(base::format("pool '{}' of {}", info.name, device.name())),
      info_(info),
      device_(&device) {
  info_.name = {};
}

// Frees slabs, so the reclaim shell does it. Once the device is closed, the thread that drops the
// last reference does.
void PoolObject::destroy() noexcept {
  {
    base::LockGuard lock(mutex_);
    dying_ = posted_ = device_ != nullptr;
  }
  if (dying_) {
    engine_.post_reclaim(*this);
  } else {
    delete this;
  }
}

// Precondition: posted_ was set, under the lock, by the caller.
void PoolObject::post() noexcept {
  retain();
  engine_.post_reclaim(*this);
}

// Makes waiting allocations ask again. It uses queues only under the lock, so that close() excludes
// it.
void PoolObject::kick() noexcept {
  timeline::EffectScope scope(engine_, timeline::EffectScope::Mode::kDefer);
  base::LockGuard lock(mutex_);
  if (device_ != nullptr && !waiting_.empty()) device_->retry_queues();
}

PoolStatistics PoolObject::statistics() noexcept {
  base::LockGuard lock(mutex_);
  return space_.statistics();
}

void PoolObject::reset_peak() noexcept {
  base::LockGuard lock(mutex_);
  space_.reset_peak();
}

// Called under the lock, as are all functions up to ask(). Returned memory goes to the first
// waiting request: another request might take it and never return it.
bool PoolObject::must_wait_behind(const PoolRequest& request) noexcept {
  return !waiting_.empty() && &waiting_.front() != &request;
}

bool PoolObject::take(PoolRequest& request, timeline::IssueSite& site) noexcept {
  if (device_ == nullptr || must_wait_behind(request)) return false;
  request.block = space_.take(request.size, info_.hidden_waits, site);
  return request.block != nullptr;
}

bool PoolObject::can_grow(std::uint64_t size) noexcept {
  const std::uint64_t bound = space_.bound_bytes();
  return bound <= info_.max_size && size <= info_.max_size - bound;
}

// Whether the first waiting request, and so `request`, needs memory that others hold, perhaps
// forever.
bool PoolObject::needs_a_holder(const PoolRequest& request) noexcept {
  const PoolRequest& first = waiting_.empty() ? request : waiting_.front();
  return !first.growth_failed && !can_grow(first.size) && returns_in_flight() == 0 &&
         space_.statistics().blocks != 0;
}

// Rule 30. A request that the device refuses waits only for issued deallocations, because they end
// by themselves. The holder of the other memory may be waiting for this very allocation.
Answer PoolObject::wait_or_fail(PoolRequest& request, bool given_up, bool& must_post,
                                Status& cause) noexcept {
  if (device_ == nullptr) {
    cause = error(StatusCode::kCancelled, "{}: closed", name_);
    return Answer::kFail;
  }
  if (given_up && needs_a_holder(request)) {
    cause = error(StatusCode::kCancelled, "{}: no block of {} bytes, and no one waits for it", name_,
                  request.size);
    return Answer::kFail;
  }
  if (must_wait_behind(request)) return Answer::kLater;
  if (!request.growth_failed && can_grow(request.size)) {
    wants_slab_ = true;
    must_post = !std::exchange(posted_, true);
    return Answer::kLater;
  }
  if (returns_in_flight() != 0) return Answer::kLater;
  const PoolStatistics& now = space_.statistics();
  if (!request.growth_failed && now.blocks != 0) {
    // The memory of a dropped buffer returns with its last submission, which perhaps no other
    // thread retires. So each ask checks all queues for it, at least every Engine::kCheckInterval.
    must_post = !std::exchange(posted_, true);
    return Answer::kLater;
  }
  // The device was lost after the queue's check.
  if (request.growth_failed && growth_failure_.code() == StatusCode::kDeviceLost) {
    cause = growth_failure_;
    return Answer::kFail;
  }
  // kWholeSize, the default, is rounded down.
  const bool is_limited = info_.max_size <= kWholeSize - PoolSpace::kGranule;
  const std::string allowed =
      is_limited ? base::format("{} allowed", info_.max_size) : "without a limit";
  cause = error(StatusCode::kResourceExhausted,
                "{}: no block of {} bytes: {} of {} bytes are used, {}{}{}", name_, request.size,
                now.used_bytes, now.reserved_bytes, allowed, request.growth_failed ? "; " : "",
                request.growth_failed ? growth_failure_.message() : "");
  return Answer::kFail;
}

// Counts issued deallocations, and blocks whose deallocation has ended but has not yet passed. A
// deallocation that will not complete returns nothing.
std::uint64_t PoolObject::returns_in_flight() noexcept {
  std::uint64_t count = 0;
  returns_.for_each([&](const PoolReturn& deallocation) {
    const LanePoint& at = deallocation.frontier;
    if (!at.lane->is_dead(at.sequence)) ++count;
  });
  space_.for_each_frontier([&](const timeline::LaneTracker& lane, std::uint64_t sequence) {
    if (lane.retired() < sequence && !lane.is_dead(sequence)) ++count;
  });
  return count;
}

void PoolObject::collect_returns(Frontiers& frontiers) noexcept {
  returns_.for_each([&](const PoolReturn& deallocation) {
    const LanePoint& from = deallocation.frontier;
    LanePoint* at =
        std::find_if(std::begin(frontiers), std::end(frontiers),
                     [&](const LanePoint& f) { return f.lane == nullptr || f.lane == from.lane; });
    if (at != std::end(frontiers)) *at = {from.lane, std::max(at->sequence, from.sequence)};
  });
}

Answer PoolObject::ask(PoolRequest& request, timeline::IssueSite& site, Status& cause) noexcept {
  bool waited = false;
  Answer answer = Answer::kGo;
  bool must_post = false;
  Frontiers returning = {};
  const auto each_lane = [&](auto&& fn) {
    for (const LanePoint& frontier : returning) {
      if (frontier) fn(*frontier.lane, frontier.sequence);
    }
  };
  bool taken = false;
  {
    base::LockGuard lock(mutex_);
    waited = request.linked();
    taken = take(request, site);
    if (taken && waited) waiting_.erase(request);
    if (!taken) collect_returns(returning);
  }
  if (!taken) {
    // The device may have passed sequences that are not retired yet.
    each_lane([&](timeline::LaneTracker& lane, std::uint64_t) { site.retire(lane); });
    site.retire_own();
    base::LockGuard lock(mutex_);
    if (!take(request, site)) answer = wait_or_fail(request, site.is_given_up(), must_post, cause);
    if (answer != Answer::kLater && waited) waiting_.erase(request);
    if (answer == Answer::kLater && !waited) waiting_.push_back(request);
    collect_returns(returning);  // again: a later deallocation finds this request on the list
  }
  if (must_post) post();
  if (answer == Answer::kLater) {
    // No other thread may be waiting for these deallocations: the engine watches for their end.
    each_lane([](timeline::LaneTracker& lane, std::uint64_t sequence) { lane.watch(sequence); });
  }
  if (waited && answer != Answer::kLater) kick();
  return answer;
}

void PoolObject::undo(PoolRequest& request) noexcept {
  PoolBlock* const block = std::exchange(request.block, nullptr);
  if (block == nullptr) return;
  {
    base::LockGuard lock(mutex_);
    space_.put_back(*block);
  }
  kick();
}

void PoolObject::end(PoolRequest& request) noexcept {
  {
    base::LockGuard lock(mutex_);
    if (!request.linked()) return;
    waiting_.erase(request);
  }
  kick();
}

std::string PoolObject::describe(const PoolRequest& request) noexcept {
  base::LockGuard lock(mutex_);
  if (!request.linked()) return {};
  const PoolStatistics& now = space_.statistics();
  std::uint64_t returns = unissued_returns_;
  returns_.for_each([&](const PoolReturn&) { ++returns; });
  return base::format("{} bytes of {} ({} of {} bytes are used, in {}; {} outstanding)",
                      request.size, name_, now.used_bytes, now.reserved_bytes,
                      base::counted(now.blocks, "block"), base::counted(returns, "deallocation"));
}

void PoolObject::begin_return() noexcept {
  base::LockGuard lock(mutex_);
  ++unissued_returns_;
}

void PoolObject::end(PoolReturn& deallocation) noexcept {
  {
    base::LockGuard lock(mutex_);
    if (deallocation.linked()) {
      returns_.erase(deallocation);
      // A request notified below may ask before the lane reports this as retired, and is not
      // notified again.
      const LanePoint& at = deallocation.frontier;
      if (!at.lane->is_dead(at.sequence)) space_.pass(at);
    } else {
      --unissued_returns_;
    }
  }
  kick();
}

void PoolObject::give(PoolBlock& block, PoolReturn& deallocation,
                      const LanePoint& frontier) noexcept {
  {
    base::LockGuard lock(mutex_);
    deallocation.frontier = frontier;
    --unissued_returns_;
    returns_.push_back(deallocation);
    space_.give(block, frontier);
  }
  kick();
}

void PoolObject::give(PoolBlock& block) noexcept {
  {
    base::LockGuard lock(mutex_);
    space_.give(block, {});
  }
  kick();
}

void PoolObject::trim(std::uint64_t keep_bytes) noexcept {
  {
    base::LockGuard lock(mutex_);
    trim_to_ = std::min(keep_bytes, trim_to_.value_or(keep_bytes));
    if (std::exchange(posted_, true)) return;
  }
  post();
}

// The largest size among the requests that a new slab would serve. The request that asked for it
// may have found a block since, or have been cancelled.
std::uint64_t PoolObject::largest_waiting() noexcept {
  std::uint64_t size = 0;
  waiting_.for_each([&](const PoolRequest& request) {
    if (!request.growth_failed && can_grow(request.size)) size = std::max(size, request.size);
  });
  return size;
}

void PoolObject::run(bool) noexcept {
  if (dying_) {
    device_->remove_pool(*this);
    delete this;
    return;
  }
  // Submissions that return memory may have passed while no thread waited for them.
  device_->retire_queues();
  for (;;) {
    PoolSlabs freed;
    std::uint64_t wanted = 0;
    std::uint64_t size = 0;
    {
      base::LockGuard lock(mutex_);
      if (!wants_slab_ && !trim_to_) {
        posted_ = false;
        break;
      }
      if (std::exchange(wants_slab_, false)) wanted = largest_waiting();
      std::uint64_t keep = std::exchange(trim_to_, std::nullopt).value_or(kWholeSize);
      if (wanted != 0) keep = std::min(keep, info_.max_size - wanted);
      freed = space_.take_free_slabs(keep);
      const std::uint64_t reserved = space_.statistics().reserved_bytes;
      const std::uint64_t room = info_.max_size - std::min(info_.max_size, reserved);
      // If there is no room, blocks were taken since the request asked; it notices when it asks
      // again.
      if (wanted != 0 && wanted <= room) size = std::min(std::max(wanted, info_.slab_size), room);
    }
    freed = {};
    if (size != 0) grow(wanted, size);
    kick();
  }
  release();
}

void PoolObject::grow(std::uint64_t wanted, std::uint64_t size) noexcept {
  const auto allocate = [&](std::uint64_t bytes) {
    return device_->driver()->allocate(bytes, PoolSpace::kSlabAlignment, info_.memory);
  };
  Result<Ref<Memory>> memory = allocate(size);
  if (!memory.ok() && size > wanted) memory = allocate(wanted);
  // A fault is loss of the device, wherever it shows (rule 26): the requests that wait here must
  // not fail with exhausted memory.
  if (memory.status().code() == StatusCode::kDeviceLost) device_->timeline().lose(memory.status());
  if (memory.ok()) device_->adopt(**memory);
  base::LockGuard lock(mutex_);
  Status status = memory.status();
  if (status.ok() && !space_.add(std::move(*memory))) {
    status = Status(StatusCode::kResourceExhausted, "no memory for the bookkeeping of a slab");
  }
  if (status.ok()) {
    wants_slab_ = false;  // requests that kick() wakes set it again
    return;
  }
  growth_failure_ = status;
  waiting_.for_each([&](PoolRequest& request) { request.growth_failed |= request.size >= wanted; });
}

bool PoolObject::close() noexcept {
  timeline::EffectScope scope(engine_, timeline::EffectScope::Mode::kDefer);
  PoolSlabs freed;
  base::LockGuard lock(mutex_);
  if (posted_) return false;
  // Every waiting request asks again, and finds the pool closed.
  if (!waiting_.empty()) device_->retry_queues();
  // After the lock is released, the thread that drops the last reference destroys this.
  device_->remove_pool(*this);
  device_ = nullptr;
  freed = space_.take_free_slabs(0);
  return true;
}

bool PoolObject::posted() noexcept {
  base::LockGuard lock(mutex_);
  return posted_;
}

Result<Ref<PoolMemory>> PoolMemory::create(PoolObject& pool, std::uint64_t size,
                                           std::uint64_t alignment, const void* domain) {
  auto* memory = new (std::nothrow) PoolMemory(pool, size, alignment, domain);
  if (memory == nullptr) {
    return error(StatusCode::kResourceExhausted, "{}: no memory for a buffer", pool.name());
  }
  return Ref<PoolMemory>::adopt(memory);
}

PoolMemory::~PoolMemory() {
  if (block_ != nullptr) pool_->give(*block_);
}

Status PoolMemory::not_committed() const {
  return error(StatusCode::kFailedPrecondition, "{}: a buffer of {} bytes has no memory {}",
               pool_->name(), size(),
               slab_ ? "any more: it was deallocated"
                     : "yet: nothing waited for the signal of its allocation, or that failed");
}

void PoolMemory::commit(PoolBlock& block, const LanePoint& at) noexcept {
  block_ = &block;
  allocated_at_ = at;
  slab_ = block.slab->memory;
  const std::uint64_t align = std::max<std::uint64_t>(alignment_, 1);
  place(*slab_, (block.offset + align - 1) / align * align);
  committed_.store(true, std::memory_order_release);
}

PoolBlock& PoolMemory::release_block() noexcept {
  committed_.store(false, std::memory_order_release);
  return *std::exchange(block_, nullptr);
}

}  // namespace halyard::inline v0::hal
