// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSFileManager: files by path. Safe from any thread.
#pragma once

#import <Foundation/NSObject.h>

NS_ASSUME_NONNULL_BEGIN

@interface NSFileManager : NSObject
@property(class, readonly, retain) NSFileManager* defaultManager;
- (BOOL)fileExistsAtPath:(NSString*)path;
- (BOOL)fileExistsAtPath:(NSString*)path isDirectory:(nullable BOOL*)is_directory;
- (BOOL)isReadableFileAtPath:(NSString*)path;
- (BOOL)removeItemAtPath:(NSString*)path error:(NSError**)error;
- (BOOL)removeItemAtURL:(NSURL*)url error:(NSError**)error;
- (BOOL)createDirectoryAtPath:(NSString*)path
    withIntermediateDirectories:(BOOL)intermediate
                     attributes:(nullable NSDictionary*)attributes
                          error:(NSError**)error;
- (nullable NSString*)destinationOfSymbolicLinkAtPath:(NSString*)path error:(NSError**)error;
@property(readonly, copy) NSString* currentDirectoryPath;
@end

NS_ASSUME_NONNULL_END
