// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSData: bytes. Immutable.
#pragma once

#import <Foundation/NSObject.h>

@class NSError;
@class NSURL;

@interface NSData : NSObject <NSCopying>
+ (instancetype)data;
+ (instancetype)dataWithBytes:(const void*)bytes length:(NSUInteger)length;
+ (instancetype)dataWithBytesNoCopy:(void*)bytes length:(NSUInteger)length freeWhenDone:(BOOL)freed;
+ (instancetype)dataWithContentsOfFile:(NSString*)path;
+ (instancetype)dataWithContentsOfURL:(NSURL*)url;
- (instancetype)initWithBytes:(const void*)bytes length:(NSUInteger)length;
- (instancetype)initWithBytesNoCopy:(void*)bytes length:(NSUInteger)length freeWhenDone:(BOOL)freed;
@property(readonly) NSUInteger length;
@property(readonly) const void* bytes;
- (void)getBytes:(void*)buffer length:(NSUInteger)length;
- (BOOL)isEqualToData:(NSData*)data;
- (BOOL)writeToFile:(NSString*)path atomically:(BOOL)atomically;
@end
