// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSObject, the classes of blocks, and NSAutoreleasePool, over the runtime's functions.
#include <cstdio>
#include <cstdlib>

#import <Foundation/Foundation.h>
#import <objc/runtime.h>

extern "C" {
id _objc_rootAlloc(Class of);
id _objc_rootRetain(id object);
void _objc_rootRelease(id object);
id _objc_rootAutorelease(id object);
void _objc_rootDealloc(id object);
NSUInteger _objc_rootRetainCount(id object);
void* objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void* token);
void* _Block_copy(const void* block);
void _Block_release(const void* block);
}

@implementation NSObject
+ (void)load {
}
+ (void)initialize {
}
+ (instancetype)alloc {
  return _objc_rootAlloc(self);
}
+ (instancetype)allocWithZone:(NSZone*)zone {
  return [self alloc];
}
+ (instancetype)new {
  return [[self alloc] init];
}
- (instancetype)init {
  return self;
}
- (void)dealloc {
  _objc_rootDealloc(self);
}
- (instancetype)retain {
  return _objc_rootRetain(self);
}
- (oneway void)release {
  _objc_rootRelease(self);
}
- (instancetype)autorelease {
  return _objc_rootAutorelease(self);
}
- (NSUInteger)retainCount {
  return _objc_rootRetainCount(self);
}
// A class is an object that is never counted.
+ (instancetype)retain {
  return (id)self;
}
+ (oneway void)release {
}
+ (instancetype)autorelease {
  return (id)self;
}
+ (NSUInteger)retainCount {
  return NSUIntegerMax;
}

- (id)copy {
  return [(id<NSCopying>)self copyWithZone:nullptr];
}
- (id)mutableCopy {
  return [(id<NSMutableCopying>)self mutableCopyWithZone:nullptr];
}
+ (id)copyWithZone:(NSZone*)zone {
  return self;
}

+ (Class)class {
  return self;
}
- (Class)class {
  return object_getClass(self);
}
+ (Class)superclass {
  return class_getSuperclass(self);
}
- (Class)superclass {
  return class_getSuperclass(object_getClass(self));
}
- (instancetype)self {
  return self;
}
+ (BOOL)isKindOfClass:(Class)of {
  for (Class one = object_getClass(self); one != Nil; one = class_getSuperclass(one)) {
    if (one == of) return YES;
  }
  return NO;
}
- (BOOL)isKindOfClass:(Class)of {
  for (Class one = object_getClass(self); one != Nil; one = class_getSuperclass(one)) {
    if (one == of) return YES;
  }
  return NO;
}
- (BOOL)isMemberOfClass:(Class)of {
  return object_getClass(self) == of;
}
+ (BOOL)isSubclassOfClass:(Class)of {
  for (Class one = self; one != Nil; one = class_getSuperclass(one)) {
    if (one == of) return YES;
  }
  return NO;
}
- (BOOL)isProxy {
  return NO;
}
+ (BOOL)conformsToProtocol:(Protocol*)protocol {
  for (Class one = self; one != Nil; one = class_getSuperclass(one)) {
    if (class_conformsToProtocol(one, protocol)) return YES;
  }
  return NO;
}
- (BOOL)conformsToProtocol:(Protocol*)protocol {
  return [object_getClass(self) conformsToProtocol:protocol];
}
+ (BOOL)instancesRespondToSelector:(SEL)selector {
  return class_respondsToSelector(self, selector);
}
+ (BOOL)respondsToSelector:(SEL)selector {
  return class_respondsToSelector(object_getClass(self), selector);
}
- (BOOL)respondsToSelector:(SEL)selector {
  return class_respondsToSelector(object_getClass(self), selector);
}
+ (IMP)instanceMethodForSelector:(SEL)selector {
  return class_getMethodImplementation(self, selector);
}
- (IMP)methodForSelector:(SEL)selector {
  return class_getMethodImplementation(object_getClass(self), selector);
}
- (id)performSelector:(SEL)selector {
  return reinterpret_cast<id (*)(id, SEL)>([self methodForSelector:selector])(self, selector);
}
- (id)performSelector:(SEL)selector withObject:(id)object {
  return reinterpret_cast<id (*)(id, SEL, id)>([self methodForSelector:selector])(self, selector,
                                                                                 object);
}
- (id)performSelector:(SEL)selector withObject:(id)object1 withObject:(id)object2 {
  return reinterpret_cast<id (*)(id, SEL, id, id)>([self methodForSelector:selector])(
      self, selector, object1, object2);
}
- (void)doesNotRecognizeSelector:(SEL)selector {
  std::fprintf(stderr, "objc: -[%s %s]: unrecognized selector\n", object_getClassName(self),
               sel_getName(selector));
  std::abort();
}

- (BOOL)isEqual:(id)object {
  return self == object;
}
- (NSUInteger)hash {
  return reinterpret_cast<NSUInteger>(self) >> 4;
}
+ (NSUInteger)hash {
  return reinterpret_cast<NSUInteger>(self) >> 4;
}
- (NSString*)description {
  return [NSString stringWithFormat:@"<%s: %p>", object_getClassName(self),
                                    static_cast<void*>(self)];
}
+ (NSString*)description {
  return [NSString stringWithUTF8String:class_getName(self)];
}
- (NSString*)debugDescription {
  return [self description];
}
@end

// --- blocks, which count their users themselves

@interface NSBlock : NSObject <NSCopying>
@end
@implementation NSBlock
- (id)copyWithZone:(NSZone*)zone {
  return (id)_Block_copy(self);
}
- (instancetype)retain {
  return (id)_Block_copy(self);
}
- (oneway void)release {
  _Block_release(self);
}
- (NSUInteger)retainCount {
  return 1;
}
@end
@interface __NSStackBlock__ : NSBlock
@end
@implementation __NSStackBlock__
// Apple: a block on the stack is not kept by retain, only by copy.
- (instancetype)retain {
  return self;
}
- (oneway void)release {
}
@end
@interface __NSMallocBlock__ : NSBlock
@end
@implementation __NSMallocBlock__
@end
@interface __NSGlobalBlock__ : NSBlock
@end
@implementation __NSGlobalBlock__
- (instancetype)retain {
  return self;
}
- (oneway void)release {
}
@end
// The names that compilers write into blocks (Block-ABI-Apple.html).
#define HALYARD_OBJC_ALIAS(name, of) asm(".globl " #name "\n.set " #name ", OBJC_CLASS_$_" #of "\n")
HALYARD_OBJC_ALIAS(_NSConcreteStackBlock, __NSStackBlock__);
HALYARD_OBJC_ALIAS(_NSConcreteMallocBlock, __NSMallocBlock__);
HALYARD_OBJC_ALIAS(_NSConcreteGlobalBlock, __NSGlobalBlock__);

@implementation NSAutoreleasePool
- (instancetype)init {
  token_ = objc_autoreleasePoolPush();
  return self;
}
+ (void)addObject:(id)object {
  [object autorelease];
}
- (void)addObject:(id)object {
  [object autorelease];
}
- (void)drain {
  [self release];
}
// The pool ends before its object is deallocated; the object itself is in no pool.
- (void)dealloc {
  objc_autoreleasePoolPop(token_);
  [super dealloc];
}
@end
