// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipError_t: HIP's results, with its names and numbers, and the Status of each. Numbers up to 999
// are mostly CUDA's; hip_runtime_api.h of HIP 5.2 and of 7.2 have these.
//
//   kDeviceLost         "the process cannot be used any more", if a stream confirms it: a refused
//                       launch answers hipErrorLaunchFailure, too (HipApi::still_works)
//   kInvalidArgument    also hipErrorContextIsDestroyed, which is a bad handle up to HIP 6
//   kInternal           results that no function of functions.h documents; hipErrorUnknown
#pragma once

namespace halyard::inline v0::hip {

// X(name, number, StatusCode)
#define HALYARD_HIP_RESULTS(X)                                     \
  X(hipSuccess, 0, kOk)                                            \
  X(hipErrorInvalidValue, 1, kInvalidArgument)                     \
  X(hipErrorOutOfMemory, 2, kResourceExhausted)                    \
  X(hipErrorNotInitialized, 3, kUnavailable)                       \
  X(hipErrorDeinitialized, 4, kDeviceLost)                         \
  X(hipErrorProfilerDisabled, 5, kInternal)                        \
  X(hipErrorProfilerNotInitialized, 6, kInternal)                  \
  X(hipErrorProfilerAlreadyStarted, 7, kInternal)                  \
  X(hipErrorProfilerAlreadyStopped, 8, kInternal)                  \
  X(hipErrorInvalidConfiguration, 9, kInvalidArgument)             \
  X(hipErrorInvalidPitchValue, 12, kInternal)                      \
  X(hipErrorInvalidSymbol, 13, kInternal)                          \
  X(hipErrorInvalidDevicePointer, 17, kInvalidArgument)            \
  X(hipErrorInvalidMemcpyDirection, 21, kInternal)                 \
  X(hipErrorInsufficientDriver, 35, kUnavailable)                  \
  X(hipErrorMissingConfiguration, 52, kInternal)                   \
  X(hipErrorPriorLaunchFailure, 53, kInternal)                     \
  X(hipErrorInvalidDeviceFunction, 98, kInternal)                  \
  X(hipErrorNoDevice, 100, kNotFound)                              \
  X(hipErrorInvalidDevice, 101, kNotFound)                         \
  X(hipErrorInvalidImage, 200, kDataLoss)                          \
  X(hipErrorInvalidContext, 201, kInvalidArgument)                 \
  X(hipErrorContextAlreadyCurrent, 202, kInternal)                 \
  X(hipErrorMapFailed, 205, kInternal)                             \
  X(hipErrorUnmapFailed, 206, kInternal)                           \
  X(hipErrorArrayIsMapped, 207, kInternal)                         \
  X(hipErrorAlreadyMapped, 208, kInternal)                         \
  X(hipErrorNoBinaryForGpu, 209, kUnavailable)                     \
  X(hipErrorAlreadyAcquired, 210, kInternal)                       \
  X(hipErrorNotMapped, 211, kInternal)                             \
  X(hipErrorNotMappedAsArray, 212, kInternal)                      \
  X(hipErrorNotMappedAsPointer, 213, kInternal)                    \
  X(hipErrorECCNotCorrectable, 214, kDeviceLost)                   \
  X(hipErrorUnsupportedLimit, 215, kUnimplemented)                 \
  X(hipErrorContextAlreadyInUse, 216, kInternal)                   \
  X(hipErrorPeerAccessUnsupported, 217, kUnimplemented)            \
  X(hipErrorInvalidKernelFile, 218, kDataLoss)                     \
  X(hipErrorInvalidGraphicsContext, 219, kInternal)                \
  X(hipErrorInvalidSource, 300, kDataLoss)                         \
  X(hipErrorFileNotFound, 301, kNotFound)                          \
  X(hipErrorSharedObjectSymbolNotFound, 302, kDataLoss)            \
  X(hipErrorSharedObjectInitFailed, 303, kDataLoss)                \
  X(hipErrorOperatingSystem, 304, kResourceExhausted)              \
  X(hipErrorInvalidHandle, 400, kInvalidArgument)                  \
  X(hipErrorIllegalState, 401, kInternal)                          \
  X(hipErrorNotFound, 500, kNotFound)                              \
  X(hipErrorNotReady, 600, kInternal)                              \
  X(hipErrorIllegalAddress, 700, kDeviceLost)                      \
  X(hipErrorLaunchOutOfResources, 701, kUnavailable)               \
  X(hipErrorLaunchTimeOut, 702, kDeviceLost)                       \
  X(hipErrorPeerAccessAlreadyEnabled, 704, kInternal)              \
  X(hipErrorPeerAccessNotEnabled, 705, kInternal)                  \
  X(hipErrorSetOnActiveProcess, 708, kInternal)                    \
  X(hipErrorContextIsDestroyed, 709, kInvalidArgument)             \
  X(hipErrorAssert, 710, kDeviceLost)                              \
  X(hipErrorHostMemoryAlreadyRegistered, 712, kFailedPrecondition) \
  X(hipErrorHostMemoryNotRegistered, 713, kInvalidArgument)        \
  X(hipErrorLaunchFailure, 719, kDeviceLost)                       \
  X(hipErrorCooperativeLaunchTooLarge, 720, kInvalidArgument)      \
  X(hipErrorNotSupported, 801, kUnimplemented)                     \
  X(hipErrorStreamCaptureUnsupported, 900, kInvalidArgument)       \
  X(hipErrorStreamCaptureInvalidated, 901, kInvalidArgument)       \
  X(hipErrorStreamCaptureMerge, 902, kInvalidArgument)             \
  X(hipErrorStreamCaptureUnmatched, 903, kInvalidArgument)         \
  X(hipErrorStreamCaptureUnjoined, 904, kInvalidArgument)          \
  X(hipErrorStreamCaptureIsolation, 905, kInvalidArgument)         \
  X(hipErrorStreamCaptureImplicit, 906, kInvalidArgument)          \
  X(hipErrorCapturedEvent, 907, kInvalidArgument)                  \
  X(hipErrorStreamCaptureWrongThread, 908, kInvalidArgument)       \
  X(hipErrorGraphExecUpdateFailure, 910, kInternal)                \
  X(hipErrorUnknown, 999, kInternal)                               \
  X(hipErrorRuntimeMemory, 1052, kResourceExhausted)               \
  X(hipErrorRuntimeOther, 1053, kInternal)

enum hipError_t : int {
#define HALYARD_HIP_ENUMERATOR(name, number, code) name = number,
  HALYARD_HIP_RESULTS(HALYARD_HIP_ENUMERATOR)
#undef HALYARD_HIP_ENUMERATOR
};

}  // namespace halyard::inline v0::hip
