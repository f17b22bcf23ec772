// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program in the language HIP, as clang compiles it: with kernels in its source, "<<<>>>", and a
// variable of the device. The first lines are what AMD's headers do for programs.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

struct dim3 {
  std::uint32_t x, y, z;
  constexpr __host__ __device__ dim3(std::uint32_t x = 1, std::uint32_t y = 1, std::uint32_t z = 1)
      : x(x), y(y), z(z) {}
};
typedef struct ihipStream_t* hipStream_t;
typedef enum hipError_t { hipSuccess = 0 } hipError_t;
extern "C" {
hipError_t hipMalloc(void**, std::size_t);
hipError_t hipFree(void*);
hipError_t hipMemcpy(void*, const void*, std::size_t, int);
hipError_t hipMemcpyFromSymbol(void*, const void*, std::size_t, std::size_t, int);
hipError_t hipGetLastError();
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, std::size_t, hipStream_t);
unsigned __hipPushCallConfiguration(dim3, dim3, std::size_t = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, std::size_t*, hipStream_t*);
}

__device__ int total = 5;

template <class T>
__global__ void scale(T* out, const T* in, T factor, int count) {
  __shared__ T tile[64];
  const int local = static_cast<int>(__builtin_amdgcn_workitem_id_x());
  const int i = static_cast<int>(__builtin_amdgcn_workgroup_id_x()) * 64 + local;
  tile[local] = i < count ? in[i] : T{};
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (i < count) out[i] = tile[local] * factor;
  if (i == 0) total += count;
}

int main() {
  constexpr int kCount = 200;
  float host[kCount], back[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i);
  void *in = nullptr, *out = nullptr;
  if (hipMalloc(&in, sizeof host) != hipSuccess || hipMalloc(&out, sizeof host) != hipSuccess) return 1;
  if (hipMemcpy(in, host, sizeof host, 1) != hipSuccess) return 2;
  scale<float><<<dim3(4), dim3(64)>>>(static_cast<float*>(out), static_cast<const float*>(in), 3.0F, kCount);
  if (hipGetLastError() != hipSuccess) return 3;
  if (hipMemcpy(back, out, sizeof back, 2) != hipSuccess) return 4;
  for (int i = 0; i < kCount; ++i) {
    if (back[i] != static_cast<float>(3 * i)) return 5;
  }
  int seen = 0;
  if (hipMemcpyFromSymbol(&seen, &total, sizeof seen, 0, 2) != hipSuccess || seen != 205) return 6;
  if (hipFree(in) != hipSuccess || hipFree(out) != hipSuccess) return 7;
  std::puts("a compiled program of HIP ran");
}
