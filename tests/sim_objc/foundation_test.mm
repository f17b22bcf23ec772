// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Foundation and Dispatch: literals, collections, texts, errors, locks, notifications, queues.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#import <Foundation/Foundation.h>
#import <dispatch/dispatch.h>

#include <gtest/gtest.h>

namespace {

class Foundation : public testing::Test {
 protected:
  void SetUp() override { pool_ = [[NSAutoreleasePool alloc] init]; }
  void TearDown() override { [pool_ drain]; }

 private:
  NSAutoreleasePool* pool_ = nil;
};

TEST_F(Foundation, Literals_AreObjects) {
  NSArray* const array = @[ @1, @2.5, @"three", @YES ];
  EXPECT_EQ([array count], 4u);
  EXPECT_EQ([array[0] intValue], 1);
  EXPECT_EQ([array[1] doubleValue], 2.5);
  EXPECT_STREQ([array[2] UTF8String], "three");
  NSDictionary* const dictionary = @{@"one" : @1, @"two" : @2};
  EXPECT_EQ([dictionary[@"two"] intValue], 2);
  EXPECT_EQ(dictionary[@"none"], nil);
  EXPECT_STREQ([@(7) stringValue].UTF8String, "7");
}

TEST_F(Foundation, FastEnumeration_VisitsEachObjectOnce) {
  NSMutableArray* const array = [NSMutableArray array];
  for (int i = 0; i < 100; ++i) [array addObject:@(i)];
  int sum = 0;
  for (NSNumber* number in array) sum += [number intValue];
  EXPECT_EQ(sum, 4950);
  int keys = 0;
  for (NSString* key in @{@"a" : @1, @"b" : @2}) keys += [key length] == 1;
  EXPECT_EQ(keys, 2);
}

TEST_F(Foundation, ChangeDuringEnumeration_EndsTheProcess) {
  EXPECT_DEATH(
      {
        NSMutableArray* const array = [NSMutableArray array];
        for (int i = 0; i < 100; ++i) [array addObject:@(i)];
        for (id object in array) [array addObject:object];
      },
      "");
}

TEST_F(Foundation, Strings_CountUtf16Units) {
  NSString* const text = [NSString stringWithUTF8String:"a\xc3\xa4\xf0\x9f\x98\x80"];
  EXPECT_EQ([text length], 4u);
  EXPECT_EQ([text characterAtIndex:1], 0xe4);
  EXPECT_EQ([text characterAtIndex:2], 0xd83d);
  EXPECT_EQ([NSString stringWithUTF8String:"\xff"], nil);
  EXPECT_TRUE([[@"x" stringByAppendingString:@"y"] isEqualToString:@"xy"]);
  NSString* const formatted = [NSString stringWithFormat:@"%d %@ %s %.1f", 3, @"b", "c", 1.5];
  EXPECT_TRUE([formatted isEqualToString:@"3 b c 1.5"]);
  EXPECT_EQ([@"abc" hash], [[NSString stringWithUTF8String:"abc"] hash]);
}

TEST_F(Foundation, Dictionary_CopiesItsKeys) {
  NSMutableString* const key = [NSMutableString stringWithUTF8String:"key"];
  NSMutableDictionary* const dictionary = [NSMutableDictionary dictionary];
  [dictionary setObject:@1 forKey:key];
  [key appendString:@"s"];
  EXPECT_EQ([[dictionary objectForKey:@"key"] intValue], 1);
  [dictionary removeObjectForKey:@"key"];
  EXPECT_EQ([dictionary count], 0u);
}

TEST_F(Foundation, Error_DescribesItself) {
  NSError* const error = [NSError errorWithDomain:@"Domain"
                                             code:7
                                         userInfo:@{NSLocalizedDescriptionKey : @"why"}];
  EXPECT_EQ([error code], 7);
  EXPECT_TRUE([[error domain] isEqualToString:@"Domain"]);
  EXPECT_TRUE([[error localizedDescription] isEqualToString:@"why"]);
}

TEST_F(Foundation, FileManager_ReportsAMissingFile) {
  NSError* error = nil;
  EXPECT_FALSE([[NSFileManager defaultManager] removeItemAtPath:@"/no/such/file" error:&error]);
  EXPECT_TRUE([[error domain] isEqualToString:NSPOSIXErrorDomain]);
  EXPECT_TRUE([[NSFileManager defaultManager] fileExistsAtPath:@"/proc"]);
}

TEST_F(Foundation, Condition_WaitsUntilSignaledOrItsDate) {
  NSCondition* const condition = [[NSCondition alloc] init];
  __block bool is_done = false;
  [condition lock];
  EXPECT_FALSE([condition waitUntilDate:[NSDate dateWithTimeIntervalSinceNow:0.01]]);
  [NSThread detachNewThreadWithBlock:^{
    [condition lock];
    is_done = true;
    [condition signal];
    [condition unlock];
  }];
  while (!is_done) [condition wait];
  [condition unlock];
  [condition release];
}

TEST_F(Foundation, RecursiveLock_ExcludesOtherThreads) {
  NSRecursiveLock* const lock = [[NSRecursiveLock alloc] init];
  [lock lock];
  [lock lock];
  [lock unlock];
  std::thread([&] { EXPECT_FALSE([lock tryLock]); }).join();
  [lock unlock];
  std::thread([&] {
    EXPECT_TRUE([lock tryLock]);
    [lock unlock];
  }).join();
  [lock release];
}

TEST_F(Foundation, Notifications_ReachObserversOfTheirNameUntilRemoved) {
  NSNotificationCenter* const center = [NSNotificationCenter defaultCenter];
  __block int seen = 0;
  const id observer = [center addObserverForName:@"Name"
                                          object:nil
                                           queue:nil
                                      usingBlock:^(NSNotification* notification) {
                                        seen += [[notification object] intValue];
                                      }];
  [center postNotificationName:@"Name" object:@3];
  [center postNotificationName:@"Other" object:@100];
  [center removeObserver:observer];
  [center postNotificationName:@"Name" object:@100];
  EXPECT_EQ(seen, 3);
}

TEST_F(Foundation, Raise_EndsTheProcessWithNameAndReason) {
  EXPECT_DEATH(([NSException raise:NSRangeException format:@"index %d", 4]),
               "NSRangeException.*index 4");
}

TEST(Dispatch, SerialQueue_RunsInOrder) {
  const dispatch_queue_t queue = dispatch_queue_create("serial", DISPATCH_QUEUE_SERIAL);
  __block std::string order;
  for (char c = 'a'; c <= 'e'; ++c) {
    dispatch_async(queue, ^{
      order += c;
    });
  }
  dispatch_sync(queue, ^{
    order += '.';
  });
  EXPECT_EQ(order, "abcde.");
  dispatch_release(queue);
}

TEST(Dispatch, Semaphore_TimesOutUnlessSignaled) {
  const dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
  EXPECT_NE(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 1000000)), 0);
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    dispatch_semaphore_signal(semaphore);
  });
  EXPECT_EQ(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER), 0);
  dispatch_release(semaphore);
}

