// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA arrays and copies to and from them. Source: cuda.h of CUDA 13.0 at the function that a case
// names.
#include <array>
#include <numeric>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

struct Flat {
  std::size_t width, height;
  int format;
  unsigned channels;
};
struct Deep {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
struct Copy3D {
  std::size_t source_x, source_y, source_z, source_lod;
  unsigned source_type;
  const void* source_host;
  Address source_device;
  Handle source_array;
  void* reserved0;
  std::size_t source_pitch, source_height;
  std::size_t x, y, z, lod;
  unsigned type;
  void* host;
  Address device;
  Handle array;
  void* reserved1;
  std::size_t pitch, height_of;
  std::size_t width, height, depth;
};

extern "C" {
int cuArrayCreate_v2(Handle*, const Flat*);
int cuArray3DCreate_v2(Handle*, const Deep*);
int cuArrayDestroy(Handle);
int cuArrayGetDescriptor_v2(Flat*, Handle);
int cuArray3DGetDescriptor_v2(Deep*, Handle);
int cuMemcpyHtoA_v2(Handle, std::size_t, const void*, std::size_t);
int cuMemcpyAtoH_v2(void*, Handle, std::size_t, std::size_t);
int cuMemcpyAtoD_v2(Address, Handle, std::size_t, std::size_t);
int cuMemcpyDtoA_v2(Handle, std::size_t, Address, std::size_t);
int cuMemcpyAtoA_v2(Handle, std::size_t, Handle, std::size_t, std::size_t);
int cuMemcpyHtoAAsync_v2(Handle, std::size_t, const void*, std::size_t, Handle);
int cuMemcpyAtoHAsync_v2(void*, Handle, std::size_t, std::size_t, Handle);
int cuMemcpy3D_v2(const Copy3D*);
int cuGraphAddMemcpyNode(Handle*, Handle, const Handle*, std::size_t, const Copy3D*, Handle);
int cuGraphMemcpyNodeGetParams(Handle, Copy3D*);
}

constexpr unsigned kHost = 1, kDevice = 2, kArray = 3;
constexpr int kUnsigned32 = 3, kHalf = 0x10;

class SimCudaArray : public DriverTest {
 protected:
  Handle flat(std::size_t width, std::size_t height = 0) {
    const Flat shape{width, height, kUnsigned32, 1};
    Handle made = nullptr;
    EXPECT_EQ(cuArrayCreate_v2(&made, &shape), kSuccess);
    return made;
  }
};

TEST_F(SimCudaArray, Copies_GoRoundThroughArrays) {
  const std::array<std::uint32_t, 8> host = {1, 2, 3, 4, 5, 6, 7, 8};
  std::array<std::uint32_t, 8> back{};
  const Handle first = flat(8), second = flat(8), in = stream();
  const Address a = words(8);
  ASSERT_EQ(cuMemcpyHtoA_v2(first, 0, host.data(), 32), kSuccess);
  ASSERT_EQ(cuMemcpyAtoA_v2(second, 16, first, 0, 16), kSuccess);
  ASSERT_EQ(cuMemcpyAtoD_v2(a, second, 16, 16), kSuccess);
  ASSERT_EQ(cuMemcpyDtoA_v2(first, 16, a, 8), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), kSuccess);
  ASSERT_EQ(cuMemcpyAtoH_v2(back.data(), first, 0, 32), kSuccess);
  EXPECT_EQ(back, (std::array<std::uint32_t, 8>{1, 2, 3, 4, 1, 2, 7, 8}));
  ASSERT_EQ(cuMemcpyHtoAAsync_v2(first, 4, host.data(), 4, in), kSuccess);
  ASSERT_EQ(cuMemcpyAtoHAsync_v2(back.data(), first, 0, 8, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(back[1], 1U);
  EXPECT_EQ(cuArrayDestroy(first), kSuccess);
  EXPECT_EQ(cuArrayDestroy(second), kSuccess);
}

// CUDA_MEMCPY2D: a copy that leaves an array is an error; x must be a multiple of the element's
// size, which an H200 does not require. A destroyed array crashes the process there.
TEST_F(SimCudaArray, Copy_OutsideAnArray_IsRefused) {
  const Handle array = flat(4);
  std::array<std::uint32_t, 8> host{};
  EXPECT_EQ(cuMemcpyHtoA_v2(array, 8, host.data(), 12), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoA_v2(array, 2, host.data(), 4), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoA_v2(array, 8, host.data(), 8), kSuccess);
  EXPECT_EQ(cuArrayDestroy(array), kSuccess);
  EXPECT_EQ(cuMemcpyHtoA_v2(array, 0, host.data(), 4), kInvalidHandle);
}

TEST_F(SimCudaArray, Copies_OfTwoAndThreeDimensions_UseCoordinates) {
  const Handle plane = flat(5, 4);
  std::vector<std::uint32_t> host(20);
  std::iota(host.begin(), host.end(), 0U);
  Copy2D in{};
  in.source_type = kHost;
  in.source_host = host.data();
  in.source_pitch = 20;
  in.type = kArray;
  in.array = plane;
  in.width = 20;
  in.height = 4;
  ASSERT_EQ(cuMemcpy2D_v2(&in), kSuccess);
  // A block of 2 x 2 at (3, 1) of the plane to (1, 1, 1) of a volume of 4 x 3 x 2.
  const Deep shape{4, 3, 2, kUnsigned32, 1, 0};
  Handle volume = nullptr;
  ASSERT_EQ(cuArray3DCreate_v2(&volume, &shape), kSuccess);
  Copy3D across{};
  across.source_type = across.type = kArray;
  across.source_array = plane;
  across.array = volume;
  across.source_x = 12;
  across.source_y = 1;
  across.x = 4;
  across.y = across.z = 1;
  across.width = 8;
  across.height = 2;
  across.depth = 1;
  ASSERT_EQ(cuMemcpy3D_v2(&across), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), kSuccess);
  std::vector<std::uint32_t> back(24);
  Copy3D out{};
  out.source_type = kArray;
  out.source_array = volume;
  out.type = kHost;
  out.host = back.data();
  out.pitch = 16;
  out.height_of = 3;
  out.width = 16;
  out.height = 3;
  out.depth = 2;
  ASSERT_EQ(cuMemcpy3D_v2(&out), kSuccess);
  EXPECT_EQ(back[12 + 4 + 1], 8U);
  EXPECT_EQ(back[12 + 4 + 2], 9U);
  EXPECT_EQ(back[12 + 8 + 1], 13U);
  EXPECT_EQ(back[12 + 8 + 2], 14U);
  across.z = 2;
  EXPECT_EQ(cuMemcpy3D_v2(&across), kInvalidValue);
}

TEST_F(SimCudaArray, Descriptor_IsThatOfItsMaking) {
  const Deep shape{16, 8, 2, kHalf, 4, 2};
  Handle array = nullptr;
  ASSERT_EQ(cuArray3DCreate_v2(&array, &shape), kSuccess);
  Deep deep{};
  Flat flat_of{};
  ASSERT_EQ(cuArray3DGetDescriptor_v2(&deep, array), kSuccess);
  ASSERT_EQ(cuArrayGetDescriptor_v2(&flat_of, array), kSuccess);
  EXPECT_EQ(deep.depth, 2U);
  EXPECT_EQ(deep.flags, 2U);
  EXPECT_EQ(flat_of.width, 16U);
  EXPECT_EQ(flat_of.channels, 4U);
  const Flat three{16, 8, kHalf, 3}, none{0, 8, kHalf, 1};
  EXPECT_EQ(cuArrayCreate_v2(&array, &three), kInvalidValue);
  EXPECT_EQ(cuArrayCreate_v2(&array, &none), kInvalidValue);
}

TEST_F(SimCudaArray, CopyNode_KeepsItsArray) {
  const Handle array = flat(4);
  Handle graph = nullptr, node = nullptr, exec = nullptr;
  const Address a = words(4);
  ASSERT_EQ(cuMemsetD32_v2(a, 7, 4), kSuccess);
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  Copy3D copy{}, found{};
  copy.source_type = kDevice;
  copy.source_device = a;
  copy.type = kArray;
  copy.array = array;
  copy.width = 16;
  copy.height = copy.depth = 1;
  ASSERT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context_), kSuccess);
  ASSERT_EQ(cuGraphMemcpyNodeGetParams(node, &found), kSuccess);
  EXPECT_EQ(found.type, kArray);
  EXPECT_EQ(found.array, array);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), kSuccess);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), kSuccess);
  std::array<std::uint32_t, 4> back{};
  ASSERT_EQ(cuMemcpyAtoH_v2(back.data(), array, 0, 16), kSuccess);
  EXPECT_EQ(back[3], 7U);
}

}  // namespace
}  // namespace halyard::testing::driver
