// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#import <Foundation/Foundation.h>

NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSLocalizedFailureReasonErrorKey = @"NSLocalizedFailureReason";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError";
NSErrorDomain const NSCocoaErrorDomain = @"NSCocoaErrorDomain";
NSErrorDomain const NSPOSIXErrorDomain = @"NSPOSIXErrorDomain";

@implementation NSError {
  NSString* domain_;
  NSInteger code_;
  NSDictionary* information_;
}
+ (instancetype)errorWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary*)info {
  return [[[self alloc] initWithDomain:domain code:code userInfo:info] autorelease];
}
- (instancetype)initWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary*)info {
  domain_ = [domain copy];
  code_ = code;
  information_ = info != nil ? [info copy] : [NSDictionary new];
  return self;
}
- (void)dealloc {
  [domain_ release];
  [information_ release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
- (NSErrorDomain)domain {
  return domain_;
}
- (NSInteger)code {
  return code_;
}
- (NSDictionary*)userInfo {
  return information_;
}
- (NSString*)localizedDescription {
  NSString* const text = [information_ objectForKey:NSLocalizedDescriptionKey];
  if (text != nil) return text;
  return [NSString stringWithFormat:@"The operation couldn't be completed. (%@ error %ld.)", domain_,
                                    static_cast<long>(code_)];
}
- (NSString*)localizedFailureReason {
  return [information_ objectForKey:NSLocalizedFailureReasonErrorKey];
}
- (NSString*)description {
  return [NSString stringWithFormat:@"Error Domain=%@ Code=%ld \"%@\"", domain_,
                                    static_cast<long>(code_), [self localizedDescription]];
}
@end
