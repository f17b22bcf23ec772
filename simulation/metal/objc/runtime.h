// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own view of classes: selectors, classes by name, methods, and instances. The functions
// that programs call (objc_getClass, objc_retain, ...) are in runtime_functions.cpp, arc.cpp, pool.cpp and
// block.cpp; Apple documents them in "Objective-C Runtime" and in clang's
// AutomaticReferenceCounting.html.
//
// Any thread may call any function. Classes and selectors are never unloaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulation/metal/objc/abi.h"

#define HALYARD_OBJC_EXPORT extern "C" __attribute__((visibility("default")))

namespace halyard::inline v0::sim::objc {

struct ClassState {
  std::string name;
  bool is_meta = false;
  bool has_cxx_structors = false;  // .cxx_construct or .cxx_destruct of its own
  bool is_registered = true;       // false between objc_allocateClassPair and objc_registerClassPair
  std::uint32_t instance_size = 0;
  std::unordered_map<Selector, Method*> methods;  // its own, and its categories'
  std::vector<Protocol*> protocols;
  std::vector<Ivar*> ivars;
  std::vector<Class*> subclasses;
  std::atomic<bool> is_initialized{false};
  std::atomic<std::int64_t> created{0}, destroyed{0};
};

// --- selectors and classes

// The unique selector of that name.
Selector find_selector(std::string_view name);
// Null if there is none.
Class* find_class(std::string_view name);
Protocol* find_protocol(std::string_view name);
std::vector<Class*> all_classes();

// One image's lists of classes, categories, selector references and protocols; called once for each
// image, before its C++ initializers (register_image.c).
struct Image {
  Class **classes, **classes_end;
  Category **categories, **categories_end;
  const char **selectors, **selectors_end;
  Protocol **protocols, **protocols_end;
  Protocol **protocol_references, **protocol_references_end;
};
void register_image(const Image& image);

// Makes a class for the program. Returns null if the name is taken.
Class* allocate_class_pair(Class* superclass, const char* name, std::size_t extra);
void register_class_pair(Class* made);

// --- methods

// The class's own or inherited method; null if there is none.
Method* find_method(Class* of, Selector selector);
// The target of objc_msgSend: the method, or a function that reports the message.
Implementation find_implementation(Class* of, Selector selector);
// The same for a message to `receiver`. If it is destroyed, the message is reported.
extern "C" __attribute__((visibility("hidden"))) Implementation halyard_objc_find_method(
    Object* receiver, Selector selector, Class* of);
// Returns false if the class itself has the method and `replaces` is false.
bool add_method(Class* to, Selector name, Implementation implementation, const char* types,
                bool replaces);
void set_implementation(Method* method, Implementation implementation);
bool conforms_to(Class* of, Protocol* protocol);
bool conforms_to(Protocol* of, Protocol* protocol);
inline bool is_subclass_of(Class* of, const Class* ancestor) {
  for (; of != nullptr; of = of->superclass) {
    if (of == ancestor) return true;
  }
  return false;
}

// --- instances

// Makes an object with a count of 1: zeroed, then its C++ members constructed. Null if there is no
// memory.
Object* create_instance(Class* of, std::size_t extra = 0);
// Destroys the object's C++ members and releases its associated objects. The memory stays for a
// while as a zombie, so that a message to it is detected (accounting.h).
void destroy_instance(Object* object);
Object* retain_instance(Object* object);
void release_instance(Object* object);
std::int64_t count_of(const Object* object);
// The class of destroyed objects, which has no methods, and the former class of such an object.
Class* zombie_class();
Class* class_of_zombie(const Object* object);
// Returns false if the object is being destroyed.
bool try_retain_instance(Object* object);
// Clears the weak references to `object` and releases its associated objects.
void clear_references_to(Object* object);

template <class R, class... A>
R send(Object* receiver, Selector selector, A... arguments) {
  if (receiver == nullptr) return R();
  const Implementation found = halyard_objc_find_method(receiver, selector, receiver->isa);
  return reinterpret_cast<R (*)(Object*, Selector, A...)>(found)(receiver, selector, arguments...);
}

// Selectors that the runtime itself sends.
struct Selectors {
  Selector retain, release, autorelease, dealloc, copy, init, allocate, class_of, is_kind_of,
      responds_to, cxx_construct, cxx_destruct;
};
const Selectors& selectors();

}  // namespace halyard::inline v0::sim::objc
