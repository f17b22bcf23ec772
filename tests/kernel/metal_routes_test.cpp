// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same kernels by all routes to the Metal Shading Language, executed and compared: the
// compiler's own writer, GLSL by spirv-cross, a packed module, and a Metal source.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernel/foreign_test_util.h"
#include "kernel/metal_device.h"

namespace halyard::testing {
namespace {

struct Route {
  std::string name;
  kernel::Hyx hyx;
};

class MetalRoutes : public compiler::ForeignFixture {
 protected:
  // A file for each route, of a kernel with this name and manifest.
  std::vector<Route> routes(const std::string& kernel, const std::string& hyk,
                            const std::string& glsl, const std::string& metal,
                            const std::string& manifest) const {
    std::vector<Route> all;
    all.push_back({"compiler", build(write(kernel + ".hyk", hyk), {"msl-3.0"}).value()});
    all.push_back({"GLSL", build(write(kernel + ".comp", glsl), {"msl-3.0"}).value()});
    all.push_back({"Metal", build(write(kernel + ".metal", metal), {"msl-3.0"}, manifest).value()});
    return all;
  }

  template <class T>
  static std::span<std::byte> bytes(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
  }
};

std::vector<float> floats(std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values;
  for (std::size_t i = 0; i < size; ++i) {
    values.push_back(static_cast<float>(static_cast<std::int32_t>(engine())) * 0x1p-28f);
  }
  return values;
}

TEST_F(MetalRoutes, SaxpyHasTheSameBits) {
  SKIP_WITHOUT("spirv-cross");
  const auto all = routes("saxpy", R"(#include <halyard/kernel.h>
HY_KERNEL(saxpy, 64, 1, 1, HY_IN(float, x), HY_INOUT(float, y), HY_SCALAR(float, a),
          HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = a * x[HY_GLOBAL_X] + y[HY_GLOBAL_X]; }
}
)",
                          R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 3) readonly buffer X { float x[]; };
layout(set = 1, binding = 0) buffer Y { float y[]; };
layout(push_constant) uniform P { float a; uint n; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < n) { precise float r = a * x[i] + y[i]; y[i] = r; }
}
)",
                          R"(#include <metal_stdlib>
#pragma METAL fp contract(off)
struct Bindings {
  device const float* x [[id(0)]];
  device float* y [[id(1)]];
};
struct Constants { float a; uint n; };
kernel void saxpy(constant Bindings& b [[buffer(0)]], constant Constants& c [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  if (i < c.n) b.y[i] = c.a * b.x[i] + b.y[i];
}
)",
                          std::string(compiler::kManifest));
  constexpr std::uint32_t kCount = 1000;
  const std::vector<float> x = floats(kCount, 1), y = floats(kCount, 2);
  const float a = 1.7f;
  std::vector<float> want;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const volatile float product = a * x[i];
    want.push_back(product + y[i]);
  }
  for (const Route& route : all) {
    std::vector<float> own_x = x, result = y;
    const std::uint32_t constants[] = {std::bit_cast<std::uint32_t>(a), kCount};
    const std::span<std::byte> bindings[] = {bytes(own_x), bytes(result)};
    const Status ran = run_on_metal(route.hyx, "saxpy", {(kCount + 63) / 64, 1, 1}, bindings,
                                    std::as_bytes(std::span(constants)));
    ASSERT_TRUE(ran.ok()) << route.name << ": " << ran.message();
    EXPECT_EQ(result, want) << route.name;
  }
}

TEST_F(MetalRoutes, ASumOfAGroupInSharedMemoryHasTheSameBits) {
  SKIP_WITHOUT("spirv-cross");
  const auto all = routes("sums", R"(#include <halyard/kernel.h>
HY_KERNEL(sums, 64, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_INOUT(uint, hits),
          HY_SHARED(float, t, 64)) {
  HY_ITEMS { t[HY_X] = x[HY_GLOBAL_X]; }
  for (uint half = 32; half > 0; half /= 2) {
    HY_ITEMS_FIRST(half) { t[HY_X] += t[HY_X + half]; }
  }
  HY_ITEMS { if (HY_X == 0) { y[HY_GX] = t[0]; hy_atomic_add(hits[0], HY_GX + 1u); } }
}
)",
                          R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(set = 0, binding = 2) buffer H { uint hits[]; };
shared float t[64];
void main() {
  const uint i = gl_LocalInvocationID.x;
  t[i] = x[gl_GlobalInvocationID.x];
  barrier();
  for (uint n = 32u; n > 0u; n /= 2u) {
    if (i < n) t[i] += t[i + n];
    barrier();
  }
  if (i == 0u) {
    y[gl_WorkGroupID.x] = t[0];
    atomicAdd(hits[0], gl_WorkGroupID.x + 1u);
  }
}
)",
                          R"(#include <metal_stdlib>
