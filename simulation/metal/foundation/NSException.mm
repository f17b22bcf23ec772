// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Raising ends the process: nothing here is compiled to unwind.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#import <Foundation/Foundation.h>
#import <Foundation/NSException.h>

NSExceptionName const NSGenericException = @"NSGenericException";
NSExceptionName const NSRangeException = @"NSRangeException";
NSExceptionName const NSInvalidArgumentException = @"NSInvalidArgumentException";
NSExceptionName const NSInternalInconsistencyException = @"NSInternalInconsistencyException";

@implementation NSException
@synthesize name = name_;
@synthesize reason = reason_;
+ (void)raise:(NSExceptionName)name format:(NSString*)format, ... {
  va_list arguments;
  va_start(arguments, format);
  NSString* const reason = [[NSString alloc] initWithFormat:format arguments:arguments];
  va_end(arguments);
  [[self exceptionWithName:name reason:reason userInfo:nil] raise];
}
+ (NSException*)exceptionWithName:(NSExceptionName)name
                           reason:(NSString*)reason
                         userInfo:(NSDictionary*)user_info {
  NSException* const made = [[[self alloc] init] autorelease];
  made->name_ = [name copy];
  made->reason_ = [reason copy];
  return made;
}
- (void)dealloc {
  [name_ release];
  [reason_ release];
  [super dealloc];
}
- (void)raise {
  std::fprintf(stderr, "*** %s: %s\n", [name_ UTF8String],
               reason_ != nil ? [reason_ UTF8String] : "no reason");
  std::abort();
}
@end
