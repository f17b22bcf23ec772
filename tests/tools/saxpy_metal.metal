// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <metal_stdlib>

struct Bindings {
  device const float* x [[id(0)]];
  device float* y [[id(1)]];
};

struct Constants {
  float a;
  uint n;
};

kernel void saxpy_metal(constant Bindings& b [[buffer(0)]], constant Constants& c [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
  if (i < c.n) b.y[i] = c.a * b.x[i] + b.y[i];
}
