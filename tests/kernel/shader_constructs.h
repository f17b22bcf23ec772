// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that together use all of C that shaders support. All have the same parameters: u and f,
// 64 elements each, and n = 5. The results of the CPU's code are the reference.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halyard::testing {

inline constexpr int kConstructElements = 64;

inline constexpr const char* kShaderConstructs = R"(
#define K(name) \
  HY_KERNEL(name, 1, 1, 1, HY_INOUT(uint, u), HY_INOUT(float, f), HY_SCALAR(int, n))

K(truths) {
  HY_ITEMS {
    u[0] = n < 3;
    u[1] = (n > 2) + (n == 5);
    u[2] = !n;
    u[3] = n && f[0];
    u[4] = (uint)-(n < 9);
    const int either = n < 3 || n;
    u[5] = (uint)either;
    u[6] = (n < 3) == (n < 4);
    f[1] = n < 9;
    f[2] = (float)(n != 5) + 0.5f;
    u[7] = ~(uint)(n == 5);
    u[8] = !!u[7];
    u[9] = (n > 0 ? n == 5 : n == 6) ? 7u : 8u;
    if (f[3]) u[10] = 1;
    if (!(f[3] > 1.0f && u[0])) u[11] = 2;
    _Bool flag = n;
    u[12] = flag;
    flag = f[4] > 1000.0f;
    u[13] = flag;
    flag += 3;
    u[14] = flag + flag;
    _Bool flags[3] = {n > 1, 0, flag};
    flags[1] = !flags[0];
    u[15] = flags[0] + 2u * flags[1] + 4u * flags[2];
    flag = (_Bool)0.5f;
    u[16] = flag ? 3 : 4;
    u[17] = (n, flag) && !(n, 0);
  }
}

K(numbers) {
  HY_ITEMS {
    const int minus = -7 * n;
    u[0] = (uint)(minus / 3);
    u[1] = (uint)(minus % 4);
    u[2] = (uint)(7 % -n);
    u[3] = u[4] % 7u + u[5] / 3u;
    u[6] = (uint)(minus >> 2);
    u[7] = u[7] >> 3 << n;
    u[8] = 0u - 1u;
    u[9] = 0xffffffffu;
    u[10] = -3;
    u[11] = (uint)(int)-2.75f + (uint)3.99f;
    u[12] += 1.5f;
    int i = 10;
    i *= 2.5f;
    i <<= 2;
    i >>= 1;
    i %= 7;
    i -= -3;
    i |= 64;
    i ^= 5;
    i &= 0xffff;
    u[13] = (uint)i;
    u[14] %= 5u;
    u[15]++;
    u[16] = (uint)i++ * 100;
    u[16] += (uint)++i;
    u[25] = (uint)-i--;
    u[17] = (uint)(-i - -n - - -n);
    u[18] = (uint)(~i + (-2147483647 - 1));
    f[0] = (float)-n;
    f[1] = (float)4000000000u;
    f[2] /= 3.0f;
    f[3] = f[3] * f[4] + f[5];
    f[6] = -f[6] - -1.0f;
    f[7] = +f[7] / 7;
    float x = f[8];
    f[9] = x++;
    f[9] += --x;
    u[19] = 'a' + '\n' - '\xff';
    u[20] = sizeof(float[3]) + sizeof(uint) + sizeof u[0];
    u[21] = _Generic(n, float: 1, int: 2, default: 3);
    u[22] = (uint)__builtin_popcount(u[22]) + (u[23] ? 1 : 0);
    u[24] = (u[0] | u[1]) ^ (u[2] & 12u);
  }
}

K(literals) {
  HY_ITEMS {
    f[0] = __builtin_inff();
    f[1] = -__builtin_inff();
    f[2] = __builtin_nanf("") == f[3] ? 1.0f : 2.0f;
    f[4] = 1e-40f;
    f[5] = -0.0f;
    f[6] = 3.40282347e38f;
    f[7] = 16777217;
    f[8] = 2.0;
    f[9] = -0.1;
    f[10] = 0.1f * 3.0f + 0.2f;
    f[11] = 1.0f / 3.0f - 0.333333f;
    f[12] = 1.17549435e-38f;
    f[13] = 1e30f;
    u[0] = hy_float_as_uint(-1.5f);
    f[14] = hy_uint_as_float(0x40490fdbu);
  }
}

