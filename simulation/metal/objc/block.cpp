// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks: clang's Block-ABI-Apple.html. A block on the heap has its reference count in its flags.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "simulation/metal/objc/accounting.h"
#include "simulation/metal/objc/runtime.h"

// The classes of blocks, which stand beside NSObject; compilers write the addresses of these into blocks.
extern "C" {
extern halyard::sim::objc::Class _NSConcreteMallocBlock;
}

namespace halyard::inline v0::sim::objc {
namespace {

struct Block {
  Class* isa;
  std::int32_t flags;
  std::int32_t reserved;
  void (*invoke)(void*, ...);
  struct Descriptor {
    std::uintptr_t reserved;
    std::uintptr_t size;
    void (*copy)(void* to, const void* from);  // with kHasCopy
    void (*dispose)(const void*);
  }* descriptor;
};

struct ByReference {
  void* isa;
  ByReference* forwarding;
  std::int32_t flags;
  std::uint32_t size;
  void (*keep)(ByReference* to, ByReference* from);  // with kHasCopy
  void (*destroy)(ByReference*);
};

// A count is two units; the lowest bit is free.
constexpr std::int32_t kCounts = 0xfffe, kOne = 2, kIsOnHeap = 1 << 24, kHasCopy = 1 << 25,
                       kIsGlobal = 1 << 28;
// The kinds of fields.
constexpr int kObject = 3, kBlock = 7, kByReference = 8, kCaller = 128;

// Returns true if that was the last reference.
bool drop(std::int32_t& flags) {
  const std::int32_t before = std::atomic_ref(flags).fetch_sub(kOne, std::memory_order_acq_rel);
  if ((before & kCounts) == 0) report(Misuse::kOverRelease, "a block is released too often");
  return (before & kCounts) == kOne;
}

ByReference* copy_by_reference(ByReference* from) {
  ByReference* const now = from->forwarding;
  if ((now->flags & kIsOnHeap) != 0) {
    std::atomic_ref(now->flags).fetch_add(kOne, std::memory_order_relaxed);
    return now;
  }
  auto* const made = static_cast<ByReference*>(std::malloc(now->size));
  if (made == nullptr) std::abort();
  std::memcpy(made, now, now->size);
  made->flags = (now->flags & ~kCounts) | kIsOnHeap | 2 * kOne;  // the block's, and the stack's
  made->forwarding = made;
  now->forwarding = made;
  if ((now->flags & kHasCopy) != 0) made->keep(made, now);
  return made;
}
void release_by_reference(ByReference* one) {
  one = one->forwarding;
  if ((one->flags & kIsOnHeap) == 0 || !drop(one->flags)) return;
  if ((one->flags & kHasCopy) != 0) one->destroy(one);
  std::free(one);
}

}  // namespace
}  // namespace halyard::inline v0::sim::objc

using namespace halyard::sim::objc;

HALYARD_OBJC_EXPORT void* _Block_copy(const void* from) {
  auto* const block = static_cast<Block*>(const_cast<void*>(from));
  if (block == nullptr || (block->flags & kIsGlobal) != 0) return block;
  if ((block->flags & kIsOnHeap) != 0) {
    std::atomic_ref(block->flags).fetch_add(kOne, std::memory_order_relaxed);
    return block;
  }
  auto* const made = static_cast<Block*>(std::malloc(block->descriptor->size));
  if (made == nullptr) return nullptr;
  std::memcpy(made, block, block->descriptor->size);
  made->isa = &_NSConcreteMallocBlock;
  made->flags = (block->flags & ~kCounts) | kIsOnHeap | kOne;
  if ((block->flags & kHasCopy) != 0) made->descriptor->copy(made, block);
  made->isa->state->created.fetch_add(1, std::memory_order_relaxed);
  return made;
}

HALYARD_OBJC_EXPORT void _Block_release(const void* one) {
  auto* const block = static_cast<Block*>(const_cast<void*>(one));
  if (block == nullptr || (block->flags & kIsGlobal) != 0 || (block->flags & kIsOnHeap) == 0) return;
  if (!drop(block->flags)) return;
  block->isa->state->destroyed.fetch_add(1, std::memory_order_relaxed);
  if ((block->flags & kHasCopy) != 0) block->descriptor->dispose(block);
  std::free(block);
}

HALYARD_OBJC_EXPORT void _Block_object_assign(void* to, const void* value, const int flags) {
  auto** const place = static_cast<const void**>(to);
  switch (flags & 0xff & ~16) {
    case kObject:
      *place = send<Object*>(static_cast<Object*>(const_cast<void*>(value)), selectors().retain);
      break;
    case kBlock: *place = _Block_copy(value); break;
    case kByReference:
      *place = copy_by_reference(static_cast<ByReference*>(const_cast<void*>(value)));
      break;
    default: *place = value;  // of a __block variable: not retained
  }
}

HALYARD_OBJC_EXPORT void _Block_object_dispose(const void* value, const int flags) {
  if (value == nullptr || (flags & kCaller) != 0) return;
  switch (flags & 0xff & ~16) {
    case kObject:
      send<void>(static_cast<Object*>(const_cast<void*>(value)), selectors().release);
      break;
    case kBlock: _Block_release(value); break;
    case kByReference:
      release_by_reference(static_cast<ByReference*>(const_cast<void*>(value)));
      break;
    default: break;
  }
}

HALYARD_OBJC_EXPORT Object* objc_retainBlock(Object* block) {
  return static_cast<Object*>(_Block_copy(block));
}
