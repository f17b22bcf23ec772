// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Points in time, by the wall clock, and the clock of Mach.
#include <limits>

#include <CoreFoundation/CoreFoundation.h>
#include <mach/mach_time.h>
#include <time.h>

#import <Foundation/Foundation.h>
#import <Foundation/NSDate.h>

#include "simulation/gpu/mutex.h"

namespace {

// The seconds from 1970 to 2001.
constexpr double kReference = 978307200;

double seconds_since_reference() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) - kReference + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

extern "C" CFAbsoluteTime CFAbsoluteTimeGetCurrent() { return seconds_since_reference(); }

extern "C" uint64_t mach_absolute_time() { return static_cast<uint64_t>(halyard::sim::gpu::now()); }
extern "C" int mach_timebase_info(mach_timebase_info_t info) {
  *info = {1, 1};
  return 0;
}

@implementation NSDate {
  NSTimeInterval seconds_;
}
+ (instancetype)date {
  return [self dateWithTimeIntervalSinceNow:0];
}
+ (instancetype)dateWithTimeIntervalSinceNow:(NSTimeInterval)seconds {
  return [[[self alloc] initWithTimeIntervalSinceNow:seconds] autorelease];
}
+ (instancetype)dateWithTimeIntervalSince1970:(NSTimeInterval)seconds {
  return [[[self alloc] initWithTimeIntervalSinceReferenceDate:seconds - kReference] autorelease];
}
+ (NSDate*)distantFuture {
  return [[[self alloc] initWithTimeIntervalSinceReferenceDate:1e11] autorelease];
}
+ (NSDate*)distantPast {
  return [[[self alloc] initWithTimeIntervalSinceReferenceDate:-1e11] autorelease];
}
- (instancetype)init {
  return [self initWithTimeIntervalSinceNow:0];
}
- (instancetype)initWithTimeIntervalSinceNow:(NSTimeInterval)seconds {
  return [self initWithTimeIntervalSinceReferenceDate:seconds_since_reference() + seconds];
}
- (instancetype)initWithTimeIntervalSinceReferenceDate:(NSTimeInterval)seconds {
  seconds_ = seconds;
  return self;
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
- (NSTimeInterval)timeIntervalSinceReferenceDate {
  return seconds_;
}
- (NSTimeInterval)timeIntervalSince1970 {
  return seconds_ + kReference;
}
- (NSTimeInterval)timeIntervalSinceNow {
  return seconds_ - seconds_since_reference();
}
- (NSTimeInterval)timeIntervalSinceDate:(NSDate*)date {
  return seconds_ - [date timeIntervalSinceReferenceDate];
}
- (NSComparisonResult)compare:(NSDate*)date {
  const NSTimeInterval other = [date timeIntervalSinceReferenceDate];
  return seconds_ < other ? NSOrderedAscending
                          : (seconds_ > other ? NSOrderedDescending : NSOrderedSame);
}
- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[NSDate class]] && [self compare:object] == NSOrderedSame;
}
- (NSUInteger)hash {
  return static_cast<NSUInteger>(static_cast<NSInteger>(seconds_));
}
- (NSString*)description {
  return [NSString stringWithFormat:@"%f s since 1970", seconds_ + kReference];
}
@end
