// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSAutoreleasePool: what is autoreleased in a thread is released when its innermost pool ends. Ends on
// the thread that made it, innermost first.
#pragma once

#import <Foundation/NSObject.h>

@interface NSAutoreleasePool : NSObject {
  void* token_;
}
+ (void)addObject:(id)object;
- (void)addObject:(id)object;
- (void)drain;
@end
