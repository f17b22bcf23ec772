// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The protocol of "for (x in collection)": returns a few objects at a time, and a word that changes
// if the collection is modified.
#pragma once

#import <Foundation/NSObject.h>

typedef struct {
  unsigned long state;
  id __unsafe_unretained* itemsPtr;
  unsigned long* mutationsPtr;
  unsigned long extra[5];
} NSFastEnumerationState;

@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained*)buffer
                                    count:(NSUInteger)count;
@end

@interface NSEnumerator<ObjectType> : NSObject <NSFastEnumeration>
- (ObjectType)nextObject;
@end
