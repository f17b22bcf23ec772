// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compilers call for retain, release and properties: clang's AutomaticReferenceCounting.html, "Runtime
// support"; and what NSObject's methods are made of.
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/futex.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "simulation/metal/objc/runtime.h"
#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {
namespace {

struct Association {
  Object* value;
  bool retained;
};
struct References {
  std::mutex mutex;
  std::unordered_map<Object*, std::map<const void*, Association>> associated;
  std::unordered_map<Object*, std::unordered_set<Object**>> weak;
};
References& references() {
  static auto* const all = new References;
  return *all;
}

// One of a few locks for atomic properties.
std::mutex& lock_of(const void* place) {
  static auto* const locks = new std::mutex[64];
  return locks[reinterpret_cast<std::uintptr_t>(place) / 16 % 64];
}

void release(Object* object) {
  if (object != nullptr) send<void>(object, selectors().release);
}
Object* retain(Object* object) {
  return object != nullptr ? send<Object*>(object, selectors().retain) : nullptr;
}

}  // namespace

void clear_references_to(Object* object) {
  std::map<const void*, Association> associated;
  {
    References& all = references();
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.weak.find(object); found != all.weak.end()) {
      for (Object** place : found->second) *place = nullptr;
      all.weak.erase(found);
    }
    if (const auto found = all.associated.find(object); found != all.associated.end()) {
      associated = std::move(found->second);
      all.associated.erase(found);
    }
  }
  for (const auto& [key, one] : associated) {
    if (one.retained) release(one.value);
  }
}

}  // namespace halyard::inline v0::sim::objc

using namespace halyard::sim::objc;

HALYARD_OBJC_EXPORT Object* _objc_rootAlloc(Class* of) { return create_instance(of); }
HALYARD_OBJC_EXPORT Object* _objc_rootRetain(Object* object) { return retain_instance(object); }
HALYARD_OBJC_EXPORT void _objc_rootRelease(Object* object) { release_instance(object); }
HALYARD_OBJC_EXPORT void _objc_rootDealloc(Object* object) { destroy_instance(object); }
HALYARD_OBJC_EXPORT std::uintptr_t _objc_rootRetainCount(Object* object) {
  return static_cast<std::uintptr_t>(count_of(object));
}
HALYARD_OBJC_EXPORT bool _objc_rootTryRetain(Object* object) { return try_retain_instance(object); }

HALYARD_OBJC_EXPORT Object* objc_alloc(Class* of) {
  return send<Object*>(reinterpret_cast<Object*>(of), selectors().allocate);
}
HALYARD_OBJC_EXPORT Object* objc_allocWithZone(Class* of) { return objc_alloc(of); }
HALYARD_OBJC_EXPORT Object* objc_alloc_init(Class* of) {
  return send<Object*>(objc_alloc(of), selectors().init);
}
HALYARD_OBJC_EXPORT Object* objc_opt_new(Class* of) { return objc_alloc_init(of); }
HALYARD_OBJC_EXPORT Object* objc_opt_self(Object* object) { return object; }
HALYARD_OBJC_EXPORT Class* objc_opt_class(Object* object) {
  return send<Class*>(object, selectors().class_of);
}
HALYARD_OBJC_EXPORT bool objc_opt_isKindOfClass(Object* object, Class* of) {
  return send<bool>(object, selectors().is_kind_of, of);
}
HALYARD_OBJC_EXPORT bool objc_opt_respondsToSelector(Object* object, Selector selector) {
  return send<bool>(object, selectors().responds_to, selector);
}

HALYARD_OBJC_EXPORT Object* objc_retain(Object* object) { return retain(object); }
HALYARD_OBJC_EXPORT void objc_release(Object* object) { release(object); }
HALYARD_OBJC_EXPORT Object* objc_autorelease(Object* object) {
  return object != nullptr ? send<Object*>(object, selectors().autorelease) : nullptr;
}
HALYARD_OBJC_EXPORT Object* objc_retainAutorelease(Object* object) {
  return objc_autorelease(retain(object));
}
// Does not use the optimization that passes the reference to the caller without a pool.
HALYARD_OBJC_EXPORT Object* objc_autoreleaseReturnValue(Object* object) {
  return objc_autorelease(object);
}
HALYARD_OBJC_EXPORT Object* objc_retainAutoreleaseReturnValue(Object* object) {
  return objc_retainAutorelease(object);
}
HALYARD_OBJC_EXPORT Object* objc_retainAutoreleasedReturnValue(Object* object) {
  return retain(object);
}
HALYARD_OBJC_EXPORT Object* objc_unsafeClaimAutoreleasedReturnValue(Object* object) { return object; }
HALYARD_OBJC_EXPORT void objc_storeStrong(Object** place, Object* value) {
  Object* const before = *place;
  if (before == value) return;
  *place = retain(value);
  release(before);
}

