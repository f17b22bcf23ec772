// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Third part of `metal_stdlib`: common, relational, mathematical, integer and geometric functions
// (Metal Shading Language Specification 3.2, sections 6.2 to 6.7) for scalars and vectors.
// __HY_PRECISE: what functions without `fast::` or `precise::` mean. __HY_PERTURB: the last bit of
// fast functions is not the nearest one.
namespace metal {
template <class R, int N, class F>
constexpr __HY_INLINE __hy_made<R, N> __hy_map(F f) {
  if constexpr (N == 1)
    return f(0);
  else if constexpr (N == 2)
    return __hy_made<R, N>(f(0), f(1));
  else if constexpr (N == 3)
    return __hy_made<R, N>(f(0), f(1), f(2));
  else
    return __hy_made<R, N>(f(0), f(1), f(2), f(3));
}
// The element type of a mathematical function's result: the operand's element, or float for
// integers.
template <class A, class E = __hy_element<A>>
using __hy_real = conditional_t<is_floating_point<E>::value, E, float>;
template <class A, class B>
inline constexpr __constant bool __hy_pair =
    __hy_binary<A, B> || (__hy_count<A> == 1 && __hy_count<B> == 1);
template <class A, class B>
using __hy_real2 = __hy_real<__hy_joined<A, B>>;
#define __HY_ANY(A) enable_if_t<__hy_count<A> != 0, int> = 0
#define __HY_ANY2(A, B) enable_if_t<__hy_pair<A, B>, int> = 0
#define __HY_N2(A, B) (__hy_wide<A, B>)

inline float __hy_fast(float x) {
#if __HY_PERTURB
  const uint bits = as_type<uint>(x);
  if ((bits & 0x7f800000u) == 0 || (bits & 0x7f800000u) == 0x7f800000u) return x;
  return as_type<float>(bits ^ ((bits * 0x9e3779b9u) >> 31));
#else
  return x;
#endif
}
inline float __hy_exact(float x) { return x; }
inline float __hy_round_away(float x) { return __builtin_roundf(x); }
inline float __hy_sinpi(float x) {
  const float r = x - 2.0f * __builtin_rintf(x * 0.5f);
  return float(__builtin_sin(double(r) * 3.14159265358979323846l));
}
inline float __hy_cospi(float x) {
  const float r = x - 2.0f * __builtin_rintf(x * 0.5f);
  return float(__builtin_cos(double(r) * 3.14159265358979323846l));
}
inline float __hy_pow(float x, float y) { return __builtin_powf(x, y); }

#define __HY_REAL1(NAME, ROUND, EXPRESSION)                                        \
  template <class A, __HY_ANY(A)>                                                  \
  __HY_INLINE __hy_made<__hy_real<A>, __hy_count<A>> NAME(A a) {                   \
    typedef __hy_real<A> T;                                                        \
    return __hy_map<T, __hy_count<A>>([&](int i) __HY_INLINE {                     \
      const float x = float(__hy_at(a, i));                                        \
      return T(ROUND(EXPRESSION));                                                 \
    });                                                                            \
  }
#define __HY_REAL2(NAME, ROUND, EXPRESSION)                                        \
  template <class A, class B, __HY_ANY2(A, B)>                                     \
  __HY_INLINE __hy_made<__hy_real2<A, B>, __HY_N2(A, B)> NAME(A a, B b) {          \
    typedef __hy_real2<A, B> T;                                                    \
    return __hy_map<T, __HY_N2(A, B)>([&](int i) __HY_INLINE {                     \
      const float x = float(__hy_at(a, i)), y = float(__hy_at(b, i));              \
      return T(ROUND(EXPRESSION));                                                 \
    });                                                                            \
  }
// Functions that are exact or rounded in the same way in all forms.
#define __HY_SAME_IN_ALL                                                           \
  __HY_REAL1(ceil, __hy_exact, __builtin_ceilf(x))                                 \
  __HY_REAL1(floor, __hy_exact, __builtin_floorf(x))                               \
  __HY_REAL1(rint, __hy_exact, __builtin_rintf(x))                                 \
  __HY_REAL1(round, __hy_exact, __hy_round_away(x))                                \
  __HY_REAL1(trunc, __hy_exact, __builtin_truncf(x))                               \
  __HY_REAL1(fabs, __hy_exact, __builtin_fabsf(x))                                 \
  __HY_REAL1(fract, __hy_exact, __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f)) \
  __HY_REAL2(copysign, __hy_exact, __builtin_copysignf(x, y))                      \
  __HY_REAL2(fdim, __hy_exact, x > y ? x - y : 0.0f)                               \
  __HY_REAL2(fmod, __hy_exact, __builtin_fmodf(x, y))                              \
  __HY_REAL2(fmax, __hy_exact, __builtin_fmaxf(x, y))                              \
  __HY_REAL2(fmin, __hy_exact, __builtin_fminf(x, y))                              \
  __HY_REAL2(nextafter, __hy_exact, __builtin_nextafterf(x, y))
