// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Objective-C runtime: messages, classes, blocks, pools, counts, and reports.
#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#import <Foundation/Foundation.h>
#import <objc/message.h>
#import <objc/runtime.h>

#include <gtest/gtest.h>

#include "simulation/metal/objc/accounting.h"

using namespace halyard::sim;

struct Triple {
  unsigned long x, y, z;
};
struct Pair {
  double first, second;
};

static std::atomic<int> cxx_alive = 0;
struct CxxMember {
  CxxMember() { ++cxx_alive; }
  ~CxxMember() { --cxx_alive; }
  std::string text = "constructed";
};

@protocol Greets <NSObject>
- (int)greet:(int)times;
@optional
- (void)wave;
@end

@interface Base : NSObject <Greets> {
 @public
  int base_value;
  CxxMember member;
}
@property(copy) NSString* name;
@property(retain) NSObject* partner;
@property int number;
- (Triple)triple:(Triple)added times:(unsigned long)times;
- (Pair)pairOf:(double)first and:(double)second;
- (double)sum:(double)a
            b:(double)b
            c:(double)c
            d:(double)d
            e:(double)e
            f:(double)f
            g:(double)g
            h:(double)h
        count:(int)count;
- (long)sixth:(long)a b:(long)b c:(long)c d:(long)d e:(long)e f:(long)f;
@end
@implementation Base
@synthesize name = name_, partner = partner_, number = number_;
- (int)greet:(int)times {
  return times + base_value;
}
- (Triple)triple:(Triple)added times:(unsigned long)times {
  return {added.x * times, added.y * times,
          added.z * times + static_cast<unsigned long>(base_value)};
}
- (Pair)pairOf:(double)first and:(double)second {
  return {second, first};
}
- (double)sum:(double)a
            b:(double)b
            c:(double)c
            d:(double)d
            e:(double)e
            f:(double)f
            g:(double)g
            h:(double)h
        count:(int)count {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + count;
}
- (long)sixth:(long)a b:(long)b c:(long)c d:(long)d e:(long)e f:(long)f {
  return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f;
}
- (void)dealloc {
  [name_ release];
  [partner_ release];
  [super dealloc];
}
@end

@interface Derived : Base {
 @public
  long derived_value;
}
@end
@implementation Derived
static int derived_initialized = 0;
+ (void)initialize {
  if (self == [Derived class]) ++derived_initialized;
}
- (int)greet:(int)times {
  return 2 * [super greet:times];
}
- (Triple)triple:(Triple)added times:(unsigned long)times {
  Triple inherited = [super triple:added times:times];
  inherited.x += 1000;
  return inherited;
}
@end

@interface Base (More)
- (int)more;
@end
@implementation Base (More)
- (int)more {
  return 77 + base_value;
}
@end

namespace {

std::vector<std::pair<objc::Misuse, std::string>>& noticed() {
  static std::vector<std::pair<objc::Misuse, std::string>> all;
  return all;
}

// Collects the misuse that the runtime reports during its lifetime.
struct Noticing {
  Noticing() {
    noticed().clear();
    objc::set_misuse_handler(
        [](objc::Misuse misuse, const std::string& text) { noticed().emplace_back(misuse, text); });
  }
  ~Noticing() { objc::set_misuse_handler(nullptr); }
};

std::int64_t alive(std::string_view name) {
  for (const objc::Count& count : objc::counts()) {
    if (count.class_name == name) return count.created - count.destroyed;
  }
  return 0;
}

class ObjcRuntime : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(alive("Base"), 0);
    EXPECT_EQ(alive("Derived"), 0);
    EXPECT_EQ(cxx_alive, 0);
  }
};

TEST_F(ObjcRuntime, Messages_PassStructuresByValue) {
  Base* const base = [[Base alloc] init];
  base->base_value = 5;
  const Triple triple = [base triple:{1, 2, 3} times:10];
  EXPECT_EQ(triple.x, 10u);
  EXPECT_EQ(triple.y, 20u);
  EXPECT_EQ(triple.z, 35u);
  const Pair pair = [base pairOf:1.5 and:2.5];
  EXPECT_EQ(pair.first, 2.5);
  EXPECT_EQ(pair.second, 1.5);
  [base release];
}

