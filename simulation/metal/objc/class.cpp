// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/objc/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_set>

#include "simulation/metal/objc/accounting.h"

namespace halyard::inline v0::sim::objc {
namespace {

constexpr std::size_t kPlace = sizeof(MethodCache::Place);

// Guards everything below, and each ClassState except its atomics. Nothing is called while it is
// held, so a simulated thread is never preempted with it.
std::mutex& registry_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

struct Registry {
  std::unordered_map<std::string_view, Selector> selectors;
  std::unordered_map<std::string_view, Class*> classes;
  std::unordered_map<std::string_view, Protocol*> protocols;
  std::vector<Class*> order;  // as registered
  std::vector<MethodCache*> caches;  // all of them: none is ever freed
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

// A selector's address is a multiple of the size of a Place, and differs in its low bits from its
// neighbours.
Selector selector_under_lock(std::string_view name) {
  auto& all = registry().selectors;
  if (const auto found = all.find(name); found != all.end()) return found->second;
  static char* block = nullptr;
  static std::size_t left = 0;
  const std::size_t size = (name.size() + kPlace) / kPlace * kPlace;
  if (left < size) {
    left = std::max<std::size_t>(size, 1 << 16);
    block = static_cast<char*>(std::aligned_alloc(kPlace, left));
    if (block == nullptr) std::abort();
  }
  char* const text = block;
  block += size;
  left -= size;
  std::memset(text, 0, size);
  std::memcpy(text, name.data(), name.size());
  all.emplace(std::string_view(text, name.size()), text);
  return text;
}

MethodCache* make_cache(std::size_t places) {
  const std::size_t size = sizeof(MethodCache) + places * kPlace;
  auto* const cache = static_cast<MethodCache*>(std::calloc(1, (size + 63) / 64 * 64));
  if (cache == nullptr) std::abort();
  cache->mask = (places - 1) * kPlace;
  return cache;
}
// The empty cache: one place, which is never filled.
MethodCache* empty_cache() {
  static MethodCache* const cache = make_cache(1);
  return cache;
}

// message.S reads caches without a lock. A place is filled once, the implementation first; a cache
// that is outdated by a change of methods is replaced but not freed, as a thread may still read it.
void remember(Class* of, Selector selector, Implementation implementation) {
  if (of->cache == empty_cache()) {
    registry().caches.push_back(make_cache(64));
    __atomic_store_n(&of->cache, registry().caches.back(), __ATOMIC_RELEASE);
  }
  MethodCache* const cache = of->cache;
  MethodCache::Place& place =
      cache->places[(reinterpret_cast<std::uintptr_t>(selector) & cache->mask) / kPlace];
  if (place.selector != nullptr) return;
  __atomic_store_n(&place.implementation, implementation, __ATOMIC_RELEASE);
  __atomic_store_n(&place.selector, selector, __ATOMIC_RELEASE);
}
void forget_under_lock(Class* of) {
  __atomic_store_n(&of->cache, empty_cache(), __ATOMIC_RELEASE);
  for (Class* subclass : of->state->subclasses) forget_under_lock(subclass);
}

void add_methods(ClassState& state, MethodList* list) {
  if (list == nullptr) return;
  for (Method& method : *list) {
    method.name = selector_under_lock(method.name);
    state.methods[method.name] = &method;  // a category's replaces the class's
  }
}
void unify(MethodList* list) {
  if (list == nullptr) return;
  for (Method& method : *list) method.name = selector_under_lock(method.name);
}
Protocol* unify(Protocol* protocol) {
  const auto [place, is_new] = registry().protocols.try_emplace(protocol->name, protocol);
  if (!is_new) return place->second;
  unify(protocol->instance_methods);
  unify(protocol->class_methods);
  unify(protocol->optional_instance_methods);
  unify(protocol->optional_class_methods);
  if (protocol->protocols != nullptr) {
    for (Protocol*& base : *protocol->protocols) base = unify(base);
  }
  return protocol;
}

void realize(Class* one, bool is_meta) {
  if (one->state != nullptr) return;
  auto* const state = new ClassState;
  one->state = state;
  one->cache = empty_cache();
  const ClassData& data = *one->data;
  state->name = data.name;
  state->is_meta = is_meta;
  state->instance_size = data.instance_size;
  Class* const superclass = one->superclass;
  if (superclass != nullptr) {
    if (superclass->state == nullptr) realize(superclass, is_meta && superclass->isa != one->isa);
    superclass->state->subclasses.push_back(one);
  }
  if (data.ivars != nullptr) {
    // If the superclass has grown since this class was compiled, its variables move to larger
    // offsets.
    std::int64_t shift = 0;
    if (!is_meta && superclass != nullptr && superclass->state->instance_size > data.instance_start) {
      shift = superclass->state->instance_size - data.instance_start;
      for (const Ivar& ivar : *data.ivars) {
        const std::int64_t alignment = std::int64_t{1} << ivar.alignment_log2;
        shift = (shift + alignment - 1) / alignment * alignment;
      }
      state->instance_size += static_cast<std::uint32_t>(shift);
    }
    for (Ivar& ivar : *data.ivars) {
      // If clang knows the layout (of classes below NSObject), the offset is a constant in
      // read-only memory.
      if (ivar.offset != nullptr && shift != 0) *ivar.offset += shift;
      state->ivars.push_back(&ivar);
    }
  } else if (!is_meta && superclass != nullptr) {
    state->instance_size = std::max(state->instance_size, superclass->state->instance_size);
  }
  add_methods(*state, data.methods);
  if (data.protocols != nullptr) {
    for (Protocol* protocol : *data.protocols) state->protocols.push_back(unify(protocol));
  }
  state->has_cxx_structors = state->methods.contains(selector_under_lock(".cxx_construct")) ||
                             state->methods.contains(selector_under_lock(".cxx_destruct"));
}

Method* method_under_lock(Class* of, Selector selector) {
  for (; of != nullptr; of = of->superclass) {
    const auto found = of->state->methods.find(selector);
    if (found != of->state->methods.end()) return found->second;
  }
  return nullptr;
}

std::string text_of(const Class* of, Selector selector) {
  return std::string(of->state->is_meta ? "+[" : "-[") + of->state->name + " " + selector + "]";
}

// The implementations for messages without a method.
void* nothing(Object*, Selector) { return nullptr; }
void* unrecognized(Object* receiver, Selector selector) {
  report(Misuse::kUnrecognized, text_of(receiver->isa, selector) + ": unrecognized selector");
  std::abort();
}

// Apple, NSObject +initialize: before the first message to a class, its superclass first. Meanwhile
// the initializing thread may send messages to the class; other threads wait.
void initialize(Class* of) {
  Class* const plain = of->state->is_meta ? find_class(of->state->name) : of;
  if (plain == nullptr || plain->state->is_initialized.load(std::memory_order_acquire)) return;
  static auto* const mutex = new std::recursive_mutex;
  const std::lock_guard lock(*mutex);
  if (plain->state->is_initialized.load(std::memory_order_acquire)) return;
  if (plain->superclass != nullptr) initialize(plain->superclass);
  Method* method = nullptr;
  {
    const std::lock_guard classes(registry_mutex());
    method = method_under_lock(plain->isa, selector_under_lock("initialize"));
  }
  plain->state->is_initialized.store(true, std::memory_order_release);
  if (method == nullptr) return;
  reinterpret_cast<void (*)(Object*, Selector)>(method->implementation)(
      reinterpret_cast<Object*>(plain), method->name);
}

}  // namespace

Selector find_selector(std::string_view name) {
  const std::lock_guard lock(registry_mutex());
  return selector_under_lock(name);
}

Class* find_class(std::string_view name) {
  const std::lock_guard lock(registry_mutex());
  const auto found = registry().classes.find(name);
  return found != registry().classes.end() && found->second->state->is_registered ? found->second
                                                                                 : nullptr;
}

Protocol* find_protocol(std::string_view name) {
  const std::lock_guard lock(registry_mutex());
  const auto found = registry().protocols.find(name);
  return found != registry().protocols.end() ? found->second : nullptr;
}

std::vector<Class*> all_classes() {
  const std::lock_guard lock(registry_mutex());
  return registry().order;
}

const Selectors& selectors() {
  static const auto* const all = new Selectors{.retain = find_selector("retain"),
                                               .release = find_selector("release"),
                                               .autorelease = find_selector("autorelease"),
                                               .dealloc = find_selector("dealloc"),
                                               .copy = find_selector("copy"),
                                               .init = find_selector("init"),
                                               .allocate = find_selector("alloc"),
                                               .class_of = find_selector("class"),
                                               .is_kind_of = find_selector("isKindOfClass:"),
                                               .responds_to = find_selector("respondsToSelector:"),
                                               .cxx_construct = find_selector(".cxx_construct"),
                                               .cxx_destruct = find_selector(".cxx_destruct")};
  return *all;
}

void register_image(const Image& image) {
  std::vector<Class*> made;
  {
    const std::lock_guard lock(registry_mutex());
    for (const char** name = image.selectors; name != image.selectors_end; ++name) {
      *name = selector_under_lock(*name);
    }
    for (Protocol** one = image.protocols; one != image.protocols_end; ++one) *one = unify(*one);
    for (Protocol** one = image.protocol_references; one != image.protocol_references_end; ++one) {
      *one = unify(*one);
    }
    for (Class** one = image.classes; one != image.classes_end; ++one) {
      if (*one == nullptr) continue;
      if (!registry().classes.try_emplace((*one)->data->name, *one).second) {
        std::fprintf(stderr, "objc: class %s is in two images; the first one is used by name\n",
                     (*one)->data->name);
      } else {
        registry().order.push_back(*one);
      }
      made.push_back(*one);
    }
    for (Class* one : made) {
      realize(one, false);
      realize(one->isa, true);
    }
    for (Category** one = image.categories; one != image.categories_end; ++one) {
      Class* const target = (*one)->target;
      if (target == nullptr) continue;
      add_methods(*target->state, (*one)->instance_methods);
      add_methods(*target->isa->state, (*one)->class_methods);
      if ((*one)->protocols != nullptr) {
        for (Protocol* protocol : *(*one)->protocols) {
          target->state->protocols.push_back(unify(protocol));
        }
      }
      forget_under_lock(target);
      forget_under_lock(target->isa);
    }
  }
  // Superclasses are registered first where they are in other images, and come first in the list where
  // the compiler saw them first.
  const Selector load = find_selector("load");
  for (Class* one : made) {
    const auto found = one->isa->state->methods.find(load);
    if (found == one->isa->state->methods.end()) continue;
    reinterpret_cast<void (*)(Object*, Selector)>(found->second->implementation)(
        reinterpret_cast<Object*>(one), load);
  }
}

Class* allocate_class_pair(Class* superclass, const char* name, std::size_t extra) {
  const std::lock_guard lock(registry_mutex());
  if (registry().classes.contains(name)) return nullptr;
  const auto make = [&](Class* isa, Class* parent, bool is_meta) {
    auto* const one = static_cast<Class*>(std::calloc(1, sizeof(Class) + (is_meta ? 0 : extra)));
    auto* const data = new ClassData{};
    data->name = ::strdup(name);
    data->flags = is_meta ? kIsMeta : 0;
    data->instance_start = data->instance_size =
        is_meta ? sizeof(Class) : parent != nullptr ? parent->state->instance_size : sizeof(Object);
    *one = {isa, parent, nullptr, nullptr, data};
    return one;
  };
  Class* meta = nullptr;
  if (superclass == nullptr) {
    meta = make(nullptr, nullptr, true);
    meta->isa = meta;
  } else {
    meta = make(superclass->isa->isa, superclass->isa, true);
  }
  Class* const one = make(meta, superclass, false);
  if (superclass == nullptr) meta->superclass = one;
  realize(one, false);
  realize(meta, true);
  one->state->is_registered = false;
  registry().classes.emplace(one->data->name, one);
  return one;
}

void register_class_pair(Class* made) {
  const std::lock_guard lock(registry_mutex());
  if (made->state->is_registered) return;
  made->state->is_registered = true;
  registry().order.push_back(made);
}

Method* find_method(Class* of, Selector selector) {
  const std::lock_guard lock(registry_mutex());
  return method_under_lock(of, selector);
}

Implementation find_implementation(Class* of, Selector selector) {
  initialize(of);
  const std::lock_guard lock(registry_mutex());
  if (Method* const method = method_under_lock(of, selector)) {
    remember(of, selector, method->implementation);
    return method->implementation;
  }
  return reinterpret_cast<Implementation>(unrecognized);
}

bool add_method(Class* to, Selector name, Implementation implementation, const char* types,
                bool replaces) {
  const std::lock_guard lock(registry_mutex());
  Method*& place = to->state->methods[name];
  if (place != nullptr && !replaces) return false;
  if (place != nullptr) {
    place->implementation = implementation;
  } else {
    place = new Method{name, ::strdup(types != nullptr ? types : ""), implementation};
  }
  forget_under_lock(to);
  return true;
}

void set_implementation(Method* method, Implementation implementation) {
  const std::lock_guard lock(registry_mutex());
  method->implementation = implementation;
  for (Class* one : registry().order) {
    __atomic_store_n(&one->cache, empty_cache(), __ATOMIC_RELEASE);
    __atomic_store_n(&one->isa->cache, empty_cache(), __ATOMIC_RELEASE);
  }
}

bool conforms_to(Protocol* of, Protocol* protocol) {
  if (of == protocol || std::strcmp(of->name, protocol->name) == 0) return true;
  if (of->protocols == nullptr) return false;
  for (Protocol* base : *of->protocols) {
    if (conforms_to(base, protocol)) return true;
  }
  return false;
}
bool conforms_to(Class* of, Protocol* protocol) {
  for (Protocol* own : of->state->protocols) {
    if (conforms_to(own, protocol)) return true;
  }
  return false;
}

}  // namespace halyard::inline v0::sim::objc

using namespace halyard::sim::objc;

// Called by message.S. The receiver's class is `of` or, for a message to super, a subclass of it.
extern "C" __attribute__((visibility("hidden"), used)) Implementation halyard_objc_find_method(
    Object* receiver, Selector selector, Class* of) {
  if (of->state == nullptr) std::abort();  // not an object, or of an unregistered image
  if (of == zombie_class()) {
    const Class* const was = class_of_zombie(receiver);
    report(selector == selectors().release ? Misuse::kOverRelease : Misuse::kMessageToDestroyed,
           "message -[" + was->state->name + " " + selector + "] to a destroyed object");
    return reinterpret_cast<Implementation>(nothing);
  }
  return find_implementation(of, selector);
}

HALYARD_OBJC_EXPORT void halyard_objc_register_image(void** lists[10]) {
  const auto entries = [&](int list, auto& begin, auto& end) {
    begin = reinterpret_cast<std::remove_reference_t<decltype(begin)>>(reinterpret_cast<std::uintptr_t>(lists[list]));
    end = reinterpret_cast<std::remove_reference_t<decltype(end)>>(reinterpret_cast<std::uintptr_t>(lists[list + 1]));
  };
  Image image{};
  entries(0, image.classes, image.classes_end);
  entries(2, image.categories, image.categories_end);
  entries(4, image.selectors, image.selectors_end);
  entries(6, image.protocols, image.protocols_end);
  entries(8, image.protocol_references, image.protocol_references_end);
  register_image(image);
}

// Compilers set the cache of a class to this symbol.
HALYARD_OBJC_EXPORT std::uint64_t _objc_empty_cache[4];
std::uint64_t _objc_empty_cache[4] = {};