#define __HY_ROUNDED(ROUND)                                                        \
  __HY_REAL1(acos, ROUND, __builtin_acosf(x))                                      \
  __HY_REAL1(acosh, ROUND, __builtin_acoshf(x))                                    \
  __HY_REAL1(asin, ROUND, __builtin_asinf(x))                                      \
  __HY_REAL1(asinh, ROUND, __builtin_asinhf(x))                                    \
  __HY_REAL1(atan, ROUND, __builtin_atanf(x))                                      \
  __HY_REAL1(atanh, ROUND, __builtin_atanhf(x))                                    \
  __HY_REAL1(cos, ROUND, __builtin_cosf(x))                                        \
  __HY_REAL1(cosh, ROUND, __builtin_coshf(x))                                      \
  __HY_REAL1(cospi, ROUND, __hy_cospi(x))                                          \
  __HY_REAL1(exp, ROUND, __builtin_expf(x))                                        \
  __HY_REAL1(exp2, ROUND, __builtin_exp2f(x))                                      \
  __HY_REAL1(exp10, ROUND, float(__builtin_pow(double(10.0f), double(x))))         \
  __HY_REAL1(log, ROUND, __builtin_logf(x))                                        \
  __HY_REAL1(log2, ROUND, __builtin_log2f(x))                                      \
  __HY_REAL1(log10, ROUND, __builtin_log10f(x))                                    \
  __HY_REAL1(rsqrt, ROUND, float(double(1.0f) / __builtin_sqrt(double(x))))        \
  __HY_REAL1(sin, ROUND, __builtin_sinf(x))                                        \
  __HY_REAL1(sinh, ROUND, __builtin_sinhf(x))                                      \
  __HY_REAL1(sinpi, ROUND, __hy_sinpi(x))                                          \
  __HY_REAL1(sqrt, ROUND, __builtin_sqrtf(x))                                      \
  __HY_REAL1(tan, ROUND, __builtin_tanf(x))                                        \
  __HY_REAL1(tanh, ROUND, __builtin_tanhf(x))                                      \
  __HY_REAL1(tanpi, ROUND, __hy_sinpi(x) / __hy_cospi(x))                          \
  __HY_REAL2(atan2, ROUND, __builtin_atan2f(x, y))                                 \
  __HY_REAL2(pow, ROUND, __hy_pow(x, y))                                           \
  __HY_REAL2(powr, ROUND, __hy_pow(x, y))                                          \
  __HY_REAL2(divide, ROUND, x / y)

// Functions that exist for integers, too: in the joint type of all operands.
template <class A, __HY_ANY(A)>
constexpr __HY_INLINE __hy_made<__hy_element<A>, __hy_count<A>> abs(A a) {
  typedef __hy_element<A> T;
  return __hy_map<T, __hy_count<A>>([&](int i) __HY_INLINE {
    const T x = __hy_at(a, i);
    if constexpr (is_floating_point<T>::value)
      return T(__builtin_fabsf(float(x)));
    else
      return T(x < T(0) ? T(-x) : x);
  });
}
template <class T>
constexpr __HY_INLINE T __hy_max(T x, T y) {
  if constexpr (is_floating_point<T>::value) return T(__builtin_fmaxf(float(x), float(y)));
  return x < y ? y : x;
}
template <class T>
constexpr __HY_INLINE T __hy_min(T x, T y) {
  if constexpr (is_floating_point<T>::value) return T(__builtin_fminf(float(x), float(y)));
  return y < x ? y : x;
}
#define __HY_JOINT2(NAME, EXPRESSION)                                              \
  template <class A, class B, __HY_ANY2(A, B)>                                     \
  constexpr __HY_INLINE __hy_made<__hy_joined<A, B>, __HY_N2(A, B)> NAME(A a, B b) { \
    typedef __hy_joined<A, B> T;                                                   \
    return __hy_map<T, __HY_N2(A, B)>([&](int i) __HY_INLINE {                     \
      const T x = T(__hy_at(a, i)), y = T(__hy_at(b, i));                          \
      return T(EXPRESSION);                                                        \
    });                                                                            \
  }
