// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pool: memory that queues allocate and deallocate in the order of their work.
//
//     Buffer x = queue.allocate(pool, {.size = n}, {.signal = {{s, 1}}}).value();
//     queue.fill(x, 0, 4, {.wait = {{s, 1}}, .signal = {{s, 2}}});
//     queue.deallocate(x, {.wait = {{s, 2}}, .signal = {{s, 3}}});      // the host has not waited
//
// A pool takes slabs from its device and divides them into blocks. A block is reusable as soon as
// its deallocation is issued, for an allocation that is ordered after the deallocation:
//   - in the same queue
//   - by the waits of the queues
//   - because the deallocation is done
//   - by a wait on the device that the pool adds, if hidden_waits allows it
//
// An allocation that finds no block waits in the pool, first come, first served:
//
//   - while a slab is being allocated, or an issued deallocation has not ended
//   - if max_size stops it, while any block is in use. A deallocation returns its block at once; a
//     buffer whose last handle was dropped returns it at most 10 ms after its last use
//
// Otherwise it fails with kResourceExhausted and the sizes; a device that refuses a slab is not
// waited for. While max_size stops the first waiting allocation, those whose results nothing waits
// for fail (Semaphore::give_up). The pool does not detect that a block's holder waits for the
// allocation. The message of kDeadlineExceeded, and Device::dump_timelines(), list what each
// submission waits for, and the blocks of the pool.
//
// Allocations that signal the same semaphore should wait for each other, in the order of their
// values: otherwise the larger value may be reached before the smaller allocation has memory. The
// block of a buffer that is dropped without deallocate() returns when the last submission that uses
// it ends.
//
// With an alignment above 256 a block takes `alignment - 256` bytes more than its buffer has, so an
// allocation of max_size does not fit then.
//
// A handle that is kept after deallocate() keeps no block, but it keeps the slab: native code that
// still has the address never reaches memory outside the pool. If the pool returns that slab
// meanwhile, the slab no longer counts in its statistics and in max_size, and the device frees it
// with the last such handle.
#pragma once

#include <cstdint>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class PoolObject;

struct PoolInfo {
  MemoryType memory = MemoryType::kDeviceLocal;
  // Bytes of a slab; an allocation that is larger gets a slab of its own size.
  std::uint64_t slab_size = std::uint64_t{2} << 20;
  // Bytes of all slabs together, at most.
  std::uint64_t max_size = kWholeSize;
  // Whether an allocation may wait on the device for a deallocation of another queue that its
  // submission does not wait for. Otherwise such a block is reused only after that one is done.
  bool hidden_waits = true;
  std::string_view name{};  // for messages and dumps; copied
};

struct PoolStatistics {
  std::uint64_t reserved_bytes = 0;   // in slabs
  std::uint64_t used_bytes = 0;       // in blocks in use
  std::uint64_t peak_used_bytes = 0;  // since the pool was created, or reset_peak()
  std::uint64_t slabs = 0;
  std::uint64_t blocks = 0;  // in use
  std::uint64_t reuses = 0;  // allocations that got a block used before
};

// A handle; safe from any thread. Keeps its device open. A pool without handles and buffers returns
// its slabs to the device.
class HALYARD_EXPORT Pool : public Handle<PoolObject> {
 public:
  Pool() noexcept = default;
  explicit Pool(PoolObject* object) noexcept;

  MemoryType memory_type() const noexcept;  // kDeviceLocal when empty
  PoolStatistics statistics() const noexcept;

  // Returns free slabs to the device until at most `keep_bytes` are reserved, or none is free.
  // Never blocks: a thread of the runtime does the work. Errors: kInvalidArgument when empty;
  // kResourceExhausted if the system refuses that thread.
  Status trim(std::uint64_t keep_bytes = 0) const;

  // Restarts peak_used_bytes from the bytes in use now. kInvalidArgument: empty.
  Status reset_peak() const;

 private:
  HandleRef<RefCounted> device_;
};

}  // namespace halyard::inline v0::hal
