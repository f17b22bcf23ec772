// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays and dictionaries; the concrete classes are the mutable ones, and a copy of an array is another.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#import <Foundation/Foundation.h>

@interface HalyardArray : NSMutableArray {
 @public
  std::vector<id> objects_;
  unsigned long changes_;
}
@end
@interface HalyardEnumerator : NSEnumerator {
 @public
  NSArray* array_;
  NSUInteger next_;
}
@end

static HalyardArray* make_array(const id* objects, NSUInteger count) {
  HalyardArray* const made = [HalyardArray alloc];
  made->objects_.assign(objects, objects + count);
  for (const id object : made->objects_) {
    if (object == nil) {
      std::fprintf(stderr, "Foundation: an array cannot have nil\n");
      std::abort();
    }
    [object retain];
  }
  return made;
}
static std::vector<id> objects_behind(id first, va_list more) {
  std::vector<id> objects;
  for (id one = first; one != nil; one = va_arg(more, id)) objects.push_back(one);
  return objects;
}

@implementation NSEnumerator
- (id)nextObject {
  return nil;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained*)buffer
                                    count:(NSUInteger)count {
  static unsigned long unchanged = 0;
  state->state = 1;
  state->mutationsPtr = &unchanged;
  state->itemsPtr = buffer;
  NSUInteger found = 0;
  while (found < count && (buffer[found] = [self nextObject]) != nil) ++found;
  return found;
}
@end
@implementation HalyardEnumerator
- (id)nextObject {
  return next_ < [array_ count] ? [array_ objectAtIndex:next_++] : nil;
}
- (void)dealloc {
  [array_ release];
  [super dealloc];
}
@end

@implementation NSArray
+ (instancetype)alloc {
  if (self == [NSArray class] || self == [NSMutableArray class]) return (id)[HalyardArray alloc];
  return [super alloc];
}
+ (instancetype)array {
  return [(id)make_array(nullptr, 0) autorelease];
}
+ (instancetype)arrayWithObject:(id)object {
  return [(id)make_array(&object, 1) autorelease];
}
+ (instancetype)arrayWithObjects:(const id*)objects count:(NSUInteger)count {
  return [(id)make_array(objects, count) autorelease];
}
+ (instancetype)arrayWithObjects:(id)first, ... {
  va_list more;
  va_start(more, first);
  const std::vector<id> objects = objects_behind(first, more);
  va_end(more);
  return [(id)make_array(objects.data(), objects.size()) autorelease];
}
+ (instancetype)arrayWithArray:(NSArray*)array {
  return [[[self alloc] initWithArray:array] autorelease];
}
- (instancetype)initWithObjects:(const id*)objects count:(NSUInteger)count {
  [self release];
  return (id)make_array(objects, count);
}
- (instancetype)initWithArray:(NSArray*)array {
  [self release];
  auto* const other = static_cast<HalyardArray*>(array);
  return (id)(other != nil ? make_array(other->objects_.data(), other->objects_.size())
                           : make_array(nullptr, 0));
}
- (id)copyWithZone:(NSZone*)zone {
  return [[NSArray alloc] initWithArray:self];
}
- (id)mutableCopyWithZone:(NSZone*)zone {
  return [[NSMutableArray alloc] initWithArray:self];
}
- (NSUInteger)count {
  return 0;
}
- (id)objectAtIndex:(NSUInteger)index {
  std::fprintf(stderr, "Foundation: index %lu is beyond an array of %lu\n", index, [self count]);
  std::abort();
}
- (id)objectAtIndexedSubscript:(NSUInteger)index {
  return [self objectAtIndex:index];
}
- (id)firstObject {
  return [self count] != 0 ? [self objectAtIndex:0] : nil;
}
- (id)lastObject {
  return [self count] != 0 ? [self objectAtIndex:[self count] - 1] : nil;
}
- (BOOL)containsObject:(id)object {
  return [self indexOfObject:object] != static_cast<NSUInteger>(NSNotFound);
}
- (NSUInteger)indexOfObject:(id)object {
  for (NSUInteger i = 0; i < [self count]; ++i) {
    if ([[self objectAtIndex:i] isEqual:object]) return i;
  }
  return static_cast<NSUInteger>(NSNotFound);
}
- (BOOL)isEqualToArray:(NSArray*)array {
  if ([self count] != [array count]) return NO;
  for (NSUInteger i = 0; i < [self count]; ++i) {
    if (![[self objectAtIndex:i] isEqual:[array objectAtIndex:i]]) return NO;
  }
  return YES;
}
- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[NSArray class]] && [self isEqualToArray:object];
}
- (NSUInteger)hash {
  return [self count];
}
- (NSArray*)arrayByAddingObject:(id)object {
  NSMutableArray* const longer = [NSMutableArray arrayWithArray:self];
  [longer addObject:object];
  return longer;
}
- (NSString*)componentsJoinedByString:(NSString*)separator {
  std::string text;
  for (NSUInteger i = 0; i < [self count]; ++i) {
    if (i != 0) text += [separator UTF8String];
    text += [[[self objectAtIndex:i] description] UTF8String];
  }
  return [NSString stringWithUTF8String:text.c_str()];
}
- (NSString*)description {
  return [NSString stringWithFormat:@"(%@)", [self componentsJoinedByString:@", "]];
}
- (NSEnumerator*)objectEnumerator {
  HalyardEnumerator* const made = [HalyardEnumerator alloc];
  made->array_ = [self copy];
  return [made autorelease];
}
- (void)enumerateObjectsUsingBlock:(void (^)(id object, NSUInteger index, BOOL* stop))block {
  BOOL stop = NO;
  for (NSUInteger i = 0; i < [self count] && !stop; ++i) block([self objectAtIndex:i], i, &stop);
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained*)buffer
                                    count:(NSUInteger)count {
  auto* const one = static_cast<HalyardArray*>(self);
  state->mutationsPtr = &one->changes_;
  state->itemsPtr = one->objects_.data();
  return std::exchange(state->state, 1) == 0 ? one->objects_.size() : 0;
}
@end