template <class A, class B, class C>
struct __hy_triple {
  typedef __hy_joined<A, B> AB;
  static constexpr __constant int count = __hy_wide<A, B> < __hy_count<C> ? __hy_count<C> : __hy_wide<A, B>;
  typedef conditional_t<
      __hy_vector<A>, __hy_element<A>,
      conditional_t<__hy_vector<B>, __hy_element<B>,
                    conditional_t<__hy_vector<C>, __hy_element<C>,
                                  __hy_joined<AB, __hy_element<C>>>>>
      element;
  typedef __hy_made<element, count> type;
  static constexpr __constant bool valid =
      __hy_count<A> != 0 && __hy_count<B> != 0 && __hy_count<C> != 0 &&
      (__hy_count<A> == count || __hy_count<A> == 1) &&
      (__hy_count<B> == count || __hy_count<B> == 1) &&
      (__hy_count<C> == count || __hy_count<C> == 1);
};
#define __HY_JOINT3(NAME, EXPRESSION)                                                          \
  template <class A, class B, class C, enable_if_t<__hy_triple<A, B, C>::valid, int> = 0>      \
  constexpr __HY_INLINE typename __hy_triple<A, B, C>::type NAME(A a, B b, C c) {              \
    typedef typename __hy_triple<A, B, C>::element T;                                          \
    return __hy_map<T, __hy_triple<A, B, C>::count>([&](int i) __HY_INLINE {                   \
      const T x = T(__hy_at(a, i)), y = T(__hy_at(b, i)), z = T(__hy_at(c, i));                \
      return T(EXPRESSION);                                                                    \
    });                                                                                        \
  }
template <class T>
__HY_INLINE T __hy_fma(T x, T y, T z) {
  if constexpr (sizeof(T) == 2)
    return T(__builtin_fma(double(float(x)), double(float(y)), double(float(z))));
  else
    return T(__builtin_fmaf(float(x), float(y), float(z)));
}
template <class T>
constexpr __HY_INLINE T __hy_smooth(T edge0, T edge1, T x) {
  const T t = __hy_min(__hy_max(T((x - edge0) / (edge1 - edge0)), T(0)), T(1));
  return t * t * (T(3) - T(2) * t);
}
template <class T>
constexpr __HY_INLINE T __hy_sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? x : T(0);
}
#define __HY_COMMON                                                                \
  __HY_JOINT2(max, __hy_max(x, y))                                                 \
  __HY_JOINT2(min, __hy_min(x, y))                                                 \
  __HY_JOINT3(clamp, __hy_min(__hy_max(x, y), z))                                  \
  __HY_JOINT3(max3, __hy_max(__hy_max(x, y), z))                                   \
  __HY_JOINT3(min3, __hy_min(__hy_min(x, y), z))                                   \
  __HY_JOINT3(median3, __hy_max(__hy_min(x, y), __hy_min(__hy_max(x, y), z)))      \
  __HY_JOINT3(fmax3, __hy_max(__hy_max(x, y), z))                                  \
  __HY_JOINT3(fmin3, __hy_min(__hy_min(x, y), z))                                  \
  __HY_JOINT3(fmedian3, __hy_max(__hy_min(x, y), __hy_min(__hy_max(x, y), z)))     \
  __HY_JOINT3(mix, x + (y - x) * z)                                                \
  __HY_JOINT3(fma, __hy_fma(x, y, z))                                              \
  __HY_JOINT3(smoothstep, __hy_smooth(x, y, z))                                    \
  __HY_JOINT2(step, y < x ? T(0) : T(1))                                           \
  __HY_REAL1(saturate, __hy_exact, __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f)) \
  template <class A, __HY_ANY(A)>                                                  \
  constexpr __HY_INLINE __hy_made<__hy_element<A>, __hy_count<A>> sign(A a) {      \
    typedef __hy_element<A> T;                                                     \
    return __hy_map<T, __hy_count<A>>(                                             \
        [&](int i) __HY_INLINE { return __hy_sign(T(__hy_at(a, i))); });           \
  }
