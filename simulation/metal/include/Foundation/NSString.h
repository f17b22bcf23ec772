// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSString: text, kept as UTF-8 here; a length counts UTF-16 units, as Apple's does. Immutable, so safe from
// any thread; NSMutableString is not.
#pragma once

#import <Foundation/NSObject.h>
#include <stdarg.h>

@class NSArray;
@class NSData;
@class NSError;

typedef unsigned short unichar;
typedef NSUInteger NSStringEncoding;
enum : NSStringEncoding {
  NSASCIIStringEncoding = 1,
  NSUTF8StringEncoding = 4,
  NSISOLatin1StringEncoding = 5,
  NSUTF16StringEncoding = 10,
};

@interface NSString : NSObject <NSCopying, NSMutableCopying>
+ (instancetype)string;
+ (instancetype)stringWithString:(NSString*)string;
// Returns nil if the bytes are not valid UTF-8.
+ (instancetype)stringWithUTF8String:(const char*)text;
+ (instancetype)stringWithCString:(const char*)text encoding:(NSStringEncoding)encoding;
+ (instancetype)stringWithFormat:(NSString*)format, ...;
+ (instancetype)stringWithContentsOfFile:(NSString*)path
                                encoding:(NSStringEncoding)encoding
                                   error:(NSError**)error;
- (instancetype)initWithString:(NSString*)string;
- (instancetype)initWithUTF8String:(const char*)text;
- (instancetype)initWithCString:(const char*)text encoding:(NSStringEncoding)encoding;
- (instancetype)initWithBytes:(const void*)bytes
                       length:(NSUInteger)length
                     encoding:(NSStringEncoding)encoding;
- (instancetype)initWithBytesNoCopy:(void*)bytes
                             length:(NSUInteger)length
                           encoding:(NSStringEncoding)encoding
                       freeWhenDone:(BOOL)freed;
- (instancetype)initWithData:(NSData*)data encoding:(NSStringEncoding)encoding;
- (instancetype)initWithFormat:(NSString*)format, ...;
- (instancetype)initWithFormat:(NSString*)format arguments:(va_list)arguments;
@property(readonly) NSUInteger length;
- (unichar)characterAtIndex:(NSUInteger)index;
@property(readonly) const char* UTF8String;
// The encoding of the system's C strings: UTF-8.
+ (NSStringEncoding)defaultCStringEncoding;
- (const char*)cStringUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)getCString:(char*)buffer maxLength:(NSUInteger)size encoding:(NSStringEncoding)encoding;
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (NSData*)dataUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)isEqualToString:(NSString*)string;
- (NSComparisonResult)compare:(NSString*)string;
- (BOOL)hasPrefix:(NSString*)prefix;
- (BOOL)hasSuffix:(NSString*)suffix;
- (BOOL)containsString:(NSString*)part;
- (NSString*)stringByAppendingString:(NSString*)string;
- (NSString*)stringByAppendingFormat:(NSString*)format, ...;
- (NSString*)stringByAppendingPathComponent:(NSString*)name;
@property(readonly, copy) NSString* lastPathComponent;
// Without empty components and ".", in absolute paths without "..", with "~/" as $HOME. Links stay.
@property(readonly, copy) NSString* stringByStandardizingPath;
- (NSArray*)componentsSeparatedByString:(NSString*)separator;
- (NSString*)stringByReplacingOccurrencesOfString:(NSString*)part withString:(NSString*)with;
@property(readonly) int intValue;
@property(readonly) NSInteger integerValue;
@property(readonly) double doubleValue;
@property(readonly) BOOL boolValue;
@end

@interface NSMutableString : NSString
- (void)appendString:(NSString*)string;
- (void)appendFormat:(NSString*)format, ...;
- (void)setString:(NSString*)string;
@end