HY_FN int sign_of(int x) {
  if (x < 0) return -1;
  if (x > 0) {
    return 1;
  }
  return 0;
}
HY_FN uint collatz(uint x) {
  uint steps = 0;
  while (x != 1) {
    x = x % 2 ? 3 * x + 1 : x / 2;
    ++steps;
    if (steps > 200) break;
  }
  return steps;
}
HY_FN uint twice(uint x) { return collatz(x) + collatz(x); }
HY_FN void nothing(void) {}

K(flow) {
  HY_ITEMS {
    uint sum = 0;
    for (int i = 0, j = 10; i < j; ++i, j -= 2) {
      if (i == 2) continue;
      sum += (uint)(i * j);
    }
    u[0] = sum;
    for (;;) {
      if (++sum > 200) break;
    }
    u[1] = sum;
    do sum /= 2; while (sum > 10);
    u[2] = sum;
    for (uint i = 0; i < 12; ++i) {
      switch (i % 8) {
        case 0:
          u[3] += 1;
          break;
        case 1:
        case 2: {
          u[3] += 10;
        }
        case 3:
          u[3] += 100;
          break;
        case 'a' - 93:;
          int half = (int)i;
          u[3] += (uint)half;
          continue;
        default:
          if (i > 7) break;
          u[3] += 1000;
          break;
        case 7:
      ;
      }
      u[4] += i;
    }
    switch (u[0]) { case 0: u[6] = 1; break; default: u[6] = 2; }
    u[7] = twice(27) + (uint)sign_of(-n) + (uint)sign_of(n - 5);
    nothing();
    u[8] = n > 3 ? n > 4 ? 1 : 2 : 3;
    u[9] = 1, u[10] = 2, f[0] = 3.0f;
    int i = 0;
    u[11] = (i = n, i += 2, (uint)i * 3);
    while (i --> 0) u[12] += (uint)i;
    HY_UNROLL for (int k = 0; k < 4; ++k) u[13 + k] = (uint)(k * k);
    if (n == 4) u[17] = 1; else if (n == 5) u[17] = 2; else u[17] = 3;
    {
      const int inner = n;
      u[18] = (uint)inner;
    }
    ;
    uint a, b;
    a = b = 4;
    u[19] = a + b;
    if (i) HY_UNROLL for (int k = 0; k < 2; ++k) u[20] += 1;
    (void)a;
  }
  HY_ITEMS {
    if (n) continue;
    u[21] = 99;
  }
  for (int k = 0; k < 3; ++k) {
    if (k == 1) continue;
    HY_ITEMS { u[22] += (uint)k; }
  }
}

struct point { float x, y; };
typedef struct { struct point corners[2]; uint half[3]; _Bool solid; } box;
struct point_or { struct point point; int point_or; };
static const uint kTable[2][3] = {{1, 2}, {3, 4, 5}};
static const float kOne = 0.1f;
static const struct point kPoints[3] = {{1.0f, 2.0f}, {.y = 3.0f}};
enum { kFirst = -3, kSecond, kThird = 1 << 4, kFourth };

HY_FN struct point mirrored(struct point p) {
  const float x = p.x;
  p.x = p.y;
  p.y = x;
  return p;
}
HY_FN box grown(box b, float by) {
  for (int i = 0; i < 2; ++i) b.corners[i].x += by;
  b.half[2] = b.half[0];
  b.solid = !b.solid;
  return b;
}

