// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reflection: the arguments of a kernel and their types.
//
// Names and values: metal-cpp (Metal/MTLArgument.hpp) and objc2-generated (Metal/MTLArgument.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLArrayType;
@class MTLPointerType;
@class MTLStructType;

typedef NS_ENUM(NSUInteger, MTLIndexType) {
  MTLIndexTypeUInt16 = 0,
  MTLIndexTypeUInt32 = 1,
};

// The kind of an argument.
typedef NS_ENUM(NSInteger, MTLBindingType) {
  MTLBindingTypeBuffer = 0,
  MTLBindingTypeThreadgroupMemory = 1,
  MTLBindingTypeTexture = 2,
  MTLBindingTypeSampler = 3,
  MTLBindingTypeImageblockData = 16,
  MTLBindingTypeImageblock = 17,
  MTLBindingTypeVisibleFunctionTable = 24,
  MTLBindingTypePrimitiveAccelerationStructure = 25,
  MTLBindingTypeInstanceAccelerationStructure = 26,
  MTLBindingTypeIntersectionFunctionTable = 27,
  MTLBindingTypeObjectPayload = 34,
  MTLBindingTypeTensor = 37,
};

// The kind of an argument, as MTLArgument reports it.
typedef NS_ENUM(NSUInteger, MTLArgumentType) {
  MTLArgumentTypeBuffer = 0,             // Deprecated by Apple.
  MTLArgumentTypeThreadgroupMemory = 1,  // Deprecated by Apple.
  MTLArgumentTypeTexture = 2,            // Deprecated by Apple.
  MTLArgumentTypeSampler = 3,            // Deprecated by Apple.
  MTLArgumentTypeImageblockData = 16,
  MTLArgumentTypeImageblock = 17,
  MTLArgumentTypeVisibleFunctionTable = 24,
  MTLArgumentTypePrimitiveAccelerationStructure = 25,
  MTLArgumentTypeInstanceAccelerationStructure = 26,
  MTLArgumentTypeIntersectionFunctionTable = 27,
};

typedef NS_ENUM(NSUInteger, MTLBindingAccess) {
  MTLBindingAccessReadOnly = 0,
  MTLBindingAccessReadWrite = 1,
  MTLBindingAccessWriteOnly = 2,
};

// A type of MSL.
@interface MTLType : NSObject
@property(readonly) MTLDataType dataType;
@end

// The offset is in bytes; argumentIndex is the number of [[id(n)]].
@interface MTLStructMember : NSObject
@property(readonly) NSString* name;
@property(readonly) NSUInteger offset;
@property(readonly) MTLDataType dataType;
@property(readonly, nullable) MTLStructType* structType;
@property(readonly, nullable) MTLArrayType* arrayType;
@property(readonly, nullable) MTLPointerType* pointerType;
@property(readonly) NSUInteger argumentIndex;
@end

// Members in the order of declaration.
@interface MTLStructType : MTLType
@property(readonly) NSArray<MTLStructMember*>* members;
- (nullable MTLStructMember*)memberByName:(NSString*)name;
@end

// The stride is in bytes.
@interface MTLArrayType : MTLType
@property(readonly) MTLDataType elementType;
@property(readonly) NSUInteger arrayLength;
@property(readonly) NSUInteger stride;
@property(readonly) NSUInteger argumentIndexStride;
@property(readonly, nullable) MTLStructType* elementStructType;
@property(readonly, nullable) MTLArrayType* elementArrayType;
@property(readonly, nullable) MTLPointerType* elementPointerType;
@end

// Alignment and size, in bytes, of the pointee.
@interface MTLPointerType : MTLType
@property(readonly) MTLDataType elementType;
@property(readonly) MTLBindingAccess access;
@property(readonly) NSUInteger alignment;
@property(readonly) NSUInteger dataSize;
@property(readonly) BOOL elementIsArgumentBuffer;
@property(readonly, nullable) MTLStructType* elementStructType;
@property(readonly, nullable) MTLArrayType* elementArrayType;
@end

// An argument of a kernel. Replaced by MTLBinding.
@interface MTLArgument : NSObject
@property(readonly) NSString* name;                             // Deprecated by Apple.
@property(readonly) MTLArgumentType type;                       // Deprecated by Apple.
@property(readonly) MTLBindingAccess access;                    // Deprecated by Apple.
@property(readonly) NSUInteger index;                           // Deprecated by Apple.
@property(readonly, getter=isActive) BOOL active;               // Deprecated by Apple.
@property(readonly) NSUInteger bufferAlignment;                 // Deprecated by Apple.
@property(readonly) NSUInteger bufferDataSize;                  // Deprecated by Apple.
@property(readonly) MTLDataType bufferDataType;                 // Deprecated by Apple.
@property(readonly, nullable) MTLStructType* bufferStructType;  // Deprecated by Apple.
@property(readonly, nullable) MTLPointerType* bufferPointerType;
@property(readonly) NSUInteger threadgroupMemoryAlignment;  // Deprecated by Apple.
@property(readonly) NSUInteger threadgroupMemoryDataSize;   // Deprecated by Apple.
@property(readonly) NSUInteger arrayLength;
@end

// An argument of a kernel.
@protocol MTLBinding <NSObject>
@property(readonly) NSString* name;
@property(readonly) MTLBindingType type;
@property(readonly) MTLBindingAccess access;
@property(readonly) NSUInteger index;
@property(readonly, getter=isUsed) BOOL used;
// NO for bindings that the compiler added.
@property(readonly, getter=isArgument) BOOL argument;
@end

// A buffer argument; alignment and size, in bytes, of its element.
@protocol MTLBufferBinding <MTLBinding>
@property(readonly) NSUInteger bufferAlignment;
@property(readonly) NSUInteger bufferDataSize;
@property(readonly) MTLDataType bufferDataType;
@property(readonly, nullable) MTLStructType* bufferStructType;
@property(readonly, nullable) MTLPointerType* bufferPointerType;
@end

// A threadgroup argument.
@protocol MTLThreadgroupBinding <MTLBinding>
@property(readonly) NSUInteger threadgroupMemoryAlignment;
@property(readonly) NSUInteger threadgroupMemoryDataSize;
@end

NS_ASSUME_NONNULL_END