TEST(Dispatch, GroupAndApply_WaitForAllWork) {
  std::atomic<int> total{0};
  std::atomic<int>* const sum = &total;
  const dispatch_queue_t queue = dispatch_get_global_queue(0, 0);
  dispatch_apply(100, queue, ^(size_t i) {
    *sum += static_cast<int>(i);
  });
  EXPECT_EQ(total, 4950);
  const dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 10; ++i) {
    dispatch_group_async(group, queue, ^{
      *sum += 1;
    });
  }
  EXPECT_EQ(dispatch_group_wait(group, DISPATCH_TIME_FOREVER), 0);
  EXPECT_EQ(total, 4960);
  dispatch_release(group);
}

TEST(Dispatch, Once_RunsOnceForAllThreads) {
  static dispatch_once_t once = 0;
  static std::atomic<int> runs{0};
  const auto work = [] {
    for (int i = 0; i < 1000; ++i) {
      dispatch_once(&once, ^{
        ++runs;
      });
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(runs, 1);
}

TEST(Dispatch, Data_CopiesItsBytesAndIsAnObject) {
  char bytes[] = "abc";
  const dispatch_data_t data =
      dispatch_data_create(bytes, 3, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  bytes[0] = 'x';
  const void* mapped = nullptr;
  size_t size = 0;
  const dispatch_data_t map = dispatch_data_create_map(data, &mapped, &size);
  ASSERT_EQ(size, 3u);
  EXPECT_EQ(std::string(static_cast<const char*>(mapped), size), "abc");
  [map release];
  [data release];
}

// IREE's Metal driver asks for both when it captures.
TEST_F(Foundation, StandardPath_HasNoEmptyComponentsAndNoParents) {
  const auto standard = [](NSString* path) {
    return std::string([[path stringByStandardizingPath] UTF8String]);
  };
  EXPECT_EQ(standard(@"/a//b/./c/../d/"), "/a/b/d");
  EXPECT_EQ(standard(@"a/../b"), "a/../b");
  EXPECT_EQ(standard(@"/.."), "/");
  EXPECT_EQ(standard(@"~/x"), std::string(std::getenv("HOME")) + "/x");
  EXPECT_STREQ([@"ä" cStringUsingEncoding:[NSString defaultCStringEncoding]], "ä");
}

}  // namespace
