// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSURL: the place of a file. Immutable.
#pragma once

#import <Foundation/NSString.h>

@interface NSURL : NSObject <NSCopying>
+ (NSURL*)fileURLWithPath:(NSString*)path;
+ (NSURL*)fileURLWithPath:(NSString*)path isDirectory:(BOOL)is_folder;
// Takes "file:///..."; returns nil if it is not the URL of a file.
+ (NSURL*)URLWithString:(NSString*)text;
- (instancetype)initFileURLWithPath:(NSString*)path;
@property(readonly, copy) NSString* path;
@property(readonly, copy) NSString* absoluteString;
@property(readonly) const char* fileSystemRepresentation;
@property(readonly, getter=isFileURL) BOOL fileURL;
- (NSURL*)URLByAppendingPathComponent:(NSString*)name;
@end
