// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of <objc/runtime.h>: Apple, "Objective-C Runtime".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "simulation/metal/objc/runtime.h"

using namespace halyard::sim::objc;

namespace {

// A null-terminated list that the caller frees; null if it is empty.
template <class T, class List>
T* copy_list(const List& list, unsigned* count) {
  if (count != nullptr) *count = static_cast<unsigned>(list.size());
  if (list.empty()) return nullptr;
  auto* const copy = static_cast<T*>(std::calloc(list.size() + 1, sizeof(T)));
  if (copy == nullptr) return nullptr;
  std::size_t at = 0;
  for (const auto& one : list) copy[at++] = one;
  return copy;
}

Ivar* find_ivar(Class* of, const char* name) {
  for (; of != nullptr; of = of->superclass) {
    for (Ivar* ivar : of->state->ivars) {
      if (ivar->name != nullptr && std::strcmp(ivar->name, name) == 0) return ivar;
    }
  }
  return nullptr;
}
Object*& value_of(Object* object, const Ivar* ivar) {
  return *reinterpret_cast<Object**>(reinterpret_cast<char*>(object) + *ivar->offset);
}

}  // namespace

// --- selectors

HALYARD_OBJC_EXPORT Selector sel_registerName(const char* name) { return find_selector(name); }
HALYARD_OBJC_EXPORT Selector sel_getUid(const char* name) { return find_selector(name); }
HALYARD_OBJC_EXPORT const char* sel_getName(Selector selector) {
  return selector != nullptr ? selector : "<null selector>";
}
HALYARD_OBJC_EXPORT bool sel_isEqual(Selector a, Selector b) { return a == b; }

// --- classes by name

HALYARD_OBJC_EXPORT Class* objc_lookUpClass(const char* name) { return find_class(name); }
HALYARD_OBJC_EXPORT Class* objc_getClass(const char* name) { return find_class(name); }
HALYARD_OBJC_EXPORT Class* objc_getRequiredClass(const char* name) {
  Class* const found = find_class(name);
  if (found != nullptr) return found;
  std::fprintf(stderr, "objc: there is no class %s\n", name);
  std::abort();
}
HALYARD_OBJC_EXPORT Class* objc_getMetaClass(const char* name) {
  Class* const found = find_class(name);
  return found != nullptr ? found->isa : nullptr;
}
HALYARD_OBJC_EXPORT Protocol* objc_getProtocol(const char* name) { return find_protocol(name); }
HALYARD_OBJC_EXPORT Class** objc_copyClassList(unsigned* count) {
  return copy_list<Class*>(all_classes(), count);
}
HALYARD_OBJC_EXPORT int objc_getClassList(Class** buffer, int size) {
  const std::vector<Class*> all = all_classes();
  for (std::size_t i = 0; buffer != nullptr && i < all.size() && i < static_cast<std::size_t>(size); ++i) {
    buffer[i] = all[i];
  }
  return static_cast<int>(all.size());
}

// --- objects

