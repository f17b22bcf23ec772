/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Mathematics of kernels: the same bits on every x86-64 level, vectorised or not.
 *
 *   hy_min(a, b)  hy_max(a, b)  hy_abs(x)  hy_floor(x)
 *   hy_sqrt(x)  hy_rsqrt(x)  hy_exp(x)  hy_log(x)  hy_tanh(x)
 *   hy_mul_high(a, b)                           the upper 32 bits of the product of two uints
 *   hy_float_as_uint(x)  hy_uint_as_float(x)    the same 32 bits
 *
 * hy_abs, hy_floor, hy_sqrt and hy_rsqrt of a double are computed in double; hy_exp, hy_log and
 * hy_tanh take none: they have the accuracy of a float. Other arguments become floats.
 *
 * Every function but hy_min and hy_max returns a NaN for a NaN. 1 ulp is the distance between
 * adjacent floats, or doubles, at the exact result.
 */
#ifndef HALYARD_KERNEL_MATH_H_
#define HALYARD_KERNEL_MATH_H_

HY_FN uint hy_float_as_uint(float x) {
  union {
    float f;
    uint u;
  } bits = {x};
  return bits.u;
}
HY_FN float hy_uint_as_float(uint x) {
  union {
    uint u;
    float f;
  } bits = {x};
  return bits.f;
}

/* In the arguments' common type. If one is a NaN the result is b. */
#define hy_max(a, b)         \
  _Generic((a) + (b),        \
      float: hy_max_float,   \
      double: hy_max_double, \
      int: hy_max_int,       \
      uint: hy_max_uint,     \
      default: hy_max_size)(a, b)
#define hy_min(a, b)         \
  _Generic((a) + (b),        \
      float: hy_min_float,   \
      double: hy_min_double, \
      int: hy_min_int,       \
      uint: hy_min_uint,     \
      default: hy_min_size)(a, b)
HY_FN float hy_max_float(float a, float b) { return a > b ? a : b; }
HY_FN float hy_min_float(float a, float b) { return a < b ? a : b; }
HY_FN double hy_max_double(double a, double b) { return a > b ? a : b; }
HY_FN double hy_min_double(double a, double b) { return a < b ? a : b; }
HY_FN int hy_max_int(int a, int b) { return a > b ? a : b; }
HY_FN int hy_min_int(int a, int b) { return a < b ? a : b; }
HY_FN uint hy_max_uint(uint a, uint b) { return a > b ? a : b; }
HY_FN uint hy_min_uint(uint a, uint b) { return a < b ? a : b; }
HY_FN size_t hy_max_size(size_t a, size_t b) { return a > b ? a : b; }
HY_FN size_t hy_min_size(size_t a, size_t b) { return a < b ? a : b; }

HY_FN uint hy_mul_high(uint a, uint b) {
#ifdef HY_TEXT /* no 64-bit integers there: by halves */
  const uint low = (a & 0xffffu) * (b & 0xffffu);
  const uint middle = (a & 0xffffu) * (b >> 16);
  const uint carried = (low >> 16) + (middle & 0xffffu) + (a >> 16) * (b & 0xffffu);
  return (a >> 16) * (b >> 16) + (middle >> 16) + (carried >> 16);
#else
  return (uint)(((unsigned long long)a * b) >> 32);
#endif
}

/* Exact. */
HY_FN float hy_abs(float x) { return __builtin_fabsf(x); }
HY_FN double hy_abs_double(double x) { return __builtin_fabs(x); }
/* The largest whole number that is not above x. Exact; -0 remains -0. */
HY_FN float hy_floor(float x) {
  /* From 2^23 on every float is whole. */
  const int small = hy_abs(x) < 8388608.0f;
  const float whole = (float)(int)(small ? x : 0.0f);
  const float y = __builtin_copysignf(whole - (whole > x ? 1.0f : 0.0f), x);
  return small ? y : x;
}
HY_FN double hy_floor_double(double x) {
  const int small = hy_abs_double(x) < 4503599627370496.0; /* 2^52 */
  const double whole = (double)(long long)(small ? x : 0.0);
  const double y = __builtin_copysign(whole - (whole > x ? 1.0 : 0.0), x);
  return small ? y : x;
}

/* Correctly rounded. */
HY_FN float hy_sqrt(float x) { return __builtin_sqrtf(x); }
HY_FN double hy_sqrt_double(double x) { return __builtin_sqrt(x); }

/* 1 / sqrt(x), within 1.5 ulp, since both operations are correctly rounded. 0 gives infinity, -0
 * gives -infinity, a negative number gives a NaN. */
HY_FN float hy_rsqrt(float x) { return 1.0f / hy_sqrt(x); }
HY_FN double hy_rsqrt_double(double x) { return 1.0 / hy_sqrt_double(x); }

