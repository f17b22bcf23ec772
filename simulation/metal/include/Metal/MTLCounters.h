// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCounterSampleBuffer: where encoders store counters of the GPU, such as timestamps.
//
// Names and values: metal-cpp (Metal/MTLCounters.hpp) and objc2-generated (Metal/MTLCounters.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

typedef NSString* MTLCommonCounter;
typedef NSString* MTLCommonCounterSet;
MTL_EXTERN MTLCommonCounter const MTLCommonCounterTimestamp;
MTL_EXTERN MTLCommonCounter const MTLCommonCounterComputeKernelInvocations;
MTL_EXTERN MTLCommonCounter const MTLCommonCounterTotalCycles;
MTL_EXTERN MTLCommonCounterSet const MTLCommonCounterSetTimestamp;
MTL_EXTERN MTLCommonCounterSet const MTLCommonCounterSetStageUtilization;
MTL_EXTERN MTLCommonCounterSet const MTLCommonCounterSetStatistic;
MTL_EXTERN NSErrorDomain const MTLCounterErrorDomain;

// The value of a sample that could not be taken.
#define MTLCounterErrorValue ((uint64_t)~0ULL)
// An index that takes no sample.
#define MTLCounterDontSample ((NSUInteger) - 1)

// One sample of MTLCommonCounterSetTimestamp.
typedef struct {
  uint64_t timestamp;
} MTLCounterResultTimestamp;

// One counter of a set.
@protocol MTLCounter <NSObject>
@property(readonly) NSString* name;
@end

// Counters that are sampled together.
@protocol MTLCounterSet <NSObject>
@property(readonly) NSString* name;
@property(readonly) NSArray<id<MTLCounter>>* counters;
@end

// Shared or Private storage.
@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying>
@property(retain, nullable) id<MTLCounterSet> counterSet;
@property(copy) NSString* label;
@property MTLStorageMode storageMode;
@property NSUInteger sampleCount;
@end

// Samples of one counter set.
@protocol MTLCounterSampleBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString* label;
@property(readonly) NSUInteger sampleCount;
// The samples as MTLCounterResult... structures. Samples without a value are MTLCounterErrorValue.
- (nullable NSData*)resolveCounterRange:(NSRange)range;
@end

// Codes of MTLCounterErrorDomain.
typedef NS_ENUM(NSInteger, MTLCounterSampleBufferError) {
  MTLCounterSampleBufferErrorOutOfMemory = 0,
  MTLCounterSampleBufferErrorInvalid = 1,
  MTLCounterSampleBufferErrorInternal = 2,
};

NS_ASSUME_NONNULL_END
