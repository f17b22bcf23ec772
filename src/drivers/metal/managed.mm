// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/managed.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/format.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/encoder.h"
#include "drivers/metal/functions.h"
#include "hal/recording/accesses.h"
#include "hal/recording/command.h"

namespace halyard::inline v0::metal {
namespace {

bool touch(ByteRange a, ByteRange b) noexcept { return a.begin <= b.end && b.begin <= a.end; }

}  // namespace

// ---- One buffer

template <class Counts, class F>
void ManagedCopies::for_each_unused(ByteRange range, Counts&& counts, F&& fn) noexcept {
  std::uint64_t at = range.begin;
  while (at < range.end) {
    std::uint64_t used_to = at, end = range.end;
    for (const ManagedUse* use = in_flight_; use != nullptr; use = use->next) {
      if (!counts(*use) || use->range.end <= at) continue;
      if (use->range.begin <= at) {
        used_to = use->range.end;
      } else {
        end = std::min(end, use->range.begin);
      }
    }
    if (used_to == at) {
      fn(ByteRange{at, end});
      at = end;
    } else {
      at = used_to;
    }
  }
}

void ManagedCopies::flush(ByteRange range) noexcept {
  base::LockGuard lock(mutex_);
  for_each_unused(
      range, [](const ManagedUse&) { return true; },
      [&](ByteRange part) {
        [buffer_ didModifyRange:NSMakeRange(part.begin, part.end - part.begin)];
      });
}

Status ManagedCopies::copy_back(ByteRange range, Encoder& encoder) {
  if (is_whole(range)) return encoder.synchronize(buffer_);
  id<MTLBuffer> back;
  {
    base::LockGuard lock(mutex_);
    if (!back_) {
      back_ = new_buffer(device_, [buffer_ length], untracked(MTLResourceStorageModeShared));
    }
    back = back_.get();
  }
  if (back == nil) {
    return error(StatusCode::kResourceExhausted,
                 "metal: no memory for {} bytes beside managed memory", [buffer_ length]);
  }
  // Blits copy whole words; the host later copies only the range itself.
  const std::uint64_t begin = range.begin & ~std::uint64_t{3};
  const std::uint64_t end = (range.end + 3) & ~std::uint64_t{3};
  return encoder.copy({buffer_, begin, end - begin}, {back, begin, end - begin});
}

void ManagedCopies::begin(ManagedUse& use) noexcept {
  base::LockGuard lock(mutex_);
  use.next = in_flight_;
  in_flight_ = &use;
}

void ManagedCopies::end(ManagedUse& use, bool done) noexcept {
  base::LockGuard lock(mutex_);
  ManagedUse** at = &in_flight_;
  while (*at != &use) at = &(*at)->next;
  *at = use.next;
  if (!done || !use.writes || is_whole(use.range)) return;
  auto* const host = static_cast<std::byte*>([buffer_ contents]);
  const auto* const back = static_cast<const std::byte*>([back_.get() contents]);
  // Bytes that another use in flight writes are left to its end(): it may be writing them now.
  for_each_unused(
      use.range, [](const ManagedUse& other) { return other.writes; },
      [&](ByteRange part) {
        std::memcpy(host + part.begin, back + part.begin, part.end - part.begin);
      });
}

// ---- One submission

Status ManagedUses::add(const ManagedUse& use) {
  for (ManagedUse& known : uses_) {
    if (known.copies != use.copies || known.writes != use.writes || known.reads != use.reads ||
        !touch(known.range, use.range)) {
      continue;
    }
    known.range = {std::min(known.range.begin, use.range.begin),
                   std::max(known.range.end, use.range.end)};
    return {};
  }
  if (uses_.push_back(use)) return {};
  return error(StatusCode::kResourceExhausted, "metal: no memory for uses of managed memory");
}

Status ManagedUses::flush(const hal::Operation& operation) {
  uses_.shrink(0);
  Status status;
  const auto add_all = [&](const hal::Command& command, const hal::BoundRange* table) {
    const auto add_one = [&](const hal::BoundRange& range, timeline::AccessKind kind) {
      const auto& memory = static_cast<const DeviceMemory&>(*range.memory);
      if (memory.managed() == nullptr || range.length == 0 || !status.ok()) return;
      const std::uint64_t begin = memory.offset_in_buffer() + range.offset;
      const bool writes = kind == timeline::AccessKind::kWrite;
      // Fills and copies write their whole target, and do not read it.
      status = add({.copies = memory.managed(),
                    .range = {begin, begin + range.length},
                    .reads = !writes || command.kind == hal::CommandKind::kDispatch,
                    .writes = writes});
    };
    hal::for_each_memory(command, table, add_one);
  };
  switch (operation.kind) {
    case hal::OperationKind::kBarrier:
      break;
    case hal::OperationKind::kCommand:
      add_all(operation.command, nullptr);
      break;
    case hal::OperationKind::kExecute:
      for (const hal::Command& command : operation.native->recording().commands) {
        add_all(command, operation.table);
      }
      break;
  }
  HALYARD_RETURN_IF_ERROR(status);
  for (const ManagedUse& use : uses_) {
    if (use.reads) use.copies->flush(use.range);
  }
  return {};
}

Status ManagedUses::copy_back(Encoder& encoder) {
  encoder.barrier();
  for (const ManagedUse& use : uses_) {
    if (use.writes) HALYARD_RETURN_IF_ERROR(use.copies->copy_back(use.range, encoder));
  }
  return {};
}

void ManagedUses::begin() noexcept {
  for (ManagedUse& use : uses_) use.copies->begin(use);
  in_flight_ = true;
}

void ManagedUses::end(bool done) noexcept {
  if (!in_flight_) return;
  in_flight_ = false;
  for (ManagedUse& use : uses_) use.copies->end(use, done);
  uses_.shrink(0);
}

}  // namespace halyard::inline v0::metal