HALYARD_OBJC_EXPORT Class* object_getClass(Object* object) {
  return object != nullptr ? object->isa : nullptr;
}
HALYARD_OBJC_EXPORT Class* object_setClass(Object* object, Class* to) {
  return object != nullptr ? std::exchange(object->isa, to) : nullptr;
}
HALYARD_OBJC_EXPORT const char* object_getClassName(Object* object) {
  return object != nullptr ? object->isa->state->name.c_str() : "nil";
}
HALYARD_OBJC_EXPORT bool object_isClass(Object* object) {
  return object != nullptr && object->isa->state->is_meta;
}
HALYARD_OBJC_EXPORT void* object_getIndexedIvars(Object* object) {
  return reinterpret_cast<char*>(object) + object->isa->state->instance_size;
}
HALYARD_OBJC_EXPORT Object* object_getIvar(Object* object, Ivar* ivar) {
  return object != nullptr && ivar != nullptr ? value_of(object, ivar) : nullptr;
}
HALYARD_OBJC_EXPORT void object_setIvar(Object* object, Ivar* ivar, Object* value) {
  if (object != nullptr && ivar != nullptr) value_of(object, ivar) = value;
}
HALYARD_OBJC_EXPORT Ivar* object_getInstanceVariable(Object* object, const char* name, void** value) {
  Ivar* const ivar = object != nullptr ? find_ivar(object->isa, name) : nullptr;
  if (value != nullptr) *value = ivar != nullptr ? value_of(object, ivar) : nullptr;
  return ivar;
}
HALYARD_OBJC_EXPORT Ivar* object_setInstanceVariable(Object* object, const char* name, void* value) {
  Ivar* const ivar = object != nullptr ? find_ivar(object->isa, name) : nullptr;
  if (ivar != nullptr) value_of(object, ivar) = static_cast<Object*>(value);
  return ivar;
}
HALYARD_OBJC_EXPORT Object* class_createInstance(Class* of, std::size_t extra) {
  return of != nullptr ? create_instance(of, extra) : nullptr;
}
HALYARD_OBJC_EXPORT Object* object_dispose(Object* object) {
  if (object != nullptr) destroy_instance(object);
  return nullptr;
}

// --- classes

HALYARD_OBJC_EXPORT const char* class_getName(Class* of) {
  return of != nullptr ? of->state->name.c_str() : "nil";
}
HALYARD_OBJC_EXPORT Class* class_getSuperclass(Class* of) {
  return of != nullptr ? of->superclass : nullptr;
}
HALYARD_OBJC_EXPORT bool class_isMetaClass(Class* of) {
  return of != nullptr && of->state->is_meta;
}
HALYARD_OBJC_EXPORT std::size_t class_getInstanceSize(Class* of) {
  return of != nullptr ? (of->state->instance_size + 7u) / 8 * 8 : 0;
}
HALYARD_OBJC_EXPORT Method* class_getInstanceMethod(Class* of, Selector selector) {
  return of != nullptr && selector != nullptr ? find_method(of, selector) : nullptr;
}
HALYARD_OBJC_EXPORT Method* class_getClassMethod(Class* of, Selector selector) {
  return of != nullptr ? class_getInstanceMethod(of->isa, selector) : nullptr;
}
HALYARD_OBJC_EXPORT Implementation class_getMethodImplementation(Class* of, Selector selector) {
  return of != nullptr ? find_implementation(of, selector) : nullptr;
}
HALYARD_OBJC_EXPORT Implementation class_getMethodImplementation_stret(Class* of, Selector selector) {
  return class_getMethodImplementation(of, selector);
}
HALYARD_OBJC_EXPORT bool class_respondsToSelector(Class* of, Selector selector) {
  return class_getInstanceMethod(of, selector) != nullptr;
}
HALYARD_OBJC_EXPORT bool class_conformsToProtocol(Class* of, Protocol* protocol) {
  return of != nullptr && protocol != nullptr && conforms_to(of, protocol);
}
HALYARD_OBJC_EXPORT bool class_addMethod(Class* to, Selector name, Implementation implementation,
                                         const char* types) {
  return add_method(to, name, implementation, types, false);
}
HALYARD_OBJC_EXPORT Implementation class_replaceMethod(Class* of, Selector name,
                                                       Implementation implementation,
                                                       const char* types) {
  const auto own = of->state->methods.find(name);
  const Implementation before =
      own != of->state->methods.end() ? own->second->implementation : nullptr;
  add_method(of, name, implementation, types, true);
  return before;
}
HALYARD_OBJC_EXPORT bool class_addProtocol(Class* to, Protocol* protocol) {
  if (conforms_to(to, protocol)) return false;
  to->state->protocols.push_back(protocol);
  return true;
}
// Only between objc_allocateClassPair and objc_registerClassPair.
HALYARD_OBJC_EXPORT bool class_addIvar(Class* to, const char* name, std::size_t size,
                                       std::uint8_t alignment_log2, const char* types) {
  if (to->state->is_registered || find_ivar(to, name) != nullptr) return false;
  const std::uint32_t alignment = 1u << alignment_log2;
  const std::uint32_t offset = (to->state->instance_size + alignment - 1) / alignment * alignment;
  to->state->ivars.push_back(new Ivar{new std::int64_t{offset}, ::strdup(name), ::strdup(types),
                                      alignment_log2, static_cast<std::uint32_t>(size)});
  to->state->instance_size = offset + static_cast<std::uint32_t>(size);
  return true;
}
HALYARD_OBJC_EXPORT Ivar* class_getInstanceVariable(Class* of, const char* name) {
  return find_ivar(of, name);
}
HALYARD_OBJC_EXPORT Ivar** class_copyIvarList(Class* of, unsigned* count) {
  return copy_list<Ivar*>(of->state->ivars, count);
}
HALYARD_OBJC_EXPORT Method** class_copyMethodList(Class* of, unsigned* count) {
  std::vector<Method*> all;
  for (const auto& [name, method] : of->state->methods) all.push_back(method);
  return copy_list<Method*>(all, count);
}
HALYARD_OBJC_EXPORT Protocol** class_copyProtocolList(Class* of, unsigned* count) {
  return copy_list<Protocol*>(of->state->protocols, count);
}
HALYARD_OBJC_EXPORT Class* objc_allocateClassPair(Class* superclass, const char* name,
                                                  std::size_t extra) {
  return allocate_class_pair(superclass, name, extra);
}
HALYARD_OBJC_EXPORT void objc_registerClassPair(Class* made) { register_class_pair(made); }

