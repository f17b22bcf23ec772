// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#import <Foundation/Foundation.h>

namespace {
struct Hash {
  std::size_t operator()(id key) const { return [key hash]; }
};
struct Equal {
  bool operator()(id a, id b) const { return [a isEqual:b]; }
};
}  // namespace

@interface HalyardDictionary : NSMutableDictionary {
 @public
  std::unordered_map<id, id, Hash, Equal> objects_;
}
@end

static HalyardDictionary* make_dictionary(const id* objects, const id* keys, NSUInteger count) {
  HalyardDictionary* const made = [HalyardDictionary alloc];
  for (NSUInteger i = 0; i < count; ++i) [made setObject:objects[i] forKey:keys[i]];
  return made;
}

@implementation NSDictionary
+ (instancetype)alloc {
  if (self == [NSDictionary class] || self == [NSMutableDictionary class]) {
    return (id)[HalyardDictionary alloc];
  }
  return [super alloc];
}
+ (instancetype)dictionary {
  return [(id)make_dictionary(nullptr, nullptr, 0) autorelease];
}
+ (instancetype)dictionaryWithObject:(id)object forKey:(id)key {
  return [(id)make_dictionary(&object, &key, 1) autorelease];
}
+ (instancetype)dictionaryWithObjects:(const id*)objects forKeys:(const id*)keys count:(NSUInteger)count {
  return [(id)make_dictionary(objects, keys, count) autorelease];
}
+ (instancetype)dictionaryWithObjectsAndKeys:(id)first, ... {
  HalyardDictionary* const made = [HalyardDictionary alloc];
  va_list more;
  va_start(more, first);
  for (id object = first; object != nil; object = va_arg(more, id)) {
    [made setObject:object forKey:va_arg(more, id)];
  }
  va_end(more);
  return [(id)made autorelease];
}
+ (instancetype)dictionaryWithDictionary:(NSDictionary*)dictionary {
  return [[[self alloc] initWithDictionary:dictionary] autorelease];
}
- (instancetype)initWithObjects:(const id*)objects forKeys:(const id*)keys count:(NSUInteger)count {
  [self release];
  return (id)make_dictionary(objects, keys, count);
}
- (instancetype)initWithDictionary:(NSDictionary*)dictionary {
  [self release];
  HalyardDictionary* const made = [HalyardDictionary alloc];
  [made addEntriesFromDictionary:dictionary];
  return (id)made;
}
- (id)copyWithZone:(NSZone*)zone {
  return [[NSDictionary alloc] initWithDictionary:self];
}
- (id)mutableCopyWithZone:(NSZone*)zone {
  return [[NSMutableDictionary alloc] initWithDictionary:self];
}
- (NSUInteger)count {
  return static_cast<HalyardDictionary*>(self)->objects_.size();
}
- (id)objectForKey:(id)key {
  const auto& objects = static_cast<HalyardDictionary*>(self)->objects_;
  const auto found = objects.find(key);
  return found != objects.end() ? found->second : nil;
}
- (id)objectForKeyedSubscript:(id)key {
  return [self objectForKey:key];
}
- (NSArray*)allKeys {
  NSMutableArray* const all = [NSMutableArray array];
  for (const auto& [key, object] : static_cast<HalyardDictionary*>(self)->objects_) {
    [all addObject:key];
  }
  return all;
}
- (NSArray*)allValues {
  NSMutableArray* const all = [NSMutableArray array];
  for (const auto& [key, object] : static_cast<HalyardDictionary*>(self)->objects_) {
    [all addObject:object];
  }
  return all;
}
- (NSEnumerator*)keyEnumerator {
  return [[self allKeys] objectEnumerator];
}
- (NSString*)description {
  std::string text = "{";
  for (const auto& [key, object] : static_cast<HalyardDictionary*>(self)->objects_) {
    text += std::string(text.size() > 1 ? "; " : "") + [[key description] UTF8String] + " = " +
            [[object description] UTF8String];
  }
  return [NSString stringWithUTF8String:(text + "}").c_str()];
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained*)buffer
                                    count:(NSUInteger)count {
  static unsigned long unchanged = 0;
  NSArray* const keys = [self allKeys];
  state->mutationsPtr = &unchanged;
  state->itemsPtr = buffer;
  NSUInteger given = 0;
  for (; given < count && state->state < [keys count]; ++given) {
    buffer[given] = [keys objectAtIndex:state->state++];
  }
  return given;
}
@end

@implementation NSMutableDictionary
+ (instancetype)dictionaryWithCapacity:(NSUInteger)capacity {
  return [self dictionary];
}
- (instancetype)initWithCapacity:(NSUInteger)capacity {
  return [self init];
}
- (void)setObject:(id)object forKey:(id)key {
  if (object == nil || key == nil) {
    std::fprintf(stderr, "Foundation: a dictionary cannot have nil\n");
    std::abort();
  }
  auto& objects = static_cast<HalyardDictionary*>(self)->objects_;
  [object retain];
  if (const auto found = objects.find(key); found != objects.end()) {
    [std::exchange(found->second, object) release];
  } else {
    objects.emplace([key copy], object);
  }
}
- (void)setObject:(id)object forKeyedSubscript:(id)key {
  [self setObject:object forKey:key];
}
- (void)setValue:(id)object forKey:(NSString*)key {
  if (object == nil) return [self removeObjectForKey:key];
  [self setObject:object forKey:key];
}
- (void)addEntriesFromDictionary:(NSDictionary*)dictionary {
  if (dictionary == nil) return;
  for (const auto& [key, object] : static_cast<HalyardDictionary*>(dictionary)->objects_) {
    [self setObject:object forKey:key];
  }
}
- (void)removeObjectForKey:(id)key {
  auto& objects = static_cast<HalyardDictionary*>(self)->objects_;
  const auto found = objects.find(key);
  if (found == objects.end()) return;
  const auto [own_key, object] = *found;
  objects.erase(found);
  [own_key release];
  [object release];
}
- (void)removeAllObjects {
  const auto objects = std::exchange(static_cast<HalyardDictionary*>(self)->objects_, {});
  for (const auto& [key, object] : objects) {
    [key release];
    [object release];
  }
}
@end
@implementation HalyardDictionary
- (void)dealloc {
  [self removeAllObjects];
  [super dealloc];
}
@end
