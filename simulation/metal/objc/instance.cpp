// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdlib>
#include <cstring>
#include <deque>
#include <unordered_set>

#include "simulation/metal/objc/accounting.h"
#include "simulation/metal/objc/runtime.h"

namespace halyard::inline v0::sim::objc {
namespace {

// The header before each object that create_instance() made.
struct alignas(16) Header {
  std::atomic<std::int64_t> count{1};
  Class* was = nullptr;  // once it is a zombie
};
Header& header_of(const Object* object) {
  return reinterpret_cast<Header*>(const_cast<Object*>(object))[-1];
}

void construct(Object* object, Class* of) {
  if (of->superclass != nullptr) construct(object, of->superclass);
  if (!of->state->has_cxx_structors) return;
  const auto found = of->state->methods.find(selectors().cxx_construct);
  if (found == of->state->methods.end()) return;
  reinterpret_cast<Object* (*)(Object*, Selector)>(found->second->implementation)(
      object, selectors().cxx_construct);
}
void destruct(Object* object, Class* of) {
  for (; of != nullptr; of = of->superclass) {
    if (!of->state->has_cxx_structors) continue;
    const auto found = of->state->methods.find(selectors().cxx_destruct);
    if (found == of->state->methods.end()) continue;
    reinterpret_cast<void (*)(Object*, Selector)>(found->second->implementation)(
        object, selectors().cxx_destruct);
  }
}

struct Zombies {
  std::mutex mutex;
  std::size_t limit = 65'536;
  std::deque<Object*> kept;
};
Zombies& zombies() {
  static auto* const all = new Zombies;
  return *all;
}

std::atomic<MisuseHandler> misuse_handler{nullptr};

}  // namespace

Class* zombie_class() {
  static Class* const one = [] {
    Class* const made = allocate_class_pair(nullptr, "__NSZombie", 0);
    register_class_pair(made);
    return made;
  }();
  return one;
}
Class* class_of_zombie(const Object* object) { return header_of(object).was; }

Object* create_instance(Class* of, std::size_t extra) {
  void* const memory = std::calloc(1, sizeof(Header) + of->state->instance_size + extra);
  if (memory == nullptr) return nullptr;
  auto* const object = reinterpret_cast<Object*>(new (memory) Header + 1);
  object->isa = of;
  of->state->created.fetch_add(1, std::memory_order_relaxed);
  construct(object, of);
  return object;
}

void destroy_instance(Object* object) {
  Class* const of = object->isa;
  destruct(object, of);
  clear_references_to(object);
  of->state->destroyed.fetch_add(1, std::memory_order_relaxed);
  Class* const zombie = zombie_class();
  Object* oldest = object;
  {
    Zombies& all = zombies();
    const std::lock_guard lock(all.mutex);
    if (all.limit != 0) {
      header_of(object).was = of;
      object->isa = zombie;
      all.kept.push_back(object);
      if (all.kept.size() <= all.limit) return;
      oldest = all.kept.front();
      all.kept.pop_front();
    }
  }
  std::free(&header_of(oldest));
}

Object* retain_instance(Object* object) {
  header_of(object).count.fetch_add(1, std::memory_order_relaxed);
  return object;
}

bool try_retain_instance(Object* object) {
  std::atomic<std::int64_t>& count = header_of(object).count;
  std::int64_t seen = count.load(std::memory_order_relaxed);
  while (seen > 0) {
    if (count.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void release_instance(Object* object) {
  const std::int64_t before = header_of(object).count.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1) return send<void>(object, selectors().dealloc);
  if (before < 1) {
    report(Misuse::kOverRelease, "an object of class " + object->isa->state->name +
                                     " is released while it is destroyed");
  }
}

std::int64_t count_of(const Object* object) {
  return header_of(object).count.load(std::memory_order_relaxed);
}

std::vector<Count> counts() {
  std::vector<Count> all;
  for (const Class* one : all_classes()) {
    const ClassState& state = *one->state;
    const std::int64_t created = state.created.load();
    if (created != 0) all.push_back({state.name, created, state.destroyed.load()});
  }
  return all;
}

std::string_view name_of(Misuse misuse) {
  switch (misuse) {
    case Misuse::kMessageToDestroyed: return "message-to-destroyed";
    case Misuse::kOverRelease: return "over-release";
    case Misuse::kMissingPool: return "missing-pool";
    case Misuse::kUnrecognized: return "unrecognized-selector";
  }
  return "";
}

void set_misuse_handler(MisuseHandler handler) { misuse_handler.store(handler); }

void report(Misuse misuse, const std::string& text) {
  if (const MisuseHandler handler = misuse_handler.load()) return handler(misuse, text);
  std::fprintf(stderr, "objc: %s: %s\n", name_of(misuse).data(), text.c_str());
}

void set_zombies(std::size_t count) {
  std::deque<Object*> surplus;
  {
    const std::lock_guard lock(zombies().mutex);
    zombies().limit = count;
    while (zombies().kept.size() > count) {
      surplus.push_back(zombies().kept.front());
      zombies().kept.pop_front();
    }
  }
  for (Object* object : surplus) std::free(&header_of(object));
}

}  // namespace halyard::inline v0::sim::objc
