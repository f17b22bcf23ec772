// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSBundle: the folder of a program's files. Here the folder of its executable.
#pragma once

#import <Foundation/NSString.h>

@interface NSBundle : NSObject
+ (NSBundle*)mainBundle;
+ (NSBundle*)bundleForClass:(Class)of;
@property(readonly, copy) NSString* bundlePath;
@property(readonly, copy) NSString* resourcePath;
@property(readonly, copy) NSString* bundleIdentifier;
// Returns nil if there is no such file.
- (NSString*)pathForResource:(NSString*)name ofType:(NSString*)extension;
@end
