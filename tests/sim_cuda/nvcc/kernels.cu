// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose PTX, by nvcc 13.0, is kernels.ptx beside this file; ptx_nvcc_test.cpp runs it. To make it again:
//   nvcc -ptx -arch=sm_80 -std=c++17 kernels.cu -o - | grep -v '^//' >kernels.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>

namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Division of 128 bits is a loop of carries that nvcc expands.
KERNEL divide(const ulonglong2* a, const unsigned long long* b, ulonglong2* quotients) {
  const int i = thread();
  const unsigned __int128 wide = static_cast<unsigned __int128>(a[i].y) << 64 | a[i].x;
  const unsigned __int128 quotient = wide / b[i];
  quotients[i] = make_ulonglong2(quotient, quotient >> 64);
}

// Tiles of 8 lanes, lanes with the same label, and lanes on the same path.
KERNEL groups(const int* in, int* sums, int* scans, int* labels, int* positives) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto tile = cg::tiled_partition<8>(warp);
  const int i = thread();
  sums[i] = cg::reduce(tile, in[i], cg::plus<int>());
  scans[i] = cg::exclusive_scan(tile, in[i], cg::plus<int>());
  const auto alike = cg::labeled_partition(warp, i % 3);
  labels[i] = 100 * alike.size() + cg::reduce(alike, i % 32, cg::less<int>());
  if (in[i] > 0) {
    const auto together = cg::coalesced_threads();
    positives[i] = 100 * together.size() + together.thread_rank();
  }
}

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int area() const override { return 2 * length; }
};
// Calls through tables, and the heap.
KERNEL areas(int* out) {
  const int i = thread();
  const Shape* const shape = i % 2 == 0 ? static_cast<Shape*>(new Square(i)) : new Strip(i);
  out[i] = shape->area();
  delete shape;
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursion(int* out) { out[thread()] = fibonacci(thread() % 13); }

struct Mixed {
  char c;
  double d;
  short s[3];
  float4 v;
};
__device__ __noinline__ Mixed twice(Mixed m) {
  m.d *= 2;
  for (short& each : m.s) each *= 2;
  m.v.z *= 2;
  return m;
}
KERNEL structs(Mixed m, double* out) {
  const int i = thread();
  m.s[i % 3] += i;
  const Mixed r = twice(m);
  out[i] = r.c + r.d + r.s[0] + r.s[1] + r.s[2] + r.v.z;
}

// A table of branches.
KERNEL choices(const int* in, int* out) {
  const int i = thread();
  int v = in[i];
  switch (v & 7) {
    case 0: v *= 3; break;
    case 1: v -= 7; break;
    case 2: v ^= 0x55; break;
    case 3: v <<= 2;  // falls through
    case 4: v += 11; break;
    case 5: v = -v; break;
    case 6: v /= 3; break;
    default: v %= 9;
  }
  out[i] = v;
}

// Each thread adds to *total under a lock, which its neighbours in the warp wait for.
KERNEL lock(int* state, int* total) {
  cuda::atomic_ref<int, cuda::thread_scope_device> locked(*state);
  for (bool is_done = false; !is_done;) {
    int expected = 0;
    if (locked.compare_exchange_strong(expected, 1, cuda::memory_order_acquire)) {
      *total = *total + 1;
      locked.store(0, cuda::memory_order_release);
      is_done = true;
    }
  }
}

// Values move one thread on in each round, between two phases of a barrier.
KERNEL rounds(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int value = threadIdx.x;
  for (int round = 0; round < 5; ++round) {
    values[threadIdx.x] = value;
    barrier.arrive_and_wait();
    value = values[(threadIdx.x + 1) % blockDim.x] + 1;
    barrier.arrive_and_wait();
  }
  out[threadIdx.x] = value;
}
