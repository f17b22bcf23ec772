// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <metal_stdlib>

struct Constants {
  float a;
  uint n;
};

kernel void saxpy_metal(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                        constant Constants& c [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
  if (i < c.n) y[i] = c.a * x[i] + y[i];
}
