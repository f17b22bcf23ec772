// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PoolObject: hands out and takes back the blocks of a PoolSpace as queues issue allocations and
// deallocations. PoolMemory: the Memory of a buffer of a pool. It has a block from the issue of its
// allocation until its deallocation is issued or the PoolMemory is destroyed.
//
//     allocation:   gate ── block ──> issued: PoolMemory gets its addresses
//                     └── none: held by its queue, and in `waiting_`, until something comes back:
//                         a slab, a deallocation's block, or that of a buffer that is dropped
//     deallocation: issued: the block is free, with (lane, sequence) as its frontier
//
// Native allocation and freeing run on the reclaim shell: the pool posts itself there. The device
// closes the pool before it closes itself; a PoolMemory that outlives the device, in submissions of
// another device, finds a closed pool. Under the lock nothing here calls other components, except
// queue marks (retry), which take no lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/intrusive_list.h"
#include "base/mutex.h"
#include "hal/memory/memory.h"
#include "hal/memory/pool_space.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/pool.h"
#include "timeline/effects.h"
#include "timeline/gate.h"

namespace halyard::inline v0::timeline {
class Engine;
}

namespace halyard::inline v0::hal {

class DeviceObject;

// The request of a queued allocation; part of its payload.
struct WaitingTag {};
struct PoolRequest : base::ListHook<WaitingTag> {  // on the list: it waits
  std::uint64_t size = 0;                          // of the block
  PoolBlock* block = nullptr;                      // given, and the submission not yet issued
  bool growth_failed = false;                      // the device refused a slab for it
};

// A queued deallocation, until it has ended; part of its payload.
struct ReturnTag {};
struct PoolReturn : base::ListHook<ReturnTag> {  // on the list: it is issued
  LanePoint frontier;
};

struct PoolListTag {};
class PoolObject final : public RefCounted,
                         public timeline::WorkItem,
                         public base::ListHook<PoolListTag> {
 public:
  static constexpr std::string_view kTypeName = "pool";

  // Precondition: a handle keeps `device` open, or it is being created.
  static Result<Ref<PoolObject>> create(DeviceObject& device, const PoolInfo& info);

  DeviceObject& device() const noexcept { return *device_; }  // precondition: open
  MemoryType memory_type() const noexcept { return info_.memory; }
  std::uint64_t max_size() const noexcept { return info_.max_size; }
  const std::string& name() const noexcept { return name_; }
  PoolStatistics statistics() noexcept;
  void reset_peak() noexcept;
  void trim(std::uint64_t keep_bytes) noexcept;

  // For the gate of an allocation (timeline/gate.h).
  timeline::Gate::Answer ask(PoolRequest& request, timeline::IssueSite& site,
                             Status& cause) noexcept;
  void undo(PoolRequest& request) noexcept;
  std::string describe(const PoolRequest& request) noexcept;
  // Called when the submission of `request` has ended, or was never made.
  void end(PoolRequest& request) noexcept;

  // Called when a deallocation is submitted.
  void begin_return() noexcept;
  void end(PoolReturn& deallocation) noexcept;
  // Takes back a block whose deallocation was issued.
  void give(PoolBlock& block, PoolReturn& deallocation, const LanePoint& frontier) noexcept;
  // Takes back the block of a PoolMemory without references.
  void give(PoolBlock& block) noexcept;

  // The reclaim shell calls this when all handles are gone and the queues refuse work. True once
  // the pool is closed and its device no longer lists it; it may be destroyed then.
  bool close() noexcept;
  bool posted() noexcept;

 private:
  PoolObject(DeviceObject& device, const PoolInfo& info);
  void destroy() noexcept override;
  void run(bool shell) noexcept override;  // on the reclaim shell
  void post() noexcept;
  void kick() noexcept;
  bool must_wait_behind(const PoolRequest& request) noexcept;
  bool take(PoolRequest& request, timeline::IssueSite& site) noexcept;
  bool can_grow(std::uint64_t size) noexcept;
  bool needs_a_holder(const PoolRequest& request) noexcept;
  timeline::Gate::Answer wait_or_fail(PoolRequest& request, bool given_up, bool& must_post,
                                      Status& cause) noexcept;
  std::uint64_t returns_in_flight() noexcept;
  std::uint64_t largest_waiting() noexcept;
  void grow(std::uint64_t wanted, std::uint64_t size) noexcept;

  // The lanes of deallocations, with their latest sequences.
  static constexpr std::size_t kMaxLanes = 4;
  using Frontiers = LanePoint[kMaxLanes];
  void collect_returns(Frontiers& frontiers) noexcept;

  timeline::Engine& engine_;
  const std::string name_;
  PoolInfo info_;

  base::Mutex mutex_;     // guards the rest
  DeviceObject* device_;  // null: closed
  PoolSpace space_;
  base::IntrusiveList<PoolRequest, WaitingTag> waiting_;  // first come, first served
  std::uint64_t unissued_returns_ = 0;
  base::IntrusiveList<PoolReturn, ReturnTag> returns_;  // issued, and not ended
  // For the reclaim shell.
  bool posted_ = false;
  bool dying_ = false;       // no references are left
  bool wants_slab_ = false;  // for a request that waits
  std::optional<std::uint64_t> trim_to_;
  Status growth_failure_;
};

class PoolMemory final : public Memory {
 public:
  static Result<Ref<PoolMemory>> create(PoolObject& pool, std::uint64_t size,
                                        std::uint64_t alignment, const void* domain);