// --- methods, variables, protocols

HALYARD_OBJC_EXPORT Selector method_getName(Method* method) {
  return method != nullptr ? method->name : nullptr;
}
HALYARD_OBJC_EXPORT Implementation method_getImplementation(Method* method) {
  return method != nullptr ? method->implementation : nullptr;
}
HALYARD_OBJC_EXPORT const char* method_getTypeEncoding(Method* method) {
  return method != nullptr ? method->types : nullptr;
}
HALYARD_OBJC_EXPORT Implementation method_setImplementation(Method* method,
                                                            Implementation implementation) {
  const Implementation before = method->implementation;
  set_implementation(method, implementation);
  return before;
}
HALYARD_OBJC_EXPORT void method_exchangeImplementations(Method* a, Method* b) {
  const Implementation of_a = a->implementation;
  set_implementation(a, b->implementation);
  set_implementation(b, of_a);
}
HALYARD_OBJC_EXPORT const char* ivar_getName(Ivar* ivar) { return ivar->name; }
HALYARD_OBJC_EXPORT const char* ivar_getTypeEncoding(Ivar* ivar) { return ivar->type; }
HALYARD_OBJC_EXPORT std::ptrdiff_t ivar_getOffset(Ivar* ivar) { return *ivar->offset; }
HALYARD_OBJC_EXPORT const char* protocol_getName(Protocol* protocol) { return protocol->name; }
HALYARD_OBJC_EXPORT bool protocol_isEqual(Protocol* a, Protocol* b) { return a == b; }
HALYARD_OBJC_EXPORT bool protocol_conformsToProtocol(Protocol* a, Protocol* b) {
  return conforms_to(a, b);
}

// --- errors that compilers call

HALYARD_OBJC_EXPORT void objc_enumerationMutation(Object* collection) {
  std::fprintf(stderr, "objc: a %s was changed while it was enumerated\n",
               object_getClassName(collection));
  std::abort();
}
HALYARD_OBJC_EXPORT void objc_exception_throw(Object* exception) {
  std::fprintf(stderr, "objc: an exception of class %s was thrown, which ends the process here\n",
               object_getClassName(exception));
  std::abort();
}
