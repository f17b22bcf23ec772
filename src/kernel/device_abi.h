// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calling conventions of images for GPUs. In all of them workgroups have the size in the
// reflection, and bindings and constants have its order.
#pragma once

#include <cstdint>
#include <string_view>

namespace halyard::inline v0::kernel {

// PTX and AMD code objects. An entry has the kernel's name. A launch passes it one packed buffer:
// the device address of each binding, 8 bytes each, then the struct of constants at their offsets,
// and nothing after it. CUDA (CU_LAUNCH_PARAM_BUFFER_POINTER) and the HSA kernel argument segment
// lay out a C parameter list of pointers and then scalars this way, so kernels of nvcc and hipcc
// with such a list follow this convention too.
inline constexpr std::string_view kKernargConvention = "hy-kernarg-1";
inline constexpr std::uint32_t kAddressBytes = 8;

// A SPIR-V module for Vulkan 1.2 that addresses memory as kernels of hy-kernarg-1 do: the
// compiler's output for .hyk. It has a GLCompute entry point for each kernel, with the kernel's
// name and workgroup size, and no descriptors.
//   The push constants are 8 bytes at offset 0: the device address of an argument block, a multiple
//   of 8. A kernel without bindings and constants never uses it.
//   The block is the packed buffer of hy-kernarg-1: constant c is at byte
//   kAddressBytes * <number of bindings> + c.offset. The kernel reads it and never writes it. A
//   driver writes it before the launch and keeps it until the launch has retired.
//   The address of a binding is a multiple of its element's size, and no two bindings share memory
//   that a kernel writes. An index into a binding is below 2^31.
// Floating point rounds to nearest and keeps signed zeros, infinities and NaNs. A device needs
// bufferDeviceAddress, shaderRoundingModeRTEFloat32 and shaderSignedZeroInfNanPreserveFloat32;
// buffers need VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. A module with elements of 1 byte has the
// capability StorageBuffer8BitAccess and needs storageBuffer8BitAccess; with elements of 2 bytes,
// those of 16 bits. No module computes with types of 8 or 16 bits.
inline constexpr std::string_view kVulkanAddressConvention = "hy-vulkan-2";

// A SPIR-V module for Vulkan 1.2 from another compiler. It has a GLCompute entry point for each
// kernel, with the kernel's name and workgroup size. Binding i is a storage buffer, descriptor set
// 0, binding i. The struct of constants is the push constants, at most 128 bytes, which every
// device has. The module itself requests how floating point rounds.
inline constexpr std::string_view kVulkanConvention = "hy-vulkan-1";
inline constexpr std::uint32_t kVulkanConstantsBytes = 128;

// Source text in the Metal Shading Language 3.0. It has a kernel function with the name of each
// kernel, and a group has the workgroup size in the reflection.
//   [[buffer(0)]] is an argument buffer, a reference to a struct in the address space `constant`.
//   It has a member `device T* name [[id(i)]]` for each binding i, without gaps, where T is const
//   for a binding that is only read. A kernel without bindings has no such argument. Bindings of
//   several descriptor sets are numbered in the order of their sets, then of their numbers there.
//   [[buffer(1)]] is the struct of constants, a reference in `constant`, with setBytes. A kernel
//   without constants has no such argument. Metal requires as many bytes as the struct has there,
//   at most metal_constants_length(). The source declares shared arrays: a launch passes no
//   threadgroup memory.
// The address of a binding is a multiple of its element's size. A driver encodes the argument
// buffer with the function's MTLArgumentEncoder for buffer 0, and makes each binding resident with
// the usage of its access (useResource:usage:). A driver compiles the text as language version 3.0,
// without fast mathematics: fastMathEnabled = NO, or mathMode = MTLMathModeSafe on systems that
// have it. A text that must not use fused multiply-add disables it (#pragma METAL fp
// contract(off)), as the compiler's texts do.
inline constexpr std::string_view kMetalConvention = "hy-metal-2";
inline constexpr std::string_view kMetalTarget = "msl-3.0";
inline constexpr std::uint32_t kMetalBindingsBuffer = 0;
inline constexpr std::uint32_t kMetalConstantsBuffer = 1;
// The size of a struct with a constant of 16 bytes is a multiple of 16. Bytes beyond the constants
// have no meaning.
constexpr std::uint32_t metal_constants_length(std::uint32_t constants_bytes) noexcept {
  return (constants_bytes + 15) & ~std::uint32_t{15};
}
// Before hy-metal-2, binding i was [[buffer(i)]], so there could be at most 31 bindings. No driver
// runs this convention.
inline constexpr std::string_view kOldMetalConvention = "hy-metal-1";

}  // namespace halyard::inline v0::kernel