// Functions with a result by reference, which is `thread`.
#define __HY_RESULTS                                                               \
  template <class A, class R, __HY_ANY(A)>                                         \
  __HY_INLINE __hy_made<__hy_real<A>, __hy_count<A>> sincos(A a, __private R& cosine) { \
    cosine = R(cos(a));                                                            \
    return sin(a);                                                                 \
  }                                                                                \
  template <class A, class R, __HY_ANY(A)>                                         \
  __HY_INLINE __hy_made<__hy_real<A>, __hy_count<A>> modf(A a, __private R& whole) { \
    whole = R(trunc(a));                                                           \
    return __hy_made<__hy_real<A>, __hy_count<A>>(a) -                             \
           __hy_made<__hy_real<A>, __hy_count<A>>(trunc(a));                       \
  }
__HY_SAME_IN_ALL
__HY_COMMON
namespace precise {
using metal::abs;
__HY_SAME_IN_ALL
__HY_ROUNDED(__hy_exact)
__HY_COMMON
__HY_RESULTS
}  // namespace precise
namespace fast {
using metal::abs;
__HY_SAME_IN_ALL
__HY_ROUNDED(__hy_fast)
__HY_COMMON
__HY_RESULTS
}  // namespace fast
#if __HY_PRECISE
__HY_ROUNDED(__hy_exact)
#else
__HY_ROUNDED(__hy_fast)
#endif
__HY_RESULTS

template <class A, __HY_ANY(A)>
__HY_INLINE __hy_made<__hy_real<A>, __hy_count<A>> ldexp(A a,
                                                         __hy_id<__hy_made<int, __hy_count<A>>> k) {
  typedef __hy_real<A> T;
  return __hy_map<T, __hy_count<A>>([&](int i) __HY_INLINE {
    return T(__builtin_ldexpf(float(__hy_at(a, i)), __hy_at(k, i)));
  });
}
template <class A, __HY_ANY(A)>
__HY_INLINE __hy_made<int, __hy_count<A>> ilogb(A a) {
  return __hy_map<int, __hy_count<A>>(
      [&](int i) __HY_INLINE { return __builtin_ilogbf(float(__hy_at(a, i))); });
}
template <class A, class K, __HY_ANY(A)>
__HY_INLINE __hy_made<__hy_real<A>, __hy_count<A>> frexp(A a, __private K& exponents) {
  typedef __hy_real<A> T;
  __hy_made<T, __hy_count<A>> r;
  for (int i = 0; i < __hy_count<A>; ++i) {
    int k = 0;
    float x = float(__hy_at(a, i));
    const uint bits = as_type<uint>(x) & 0x7fffffffu;
    if (bits != 0 && bits < 0x7f800000u) {
      k = __builtin_ilogbf(x) + 1;
      x = __builtin_ldexpf(x, -k);
    }
    if constexpr (__hy_count<A> == 1) {
      r = T(x);
      exponents = k;
    } else {
      r[i] = T(x);
      exponents[i] = k;
    }
  }
  return r;
}

// Relational functions, by bits: fast mathematics leaves them as they are.
template <class T>
__HY_INLINE uint __hy_magnitude(T x) {
  return as_type<uint>(float(x)) & 0x7fffffffu;
}
#define __HY_TEST(NAME, EXPRESSION)                                                \
  template <class A, __HY_ANY(A)>                                                  \
  __HY_INLINE __hy_made<bool, __hy_count<A>> NAME(A a) {                           \
    return __hy_map<bool, __hy_count<A>>([&](int i) __HY_INLINE {                  \
      const uint m = __hy_magnitude(__hy_at(a, i));                                \
      return bool(EXPRESSION);                                                     \
    });                                                                            \
  }
__HY_TEST(isnan, m > 0x7f800000u)
__HY_TEST(isinf, m == 0x7f800000u)
__HY_TEST(isfinite, m < 0x7f800000u)
__HY_TEST(isnormal, m >= 0x00800000u && m < 0x7f800000u)
template <class A, __HY_ANY(A)>
__HY_INLINE __hy_made<bool, __hy_count<A>> signbit(A a) {
  return __hy_map<bool, __hy_count<A>>([&](int i) __HY_INLINE {
    return bool(as_type<uint>(float(__hy_at(a, i))) >> 31);
  });
}
template <class A, class B, __HY_ANY2(A, B)>
__HY_INLINE auto isunordered(A a, B b) {
  return isnan(a) || isnan(b);
}
template <class A, class B, __HY_ANY2(A, B)>
__HY_INLINE auto isordered(A a, B b) {
  return !(isnan(a) || isnan(b));
}
template <class A, enable_if_t<__hy_count<A> != 0, int> = 0>
constexpr __HY_INLINE bool all(A a) {
  bool r = true;
  for (int i = 0; i < __hy_count<A>; ++i) r = r && bool(__hy_at(a, i));
  return r;
}
template <class A, enable_if_t<__hy_count<A> != 0, int> = 0>
constexpr __HY_INLINE bool any(A a) {
  bool r = false;
  for (int i = 0; i < __hy_count<A>; ++i) r = r || bool(__hy_at(a, i));
  return r;
}
// b where c is true (of a signed integer: where its highest bit is set), else a.
template <class A, class B, class C, enable_if_t<__hy_pair<A, B> && __hy_count<C> != 0, int> = 0>
constexpr __HY_INLINE __hy_made<__hy_joined<A, B>, __hy_wide<A, B>> select(A a, B b, C c) {
  typedef __hy_joined<A, B> T;
  return __hy_map<T, __HY_N2(A, B)>(
      [&](int i) __HY_INLINE { return __hy_at(c, i) ? T(__hy_at(b, i)) : T(__hy_at(a, i)); });
}