// The first message to a class goes through the lookup, which must keep every argument register.
TEST_F(ObjcRuntime, FirstMessage_KeepsAllArgumentRegisters) {
  Base* const base = [[Base alloc] init];
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ([base sum:1 b:2 c:3 d:4 e:5 f:6 g:7 h:8 count:9],
              1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 9);
    EXPECT_EQ([base sixth:1 b:2 c:3 d:4 e:5 f:6], 654321);
  }
  [base release];
}

TEST_F(ObjcRuntime, MessageToNil_ReturnsZero) {
  Base* const none = nil;
  EXPECT_EQ([none greet:3], 0);
  EXPECT_EQ([none pairOf:1 and:2].first, 0.0);
  EXPECT_EQ(([none sum:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 count:1]), 0.0);
  EXPECT_EQ(([none triple:{1, 2, 3} times:1].z), 0u);
  EXPECT_EQ([none name], nil);
}

TEST_F(ObjcRuntime, Super_StartsAtTheSuperclassOfTheMethod) {
  Derived* const derived = [[Derived alloc] init];
  derived->base_value = 1;
  EXPECT_EQ([derived greet:4], 10);
  EXPECT_EQ(([derived triple:{1, 1, 1} times:2].x), 1002u);
  EXPECT_EQ([derived more], 78);
  [derived release];
  EXPECT_EQ(derived_initialized, 1);
}

TEST_F(ObjcRuntime, Classes_KnowTheirNamesProtocolsAndMethods) {
  EXPECT_EQ(objc_getClass("Derived"), [Derived class]);
  EXPECT_EQ(class_getSuperclass([Derived class]), [Base class]);
  EXPECT_TRUE([Base conformsToProtocol:@protocol(Greets)]);
  EXPECT_TRUE([Derived conformsToProtocol:objc_getProtocol("Greets")]);
  EXPECT_FALSE([NSObject conformsToProtocol:@protocol(Greets)]);
  EXPECT_TRUE([Base instancesRespondToSelector:@selector(more)]);
  EXPECT_FALSE([Base instancesRespondToSelector:@selector(wave)]);
  EXPECT_EQ(sel_registerName("greet:"), @selector(greet:));
  EXPECT_STREQ(sel_getName(@selector(greet:)), "greet:");
  EXPECT_GE(class_getInstanceSize([Derived class]),
            class_getInstanceSize([Base class]) + sizeof(long));
  EXPECT_EQ(objc_lookUpClass("NoSuchClass"), Nil);
}

int added_method(id self, SEL, int value) { return value * 3 + (self != nil); }

TEST_F(ObjcRuntime, ClassPair_IsMadeAtRunTime) {
  const Class made = objc_allocateClassPair([Base class], "MadeAtRunTime", 0);
  ASSERT_NE(made, Nil);
  EXPECT_TRUE(
      class_addMethod(made, @selector(greet:), reinterpret_cast<IMP>(&added_method), "i@:i"));
  objc_registerClassPair(made);
  EXPECT_EQ(objc_allocateClassPair([Base class], "MadeAtRunTime", 0), Nil);
  Base* const object = [[made alloc] init];
  EXPECT_EQ([object greet:5], 16);
  EXPECT_EQ([object more], 77);
  [object release];
}

TEST_F(ObjcRuntime, ReplacedMethod_IsCalledAfterItWasCached) {
  Derived* const derived = [[Derived alloc] init];
  EXPECT_EQ([derived more], 77);
  const Method method = class_getInstanceMethod([Base class], @selector(more));
  const IMP before = method_setImplementation(
      method, reinterpret_cast<IMP>(static_cast<int (*)(id, SEL)>([](id, SEL) { return 5; })));
  EXPECT_EQ([derived more], 5);
  method_setImplementation(method, before);
  EXPECT_EQ([derived more], 77);
  [derived release];
}

TEST_F(ObjcRuntime, Properties_CopyAndRetain) {
  @autoreleasepool {
    Base* const base = [[Base alloc] init];
    NSMutableString* const text = [NSMutableString stringWithUTF8String:"one"];
    base.name = text;
    [text appendString:@" two"];
    EXPECT_TRUE([base.name isEqualToString:@"one"]);
    base.partner = [[[Derived alloc] init] autorelease];
    base.partner = nil;
    base.number = 12;
    EXPECT_EQ(base.number, 12);
    [base release];
  }
}

TEST_F(ObjcRuntime, CxxMembers_AreConstructedAndDestroyed) {
  Derived* const derived = [[Derived alloc] init];
  EXPECT_EQ(cxx_alive, 1);
  EXPECT_EQ(derived->member.text, "constructed");
  [derived release];
  EXPECT_EQ(cxx_alive, 0);
}

