// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLLibrary and MTLFunction: compiled MSL and its functions. Safe from any thread. A descriptor
// is used by one thread at a time.
//
// Names and values: metal-cpp (Metal/MTLLibrary.hpp) and objc2-generated (Metal/MTLLibrary.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLArgument.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLFunctionDescriptor.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLArgumentEncoder;
@protocol MTLBinding;
@protocol MTLDevice;
@protocol MTLDynamicLibrary;
@class MTLArgument;
@class MTLFunctionConstantValues;
@class MTLFunctionDescriptor;

MTL_EXTERN NSErrorDomain const MTLLibraryErrorDomain;

typedef MTLArgument* MTLAutoreleasedArgument;

// Only kernels are dispatched; visible functions are called by kernels.
typedef NS_ENUM(NSUInteger, MTLFunctionType) {
  MTLFunctionTypeVertex = 1,
  MTLFunctionTypeFragment = 2,
  MTLFunctionTypeKernel = 3,
  MTLFunctionTypeVisible = 5,
  MTLFunctionTypeIntersection = 6,
  MTLFunctionTypeMesh = 7,
  MTLFunctionTypeObject = 8,
};

// A constant of a function, by name and index.
@interface MTLFunctionConstant : NSObject
@property(readonly) NSString* name;
@property(readonly) MTLDataType type;
@property(readonly) NSUInteger index;
@property(readonly) BOOL required;
@end

// A function of a library.
@protocol MTLFunction <NSObject>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSString* name;
@property(readonly) NSDictionary<NSString*, MTLFunctionConstant*>* functionConstantsDictionary;
// An encoder for the struct of the buffer argument with this index.
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex
                                                 reflection:(MTLArgument* _Nullable* _Nullable)
                                                                reflection;  // Deprecated by Apple.
@property(readonly) MTLFunctionOptions options;
@end

// (major << 16) + minor.
typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
  MTLLanguageVersion1_0 = (1 << 16) + 0,  // Deprecated by Apple.
  MTLLanguageVersion1_1 = (1 << 16) + 1,
  MTLLanguageVersion1_2 = (1 << 16) + 2,
  MTLLanguageVersion2_0 = (2 << 16) + 0,
  MTLLanguageVersion2_1 = (2 << 16) + 1,
  MTLLanguageVersion2_2 = (2 << 16) + 2,
  MTLLanguageVersion2_3 = (2 << 16) + 3,
  MTLLanguageVersion2_4 = (2 << 16) + 4,
  MTLLanguageVersion3_0 = (3 << 16) + 0,
  MTLLanguageVersion3_1 = (3 << 16) + 1,
  MTLLanguageVersion3_2 = (3 << 16) + 2,
  MTLLanguageVersion4_0 = (4 << 16) + 0,
};

typedef NS_ENUM(NSInteger, MTLLibraryType) {
  MTLLibraryTypeExecutable = 0,
  MTLLibraryTypeDynamic = 1,
};

typedef NS_ENUM(NSInteger, MTLLibraryOptimizationLevel) {
  MTLLibraryOptimizationLevelDefault = 0,
  MTLLibraryOptimizationLevelSize = 1,
};

typedef NS_ENUM(NSInteger, MTLCompileSymbolVisibility) {
  MTLCompileSymbolVisibilityDefault = 0,
  MTLCompileSymbolVisibilityHidden = 1,
};

typedef NS_ENUM(NSInteger, MTLMathMode) {
  MTLMathModeSafe = 0,
  MTLMathModeRelaxed = 1,
  MTLMathModeFast = 2,
};

typedef NS_ENUM(NSInteger, MTLMathFloatingPointFunctions) {
  MTLMathFloatingPointFunctionsFast = 0,
  MTLMathFloatingPointFunctionsPrecise = 1,
};

// Fast math by default.
@interface MTLCompileOptions : NSObject <NSCopying>
@property(copy, nullable) NSDictionary<NSString*, NSObject*>* preprocessorMacros;
// YES by default. mathMode replaces it.
@property BOOL fastMathEnabled;  // Deprecated by Apple.
@property MTLMathMode mathMode;
@property MTLMathFloatingPointFunctions mathFloatingPointFunctions;
@property MTLLanguageVersion languageVersion;
@property MTLLibraryType libraryType;
@property(copy, nullable) NSString* installName;
@property(copy, nullable) NSArray<id<MTLDynamicLibrary>>* libraries;
@property BOOL preserveInvariance;
@property MTLLibraryOptimizationLevel optimizationLevel;
@property MTLCompileSymbolVisibility compileSymbolVisibility;
@property BOOL allowReferencingUndefinedSymbols;
@property NSUInteger maxTotalThreadsPerThreadgroup;
@property MTLSize requiredThreadsPerThreadgroup;
@property BOOL enableLogging;
@end

// The arguments of a function without a pipeline.
@interface MTLFunctionReflection : NSObject
@property(readonly) NSArray<id<MTLBinding>>* bindings;
@property(readonly, nullable) NSString* userAnnotation;
@end

// Codes of MTLLibraryErrorDomain.
typedef NS_ENUM(NSUInteger, MTLLibraryError) {
  MTLLibraryErrorUnsupported = 1,
  MTLLibraryErrorInternal = 2,
  MTLLibraryErrorCompileFailure = 3,
  MTLLibraryErrorCompileWarning = 4,
  MTLLibraryErrorFunctionNotFound = 5,
  MTLLibraryErrorFileNotFound = 6,
};

// Functions that were compiled together.
@protocol MTLLibrary <NSObject>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
// Returns nil if there is no such function.
- (nullable id<MTLFunction>)newFunctionWithName:(NSString*)functionName;
// Specializes, which runs the compiler. Constants without a value are undefined: Returns nil and
// an error if the function uses one.
- (nullable id<MTLFunction>)newFunctionWithName:(NSString*)name
                                 constantValues:(MTLFunctionConstantValues*)constantValues
                                          error:(NSError**)error;
- (nullable MTLFunctionReflection*)reflectionForFunctionWithName:(NSString*)functionName;
- (nullable id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor*)descriptor
                                                error:(NSError**)error;
@property(readonly) NSArray<NSString*>* functionNames;
@property(readonly) MTLLibraryType type;
@property(readonly, nullable) NSString* installName;
- (void)newFunctionWithName:(NSString*)name
             constantValues:(MTLFunctionConstantValues*)constantValues
          completionHandler:(void (^)(id<MTLFunction> _Nullable function,
                                      NSError* _Nullable error))completionHandler;
- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor*)descriptor
                completionHandler:(void (^)(id<MTLFunction> _Nullable function,
                                            NSError* _Nullable error))completionHandler;
@end

NS_ASSUME_NONNULL_END