// Integers.
#define __HY_INTEGER1(NAME, EXPRESSION)                                                      \
  template <class A, enable_if_t<is_integral<__hy_element<A>>::value, int> = 0>              \
  constexpr __HY_INLINE __hy_made<__hy_element<A>, __hy_count<A>> NAME(A a) {                \
    typedef __hy_element<A> T;                                                               \
    typedef make_unsigned_t<T> U;                                                            \
    constexpr int bits = int(sizeof(T)) * 8;                                                 \
    return __hy_map<T, __hy_count<A>>([&](int i) __HY_INLINE {                               \
      const U x = U(__hy_at(a, i));                                                          \
      return T(EXPRESSION);                                                                  \
    });                                                                                      \
  }
__HY_INTEGER1(popcount, __builtin_popcountll(x))
__HY_INTEGER1(clz, x == 0 ? bits : __builtin_clzll(ulong(x)) - (64 - bits))
__HY_INTEGER1(ctz, x == 0 ? bits : __builtin_ctzll(ulong(x)))
__HY_INTEGER1(reverse_bits, __builtin_bitreverse64(ulong(x)) >> (64 - bits))
template <class T>
constexpr __HY_INLINE T __hy_add_saturated(T x, T y) {
  T r = 0;
  if (!__builtin_add_overflow(x, y, &r)) return r;
  return is_signed<T>::value && x < T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max();
}
template <class T>
constexpr __HY_INLINE T __hy_sub_saturated(T x, T y) {
  T r = 0;
  if (!__builtin_sub_overflow(x, y, &r)) return r;
  return is_unsigned<T>::value || x < T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max();
}
template <class T>
constexpr __HY_INLINE T __hy_mulhi(T x, T y) {
  if constexpr (is_signed<T>::value)
    return T((__int128(x) * __int128(y)) >> (8 * sizeof(T)));
  else
    return T(((unsigned __int128)(x) * (unsigned __int128)(y)) >> (8 * sizeof(T)));
}
template <class T>
constexpr __HY_INLINE T __hy_rotate(T x, T y) {
  typedef make_unsigned_t<T> U;
  constexpr uint bits = uint(sizeof(T)) * 8;
  const uint n = uint(y) & (bits - 1);
  return n == 0 ? x : T(U(U(x) << n) | U(U(x) >> (bits - n)));
}
__HY_JOINT2(addsat, __hy_add_saturated(x, y))
__HY_JOINT2(subsat, __hy_sub_saturated(x, y))
__HY_JOINT2(absdiff, x < y ? y - x : x - y)
__HY_JOINT2(hadd, T((__int128(x) + __int128(y)) >> 1))
__HY_JOINT2(rhadd, T((__int128(x) + __int128(y) + 1) >> 1))
__HY_JOINT2(mulhi, __hy_mulhi(x, y))
__HY_JOINT2(mul24, x * y)
__HY_JOINT2(rotate, __hy_rotate(x, y))
__HY_JOINT3(madhi, T(__hy_mulhi(x, y) + z))
__HY_JOINT3(mad24, x * y + z)
template <class A, enable_if_t<is_integral<__hy_element<A>>::value, int> = 0>
constexpr __HY_INLINE __hy_made<__hy_element<A>, __hy_count<A>> extract_bits(A a, uint offset,
                                                                            uint bits) {
  typedef __hy_element<A> T;
  typedef make_unsigned_t<T> U;
  constexpr uint size = uint(sizeof(T)) * 8;
  return __hy_map<T, __hy_count<A>>([&](int i) __HY_INLINE {
    if (bits == 0) return T(0);
    const uint left = size - offset - bits;
    return T(T(U(U(__hy_at(a, i)) << left)) >> (size - bits));
  });
}
template <class A, class B, enable_if_t<is_integral<__hy_element<A>>::value, int> = 0>
constexpr __HY_INLINE __hy_made<__hy_element<A>, __hy_count<A>> insert_bits(A base, B insert,
                                                                           uint offset, uint bits) {
  typedef __hy_element<A> T;
  typedef make_unsigned_t<T> U;
  constexpr uint size = uint(sizeof(T)) * 8;
  const U ones = bits >= size ? U(~U(0)) : U((U(1) << bits) - 1);
  const U mask = bits == 0 ? U(0) : U(ones << offset);
  return __hy_map<T, __hy_count<A>>([&](int i) __HY_INLINE {
    return T(U((U(__hy_at(base, i)) & U(~mask)) |
               (bits == 0 ? U(0) : U(U(U(__hy_at(insert, i)) << offset) & mask))));
  });
}