// --- weak references

HALYARD_OBJC_EXPORT Object* objc_storeWeak(Object** place, Object* value) {
  References& all = references();
  const std::lock_guard lock(all.mutex);
  if (*place != nullptr) {
    if (const auto found = all.weak.find(*place); found != all.weak.end()) {
      found->second.erase(place);
      if (found->second.empty()) all.weak.erase(found);
    }
  }
  *place = value;
  if (value != nullptr) all.weak[value].insert(place);
  return value;
}
HALYARD_OBJC_EXPORT Object* objc_initWeak(Object** place, Object* value) {
  *place = nullptr;
  return objc_storeWeak(place, value);
}
HALYARD_OBJC_EXPORT void objc_destroyWeak(Object** place) { objc_storeWeak(place, nullptr); }
HALYARD_OBJC_EXPORT Object* objc_loadWeakRetained(Object** place) {
  References& all = references();
  const std::lock_guard lock(all.mutex);
  return *place != nullptr && try_retain_instance(*place) ? *place : nullptr;
}
HALYARD_OBJC_EXPORT Object* objc_loadWeak(Object** place) {
  return objc_autorelease(objc_loadWeakRetained(place));
}
HALYARD_OBJC_EXPORT void objc_copyWeak(Object** to, Object** from) {
  Object* const value = objc_loadWeakRetained(from);
  objc_initWeak(to, value);
  release(value);
}
HALYARD_OBJC_EXPORT void objc_moveWeak(Object** to, Object** from) {
  objc_copyWeak(to, from);
  objc_destroyWeak(from);
}

// --- associated objects: Apple, objc/runtime.h, objc_AssociationPolicy

HALYARD_OBJC_EXPORT void objc_setAssociatedObject(Object* object, const void* key, Object* value,
                                                  std::uintptr_t policy) {
  constexpr std::uintptr_t kAssign = 0, kCopyNonatomic = 3, kCopy = 01403;
  const bool retained = policy != kAssign;
  if (value != nullptr && retained) {
    const bool copies = policy == kCopyNonatomic || policy == kCopy;
    value = copies ? send<Object*>(value, selectors().copy) : retain(value);
  }
  Association before{nullptr, false};
  {
    References& all = references();
    const std::lock_guard lock(all.mutex);
    auto& own = all.associated[object];
    if (const auto found = own.find(key); found != own.end()) {
      before = found->second;
      own.erase(found);
    }
    if (value != nullptr) own.emplace(key, Association{value, retained});
    if (own.empty()) all.associated.erase(object);
  }
  if (before.retained) release(before.value);
}
HALYARD_OBJC_EXPORT Object* objc_getAssociatedObject(Object* object, const void* key) {
  References& all = references();
  const std::lock_guard lock(all.mutex);
  const auto found = all.associated.find(object);
  if (found == all.associated.end()) return nullptr;
  const auto one = found->second.find(key);
  return one != found->second.end() ? one->second.value : nullptr;
}
HALYARD_OBJC_EXPORT void objc_removeAssociatedObjects(Object* object) {
  std::map<const void*, Association> associated;
  {
    References& all = references();
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.associated.find(object); found != all.associated.end()) {
      associated = std::move(found->second);
      all.associated.erase(found);
    }
  }
  for (const auto& [key, one] : associated) {
    if (one.retained) release(one.value);
  }
}

// --- properties that the compiler makes

