// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUresult: the results of CUDA 13.0, with CUDA's names and numbers, and the Status of each.
//
//   kDeviceLost         sticky: "This leaves the process in an inconsistent state and any further
//                       CUDA work will return the same error", or the context is gone
//   kResourceExhausted  memory, or another resource of the system
//   kUnavailable        this driver, or this system, cannot now
//   kDataLoss           an image that is not valid
//   kInternal           results that no function of functions.h documents
#pragma once

namespace halyard::inline v0::cuda {

// X(name, number, StatusCode)
#define HALYARD_CUDA_RESULTS(X)                                       \
  X(CUDA_SUCCESS, 0, kOk)                                             \
  X(CUDA_ERROR_INVALID_VALUE, 1, kInvalidArgument)                    \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, kResourceExhausted)                  \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, kUnavailable)                      \
  X(CUDA_ERROR_DEINITIALIZED, 4, kDeviceLost)                         \
  X(CUDA_ERROR_PROFILER_DISABLED, 5, kInternal)                       \
  X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6, kInternal)                \
  X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7, kInternal)                \
  X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8, kInternal)                \
  X(CUDA_ERROR_STUB_LIBRARY, 34, kUnavailable)                        \
  X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, kUnavailable)          \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, kUnavailable)                  \
  X(CUDA_ERROR_NO_DEVICE, 100, kNotFound)                             \
  X(CUDA_ERROR_INVALID_DEVICE, 101, kNotFound)                        \
  X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102, kUnavailable)                \
  X(CUDA_ERROR_INVALID_IMAGE, 200, kDataLoss)                         \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, kInvalidArgument)                \
  X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202, kInternal)               \
  X(CUDA_ERROR_MAP_FAILED, 205, kInternal)                            \
  X(CUDA_ERROR_UNMAP_FAILED, 206, kInternal)                          \
  X(CUDA_ERROR_ARRAY_IS_MAPPED, 207, kInternal)                       \
  X(CUDA_ERROR_ALREADY_MAPPED, 208, kInternal)                        \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, kUnavailable)                  \
  X(CUDA_ERROR_ALREADY_ACQUIRED, 210, kInternal)                      \
  X(CUDA_ERROR_NOT_MAPPED, 211, kInternal)                            \
  X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212, kInternal)                   \
  X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213, kInternal)                 \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, kDeviceLost)                   \
  X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, kUnimplemented)                \
  X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216, kInternal)                \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, kUnimplemented)          \
  X(CUDA_ERROR_INVALID_PTX, 218, kDataLoss)                           \
  X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219, kInternal)              \
  X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220, kDeviceLost)                \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, kUnavailable)             \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, kUnavailable)            \
  X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223, kUnavailable)           \
  X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224, kUnimplemented)        \
  X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225, kUnavailable)           \
  X(CUDA_ERROR_CONTAINED, 226, kDeviceLost)                           \
  X(CUDA_ERROR_INVALID_SOURCE, 300, kDataLoss)                        \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, kNotFound)                        \
  X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, kDataLoss)        \
  X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, kDataLoss)             \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304, kResourceExhausted)             \
  X(CUDA_ERROR_INVALID_HANDLE, 400, kInvalidArgument)                 \
  X(CUDA_ERROR_ILLEGAL_STATE, 401, kInternal)                         \
  X(CUDA_ERROR_LOSSY_QUERY, 402, kInternal)                           \
  X(CUDA_ERROR_NOT_FOUND, 500, kNotFound)                             \
  X(CUDA_ERROR_NOT_READY, 600, kInternal)                             \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, kDeviceLost)                     \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, kUnavailable)            \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, kDeviceLost)                      \
  X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703, kInternal)         \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, kInternal)           \
  X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, kInternal)               \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, kInternal)                \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, kDeviceLost)                \
  X(CUDA_ERROR_ASSERT, 710, kDeviceLost)                              \
  X(CUDA_ERROR_TOO_MANY_PEERS, 711, kInternal)                        \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, kInvalidArgument) \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, kInvalidArgument)     \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, kDeviceLost)                \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, kDeviceLost)                 \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, kDeviceLost)                  \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, kDeviceLost)               \
  X(CUDA_ERROR_INVALID_PC, 718, kDeviceLost)                          \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, kDeviceLost)                       \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, kInvalidArgument)   \
  X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721, kDeviceLost)                  \
  X(CUDA_ERROR_NOT_PERMITTED, 800, kPermissionDenied)                 \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, kUnimplemented)                    \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802, kUnavailable)                   \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, kUnavailable)             \
  X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, kUnavailable)     \
  X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805, kUnavailable)              \
  X(CUDA_ERROR_MPS_RPC_FAILURE, 806, kUnavailable)                    \
  X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807, kUnavailable)               \
  X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808, kResourceExhausted)      \
  X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809, kResourceExhausted)  \
  X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810, kDeviceLost)               \
  X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811, kUnimplemented)                \
  X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812, kUnimplemented)             \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, kInvalidArgument)     \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, kInvalidArgument)     \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, kInvalidArgument)           \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, kInvalidArgument)       \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, kInvalidArgument)        \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, kInvalidArgument)       \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, kInvalidArgument)        \
  X(CUDA_ERROR_CAPTURED_EVENT, 907, kInvalidArgument)                 \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, kInvalidArgument)    \
  X(CUDA_ERROR_TIMEOUT, 909, kDeadlineExceeded)                       \
  X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, kInternal)             \
  X(CUDA_ERROR_EXTERNAL_DEVICE, 911, kDeviceLost)                     \
  X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, kUnimplemented)             \
  X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913, kInternal)                   \
  X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, kInvalidArgument)          \
  X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, kInvalidArgument) \
  X(CUDA_ERROR_KEY_ROTATION, 916, kInternal)                          \
  X(CUDA_ERROR_UNKNOWN, 999, kInternal)

enum CUresult : int {
#define HALYARD_CUDA_ENUMERATOR(name, number, code) name = number,
  HALYARD_CUDA_RESULTS(HALYARD_CUDA_ENUMERATOR)
#undef HALYARD_CUDA_ENUMERATOR
};

}  // namespace halyard::inline v0::cuda