K(aggregates) {
  HY_ITEMS {
    float a[4] = {1.0f, f[0]};
    a[(uint)n % 4] += kOne * 3.0f + 0.2f;
    uint m[2][3] = {{1}, {2, 3}};
    m[1][2] = kTable[n % 2][2] + kTable[0][n - 4];
    struct point p = {f[1], 2.0f};
    const struct point q = p;
    p.x = 7.0f;
    struct point z = {0};
    box b = {{{1.0f, 2.0f}, p}, {4, 5}};
    const box c = grown(b, q.x);
    struct point many[3] = {q, {0.5f}, mirrored(q)};
    many[1] = mirrored(many[2]);
    typedef int number;
    struct local { number v[2]; };
    struct local l = {{n, 3}};
    enum { kLocal = 7 };
    const uint table[4] = {9, 8, 7};
    int scalar = {3};
    struct point point = mirrored((struct point){n, 4.0f});
    struct point chosen = n > 3 ? p : q;
    const struct point_or both = {point, 9};
    f[0] = a[0] + a[1] + a[2] + a[3];
    f[1] = p.x + q.x + z.y;
    f[2] = c.corners[0].x + c.corners[1].x + b.corners[0].x + (float)c.half[2];
    f[3] = many[0].x + many[1].x * 2.0f + many[2].x * 4.0f + many[1].y;
    f[4] = kPoints[n % 3].y + kPoints[1].y + kPoints[0].x;
    f[5] = point.x + chosen.x + both.point.y + (float)both.point_or;
    u[0] = m[0][0] + m[1][0] * 10 + m[1][2] * 100 + m[0][1];
    u[1] = c.solid + b.half[2] + (uint)l.v[0] + (uint)l.v[1];
    u[2] = (uint)(kFirst + kSecond) + kThird + kFourth + kLocal;
    u[3] = table[n % 4] + table[0] + (uint)scalar;
    u[4] = (u + 2)[3] + *u + *(u + 6) + 7[u] + (u + 9 - 1)[0];
    *(u + 5) = 77;
  }
}

// Keywords of GLSL, Metal and C++, and names reserved in both shading languages.
struct sample { float half, input; };
HY_FN float texture(float vec3) { return vec3 * 2.0f; }
HY_FN float k_abs(float abs) { return abs + 1.0f; }
HY_KERNEL(names, 1, 1, 1, HY_INOUT(uint, u), HY_INOUT(float, f), HY_SCALAR(int, n),
          HY_SHARED(uint, buffer, 1), HY_PRIVATE(float, out)) {
  HY_ITEMS {
    const float half = f[0], input = f[1], kernel = 3.0f, device = 4.0f, main = 5.0f;
    float layout = half, uniform = input, discard = 1.0f, gl_Position = 2.0f, precise = 3.0f;
    const uint a__b = u[1], _x = 2, __y = 3, class = 4, template = 5, Z = 6, Z5f = 7, hy$x = 8;
    uint this = 9, threadgroup = 10, constant = 11, uint3 = 12, barrier = 13, metal = 14;
    struct sample sample = {half, input};
    HY_MY(out) = sample.half + sample.input + kernel * device + main;
    buffer[0] = a__b + _x * 2 + __y * 3 + class * 5 + template * 7 + Z * 11 + Z5f * 13 + hy$x * 17;
    layout += uniform + discard * gl_Position + precise + texture(2.0f) + k_abs(1.0f);
    u[0] = this + threadgroup + constant + uint3 + barrier + metal;
    f[2] = layout;
  }
  HY_ITEMS {
    f[3] = HY_MY(out);
    u[2] = buffer[0];
  }
}

K(mathematics) {
  HY_ITEMS {
    for (int i = 0; i < 8; ++i) {
      const float x = f[i] * (i % 2 ? -0.25f : 1.0f);
      f[8 + i] = hy_exp(x) + hy_log(f[i]) * hy_tanh(x);
      f[16 + i] = hy_sqrt(f[i]) + hy_rsqrt(f[i]) + hy_floor(x) + hy_abs(x);
      f[24 + i] = hy_min(x, f[i + 1]) + hy_max(x, 1.0f) / f[i];
      u[i] = hy_max(u[i], 9u) + (uint)hy_min((int)u[i], 3) + (uint)hy_max(HY_NX, (hy_index)n);
      u[i] += hy_mul_high(u[i] * 0xd2511f53u, 0xcd9e8d57u - u[i]);
    }
    f[32] = hy_exp(-__builtin_inff());
    f[33] = hy_log(0.0f);
    f[34] = hy_exp(100.0f);
    f[35] = hy_log(-1.0f) == f[0];
    f[36] = hy_max(__builtin_nanf(""), 3.0f);
    f[37] = __builtin_copysignf(f[1], -0.0f);
  }
}

