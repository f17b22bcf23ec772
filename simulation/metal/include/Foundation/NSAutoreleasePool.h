// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSAutoreleasePool: releases, when it ends, the objects that its thread autoreleased while it was
// the innermost pool. Ends on the thread that made it, innermost first.
#pragma once

#import <Foundation/NSObject.h>

@interface NSAutoreleasePool : NSObject {
  void* token_;
}
+ (void)addObject:(id)object;
- (void)addObject:(id)object;
- (void)drain;
@end
