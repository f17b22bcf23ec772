// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of the CUDA driver API that the core does not share: layouts of cuda.h of CUDA 13.0,
// under names of this project.
#pragma once

#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::cuda {

using namespace gpu;  // NOLINT: this library is the core and the functions of the API

using Link = Shell<struct LinkState>*;

struct Copy2D {
  std::size_t src_x, src_y;
  MemoryType src_type;
  const void* src_host;
  DevicePointer src_device;
  void* src_array;
  std::size_t src_pitch;
  std::size_t dst_x, dst_y;
  MemoryType dst_type;
  void* dst_host;
  DevicePointer dst_device;
  void* dst_array;
  std::size_t dst_pitch;
  std::size_t width, height;
};

// CUDA_ARRAY_DESCRIPTOR
struct Array2D {
  std::size_t width, height;
  int format;
  unsigned channels;
};

using FillParamsV1 = Fill;
struct KernelParamsV1 {
  Function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};
struct KernelParams : KernelParamsV1 {
  Kernel kernel;
  Context context;
};
struct FillParams : FillParamsV1 {
  Context context;
};
struct CopyNodeParams {
  int flags, reserved;
  Context context;
  Copy3D copy;
};
struct MemOpNodeParams {
  Context context;
  unsigned count;
  MemOp* operations;
  unsigned flags;
};
struct NodeParams {
  NodeType type;
  int reserved[3];
  union {
    long long words[29];
    KernelParams kernel;
    CopyNodeParams copy;
    FillParams fill;
    HostParams host;
    Graph graph;
    Event event;
    MemOpNodeParams operations;
  };
  long long reserved2;
};
struct InstantiateParams {
  std::uint64_t flags;
  Stream upload_stream;
  GraphNode error_node;
  int result;
};
struct LaunchAttribute {
  int id;
  char padding[4];
  AttributeValue value;
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
struct DeviceProperties {
  int max_threads_per_block, max_threads[3], max_grid[3];
  int shared_bytes, constant_bytes, warp, pitch, registers, clock, texture_alignment;
};
struct Uuid {
  std::uint8_t bytes[16];
};

}  // namespace halyard::inline v0::sim::cuda
