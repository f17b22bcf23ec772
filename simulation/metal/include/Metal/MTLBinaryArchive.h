// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLBinaryArchive: pipelines that were compiled before. One thread at a time.
//
// Names and values: metal-cpp (Metal/MTLBinaryArchive.hpp) and objc2-generated
// (Metal/MTLBinaryArchive.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;
@protocol MTLLibrary;
@class MTLComputePipelineDescriptor;
@class MTLFunctionDescriptor;

MTL_EXTERN NSErrorDomain const MTLBinaryArchiveDomain;

// Codes of MTLBinaryArchiveDomain.
typedef NS_ENUM(NSUInteger, MTLBinaryArchiveError) {
  MTLBinaryArchiveErrorNone = 0,
  MTLBinaryArchiveErrorInvalidFile = 1,
  MTLBinaryArchiveErrorUnexpectedElement = 2,
  MTLBinaryArchiveErrorCompilationFailure = 3,
  MTLBinaryArchiveErrorInternalError = 4,
};

// Without a URL, an empty archive.
@interface MTLBinaryArchiveDescriptor : NSObject <NSCopying>
@property(copy, nullable) NSURL* url;
@end

// Compiled pipelines that can be written to a file.
@protocol MTLBinaryArchive <NSObject>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                            error:(NSError**)error;
- (BOOL)serializeToURL:(NSURL*)url error:(NSError**)error;
- (BOOL)addFunctionWithDescriptor:(MTLFunctionDescriptor*)descriptor
                          library:(id<MTLLibrary>)library
                            error:(NSError**)error;
@end

NS_ASSUME_NONNULL_END
