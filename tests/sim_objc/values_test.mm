// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of Metal's enumerations. simulation/metal/include took them from objc2-generated
// fff28a8; these are those of metal-cpp (MattGuerrette/metalcpp 6c6c49b, Xcode 26), so that each
// value has two sources. MTLDeviceError is in the former only.
#import <Metal/Metal.h>

#include <gtest/gtest.h>

namespace {

#define METAL_VALUE(name, value) \
  static_assert(static_cast<unsigned long>(name) == static_cast<unsigned long>(value))

// MTLArgumentBuffersTier
METAL_VALUE(MTLArgumentBuffersTier1, 0);
METAL_VALUE(MTLArgumentBuffersTier2, 1);

// MTLArgumentType
METAL_VALUE(MTLArgumentTypeBuffer, 0);
METAL_VALUE(MTLArgumentTypeThreadgroupMemory, 1);
METAL_VALUE(MTLArgumentTypeTexture, 2);
METAL_VALUE(MTLArgumentTypeSampler, 3);
METAL_VALUE(MTLArgumentTypeImageblockData, 16);
METAL_VALUE(MTLArgumentTypeImageblock, 17);
METAL_VALUE(MTLArgumentTypeVisibleFunctionTable, 24);
METAL_VALUE(MTLArgumentTypePrimitiveAccelerationStructure, 25);
METAL_VALUE(MTLArgumentTypeInstanceAccelerationStructure, 26);
METAL_VALUE(MTLArgumentTypeIntersectionFunctionTable, 27);

// MTLBarrierScope
METAL_VALUE(MTLBarrierScopeBuffers, 1);
METAL_VALUE(MTLBarrierScopeTextures, 2);
METAL_VALUE(MTLBarrierScopeRenderTargets, 4);

// MTLBinaryArchiveError
METAL_VALUE(MTLBinaryArchiveErrorNone, 0);
METAL_VALUE(MTLBinaryArchiveErrorInvalidFile, 1);
METAL_VALUE(MTLBinaryArchiveErrorUnexpectedElement, 2);
METAL_VALUE(MTLBinaryArchiveErrorCompilationFailure, 3);
METAL_VALUE(MTLBinaryArchiveErrorInternalError, 4);

// MTLBindingAccess
METAL_VALUE(MTLBindingAccessReadOnly, 0);
METAL_VALUE(MTLBindingAccessReadWrite, 1);
METAL_VALUE(MTLBindingAccessWriteOnly, 2);

// MTLBindingType
METAL_VALUE(MTLBindingTypeBuffer, 0);
METAL_VALUE(MTLBindingTypeThreadgroupMemory, 1);
METAL_VALUE(MTLBindingTypeTexture, 2);
METAL_VALUE(MTLBindingTypeSampler, 3);
METAL_VALUE(MTLBindingTypeImageblockData, 16);
METAL_VALUE(MTLBindingTypeImageblock, 17);
METAL_VALUE(MTLBindingTypeVisibleFunctionTable, 24);
METAL_VALUE(MTLBindingTypePrimitiveAccelerationStructure, 25);
METAL_VALUE(MTLBindingTypeInstanceAccelerationStructure, 26);
METAL_VALUE(MTLBindingTypeIntersectionFunctionTable, 27);
METAL_VALUE(MTLBindingTypeObjectPayload, 34);
METAL_VALUE(MTLBindingTypeTensor, 37);

// MTLBufferSparseTier
METAL_VALUE(MTLBufferSparseTierNone, 0);
METAL_VALUE(MTLBufferSparseTier1, 1);

// MTLCPUCacheMode
METAL_VALUE(MTLCPUCacheModeDefaultCache, 0);
METAL_VALUE(MTLCPUCacheModeWriteCombined, 1);

// MTLCaptureDestination
METAL_VALUE(MTLCaptureDestinationDeveloperTools, 1);
METAL_VALUE(MTLCaptureDestinationGPUTraceDocument, 2);

// MTLCaptureError
METAL_VALUE(MTLCaptureErrorNotSupported, 1);
METAL_VALUE(MTLCaptureErrorAlreadyCapturing, 2);
METAL_VALUE(MTLCaptureErrorInvalidDescriptor, 3);

// MTLCommandBufferError
METAL_VALUE(MTLCommandBufferErrorNone, 0);
METAL_VALUE(MTLCommandBufferErrorInternal, 1);
METAL_VALUE(MTLCommandBufferErrorTimeout, 2);
METAL_VALUE(MTLCommandBufferErrorPageFault, 3);
METAL_VALUE(MTLCommandBufferErrorBlacklisted, 4);
METAL_VALUE(MTLCommandBufferErrorAccessRevoked, 4);
METAL_VALUE(MTLCommandBufferErrorNotPermitted, 7);
METAL_VALUE(MTLCommandBufferErrorOutOfMemory, 8);
METAL_VALUE(MTLCommandBufferErrorInvalidResource, 9);
METAL_VALUE(MTLCommandBufferErrorMemoryless, 10);
METAL_VALUE(MTLCommandBufferErrorDeviceRemoved, 11);
METAL_VALUE(MTLCommandBufferErrorStackOverflow, 12);

// MTLCommandBufferErrorOption
METAL_VALUE(MTLCommandBufferErrorOptionNone, 0);
METAL_VALUE(MTLCommandBufferErrorOptionEncoderExecutionStatus, 1);

// MTLCommandBufferStatus
METAL_VALUE(MTLCommandBufferStatusNotEnqueued, 0);
METAL_VALUE(MTLCommandBufferStatusEnqueued, 1);
METAL_VALUE(MTLCommandBufferStatusCommitted, 2);
METAL_VALUE(MTLCommandBufferStatusScheduled, 3);
METAL_VALUE(MTLCommandBufferStatusCompleted, 4);
METAL_VALUE(MTLCommandBufferStatusError, 5);

// MTLCommandEncoderErrorState
METAL_VALUE(MTLCommandEncoderErrorStateUnknown, 0);
METAL_VALUE(MTLCommandEncoderErrorStateCompleted, 1);
METAL_VALUE(MTLCommandEncoderErrorStateAffected, 2);
METAL_VALUE(MTLCommandEncoderErrorStatePending, 3);
METAL_VALUE(MTLCommandEncoderErrorStateFaulted, 4);

// MTLCompileSymbolVisibility
METAL_VALUE(MTLCompileSymbolVisibilityDefault, 0);
METAL_VALUE(MTLCompileSymbolVisibilityHidden, 1);

// MTLCounterSampleBufferError
METAL_VALUE(MTLCounterSampleBufferErrorOutOfMemory, 0);
METAL_VALUE(MTLCounterSampleBufferErrorInvalid, 1);
METAL_VALUE(MTLCounterSampleBufferErrorInternal, 2);

// MTLCounterSamplingPoint
METAL_VALUE(MTLCounterSamplingPointAtStageBoundary, 0);
METAL_VALUE(MTLCounterSamplingPointAtDrawBoundary, 1);
METAL_VALUE(MTLCounterSamplingPointAtDispatchBoundary, 2);
METAL_VALUE(MTLCounterSamplingPointAtTileDispatchBoundary, 3);
METAL_VALUE(MTLCounterSamplingPointAtBlitBoundary, 4);

// MTLDataType
METAL_VALUE(MTLDataTypeNone, 0);
METAL_VALUE(MTLDataTypeStruct, 1);
METAL_VALUE(MTLDataTypeArray, 2);
METAL_VALUE(MTLDataTypeFloat, 3);
METAL_VALUE(MTLDataTypeFloat2, 4);
METAL_VALUE(MTLDataTypeFloat3, 5);
METAL_VALUE(MTLDataTypeFloat4, 6);
METAL_VALUE(MTLDataTypeFloat2x2, 7);
METAL_VALUE(MTLDataTypeFloat2x3, 8);
METAL_VALUE(MTLDataTypeFloat2x4, 9);
METAL_VALUE(MTLDataTypeFloat3x2, 10);
METAL_VALUE(MTLDataTypeFloat3x3, 11);
METAL_VALUE(MTLDataTypeFloat3x4, 12);
METAL_VALUE(MTLDataTypeFloat4x2, 13);
METAL_VALUE(MTLDataTypeFloat4x3, 14);
METAL_VALUE(MTLDataTypeFloat4x4, 15);
METAL_VALUE(MTLDataTypeHalf, 16);
METAL_VALUE(MTLDataTypeHalf2, 17);
METAL_VALUE(MTLDataTypeHalf3, 18);
METAL_VALUE(MTLDataTypeHalf4, 19);
METAL_VALUE(MTLDataTypeHalf2x2, 20);
METAL_VALUE(MTLDataTypeHalf2x3, 21);
METAL_VALUE(MTLDataTypeHalf2x4, 22);
METAL_VALUE(MTLDataTypeHalf3x2, 23);
METAL_VALUE(MTLDataTypeHalf3x3, 24);
METAL_VALUE(MTLDataTypeHalf3x4, 25);
METAL_VALUE(MTLDataTypeHalf4x2, 26);
METAL_VALUE(MTLDataTypeHalf4x3, 27);
METAL_VALUE(MTLDataTypeHalf4x4, 28);
METAL_VALUE(MTLDataTypeInt, 29);
METAL_VALUE(MTLDataTypeInt2, 30);
METAL_VALUE(MTLDataTypeInt3, 31);
METAL_VALUE(MTLDataTypeInt4, 32);
METAL_VALUE(MTLDataTypeUInt, 33);
METAL_VALUE(MTLDataTypeUInt2, 34);
METAL_VALUE(MTLDataTypeUInt3, 35);
METAL_VALUE(MTLDataTypeUInt4, 36);
METAL_VALUE(MTLDataTypeShort, 37);
METAL_VALUE(MTLDataTypeShort2, 38);
METAL_VALUE(MTLDataTypeShort3, 39);
METAL_VALUE(MTLDataTypeShort4, 40);
METAL_VALUE(MTLDataTypeUShort, 41);
METAL_VALUE(MTLDataTypeUShort2, 42);
METAL_VALUE(MTLDataTypeUShort3, 43);
METAL_VALUE(MTLDataTypeUShort4, 44);
METAL_VALUE(MTLDataTypeChar, 45);
METAL_VALUE(MTLDataTypeChar2, 46);
METAL_VALUE(MTLDataTypeChar3, 47);
METAL_VALUE(MTLDataTypeChar4, 48);
METAL_VALUE(MTLDataTypeUChar, 49);
METAL_VALUE(MTLDataTypeUChar2, 50);
METAL_VALUE(MTLDataTypeUChar3, 51);
METAL_VALUE(MTLDataTypeUChar4, 52);
METAL_VALUE(MTLDataTypeBool, 53);
METAL_VALUE(MTLDataTypeBool2, 54);
METAL_VALUE(MTLDataTypeBool3, 55);
METAL_VALUE(MTLDataTypeBool4, 56);
METAL_VALUE(MTLDataTypeTexture, 58);
METAL_VALUE(MTLDataTypeSampler, 59);
METAL_VALUE(MTLDataTypePointer, 60);
METAL_VALUE(MTLDataTypeR8Unorm, 62);
METAL_VALUE(MTLDataTypeR8Snorm, 63);
METAL_VALUE(MTLDataTypeR16Unorm, 64);
METAL_VALUE(MTLDataTypeR16Snorm, 65);
METAL_VALUE(MTLDataTypeRG8Unorm, 66);
METAL_VALUE(MTLDataTypeRG8Snorm, 67);
METAL_VALUE(MTLDataTypeRG16Unorm, 68);
METAL_VALUE(MTLDataTypeRG16Snorm, 69);
METAL_VALUE(MTLDataTypeRGBA8Unorm, 70);
METAL_VALUE(MTLDataTypeRGBA8Unorm_sRGB, 71);
METAL_VALUE(MTLDataTypeRGBA8Snorm, 72);
METAL_VALUE(MTLDataTypeRGBA16Unorm, 73);
METAL_VALUE(MTLDataTypeRGBA16Snorm, 74);
METAL_VALUE(MTLDataTypeRGB10A2Unorm, 75);
METAL_VALUE(MTLDataTypeRG11B10Float, 76);
METAL_VALUE(MTLDataTypeRGB9E5Float, 77);
METAL_VALUE(MTLDataTypeRenderPipeline, 78);
METAL_VALUE(MTLDataTypeComputePipeline, 79);
METAL_VALUE(MTLDataTypeIndirectCommandBuffer, 80);
METAL_VALUE(MTLDataTypeLong, 81);
METAL_VALUE(MTLDataTypeLong2, 82);
METAL_VALUE(MTLDataTypeLong3, 83);
METAL_VALUE(MTLDataTypeLong4, 84);
METAL_VALUE(MTLDataTypeULong, 85);
METAL_VALUE(MTLDataTypeULong2, 86);
METAL_VALUE(MTLDataTypeULong3, 87);
METAL_VALUE(MTLDataTypeULong4, 88);
METAL_VALUE(MTLDataTypeVisibleFunctionTable, 115);
METAL_VALUE(MTLDataTypeIntersectionFunctionTable, 116);
METAL_VALUE(MTLDataTypePrimitiveAccelerationStructure, 117);
METAL_VALUE(MTLDataTypeInstanceAccelerationStructure, 118);
METAL_VALUE(MTLDataTypeBFloat, 121);
METAL_VALUE(MTLDataTypeBFloat2, 122);
METAL_VALUE(MTLDataTypeBFloat3, 123);
METAL_VALUE(MTLDataTypeBFloat4, 124);
METAL_VALUE(MTLDataTypeDepthStencilState, 139);
METAL_VALUE(MTLDataTypeTensor, 140);

// MTLDeviceLocation
METAL_VALUE(MTLDeviceLocationBuiltIn, 0);
METAL_VALUE(MTLDeviceLocationSlot, 1);
METAL_VALUE(MTLDeviceLocationExternal, 2);
METAL_VALUE(MTLDeviceLocationUnspecified, ~0ul);

// MTLDispatchType
METAL_VALUE(MTLDispatchTypeSerial, 0);
METAL_VALUE(MTLDispatchTypeConcurrent, 1);

// MTLDynamicLibraryError
METAL_VALUE(MTLDynamicLibraryErrorNone, 0);
METAL_VALUE(MTLDynamicLibraryErrorInvalidFile, 1);
METAL_VALUE(MTLDynamicLibraryErrorCompilationFailure, 2);
METAL_VALUE(MTLDynamicLibraryErrorUnresolvedInstallName, 3);
METAL_VALUE(MTLDynamicLibraryErrorDependencyLoadFailure, 4);
METAL_VALUE(MTLDynamicLibraryErrorUnsupported, 5);

// MTLFunctionLogType
METAL_VALUE(MTLFunctionLogTypeValidation, 0);

// MTLFunctionOptions
METAL_VALUE(MTLFunctionOptionNone, 0);
METAL_VALUE(MTLFunctionOptionCompileToBinary, 1);
METAL_VALUE(MTLFunctionOptionStoreFunctionInMetalPipelinesScript, 2);
METAL_VALUE(MTLFunctionOptionStoreFunctionInMetalScript, 2);
METAL_VALUE(MTLFunctionOptionFailOnBinaryArchiveMiss, 4);
METAL_VALUE(MTLFunctionOptionPipelineIndependent, 8);

// MTLFunctionType
METAL_VALUE(MTLFunctionTypeVertex, 1);
METAL_VALUE(MTLFunctionTypeFragment, 2);
METAL_VALUE(MTLFunctionTypeKernel, 3);
METAL_VALUE(MTLFunctionTypeVisible, 5);
METAL_VALUE(MTLFunctionTypeIntersection, 6);
METAL_VALUE(MTLFunctionTypeMesh, 7);
METAL_VALUE(MTLFunctionTypeObject, 8);

// MTLGPUFamily
METAL_VALUE(MTLGPUFamilyApple1, 1001);
METAL_VALUE(MTLGPUFamilyApple2, 1002);
METAL_VALUE(MTLGPUFamilyApple3, 1003);
METAL_VALUE(MTLGPUFamilyApple4, 1004);
METAL_VALUE(MTLGPUFamilyApple5, 1005);
METAL_VALUE(MTLGPUFamilyApple6, 1006);
METAL_VALUE(MTLGPUFamilyApple7, 1007);
METAL_VALUE(MTLGPUFamilyApple8, 1008);
METAL_VALUE(MTLGPUFamilyApple9, 1009);
METAL_VALUE(MTLGPUFamilyApple10, 1010);
METAL_VALUE(MTLGPUFamilyMac1, 2001);
METAL_VALUE(MTLGPUFamilyMac2, 2002);
METAL_VALUE(MTLGPUFamilyCommon1, 3001);
METAL_VALUE(MTLGPUFamilyCommon2, 3002);
METAL_VALUE(MTLGPUFamilyCommon3, 3003);
METAL_VALUE(MTLGPUFamilyMacCatalyst1, 4001);
METAL_VALUE(MTLGPUFamilyMacCatalyst2, 4002);
METAL_VALUE(MTLGPUFamilyMetal3, 5001);
METAL_VALUE(MTLGPUFamilyMetal4, 5002);

// MTLHazardTrackingMode
METAL_VALUE(MTLHazardTrackingModeDefault, 0);
METAL_VALUE(MTLHazardTrackingModeUntracked, 1);
METAL_VALUE(MTLHazardTrackingModeTracked, 2);

// MTLHeapType
METAL_VALUE(MTLHeapTypeAutomatic, 0);
METAL_VALUE(MTLHeapTypePlacement, 1);
METAL_VALUE(MTLHeapTypeSparse, 2);

// MTLIndexType
METAL_VALUE(MTLIndexTypeUInt16, 0);
METAL_VALUE(MTLIndexTypeUInt32, 1);

// MTLIndirectCommandType
METAL_VALUE(MTLIndirectCommandTypeDraw, 1);
METAL_VALUE(MTLIndirectCommandTypeDrawIndexed, 2);
METAL_VALUE(MTLIndirectCommandTypeDrawPatches, 4);
METAL_VALUE(MTLIndirectCommandTypeDrawIndexedPatches, 8);
METAL_VALUE(MTLIndirectCommandTypeConcurrentDispatch, 32);
METAL_VALUE(MTLIndirectCommandTypeConcurrentDispatchThreads, 64);
METAL_VALUE(MTLIndirectCommandTypeDrawMeshThreadgroups, 128);
METAL_VALUE(MTLIndirectCommandTypeDrawMeshThreads, 256);

// MTLLanguageVersion
METAL_VALUE(MTLLanguageVersion1_0, 0x10000);
METAL_VALUE(MTLLanguageVersion1_1, 0x10001);
METAL_VALUE(MTLLanguageVersion1_2, 0x10002);
METAL_VALUE(MTLLanguageVersion2_0, 0x20000);
METAL_VALUE(MTLLanguageVersion2_1, 0x20001);
METAL_VALUE(MTLLanguageVersion2_2, 0x20002);
METAL_VALUE(MTLLanguageVersion2_3, 0x20003);
METAL_VALUE(MTLLanguageVersion2_4, 0x20004);
METAL_VALUE(MTLLanguageVersion3_0, 0x30000);
METAL_VALUE(MTLLanguageVersion3_1, 0x30001);
METAL_VALUE(MTLLanguageVersion3_2, 0x30002);
METAL_VALUE(MTLLanguageVersion4_0, 0x40000);

// MTLLibraryError
METAL_VALUE(MTLLibraryErrorUnsupported, 1);
METAL_VALUE(MTLLibraryErrorInternal, 2);
METAL_VALUE(MTLLibraryErrorCompileFailure, 3);
METAL_VALUE(MTLLibraryErrorCompileWarning, 4);
METAL_VALUE(MTLLibraryErrorFunctionNotFound, 5);
METAL_VALUE(MTLLibraryErrorFileNotFound, 6);

// MTLLibraryOptimizationLevel
METAL_VALUE(MTLLibraryOptimizationLevelDefault, 0);
METAL_VALUE(MTLLibraryOptimizationLevelSize, 1);

// MTLLibraryType
METAL_VALUE(MTLLibraryTypeExecutable, 0);
METAL_VALUE(MTLLibraryTypeDynamic, 1);

// MTLLogLevel
METAL_VALUE(MTLLogLevelUndefined, 0);
METAL_VALUE(MTLLogLevelDebug, 1);
METAL_VALUE(MTLLogLevelInfo, 2);
METAL_VALUE(MTLLogLevelNotice, 3);
METAL_VALUE(MTLLogLevelError, 4);
METAL_VALUE(MTLLogLevelFault, 5);

// MTLLogStateError
METAL_VALUE(MTLLogStateErrorInvalidSize, 1);
METAL_VALUE(MTLLogStateErrorInvalid, 2);

// MTLMathFloatingPointFunctions
METAL_VALUE(MTLMathFloatingPointFunctionsFast, 0);
METAL_VALUE(MTLMathFloatingPointFunctionsPrecise, 1);

// MTLMathMode
METAL_VALUE(MTLMathModeSafe, 0);
METAL_VALUE(MTLMathModeRelaxed, 1);
METAL_VALUE(MTLMathModeFast, 2);

// MTLMutability
METAL_VALUE(MTLMutabilityDefault, 0);
METAL_VALUE(MTLMutabilityMutable, 1);
METAL_VALUE(MTLMutabilityImmutable, 2);

// MTLPipelineOption
METAL_VALUE(MTLPipelineOptionNone, 0);
METAL_VALUE(MTLPipelineOptionArgumentInfo, 1);
METAL_VALUE(MTLPipelineOptionBindingInfo, 1);
METAL_VALUE(MTLPipelineOptionBufferTypeInfo, 2);
METAL_VALUE(MTLPipelineOptionFailOnBinaryArchiveMiss, 4);

// MTLPurgeableState
METAL_VALUE(MTLPurgeableStateKeepCurrent, 1);
METAL_VALUE(MTLPurgeableStateNonVolatile, 2);
METAL_VALUE(MTLPurgeableStateVolatile, 3);
METAL_VALUE(MTLPurgeableStateEmpty, 4);

// MTLResourceOptions
METAL_VALUE(MTLResourceCPUCacheModeDefaultCache, 0);
METAL_VALUE(MTLResourceCPUCacheModeWriteCombined, 1);
METAL_VALUE(MTLResourceStorageModeShared, 0);
METAL_VALUE(MTLResourceStorageModeManaged, 16);
METAL_VALUE(MTLResourceStorageModePrivate, 32);
METAL_VALUE(MTLResourceHazardTrackingModeDefault, 0);
METAL_VALUE(MTLResourceHazardTrackingModeUntracked, 256);
METAL_VALUE(MTLResourceHazardTrackingModeTracked, 512);
METAL_VALUE(MTLResourceOptionCPUCacheModeDefault, 0);
METAL_VALUE(MTLResourceOptionCPUCacheModeWriteCombined, 1);
// 0x20 in metal-cpp of Xcode 26; 48 in that of macOS 14.2 (bkaradzic/metal-cpp a63bd17).
METAL_VALUE(MTLResourceStorageModeMemoryless, 48);

// MTLResourceUsage
METAL_VALUE(MTLResourceUsageRead, 1);
METAL_VALUE(MTLResourceUsageWrite, 2);
METAL_VALUE(MTLResourceUsageSample, 4);

// MTLShaderValidation
METAL_VALUE(MTLShaderValidationDefault, 0);
METAL_VALUE(MTLShaderValidationEnabled, 1);
METAL_VALUE(MTLShaderValidationDisabled, 2);

// MTLSparsePageSize
METAL_VALUE(MTLSparsePageSize16, 101);
METAL_VALUE(MTLSparsePageSize64, 102);
METAL_VALUE(MTLSparsePageSize256, 103);

// MTLStages
METAL_VALUE(MTLStageVertex, 1);
METAL_VALUE(MTLStageFragment, 2);
METAL_VALUE(MTLStageTile, 4);
METAL_VALUE(MTLStageObject, 8);
METAL_VALUE(MTLStageMesh, 16);
METAL_VALUE(MTLStageResourceState, 0x4000000);
METAL_VALUE(MTLStageDispatch, 0x8000000);
METAL_VALUE(MTLStageBlit, 0x10000000);
METAL_VALUE(MTLStageAccelerationStructure, 0x20000000);
METAL_VALUE(MTLStageMachineLearning, 0x40000000);
METAL_VALUE(MTLStageAll, 0x7ffffffffffffffful);

// MTLStorageMode
METAL_VALUE(MTLStorageModeShared, 0);
METAL_VALUE(MTLStorageModeManaged, 1);
METAL_VALUE(MTLStorageModePrivate, 2);
METAL_VALUE(MTLStorageModeMemoryless, 3);

// Options are fields of the other enumerations.
static_assert(MTLResourceStorageModePrivate == MTLStorageModePrivate << 4);
static_assert(MTLResourceStorageModeMemoryless == MTLStorageModeMemoryless << 4);
static_assert(MTLResourceHazardTrackingModeTracked == MTLHazardTrackingModeTracked << 8);

// Structures that cross the boundary by value.
static_assert(sizeof(MTLSize) == 24 && sizeof(MTLOrigin) == 24 && sizeof(MTLRegion) == 48);
static_assert(sizeof(MTLSizeAndAlign) == 16 && sizeof(MTLResourceID) == 8 && sizeof(NSRange) == 16);
static_assert(sizeof(MTLDispatchThreadgroupsIndirectArguments) == 12);
static_assert(sizeof(MTLIndirectCommandBufferExecutionRange) == 8);

TEST(MetalValues, Enumerations_HaveTheWidthOfTheirMacro) {
  EXPECT_EQ(sizeof(MTLCommandBufferStatus), 8u);
  EXPECT_EQ(sizeof(MTLResourceOptions), 8u);
  EXPECT_EQ(sizeof(BOOL), 1u);
}

}  // namespace
