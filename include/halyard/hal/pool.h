// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pool: memory that queues hand out and take back in the order of their work.
//
//     Buffer x = queue.allocate(pool, {.size = n}, {.signal = {{s, 1}}}).value();
//     queue.fill(x, 0, 4, {.wait = {{s, 1}}, .signal = {{s, 2}}});
//     queue.deallocate(x, {.wait = {{s, 2}}, .signal = {{s, 3}}});      // nobody has waited yet
//
// A pool takes slabs from its device and divides them into blocks. A block is given again as soon
// as the deallocation that returned it has been issued, to an allocation that comes after it: in
// the same queue, because the queues' waits say so, because it is done, or, where hidden_waits
// allows it, because the pool makes the device wait.
//
// An allocation that finds no block waits in the pool, first come, first served:
//
//   - while a slab is on its way, or an issued deallocation has not ended;
//   - where max_size stops it, as long as any block is in use. A deallocation returns that block at
//     once; a buffer whose last handle was dropped does so 10 ms after its last use at the latest.
//
// Else it fails with kResourceExhausted and the sizes: a device that refuses a slab is not waited
// for. Nothing looks whether a block's holder itself waits for the allocation: the message of a
// wait's kDeadlineExceeded, and Device::dump_timelines(), say what each one waits for and what the
// pool holds. Allocations that signal one semaphore wait for one another, or the larger value would
// speak for memory that is not there yet.
//
// A handle that is kept after deallocate() keeps no block, but the slab that it was in: native code
// that still has its address must not meet foreign memory. A slab that the pool gives up meanwhile
// is no longer counted by it, nor by max_size; the device has it back with the last such handle.
#pragma once

#include <cstdint>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class PoolObject;

struct PoolInfo {
  MemoryType memory = MemoryType::kDeviceLocal;
  // Bytes taken from the device at a time; a larger allocation gets a slab of its own size.
  std::uint64_t slab_size = std::uint64_t{2} << 20;
  // Bytes that all slabs together have at most.
  std::uint64_t max_size = kWholeSize;
  // Whether an allocation may wait on the device for a deallocation of another queue that its
  // submission does not wait for. Otherwise such a block is not used until that one is done.
  bool hidden_waits = true;
  std::string_view name{};  // for messages and dumps; copied
};

struct PoolStatistics {
  std::uint64_t reserved_bytes = 0;   // in slabs
  std::uint64_t used_bytes = 0;       // in blocks given out
  std::uint64_t peak_used_bytes = 0;  // since the pool was made, or reset_peak()
  std::uint64_t slabs = 0;
  std::uint64_t blocks = 0;  // given out
  std::uint64_t reuses = 0;  // blocks given that had been given before
};

// A handle; safe from any thread. Keeps its device open. A pool that no handle and no buffer refers
// to gives its slabs back.
class HALYARD_EXPORT Pool {
 public:
  Pool() noexcept = default;
  explicit Pool(PoolObject* object) noexcept;

  MemoryType memory_type() const noexcept;  // kDeviceLocal when empty
  PoolStatistics statistics() const noexcept;

  // Gives free slabs back to the device until at most `keep_bytes` are reserved, or none is free.
  // Returns at once; a thread of the runtime does it. kInvalidArgument: empty.
  Status trim(std::uint64_t keep_bytes = 0) const;

  // The most that was used is counted anew, from what is used now. kInvalidArgument: empty.
  Status reset_peak() const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Pool& a, const Pool& b) noexcept { return a.object_ == b.object_; }
  PoolObject* object() const noexcept { return reinterpret_cast<PoolObject*>(object_.get()); }

 private:
  HandleRef<RefCounted> device_;
  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