TEST_F(ObjcRuntime, Blocks_AreObjectsAndRetainWhatTheyUse) {
  @autoreleasepool {
    Base* const base = [[Base alloc] init];
    __block int total = 1;
    int (^const block)(int) = ^(int more) {
      total += more + [base greet:0];
      return total;
    };
    int (^const copied)(int) = [block copy];
    EXPECT_EQ([base retainCount], 2u);
    [base release];
    EXPECT_EQ(copied(4), 5);
    EXPECT_EQ(total, 5);
    NSArray* const kept = @[ copied ];
    [copied release];
    EXPECT_EQ(static_cast<int (^)(int)>([kept objectAtIndex:0])(1), 6);
    EXPECT_EQ(alive("Base"), 1);
  }
}

TEST_F(ObjcRuntime, Pool_ReleasesOnTheThreadThatOwnsIt) {
  Noticing noticing;
  std::thread([] {
    @autoreleasepool {
      [[[Base alloc] init] autorelease];
      @autoreleasepool {
        [[[Base alloc] init] autorelease];
        EXPECT_EQ(alive("Base"), 2);
      }
      EXPECT_EQ(alive("Base"), 1);
    }
    EXPECT_EQ(alive("Base"), 0);
  }).join();
  EXPECT_TRUE(noticed().empty());
}

TEST_F(ObjcRuntime, AutoreleaseWithoutPool_IsReported) {
  Noticing noticing;
  Base* object = nil;
  std::thread([&] {
    object = [[Base alloc] init];
    [[object retain] autorelease];
  }).join();
  ASSERT_EQ(noticed().size(), 1u);
  EXPECT_EQ(noticed()[0].first, objc::Misuse::kMissingPool);
  EXPECT_NE(noticed()[0].second.find("Base"), std::string::npos);
  while ([object retainCount] > 1) [object release];
  [object release];
}

TEST_F(ObjcRuntime, MessageToDestroyedObject_IsReportedByClassAndSelector) {
  Noticing noticing;
  Base* const base = [[Base alloc] init];
  [base release];
  EXPECT_EQ([base greet:1], 0);
  ASSERT_EQ(noticed().size(), 1u);
  EXPECT_EQ(noticed()[0].first, objc::Misuse::kMessageToDestroyed);
  EXPECT_NE(noticed()[0].second.find("Base"), std::string::npos);
  EXPECT_NE(noticed()[0].second.find("greet:"), std::string::npos);
}

TEST_F(ObjcRuntime, OverRelease_IsReported) {
  Noticing noticing;
  Base* const base = [[Base alloc] init];
  [base release];
  [base release];
  ASSERT_EQ(noticed().size(), 1u);
  EXPECT_EQ(noticed()[0].first, objc::Misuse::kOverRelease);
  EXPECT_NE(noticed()[0].second.find("Base"), std::string::npos);
}

TEST_F(ObjcRuntime, UnknownMessage_EndsTheProcessWithItsName) {
  EXPECT_DEATH(
      {
        Base* const base = [[Base alloc] init];
        [base wave];
      },
      "Base.*wave");
}

TEST_F(ObjcRuntime, AssociatedObjects_LiveAsLongAsTheirOwner) {
  static const char kKey = 0;
  @autoreleasepool {
    NSObject* const owner = [[NSObject alloc] init];
    Base* const value = [[Base alloc] init];
    objc_setAssociatedObject(owner, &kKey, value, OBJC_ASSOCIATION_RETAIN);
    [value release];
    EXPECT_EQ(objc_getAssociatedObject(owner, &kKey), value);
    EXPECT_EQ(alive("Base"), 1);
    [owner release];
  }
  EXPECT_EQ(alive("Base"), 0);
}

TEST_F(ObjcRuntime, Synchronized_IsRecursiveAndExcludes) {
  NSObject* const lock = [[NSObject alloc] init];
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < 10000; ++i) {
      @synchronized(lock) {
        @synchronized(lock) {
          ++count;
        }
      }
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(count, 20000);
  [lock release];
}

TEST_F(ObjcRuntime, Counts_AreExactUnderThreads) {
  Base* const base = [[Base alloc] init];
  const auto work = [&] {
    for (int i = 0; i < 20000; ++i) {
      [base retain];
      [[[Base alloc] init] release];
      [base release];
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ([base retainCount], 1u);
  [base release];
}

}  // namespace