@implementation NSMutableArray
+ (instancetype)arrayWithCapacity:(NSUInteger)capacity {
  return [self array];
}
- (instancetype)initWithCapacity:(NSUInteger)capacity {
  return [self init];
}
- (void)addObject:(id)object {
  [self insertObject:object atIndex:[self count]];
}
- (void)addObjectsFromArray:(NSArray*)array {
  for (NSUInteger i = 0; i < [array count]; ++i) [self addObject:[array objectAtIndex:i]];
}
- (void)setObject:(id)object atIndexedSubscript:(NSUInteger)index {
  if (index == [self count]) return [self addObject:object];
  [self replaceObjectAtIndex:index withObject:object];
}
- (void)removeObject:(id)object {
  for (NSUInteger i = [self count]; i-- != 0;) {
    if ([[self objectAtIndex:i] isEqual:object]) [self removeObjectAtIndex:i];
  }
}
- (void)removeLastObject {
  if ([self count] != 0) [self removeObjectAtIndex:[self count] - 1];
}
- (void)removeAllObjects {
  while ([self count] != 0) [self removeLastObject];
}
- (void)insertObject:(id)object atIndex:(NSUInteger)index {
  [self doesNotRecognizeSelector:_cmd];
}
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(id)object {
  [self doesNotRecognizeSelector:_cmd];
}
- (void)removeObjectAtIndex:(NSUInteger)index {
  [self doesNotRecognizeSelector:_cmd];
}
@end

@implementation HalyardArray
- (void)dealloc {
  for (const id object : objects_) [object release];
  [super dealloc];
}
- (NSUInteger)count {
  return objects_.size();
}
- (id)objectAtIndex:(NSUInteger)index {
  return index < objects_.size() ? objects_[index] : [super objectAtIndex:index];
}
- (void)insertObject:(id)object atIndex:(NSUInteger)index {
  if (object == nil || index > objects_.size()) [super objectAtIndex:index];
  objects_.insert(objects_.begin() + static_cast<std::ptrdiff_t>(index), [object retain]);
  ++changes_;
}
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(id)object {
  if (index >= objects_.size()) [super objectAtIndex:index];
  [std::exchange(objects_[index], [object retain]) release];
  ++changes_;
}
- (void)removeObjectAtIndex:(NSUInteger)index {
  if (index >= objects_.size()) [super objectAtIndex:index];
  const id object = objects_[index];
  objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(index));
  ++changes_;
  [object release];
}
@end
