// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include <cstdio>
#include <cstring>
#include <functional>

#import <Foundation/Foundation.h>

@interface HalyardPointer : NSValue {
 @public
  void* pointer_;
}
@end
@implementation HalyardPointer
- (void*)pointerValue {
  return pointer_;
}
- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[HalyardPointer class]] &&
         static_cast<HalyardPointer*>(object)->pointer_ == pointer_;
}
- (NSUInteger)hash {
  return reinterpret_cast<NSUInteger>(pointer_);
}
@end

@implementation NSValue
+ (NSValue*)valueWithPointer:(const void*)pointer {
  HalyardPointer* const made = [HalyardPointer alloc];
  made->pointer_ = const_cast<void*>(pointer);
  return [made autorelease];
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
- (void*)pointerValue {
  return nullptr;
}
@end

// A whole number, signed or not, or a floating-point one.
@interface HalyardNumber : NSNumber {
 @public
  const char* type_;  // as @encode() writes it
  bool is_real_, is_signed_;
  long long whole_;
  double real_;
}
@end

#define HALYARD_NUMBER_KINDS(X)                             \
  X(Bool, BOOL)                                             \
  X(Char, char)                                             \
  X(Int, int)                                               \
  X(UnsignedInt, unsigned)                                  \
  X(Long, long)                                             \
  X(UnsignedLong, unsigned long)                            \
  X(LongLong, long long)                                    \
  X(UnsignedLongLong, unsigned long long)                   \
  X(Integer, NSInteger)                                     \
  X(UnsignedInteger, NSUInteger)

template <class T>
static HalyardNumber* make_number(T value) {
  HalyardNumber* const made = [HalyardNumber alloc];
  made->type_ = @encode(T);
  if constexpr (static_cast<T>(0.5) != 0) {
    made->is_real_ = true;
    made->real_ = static_cast<double>(value);
  } else {
    made->is_signed_ = static_cast<T>(-1) < 0;
    made->whole_ = static_cast<long long>(value);
  }
  return made;
}

@implementation NSNumber
+ (instancetype)alloc {
  return self == [NSNumber class] ? (id)[HalyardNumber alloc] : [super alloc];
}
#define HALYARD_NUMBER(Name, type)                 \
  +(NSNumber*)numberWith##Name : (type)value {     \
    return [make_number<type>(value) autorelease]; \
  }
HALYARD_NUMBER_KINDS(HALYARD_NUMBER)
HALYARD_NUMBER(Float, float)
HALYARD_NUMBER(Double, double)
#undef HALYARD_NUMBER
#define HALYARD_NUMBER(Name, type)           \
  -(instancetype)initWith##Name : (type)value { \
    [self release];                          \
    return (id)make_number<type>(value);     \
  }
HALYARD_NUMBER(Bool, BOOL)
HALYARD_NUMBER(Int, int)
HALYARD_NUMBER(UnsignedInt, unsigned)
HALYARD_NUMBER(LongLong, long long)
HALYARD_NUMBER(UnsignedLongLong, unsigned long long)
HALYARD_NUMBER(Integer, NSInteger)
HALYARD_NUMBER(UnsignedInteger, NSUInteger)
HALYARD_NUMBER(Float, float)
HALYARD_NUMBER(Double, double)
#undef HALYARD_NUMBER

#define HALYARD_VALUE(name, type)                                                       \
  -(type)name##Value {                                                                  \
    const auto* const one = static_cast<HalyardNumber*>(self);                          \
    if (one->is_real_) return static_cast<type>(one->real_);                            \
    return one->is_signed_ ? static_cast<type>(one->whole_)                             \
                           : static_cast<type>(static_cast<unsigned long long>(one->whole_)); \
  }
HALYARD_VALUE(char, char)
HALYARD_VALUE(int, int)
HALYARD_VALUE(unsignedInt, unsigned)
HALYARD_VALUE(long, long)
HALYARD_VALUE(unsignedLong, unsigned long)
HALYARD_VALUE(longLong, long long)
HALYARD_VALUE(unsignedLongLong, unsigned long long)
HALYARD_VALUE(integer, NSInteger)
HALYARD_VALUE(unsignedInteger, NSUInteger)
HALYARD_VALUE(float, float)
HALYARD_VALUE(double, double)
#undef HALYARD_VALUE
- (BOOL)boolValue {
  const auto* const one = static_cast<HalyardNumber*>(self);
  return one->is_real_ ? one->real_ != 0 : one->whole_ != 0;
}
- (NSString*)stringValue {
  const auto* const one = static_cast<HalyardNumber*>(self);
  if (one->is_real_) return [NSString stringWithFormat:@"%.17g", one->real_];
  return one->is_signed_ ? [NSString stringWithFormat:@"%lld", one->whole_]
                         : [NSString stringWithFormat:@"%llu", one->whole_];
}
- (NSString*)description {
  return [self stringValue];
}
- (const char*)objCType {
  return static_cast<HalyardNumber*>(self)->type_;
}
- (NSComparisonResult)compare:(NSNumber*)number {
  const auto* const one = static_cast<HalyardNumber*>(self);
  const auto* const other = static_cast<HalyardNumber*>(number);
  if (!one->is_real_ && !other->is_real_ && one->is_signed_ && other->is_signed_) {
    return one->whole_ < other->whole_   ? NSOrderedAscending
           : one->whole_ > other->whole_ ? NSOrderedDescending
                                         : NSOrderedSame;
  }
  const double a = [self doubleValue], b = [number doubleValue];
  return a < b ? NSOrderedAscending : a > b ? NSOrderedDescending : NSOrderedSame;
}
- (BOOL)isEqualToNumber:(NSNumber*)number {
  return [self compare:number] == NSOrderedSame;
}
- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[NSNumber class]] && [self isEqualToNumber:object];
}
- (NSUInteger)hash {
  return std::hash<double>()([self doubleValue]);
}
@end
@implementation HalyardNumber
@end