HALYARD_OBJC_EXPORT Object* objc_getProperty(Object* object, Selector, std::ptrdiff_t offset,
                                             bool is_atomic) {
  auto** const place = reinterpret_cast<Object**>(reinterpret_cast<char*>(object) + offset);
  if (!is_atomic) return *place;
  Object* value = nullptr;
  {
    const std::lock_guard lock(lock_of(place));
    value = retain(*place);
  }
  return objc_autorelease(value);
}

namespace {
void set_property(Object* object, std::ptrdiff_t offset, Object* value, bool is_atomic, bool copies) {
  auto** const place = reinterpret_cast<Object**>(reinterpret_cast<char*>(object) + offset);
  value = !copies           ? retain(value)
          : value != nullptr ? send<Object*>(value, selectors().copy)
                             : nullptr;
  Object* before = nullptr;
  if (is_atomic) {
    const std::lock_guard lock(lock_of(place));
    before = std::exchange(*place, value);
  } else {
    before = std::exchange(*place, value);
  }
  release(before);
}
}  // namespace
HALYARD_OBJC_EXPORT void objc_setProperty(Object* object, Selector, std::ptrdiff_t offset,
                                          Object* value, bool is_atomic, signed char copies) {
  set_property(object, offset, value, is_atomic, copies != 0);
}
HALYARD_OBJC_EXPORT void objc_setProperty_atomic(Object* object, Selector, Object* value,
                                                 std::ptrdiff_t offset) {
  set_property(object, offset, value, true, false);
}
HALYARD_OBJC_EXPORT void objc_setProperty_nonatomic(Object* object, Selector, Object* value,
                                                    std::ptrdiff_t offset) {
  set_property(object, offset, value, false, false);
}
HALYARD_OBJC_EXPORT void objc_setProperty_atomic_copy(Object* object, Selector, Object* value,
                                                      std::ptrdiff_t offset) {
  set_property(object, offset, value, true, true);
}
HALYARD_OBJC_EXPORT void objc_setProperty_nonatomic_copy(Object* object, Selector, Object* value,
                                                         std::ptrdiff_t offset) {
  set_property(object, offset, value, false, true);
}
HALYARD_OBJC_EXPORT void objc_copyStruct(void* to, const void* from, std::ptrdiff_t size,
                                         bool is_atomic, bool) {
  if (!is_atomic) {
    std::memcpy(to, from, static_cast<std::size_t>(size));
    return;
  }
  std::scoped_lock lock(lock_of(nullptr));
  std::memcpy(to, from, static_cast<std::size_t>(size));
}

// --- @synchronized

namespace {
// A lock of each object in use, which its owner may take again.
struct Monitors {
  struct Monitor {
    std::uint64_t owner = 0;
    std::size_t depth = 0;
  };
  halyard::base::Mutex mutex;
  halyard::base::Atomic<std::uint32_t> changes{0};
  std::unordered_map<Object*, Monitor> of;
};
Monitors& monitors() {
  static auto* const all = new Monitors;
  return *all;
}
}  // namespace
HALYARD_OBJC_EXPORT int objc_sync_enter(Object* object) {
  if (object == nullptr) return 0;
  Monitors& all = monitors();
  const auto self = reinterpret_cast<std::uintptr_t>(&this_thread());
  for (;;) {
    std::uint32_t seen = 0;
    {
      halyard::base::LockGuard lock(all.mutex);
      Monitors::Monitor& one = all.of[object];
      if (one.depth == 0 || one.owner == self) {
        one.owner = self;
        ++one.depth;
        return 0;
      }
      seen = all.changes.load(std::memory_order_relaxed);
    }
    halyard::base::futex_wait(all.changes, seen, halyard::Deadline::kForeverTime);
  }
}
HALYARD_OBJC_EXPORT int objc_sync_exit(Object* object) {
  if (object == nullptr) return 0;
  Monitors& all = monitors();
  const auto self = reinterpret_cast<std::uintptr_t>(&this_thread());
  {
    halyard::base::LockGuard lock(all.mutex);
    const auto found = all.of.find(object);
    if (found == all.of.end() || found->second.owner != self) return -1;
    if (--found->second.depth == 0) all.of.erase(found);
    all.changes.fetch_add(1, std::memory_order_relaxed);
  }
  halyard::base::futex_wake(all.changes, INT32_MAX);
  return 0;
}
