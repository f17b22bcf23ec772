// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes, methods, properties and protocols at run time. All functions are safe from any thread,
// except that a class pair belongs to one thread until it is registered. Names are copied. The
// caller frees lists of functions named "copy" with free(3); they end with a null that is not
// counted. A nil object, class or selector gives nil, NULL, zero or NO.
#pragma once

#include <objc/objc.h>

typedef struct objc_method* Method;
typedef struct objc_ivar* Ivar;
typedef struct objc_category* Category;
typedef struct objc_property* objc_property_t;
#ifdef __OBJC__
@class Protocol;
#else
typedef struct objc_object Protocol;
#endif

struct objc_method_description {
  SEL name;
  char* types;
};

typedef struct {
  const char* name;
  const char* value;
} objc_property_attribute_t;

// Objects.
OBJC_EXPORT Class object_getClass(id object);
OBJC_EXPORT Class object_setClass(id object, Class cls);
OBJC_EXPORT BOOL object_isClass(id object);
OBJC_EXPORT id object_getIvar(id object, Ivar ivar);
OBJC_EXPORT void object_setIvar(id object, Ivar ivar, id value);
OBJC_EXPORT Ivar object_getInstanceVariable(id object, const char* name, void** value);
OBJC_EXPORT Ivar object_setInstanceVariable(id object, const char* name, void* value);
OBJC_EXPORT void* object_getIndexedIvars(id object);
// A bytewise copy with a retain count of one.
OBJC_EXPORT id object_copy(id object, size_t size);
// Runs C++ destructors and frees. Returns nil.
OBJC_EXPORT id object_dispose(id object);

// Classes by name.
OBJC_EXPORT Class objc_getClass(const char* name);
OBJC_EXPORT Class objc_lookUpClass(const char* name);
OBJC_EXPORT Class objc_getMetaClass(const char* name);
// As objc_getClass, but aborts if there is no such class.
OBJC_EXPORT Class objc_getRequiredClass(const char* name);
OBJC_EXPORT int objc_getClassList(Class* buffer, int count);
OBJC_EXPORT Class* objc_copyClassList(unsigned int* count);

// Properties of a class.
OBJC_EXPORT const char* class_getName(Class cls);
OBJC_EXPORT BOOL class_isMetaClass(Class cls);
OBJC_EXPORT Class class_getSuperclass(Class cls);
OBJC_EXPORT int class_getVersion(Class cls);
OBJC_EXPORT void class_setVersion(Class cls, int version);
OBJC_EXPORT size_t class_getInstanceSize(Class cls);
OBJC_EXPORT Ivar class_getInstanceVariable(Class cls, const char* name);
OBJC_EXPORT Ivar class_getClassVariable(Class cls, const char* name);
OBJC_EXPORT Ivar* class_copyIvarList(Class cls, unsigned int* count);
OBJC_EXPORT Method class_getInstanceMethod(Class cls, SEL name);
OBJC_EXPORT Method class_getClassMethod(Class cls, SEL name);
// Never NULL: without a method, the function that reports the message.
OBJC_EXPORT IMP class_getMethodImplementation(Class cls, SEL name);
OBJC_EXPORT IMP class_getMethodImplementation_stret(Class cls, SEL name);
OBJC_EXPORT BOOL class_respondsToSelector(Class cls, SEL name);
OBJC_EXPORT Method* class_copyMethodList(Class cls, unsigned int* count);
OBJC_EXPORT BOOL class_conformsToProtocol(Class cls, Protocol* protocol);
OBJC_EXPORT Protocol** class_copyProtocolList(Class cls, unsigned int* count);
OBJC_EXPORT objc_property_t class_getProperty(Class cls, const char* name);
OBJC_EXPORT objc_property_t* class_copyPropertyList(Class cls, unsigned int* count);

// Changes to a class. class_addMethod returns NO if the class itself has the method.
OBJC_EXPORT BOOL class_addMethod(Class cls, SEL name, IMP implementation, const char* types);
OBJC_EXPORT IMP class_replaceMethod(Class cls, SEL name, IMP implementation, const char* types);
// Only before the class is registered. `alignment` is log2 of the bytes.
OBJC_EXPORT BOOL class_addIvar(Class cls, const char* name, size_t size, uint8_t alignment,
                               const char* types);
OBJC_EXPORT BOOL class_addProtocol(Class cls, Protocol* protocol);
OBJC_EXPORT id class_createInstance(Class cls, size_t extra_bytes);

// New classes. objc_allocateClassPair returns Nil if the name is in use.
OBJC_EXPORT Class objc_allocateClassPair(Class superclass, const char* name, size_t extra_bytes);
OBJC_EXPORT void objc_registerClassPair(Class cls);
OBJC_EXPORT void objc_disposeClassPair(Class cls);

// Methods.
OBJC_EXPORT SEL method_getName(Method method);
OBJC_EXPORT IMP method_getImplementation(Method method);
OBJC_EXPORT const char* method_getTypeEncoding(Method method);
OBJC_EXPORT unsigned int method_getNumberOfArguments(Method method);
OBJC_EXPORT char* method_copyReturnType(Method method);
OBJC_EXPORT char* method_copyArgumentType(Method method, unsigned int index);
OBJC_EXPORT IMP method_setImplementation(Method method, IMP implementation);
OBJC_EXPORT void method_exchangeImplementations(Method first, Method second);

// Instance variables. The offset is in bytes from the object.
OBJC_EXPORT const char* ivar_getName(Ivar ivar);
OBJC_EXPORT const char* ivar_getTypeEncoding(Ivar ivar);
OBJC_EXPORT ptrdiff_t ivar_getOffset(Ivar ivar);

// Properties.
OBJC_EXPORT const char* property_getName(objc_property_t property);
OBJC_EXPORT const char* property_getAttributes(objc_property_t property);

// Protocols.
OBJC_EXPORT Protocol* objc_getProtocol(const char* name);
OBJC_EXPORT const char* protocol_getName(Protocol* protocol);
OBJC_EXPORT BOOL protocol_isEqual(Protocol* first, Protocol* second);
OBJC_EXPORT BOOL protocol_conformsToProtocol(Protocol* protocol, Protocol* other);
OBJC_EXPORT struct objc_method_description protocol_getMethodDescription(Protocol* protocol,
                                                                         SEL name,
                                                                         BOOL is_required,
                                                                         BOOL is_instance);
OBJC_EXPORT struct objc_method_description* protocol_copyMethodDescriptionList(
    Protocol* protocol, BOOL is_required, BOOL is_instance, unsigned int* count);

// Selectors.
OBJC_EXPORT BOOL sel_isEqual(SEL first, SEL second);
OBJC_EXPORT BOOL sel_isMapped(SEL selector);

// Values that live as long as `object` or until they are replaced.
typedef uintptr_t objc_AssociationPolicy;
enum {
  OBJC_ASSOCIATION_ASSIGN = 0,
  OBJC_ASSOCIATION_RETAIN_NONATOMIC = 1,
  OBJC_ASSOCIATION_COPY_NONATOMIC = 3,
  OBJC_ASSOCIATION_RETAIN = 01401,
  OBJC_ASSOCIATION_COPY = 01403,
};
OBJC_EXPORT void objc_setAssociatedObject(id object, const void* key, id value,
                                          objc_AssociationPolicy policy);
OBJC_EXPORT id objc_getAssociatedObject(id object, const void* key);
OBJC_EXPORT void objc_removeAssociatedObjects(id object);


// @synchronized. Recursive. Return 0.
OBJC_EXPORT int objc_sync_enter(id object);
OBJC_EXPORT int objc_sync_exit(id object);