// Geometry.
template <class A, class B, enable_if_t<__hy_vector<A> && __hy_binary<A, B>, int> = 0>
constexpr __HY_INLINE __hy_element<A> dot(A a, B b) {
  typedef __hy_element<A> T;
  T r = T(__hy_at(a, 0)) * T(__hy_at(b, 0));
  for (int i = 1; i < __hy_count<A>; ++i) r = r + T(__hy_at(a, i)) * T(__hy_at(b, i));
  return r;
}
template <class A, class B, enable_if_t<__hy_count<A> == 3 && __hy_binary<A, B>, int> = 0>
constexpr __HY_INLINE vec<__hy_element<A>, 3> cross(A a, B b) {
  typedef __hy_element<A> T;
  const vec<T, 3> u(a), v(b);
  return vec<T, 3>(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x);
}
template <class A, enable_if_t<__hy_vector<A>, int> = 0>
__HY_INLINE __hy_element<A> length_squared(A a) {
  return dot(a, a);
}
template <class A, enable_if_t<__hy_vector<A>, int> = 0>
__HY_INLINE __hy_element<A> length(A a) {
  return sqrt(dot(a, a));
}
template <class A, class B, enable_if_t<__hy_vector<A> && __hy_binary<A, B>, int> = 0>
__HY_INLINE __hy_element<A> distance(A a, B b) {
  return length(a - b);
}
template <class A, class B, enable_if_t<__hy_vector<A> && __hy_binary<A, B>, int> = 0>
__HY_INLINE __hy_element<A> distance_squared(A a, B b) {
  return length_squared(a - b);
}
template <class A, enable_if_t<__hy_vector<A>, int> = 0>
__HY_INLINE vec<__hy_element<A>, __hy_count<A>> normalize(A a) {
  return a * rsqrt(dot(a, a));
}
template <class A, class B, enable_if_t<__hy_vector<A> && __hy_binary<A, B>, int> = 0>
__HY_INLINE vec<__hy_element<A>, __hy_count<A>> reflect(A incident, B normal) {
  return incident - __hy_element<A>(2) * dot(normal, incident) * normal;
}
template <class A, class B, enable_if_t<__hy_vector<A> && __hy_binary<A, B>, int> = 0>
__HY_INLINE vec<__hy_element<A>, __hy_count<A>> refract(A incident, B normal,
                                                        __hy_id<__hy_element<A>> eta) {
  typedef __hy_element<A> T;
  typedef vec<T, __hy_count<A>> V;
  const T d = dot(normal, incident);
  const T k = T(1) - eta * eta * (T(1) - d * d);
  if (k < T(0)) return V(T(0));
  return V(eta * V(incident) - (eta * d + sqrt(k)) * V(normal));
}
template <class A, class B, class C, enable_if_t<__hy_vector<A> && __hy_binary<A, B>, int> = 0>
__HY_INLINE vec<__hy_element<A>, __hy_count<A>> faceforward(A normal, B incident, C reference) {
  typedef vec<__hy_element<A>, __hy_count<A>> V;
  return dot(incident, reference) < __hy_element<A>(0) ? V(normal) : V(-normal);
}
namespace fast {
using metal::distance;
using metal::length;
using metal::normalize;
}  // namespace fast
namespace precise {
using metal::distance;
using metal::length;
using metal::normalize;
}  // namespace precise
}  // namespace metal
