// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSProcessInfo: the process and the machine. Safe from any thread.
#pragma once

#import <Foundation/NSObject.h>

NS_ASSUME_NONNULL_BEGIN

typedef struct {
  NSInteger majorVersion;
  NSInteger minorVersion;
  NSInteger patchVersion;
} NSOperatingSystemVersion;

typedef NS_ENUM(NSInteger, NSProcessInfoThermalState) {
  NSProcessInfoThermalStateNominal = 0,
  NSProcessInfoThermalStateFair = 1,
  NSProcessInfoThermalStateSerious = 2,
  NSProcessInfoThermalStateCritical = 3,
};

typedef NS_OPTIONS(uint64_t, NSActivityOptions) {
  NSActivityIdleDisplaySleepDisabled = 1ULL << 40,
  NSActivityIdleSystemSleepDisabled = 1ULL << 20,
  NSActivityUserInitiated = 0x00FFFFFFULL | (1ULL << 20),
  NSActivityBackground = 0x000000FFULL,
  NSActivityLatencyCritical = 0xFF00000000ULL,
};

@interface NSProcessInfo : NSObject
@property(class, readonly, retain) NSProcessInfo* processInfo;
@property(readonly, copy) NSDictionary<NSString*, NSString*>* environment;
@property(readonly, copy) NSArray<NSString*>* arguments;
@property(readonly, copy) NSString* hostName;
@property(copy) NSString* processName;
@property(readonly) int processIdentifier;
@property(readonly, copy) NSString* globallyUniqueString;
// The version of the simulated system: HALYARD_SIM_METAL_OS_VERSION, by default 15.0.0.
@property(readonly) NSOperatingSystemVersion operatingSystemVersion;
@property(readonly, copy) NSString* operatingSystemVersionString;
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@property(readonly) NSUInteger processorCount;
@property(readonly) NSUInteger activeProcessorCount;
// Bytes.
@property(readonly) unsigned long long physicalMemory;
// Seconds.
@property(readonly) NSTimeInterval systemUptime;
@property(readonly) NSProcessInfoThermalState thermalState;
@property(readonly, getter=isLowPowerModeEnabled) BOOL lowPowerModeEnabled;
// No effect.
- (id<NSObject>)beginActivityWithOptions:(NSActivityOptions)options reason:(NSString*)reason;
- (void)endActivity:(id<NSObject>)activity;
@end

NS_ASSUME_NONNULL_END
