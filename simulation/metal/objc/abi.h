// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What clang emits for Objective-C classes with -fobjc-runtime=macosx: Apple's non-fragile ABI of 64-bit
// processes (clang/lib/CodeGen/CGObjCMac.cpp; objc-runtime-new.h of Apple's objc4). On ELF the sections
// are named without a leading "__".
#pragma once

#include <cstddef>
#include <cstdint>

namespace halyard::inline v0::sim::objc {

struct Class;
using Implementation = void (*)();

struct Object {
  Class* isa;
};

// A selector is the address of its name, which is unique in the process: find_selector().
using Selector = const char*;

struct Method {
  Selector name;
  const char* types;
  Implementation implementation;
};

struct MethodList {
  std::uint32_t entry_size;
  std::uint32_t count;
  Method* begin() { return reinterpret_cast<Method*>(this + 1); }
  Method* end() { return begin() + count; }
};

struct Ivar {
  std::int64_t* offset;  // all code reads it: it changes if the superclass has grown
  const char* name;
  const char* type;
  std::uint32_t alignment_log2;
  std::uint32_t size;
};

struct IvarList {
  std::uint32_t entry_size;
  std::uint32_t count;
  Ivar* begin() { return reinterpret_cast<Ivar*>(this + 1); }
  Ivar* end() { return begin() + count; }
};

struct Property {
  const char* name;
  const char* attributes;
};

struct PropertyList {
  std::uint32_t entry_size;
  std::uint32_t count;
  Property* begin() { return reinterpret_cast<Property*>(this + 1); }
  Property* end() { return begin() + count; }
};

struct Protocol;
struct ProtocolList {
  std::int64_t count;
  Protocol** begin() { return reinterpret_cast<Protocol**>(this + 1); }
  Protocol** end() { return begin() + count; }
};

struct Protocol {
  Class* isa;
  const char* name;
  ProtocolList* protocols;
  MethodList* instance_methods;
  MethodList* class_methods;
  MethodList* optional_instance_methods;
  MethodList* optional_class_methods;
  PropertyList* instance_properties;
  std::uint32_t size;
  std::uint32_t flags;
};

inline constexpr std::uint32_t kIsMeta = 1 << 0;
inline constexpr std::uint32_t kIsRoot = 1 << 1;
inline constexpr std::uint32_t kHasCxxDestructor = 1 << 2;

// The compiler's data of a class.
struct ClassData {
  std::uint32_t flags;
  std::uint32_t instance_start;
  std::uint32_t instance_size;
  std::uint32_t reserved;
  const std::uint8_t* strong_layout;
  const char* name;
  MethodList* methods;
  ProtocolList* protocols;
  IvarList* ivars;
  const std::uint8_t* weak_layout;
  PropertyList* properties;
};

struct MethodCache;
struct ClassState;

struct Class {
  Class* isa;
  Class* superclass;
  MethodCache* cache;  // message.S reads it; the compiler sets null or _objc_empty_cache
  ClassState* state;   // ours, once the class is realized; the ABI's vtable
  ClassData* data;
};
static_assert(sizeof(Class) == 40 && offsetof(Class, cache) == 16);

struct Category {
  const char* name;
  Class* target;
  MethodList* instance_methods;
  MethodList* class_methods;
  ProtocolList* protocols;
  PropertyList* instance_properties;
  PropertyList* class_properties;
  std::uint32_t size;
};

// The table that objc_msgSend reads first: one place for each selector, by the low bits of its
// address.
struct MethodCache {
  std::uint64_t mask;  // (places - 1) * sizeof(Place); selectors are multiples of sizeof(Place)
  std::uint64_t padding;
  struct Place {
    Selector selector;
    Implementation implementation;
  } places[];
};
static_assert(offsetof(MethodCache, places) == 16 && sizeof(MethodCache::Place) == 16);

}  // namespace halyard::inline v0::sim::objc