static const short kSteps[3] = {-300, 7, 32767};
static const half kHalves[4] = {0.1f, -0.5, 3, 1e-7f};
HY_FN uchar low_bits(int x) { return x; }
HY_FN float rounded(float x) {
  half y = x;
  y += 0.25f;
  return y;
}
K(narrow) {
  HY_ITEMS {
    char c = n * 50;
    uchar b = low_bits(-n) + kSteps[1];
    short s = kSteps[2];
    ushort w = -1;
    u[0] = (uint)c;
    u[1] = b;
    s++;
    u[2] = (uint)s;
    --w;
    u[3] = w + (uint)kSteps[0];
    for (uchar i = 250, j = 0; i > 9; i++, j += n) u[4] = u[4] * 3 + i + j;
    c <<= 1;
    u[5] = (uint)c;
    u[6] = (uint)(c = b * 3);
    b = (n, 300);
    u[7] = b + (uint)sizeof(b) + (uint)sizeof(s);
    char t[4] = {1, -1};
    t[2] = t[1] - 128;
    --t[3];
    u[8] = (uint)t[0] + (uint)t[1] + (uint)t[2] + (uint)(uchar)t[3];
    u[9] = (uchar)(n < 9) + (uint)(short)0x12345678 + (uint)(char)(ushort)kSteps[0];
    b = 199.75f;
    u[10] = b ? b : 1;
    u[11] = !b + (b && c) + (uchar)(n > 0 ? c : b);
    f[0] = rounded(f[0] * 0.1f);
    f[1] = rounded(70000.0f);
    half h = f[2] * 1000.1f;
    f[2] = h;
    h = n;
    h /= 3;
    f[3] = -h;
    f[4] = (half)0.1f + (half)-0.5 + (float)(half)u[1];
    u[12] = (uint)h;
    u[13] = h > 1 ? 5 : 6;
    f[5] = h = f[5] * 0.3f;
    f[6] = (half)1e-7f;
    f[7] = (half)f[7] * (half)3.3f;
    u[14] = (uint)sizeof(h);
    for (int i = 0; i < 4; ++i) f[8 + i] = kHalves[i];
  }
}

HY_KERNEL(atomics, 1, 1, 1, HY_INOUT(uint, u), HY_INOUT(float, f), HY_SCALAR(int, n),
          HY_SHARED(int, s, 4), HY_SHARED2(uint, t, 2, 2)) {
  HY_ITEMS {
    for (int i = 0; i < 4; ++i) s[i] = i - 2, t[i / 2][i % 2] = (uint)i;
    u[0] = hy_atomic_add(u[1], 5u);
    u[2] = hy_atomic_min(u[3], 1u);
    u[13] = hy_atomic_max(u[3], 4000000000u);
    u[4] = hy_atomic_and(u[5], 0xf0u);
    u[14] = hy_atomic_or(u[5], 0x0fu);
    u[15] = hy_atomic_xor(u[5], 0xaau);
    u[6] = hy_atomic_exchange(u[7], 17u);
    u[8] = hy_atomic_compare_exchange(u[7], 17u, 18u);
    u[16] = hy_atomic_compare_exchange(u[7], 1u, 2u);
    u[9] = (uint)hy_atomic_min(s[0], n) + (uint)hy_atomic_max(s[1], n);
    u[9] += (uint)hy_atomic_add(s[2], -3);
    u[10] = (uint)s[0] + (uint)s[1] + (uint)s[2] + hy_atomic_add(t[1][n % 2], (uint)n);
    u[11] = (uint)hy_atomic_compare_exchange(s[3], 1, -9);
    u[17] = t[1][1] + (uint)s[3];
    hy_atomic_add(u[12], 1u);
  }
}
)";

// The elements before and after a kernel.
struct Elements {
  std::array<std::uint32_t, kConstructElements> u;
  std::array<float, kConstructElements> f;

  Elements() {
    for (std::size_t i = 0; i < u.size(); ++i) {
      u[i] = static_cast<std::uint32_t>(i * 977 + 3);
      f[i] = static_cast<float>(i) * 0.75f + 0.5f;
    }
  }
};

inline void expect_same(std::string_view kernel, const Elements& got, const Elements& want) {
  for (std::size_t i = 0; i < want.u.size(); ++i) {
    EXPECT_EQ(got.u[i], want.u[i]) << kernel << ": u[" << i << "]";
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got.f[i]), std::bit_cast<std::uint32_t>(want.f[i]))
        << kernel << ": f[" << i << "], " << got.f[i] << " for " << want.f[i];
  }
}

}  // namespace halyard::testing