using namespace metal;
struct Bindings {
  device const float* x [[id(0)]];
  device float* y [[id(1)]];
  device uint* hits [[id(2)]];
};
kernel void sums(constant Bindings& b [[buffer(0)]], uint i [[thread_position_in_threadgroup]],
                 uint g [[threadgroup_position_in_grid]]) {
  threadgroup float t[64];
  t[i] = b.x[g * 64 + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint n = 32; n > 0; n /= 2) {
    if (i < n) t[i] += t[i + n];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (i == 0) {
    b.y[g] = t[0];
    atomic_fetch_add_explicit((device atomic_uint*)&b.hits[0], g + 1, memory_order_relaxed);
  }
}
)",
                          R"({"kernels": [{"name": "sums", "workgroup_size": [64], "bindings": [
  {"name": "x", "access": "read", "type": "float32"},
  {"name": "y", "access": "write", "type": "float32"},
  {"name": "hits", "access": "read-write", "type": "uint32"}]}]})");
  constexpr std::size_t kGroups = 4;
  const std::vector<float> x = floats(kGroups * 64, 3);
  std::vector<float> want;
  for (std::size_t g = 0; g < kGroups; ++g) {
    std::vector<float> t(x.begin() + static_cast<std::ptrdiff_t>(g * 64),
                         x.begin() + static_cast<std::ptrdiff_t>(g * 64 + 64));
    for (std::size_t n = 32; n > 0; n /= 2) {
      for (std::size_t i = 0; i < n; ++i) t[i] += t[i + n];
    }
    want.push_back(t[0]);
  }
  for (const Route& route : all) {
    std::vector<float> own_x = x, y(kGroups);
    std::vector<std::uint32_t> hits(1);
    const std::span<std::byte> bindings[] = {bytes(own_x), bytes(y), bytes(hits)};
    const Status ran = run_on_metal(route.hyx, "sums", {kGroups, 1, 1}, bindings, {});
    ASSERT_TRUE(ran.ok()) << route.name << ": " << ran.message();
    EXPECT_EQ(y, want) << route.name;
    EXPECT_EQ(hits[0], 10u) << route.name;
  }
}

TEST_F(MetalRoutes, ConstantsOfAVectorAreWhereTheReflectionSays) {
  SKIP_WITHOUT("spirv-cross");
  const kernel::Hyx hyx = build(write("vectors.comp", R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { float a; layout(offset = 16) vec3 v; uint n; };
void main() {
  const uint i = gl_LocalInvocationIndex;
  y[i] = i < 3u ? v[i] : a + float(n);
}
)"),
                                {"msl-3.0"})
                              .value();
  const kernel::KernelInfo& info = hyx.kernels()[0];
  std::vector<std::byte> constants(info.constants_bytes);
  for (const kernel::ConstantInfo& each : info.constants) {
    const std::uint32_t value =
        each.name == "n" ? 16u : std::bit_cast<std::uint32_t>(static_cast<float>(each.offset));
    std::memcpy(constants.data() + each.offset, &value, sizeof value);
  }
  std::vector<float> y(4);
  const std::span<std::byte> bindings[] = {bytes(y)};
  const Status ran = run_on_metal(hyx, "vectors", {1, 1, 1}, bindings, constants);
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_EQ(y, (std::vector<float>{16, 20, 24, 16}));
}

TEST_F(MetalRoutes, AWriteToABindingThatIsStatedToBeReadIsFound) {
  const std::string source = write("k.metal", R"(#include <metal_stdlib>
struct B { device const float* x [[id(0)]]; };
kernel void k(constant B& b [[buffer(0)]]) { *(device float*)b.x = 1; }
)");
  const kernel::Hyx hyx = build(source, {"msl-3.0"}, R"({"kernels": [{"name": "k",
    "workgroup_size": [1], "bindings": [{"name": "x", "access": "read", "type": "float32"}]}]})")
                              .value();
  std::vector<float> x(4);
  const std::span<std::byte> bindings[] = {bytes(x)};
  const Status ran = run_on_metal(hyx, "k", {1, 1, 1}, bindings, {});
  EXPECT_EQ(ran.code(), StatusCode::kInternal) << ran.message();
}

}  // namespace
}  // namespace halyard::testing