/* e to the x, within 1 ulp; denormal results within 1 unit of their last place. */
HY_FN float hy_exp(float x) {
  /* Beyond these bounds the result is 0 or infinity anyway; a NaN becomes the lower bound here. */
  float c = x > -104.0f ? x : -104.0f;
  c = c < 89.0f ? c : 89.0f;
  /* x = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer. ln 2 is in two parts, so that n times
   * the first is exact. */
  const float n = (c * 1.44269502f + 12582912.0f) - 12582912.0f;
  const float r = (c - n * 0.693145752f) - n * 1.42860677e-6f;
  /* (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, interpolated at Chebyshev nodes; with it e^r is right
   * to 2^-30. */
  float p = 1.98909824e-4f;
  p = p * r + 1.39336428e-3f;
  p = p * r + 8.33331048e-3f;
  p = p * r + 4.16664667e-2f;
  p = p * r + 1.66666672e-1f;
  p = p * r + 0.5f;
  const float e = (p * (r * r) + r) + 1.0f;
  /* 2^n in two factors, since n reaches from -150 to 128. */
  const int k = (int)n;
  const int half = k >> 1;
  const float y = e * hy_uint_as_float((uint)(half + 127) << 23) *
                  hy_uint_as_float((uint)(k - half + 127) << 23);
  return x == x ? y : x;
}

/* Natural logarithm, within 1 ulp. 0 gives -infinity, a negative number gives a NaN. */
HY_FN float hy_log(float x) {
  const float infinity = __builtin_inff();
  /* Denormals are scaled to normal numbers. x = 2^k m with m in [sqrt(1/2), sqrt(2)). */
  const int tiny = x < 1.17549435e-38f;
  const uint bits = hy_float_as_uint(tiny ? x * 8388608.0f : x) - 0x3f3504f3u;
  const float k = (float)(((int)bits >> 23) - (tiny ? 23 : 0));
  const float f = hy_uint_as_float((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  /* (log(1 + f) - f + f^2/2) / f^3, interpolated at Chebyshev nodes; with it log(1 + f) is right
   * to 2^-28. */
  float p = 6.97161183e-2f;
  p = p * f - 1.14797339e-1f;
  p = p * f + 1.16854198e-1f;
  p = p * f - 1.24256872e-1f;
  p = p * f + 1.42490581e-1f;
  p = p * f - 1.66678026e-1f;
  p = p * f + 2.00007156e-1f;
  p = p * f - 2.49999970e-1f;
  p = p * f + 3.33333313e-1f;
  const float f2 = f * f;
  const float y = ((p * (f2 * f) + k * 1.42860677e-6f) - 0.5f * f2 + f) + k * 0.693145752f;
  if (!(x > 0.0f)) return x == 0.0f ? -infinity : __builtin_nanf("");
  return x == infinity ? x : y;
}

/* Hyperbolic tangent, within 1.5 ulp. */
HY_FN float hy_tanh(float x) {
  const float a = hy_abs(x);
  /* (tanh x - x) / x^3 in x^2 on |x| <= 0.625, interpolated at Chebyshev nodes; with it tanh x is
   * right to 2^-27. */
  const float x2 = x * x;
  float p = 2.29274482e-3f;
  p = p * x2 - 8.34394526e-3f;
  p = p * x2 + 2.17689183e-2f;
  p = p * x2 - 5.39592579e-2f;
  p = p * x2 + 1.33333042e-1f;
  p = p * x2 - 3.33333343e-1f;
  const float near = a + a * (x2 * p);
  const float far = 1.0f - 2.0f / (hy_exp(a + a) + 1.0f);
  return __builtin_copysignf(a < 0.625f ? near : far, x);
}

#define hy_abs(x) _Generic((x), double: hy_abs_double, default: hy_abs)(x)
#define hy_floor(x) _Generic((x), double: hy_floor_double, default: hy_floor)(x)
#define hy_sqrt(x) _Generic((x), double: hy_sqrt_double, default: hy_sqrt)(x)
#define hy_rsqrt(x) _Generic((x), double: hy_rsqrt_double, default: hy_rsqrt)(x)
/* Not a function, so a call of it is an error. */
extern const struct hy_takes_no_double hy_not_of_a_double;
#define hy_exp(x) _Generic((x), double: hy_not_of_a_double, default: hy_exp)(x)
#define hy_log(x) _Generic((x), double: hy_not_of_a_double, default: hy_log)(x)
#define hy_tanh(x) _Generic((x), double: hy_not_of_a_double, default: hy_tanh)(x)

#endif /* HALYARD_KERNEL_MATH_H_ */