  // Precondition: the memory is mapped, so it has had a block.
  Status flush(std::uint64_t offset, std::uint64_t length) noexcept override {
    return slab_->flush(root_offset() + offset, length);
  }
  Status invalidate(std::uint64_t offset, std::uint64_t length) noexcept override {
    return slab_->invalidate(root_offset() + offset, length);
  }

  PoolObject& pool() const noexcept { return *pool_; }
  // True once a deallocation is submitted, unless that fails.
  bool deallocated() const noexcept { return deallocated_.load(std::memory_order_acquire); }
  // False: a deallocation was already submitted.
  bool begin_deallocation() noexcept {
    return !deallocated_.exchange(true, std::memory_order_acq_rel);
  }
  void cancel_deallocation() noexcept { deallocated_.store(false, std::memory_order_release); }

  // Whether it has a block, so that work that uses it can be issued.
  bool committed() const noexcept { return committed_.load(std::memory_order_acquire); }
  // The reason why it cannot be issued. Precondition: not committed.
  Status not_committed() const;

  // Called by the issuer of its allocation, before any other thread can see it. The issuer of its
  // deallocation calls release_block().
  void commit(PoolBlock& block, const LanePoint& at) noexcept;
  PoolBlock& release_block() noexcept;
  // Precondition: committed.
  const PoolBlock& block() const noexcept { return *block_; }
  // The place where its allocation was issued. Precondition: committed.
  const LanePoint& allocated_at() const noexcept { return allocated_at_; }

 private:
  PoolMemory(PoolObject& pool, std::uint64_t size, std::uint64_t alignment, const void* domain)
      : Memory(size, pool.memory_type(), domain), pool_(&pool), alignment_(alignment) {}
  ~PoolMemory() override;

  Ref<PoolObject> pool_;
  const std::uint64_t alignment_;
  PoolBlock* block_ = nullptr;
  LanePoint allocated_at_;
  Ref<Memory> slab_;  // kept after deallocation: late uses must not touch others' memory
  base::Atomic<bool> committed_{false};
  base::Atomic<bool> deallocated_{false};
};

// Whether work that uses `memory` can be issued now.
inline bool can_issue(const Memory* memory, Status& cause) noexcept {
  if (memory == nullptr || !memory->of_pool()) return true;
  const auto& pooled = static_cast<const PoolMemory&>(*memory);
  if (pooled.committed()) [[likely]]
    return true;
  cause = pooled.not_committed();
  return false;
}

}  // namespace halyard::inline v0::hal
