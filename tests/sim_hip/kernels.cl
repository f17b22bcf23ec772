// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of these tests. kernels.inc has them as a code object of gfx1100; make_kernels makes it.
typedef unsigned int uint32;

// Without AMD's library of functions for devices.
#define LOCAL_ID __builtin_amdgcn_workitem_id_x()
#define LOCAL_SIZE ((uint32)__builtin_amdgcn_workgroup_size_x())
#define GROUP_ID __builtin_amdgcn_workgroup_id_x()
#define GLOBAL_ID (GROUP_ID * LOCAL_SIZE + LOCAL_ID)

// Variables that the host finds, as HIP's compiler makes them.
__attribute__((visibility("protected"))) __global uint32 counter = 7;

__kernel void add(__global uint32* out, __global const uint32* left, __global const uint32* right,
                  uint32 count) {
  const uint32 i = GLOBAL_ID;
  if (i < count) out[i] = left[i] + right[i];
}

__kernel void fill(__global uint32* out, uint32 value, uint32 count) {
  const uint32 i = GLOBAL_ID;
  if (i < count) out[i] = value;
}

__kernel void increment(__global uint32* word) { *word += 1; }

__kernel void none(void) {}

// A store to an address that is given.
__kernel void store(ulong address, uint32 value) { *(__global uint32*)address = value; }

// The sum of a workgroup's items, in memory of the workgroup.
__kernel void sum(__global uint32* out, __global const uint32* in, __local uint32* scratch) {
  const uint32 i = LOCAL_ID;
  scratch[i] = in[GLOBAL_ID];
  for (uint32 step = LOCAL_SIZE / 2; step != 0; step /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (i < step) scratch[i] += scratch[i + step];
  }
  if (i == 0) out[GROUP_ID] = scratch[0];
}

__attribute__((reqd_work_group_size(64, 1, 1))) __kernel void of_64(__global uint32* out) {
  out[GLOBAL_ID] = LOCAL_ID;
}

__kernel void read_counter(__global uint32* out) { *out = counter++; }

// The grid as the kernel sees it: in the hidden arguments and in the dispatch packet.
__kernel void shape(__global uint32* out) {
  __constant const uint32* const hidden =
      (__constant const uint32*)__builtin_amdgcn_implicitarg_ptr();
  out[0] = hidden[0];
  out[1] = hidden[1];
  out[2] = hidden[2];
  out[3] = __builtin_amdgcn_workgroup_size_x();
  out[4] = __builtin_amdgcn_workgroup_size_y();
  out[5] = __builtin_amdgcn_workgroup_size_z();
  out[6] = __builtin_amdgcn_grid_size_x();
  out[7] = __builtin_amdgcn_grid_size_y();
  out[8] = __builtin_amdgcn_grid_size_z();
}
