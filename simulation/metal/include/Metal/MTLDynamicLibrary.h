// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLDynamicLibrary: compiled functions that other libraries link to.
//
// Names and values: metal-cpp (Metal/MTLDynamicLibrary.hpp) and objc2-generated
// (Metal/MTLDynamicLibrary.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

MTL_EXTERN NSErrorDomain const MTLDynamicLibraryDomain;

typedef NS_ENUM(NSUInteger, MTLDynamicLibraryError) {
  MTLDynamicLibraryErrorNone = 0,
  MTLDynamicLibraryErrorInvalidFile = 1,
  MTLDynamicLibraryErrorCompilationFailure = 2,
  MTLDynamicLibraryErrorUnresolvedInstallName = 3,
  MTLDynamicLibraryErrorDependencyLoadFailure = 4,
  MTLDynamicLibraryErrorUnsupported = 5,
};

// A library of type MTLLibraryTypeDynamic, compiled for a GPU.
@protocol MTLDynamicLibrary <NSObject>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString* installName;
- (BOOL)serializeToURL:(NSURL*)url error:(NSError**)error;
@end

NS_ASSUME_NONNULL_END
