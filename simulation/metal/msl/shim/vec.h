// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Second part of `metal_stdlib`: vectors (Metal Shading Language Specification 3.2, sections 2.2
// and 3). A vector is a class with a union of its components and all its swizzles. A swizzle is a
// view of some components, which converts to a vector and can be assigned from a vector.
namespace metal {
template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;
template <class T, int S, int... I>
struct __hy_swizzle;  // components I of a vector of S

// Traits of an operand: its element and its number of components (0 if it is not an operand of this
// library).
template <class T>
struct __hy_operand {
  typedef T element;
  static constexpr __constant int count = __is_arithmetic(T) || __is_enum(T) ? 1 : 0;
  static constexpr __constant bool vector = false;
};
template <>
struct __hy_operand<half> {
  typedef half element;
  static constexpr __constant int count = 1;
  static constexpr __constant bool vector = false;
};
template <>
struct __hy_operand<bfloat> {
  typedef bfloat element;
  static constexpr __constant int count = 1;
  static constexpr __constant bool vector = false;
};
template <class T, int N>
struct __hy_operand<vec<T, N>> {
  typedef T element;
  static constexpr __constant int count = N;
  static constexpr __constant bool vector = true;
};
template <class T, int N>
struct __hy_operand<packed_vec<T, N>> : __hy_operand<vec<T, N>> {};
template <class T, int S, int... I>
struct __hy_operand<__hy_swizzle<T, S, I...>> : __hy_operand<vec<T, sizeof...(I)>> {};
template <class T>
using __hy_element = typename __hy_operand<remove_cv_t<T>>::element;
template <class T>
inline constexpr __constant int __hy_count = __hy_operand<remove_cv_t<T>>::count;
template <class T>
inline constexpr __constant bool __hy_vector = __hy_operand<remove_cv_t<T>>::vector;

// Element i of an operand; of a scalar it is the scalar.
template <class T>
constexpr T __hy_at(T x, int) {
  return x;
}
template <class T, int N>
constexpr T __hy_at(vec<T, N> x, int i) {
  return x.__at(i);
}
template <class T, int N>
constexpr T __hy_at(packed_vec<T, N> x, int i) {
  return x.__at(i);
}
template <class T, int S, int... I>
constexpr T __hy_at(__hy_swizzle<T, S, I...> x, int i) {
  return x.__at(i);
}

// True if the operands together have N components.
template <int N, class... A>
inline constexpr __constant bool __hy_fits = (0 + ... + __hy_count<A>) == N && ((__hy_count<A> != 0) && ...);

#define __HY_INLINE __attribute__((always_inline))

template <class T, int S, int... I>
struct __hy_swizzle {
  T e[S];
  static constexpr int __place(int i) {
    const int places[] = {I...};
    return places[i];
  }
  constexpr __HY_INLINE T __at(int i) const { return e[__place(i)]; }
  __HY_INLINE operator vec<T, sizeof...(I)>() const { return vec<T, sizeof...(I)>(e[I]...); }
  __HY_INLINE T operator[](int i) const { return e[__place(i)]; }
  __HY_INLINE void __assign(vec<T, sizeof...(I)> v) {
    int i = 0;
    ((e[I] = v.__at(i++)), ...);
  }
  __hy_swizzle() = default;
  __hy_swizzle(const __hy_swizzle&) = default;
  __HY_INLINE void operator=(const __hy_swizzle& o) {
    __assign(static_cast<vec<T, sizeof...(I)>>(o));
  }
  template <class B>
  __HY_INLINE void operator=(B b) {
    __assign(vec<T, sizeof...(I)>(b));
  }
};
template <class T, int S, int... I>
struct __hy_plain<__hy_swizzle<T, S, I...>> {
  typedef vec<T, sizeof...(I)> type;
};

// Members for all swizzles of a vector of N components, for the names x, y, z, w (letters W = p) and
// r, g, b, a (W = q).
#define __HY_L_p0 x
#define __HY_L_p1 y
#define __HY_L_p2 z
#define __HY_L_p3 w
#define __HY_L_q0 r
#define __HY_L_q1 g
#define __HY_L_q2 b
#define __HY_L_q3 a
#define __HY_CAT2_(a, b) a##b
#define __HY_CAT2(a, b) __HY_CAT2_(a, b)
#define __HY_CAT3_(a, b, c) a##b##c
#define __HY_CAT3(a, b, c) __HY_CAT3_(a, b, c)
#define __HY_CAT4_(a, b, c, d) a##b##c##d
#define __HY_CAT4(a, b, c, d) __HY_CAT4_(a, b, c, d)
#define __HY_M2(W, N, A, B) __hy_swizzle<T, N, A, B> __HY_CAT2(__HY_L_##W##A, __HY_L_##W##B);
#define __HY_M3(W, N, A, B, C) \
  __hy_swizzle<T, N, A, B, C> __HY_CAT3(__HY_L_##W##A, __HY_L_##W##B, __HY_L_##W##C);
#define __HY_M4(W, N, A, B, C, D)  \
  __hy_swizzle<T, N, A, B, C, D>   \
      __HY_CAT4(__HY_L_##W##A, __HY_L_##W##B, __HY_L_##W##C, __HY_L_##W##D);
#define __HY_C2(W, A, B, C) \
  __HY_M3(W, 2, A, B, C) __HY_M4(W, 2, A, B, C, 0) __HY_M4(W, 2, A, B, C, 1)
#define __HY_B2(W, A, B) \
  __HY_M2(W, 2, A, B) __HY_C2(W, A, B, 0) __HY_C2(W, A, B, 1)
#define __HY_A2(W, A) __HY_B2(W, A, 0) __HY_B2(W, A, 1)
#define __HY_SWIZZLES2(W) __HY_A2(W, 0) __HY_A2(W, 1)
#define __HY_C3(W, A, B, C) \
  __HY_M3(W, 3, A, B, C) __HY_M4(W, 3, A, B, C, 0) __HY_M4(W, 3, A, B, C, 1) __HY_M4(W, 3, A, B, C, 2)
#define __HY_B3(W, A, B) \
  __HY_M2(W, 3, A, B) __HY_C3(W, A, B, 0) __HY_C3(W, A, B, 1) __HY_C3(W, A, B, 2)
#define __HY_A3(W, A) __HY_B3(W, A, 0) __HY_B3(W, A, 1) __HY_B3(W, A, 2)
#define __HY_SWIZZLES3(W) __HY_A3(W, 0) __HY_A3(W, 1) __HY_A3(W, 2)
#define __HY_C4(W, A, B, C) \
  __HY_M3(W, 4, A, B, C) __HY_M4(W, 4, A, B, C, 0) __HY_M4(W, 4, A, B, C, 1) __HY_M4(W, 4, A, B, C, 2) __HY_M4(W, 4, A, B, C, 3)
#define __HY_B4(W, A, B) \
  __HY_M2(W, 4, A, B) __HY_C4(W, A, B, 0) __HY_C4(W, A, B, 1) __HY_C4(W, A, B, 2) __HY_C4(W, A, B, 3)
#define __HY_A4(W, A) __HY_B4(W, A, 0) __HY_B4(W, A, 1) __HY_B4(W, A, 2) __HY_B4(W, A, 3)
#define __HY_SWIZZLES4(W) __HY_A4(W, 0) __HY_A4(W, 1) __HY_A4(W, 2) __HY_A4(W, 3)

#define __HY_ALIGN(N) __attribute__((aligned(sizeof(T) * N)))

// All that vectors of each size and packing have. MEMBERS declares the union.
#define __HY_VECTOR_BODY(NAME, N)                                                                \
  typedef T element_type;                                                                        \
  NAME() = default;                                                                              \
  NAME(const NAME&) = default;                                                                   \
  template <class A, enable_if_t<__hy_count<A> == 1 && !__hy_vector<A>, int> = 0>                \
  constexpr __HY_INLINE NAME(A s) : NAME(__hy_fill(), T(s)) {}                                   \
  template <class A,                                                                             \
            enable_if_t<__hy_vector<A> && __hy_count<A> == N && is_same_v<__hy_element<A>, T>,   \
                        int> = 0>                                                                \
  __HY_INLINE NAME(A v) : NAME(__hy_from(), v) {}                                                \
  template <class A,                                                                             \
            enable_if_t<__hy_vector<A> && __hy_count<A> == N && !is_same_v<__hy_element<A>, T>,  \
                        int> = 0>                                                                \
  explicit __HY_INLINE NAME(A v) : NAME(__hy_from(), v) {}                                       \
  template <class A, class B, class... C,                                                        \
            enable_if_t<__hy_fits<N, A, B, C...>, int> = 0>                                      \
  constexpr __HY_INLINE NAME(A a, B b, C... c) : NAME(__hy_parts(), a, b, c...) {}               \
  __HY_INLINE NAME& operator=(const NAME& o) {                                                   \
    for (int i = 0; i < N; ++i) (&x)[i] = (&o.x)[i];                                             \
    return *this;                                                                                \
  }                                                                                              \
  __HY_INLINE void operator=(const NAME& o) volatile {                                           \
    for (int i = 0; i < N; ++i) (&x)[i] = (&o.x)[i];                                             \
  }                                                                                              \
  constexpr __HY_INLINE T __at(int i) const { return __get(i); }                                 \
  __HY_INLINE T operator[](int i) const&& { return __get(i); }                                   \
  __HY_INLINE T& operator[](int i)& { return (&x)[i]; }                                           \
  __HY_INLINE const T& operator[](int i) const& { return (&x)[i]; }                               \
  __HY_INLINE __private T& operator[](int i) __private& { return (&x)[i]; }                       \
  __HY_INLINE const __private T& operator[](int i) const __private& { return (&x)[i]; }           \
  __HY_INLINE __global T& operator[](int i) __global& { return (&x)[i]; }                         \
  __HY_INLINE const __global T& operator[](int i) const __global& { return (&x)[i]; }             \
  __HY_INLINE __local T& operator[](int i) __local& { return (&x)[i]; }                           \
  __HY_INLINE const __local T& operator[](int i) const __local& { return (&x)[i]; }

struct __hy_fill {};
struct __hy_from {};
struct __hy_parts {};

// Component k of the concatenation of operands.
template <class T, class A, class... R>
constexpr __HY_INLINE T __hy_part(int k, A a, R... rest) {
  if (k < __hy_count<A>) return T(__hy_at(a, k));
  if constexpr (sizeof...(R) != 0) return __hy_part<T>(k - __hy_count<A>, rest...);
  return T();
}

#define __HY_VECTOR2(NAME, ALIGN, S)                                                      \
  template <class T>                                                                      \
  struct ALIGN NAME<T, 2> {                                                               \
    union {                                                                               \
      struct {                                                                            \
        T x, y;                                                                           \
      };                                                                                  \
      struct { T r, g; }; \
      __HY_SWIZZLES2(p) __HY_SWIZZLES2(q)                                                                   \
    };                                                                                    \
    __HY_VECTOR_BODY(NAME, 2)                                                             \
    constexpr __HY_INLINE T __get(int i) const {                                          \
      return __builtin_is_constant_evaluated() ? (i == 0 ? x : y) : (&x)[i];              \
    }                                                                                     \
    constexpr __HY_INLINE NAME(__hy_fill, T s) : x(s), y(s) {}                            \
    template <class A>                                                                    \
    __HY_INLINE NAME(__hy_from, A v) : x(T(__hy_at(v, 0))), y(T(__hy_at(v, 1))) {}        \
    template <class... A>                                                                 \
    constexpr __HY_INLINE NAME(__hy_parts, A... a)                                        \
        : x(__hy_part<T>(0, a...)), y(__hy_part<T>(1, a...)) {}                           \
  };
#define __HY_VECTOR3(NAME, ALIGN, S)                                                      \
  template <class T>                                                                      \
  struct ALIGN NAME<T, 3> {                                                               \
    union {                                                                               \
      struct {                                                                            \
        T x, y, z;                                                                        \
      };                                                                                  \
      struct { T r, g, b; }; \
      __HY_SWIZZLES3(p) __HY_SWIZZLES3(q)                                                                   \
    };                                                                                    \
    __HY_VECTOR_BODY(NAME, 3)                                                             \
    constexpr __HY_INLINE T __get(int i) const {                                          \
      return __builtin_is_constant_evaluated() ? (i == 0 ? x : i == 1 ? y : z) : (&x)[i]; \
    }                                                                                     \
    constexpr __HY_INLINE NAME(__hy_fill, T s) : x(s), y(s), z(s) {}                      \
    template <class A>                                                                    \
    __HY_INLINE NAME(__hy_from, A v)                                                      \
        : x(T(__hy_at(v, 0))), y(T(__hy_at(v, 1))), z(T(__hy_at(v, 2))) {}                \
    template <class... A>                                                                 \
    constexpr __HY_INLINE NAME(__hy_parts, A... a)                                        \
        : x(__hy_part<T>(0, a...)), y(__hy_part<T>(1, a...)), z(__hy_part<T>(2, a...)) {} \
  };
#define __HY_VECTOR4(NAME, ALIGN, S)                                                            \
  template <class T>                                                                            \
  struct ALIGN NAME<T, 4> {                                                                     \
    union {                                                                                     \
      struct {                                                                                  \
        T x, y, z, w;                                                                           \
      };                                                                                        \
      struct { T r, g, b, a; }; \
      __HY_SWIZZLES4(p) __HY_SWIZZLES4(q)                                                                         \
    };                                                                                          \
    __HY_VECTOR_BODY(NAME, 4)                                                                   \
    constexpr __HY_INLINE T __get(int i) const {                                                \
      return __builtin_is_constant_evaluated() ? (i == 0 ? x : i == 1 ? y : i == 2 ? z : w)     \
                                               : (&x)[i];                                       \
    }                                                                                           \
    constexpr __HY_INLINE NAME(__hy_fill, T s) : x(s), y(s), z(s), w(s) {}                      \
    template <class A>                                                                          \
    __HY_INLINE NAME(__hy_from, A v)                                                            \
        : x(T(__hy_at(v, 0))), y(T(__hy_at(v, 1))), z(T(__hy_at(v, 2))), w(T(__hy_at(v, 3))) {} \
    template <class... A>                                                                       \
    constexpr __HY_INLINE NAME(__hy_parts, A... a)                                              \
        : x(__hy_part<T>(0, a...)), y(__hy_part<T>(1, a...)), z(__hy_part<T>(2, a...)),         \
          w(__hy_part<T>(3, a...)) {}                                                           \
  };
// A vector of 3 is as large and as aligned as one of 4.
__HY_VECTOR2(vec, __HY_ALIGN(2), 2)
__HY_VECTOR3(vec, __HY_ALIGN(4), 3)
__HY_VECTOR4(vec, __HY_ALIGN(4), 4)
__HY_VECTOR2(packed_vec, , 2)
__HY_VECTOR3(packed_vec, , 3)
__HY_VECTOR4(packed_vec, , 4)

// The type that an operation on A and B computes with: the vector's element if one is a vector.
template <class A, class B, bool VA = __hy_vector<A>, bool VB = __hy_vector<B>>
struct __hy_joint {
  typedef conditional_t<is_same_v<A, B>, A, decltype(__hy_declval<A>() + __hy_declval<B>())> element;
};
template <class A, class B, bool VB>
struct __hy_joint<A, B, true, VB> {
  typedef __hy_element<A> element;
};
template <class A, class B>
struct __hy_joint<A, B, false, true> {
  typedef __hy_element<B> element;
};
template <class A, class B>
inline constexpr __constant int __hy_wide =
    (__hy_count<A> < __hy_count<B>) ? __hy_count<B> : __hy_count<A>;
template <class T, int N>
struct __hy_make {
  typedef vec<T, N> type;
};
template <class T>
struct __hy_make<T, 1> {
  typedef T type;
};
template <class T, int N>
using __hy_made = typename __hy_make<T, N>::type;

// One of them is a vector; two vectors have the same size and element.
template <class A, class B>
inline constexpr __constant bool __hy_binary =
    (__hy_vector<A> || __hy_vector<B>) && __hy_count<A> != 0 && __hy_count<B> != 0 &&
    (!__hy_vector<A> || !__hy_vector<B> ||
     (__hy_count<A> == __hy_count<B> && is_same_v<__hy_element<A>, __hy_element<B>>));
template <class A, class B>
using __hy_joined = typename __hy_joint<remove_cv_t<A>, remove_cv_t<B>>::element;

#define __HY_EACH(N, ...)                                 \
  constexpr int n = N;                                    \
  auto f = [&](int i) __HY_INLINE { return __VA_ARGS__; }; \
  if constexpr (n == 2)                                   \
    return {f(0), f(1)};                                  \
  else if constexpr (n == 3)                              \
    return {f(0), f(1), f(2)};                            \
  else                                                    \
    return {f(0), f(1), f(2), f(3)};
#define __HY_BINARY(OP)                                                                 \
  template <class A, class B, enable_if_t<__hy_binary<A, B>, int> = 0>                  \
  constexpr __HY_INLINE vec<__hy_joined<A, B>, __hy_wide<A, B>> operator OP(A a, B b) { \
    typedef __hy_joined<A, B> T;                                                        \
    __HY_EACH((__hy_wide<A, B>), T(T(__hy_at(a, i)) OP T(__hy_at(b, i))))                 \
  }
// The count of a shift may have another element.
#define __HY_SHIFT(OP)                                                                    \
  template <class A, class B,                                                             \
            enable_if_t<(__hy_vector<A> || __hy_vector<B>) && __hy_count<A> != 0 &&       \
                            __hy_count<B> != 0 &&                                         \
                            (__hy_count<A> == __hy_count<B> || __hy_count<A> == 1 ||      \
                             __hy_count<B> == 1),                                         \
                        int> = 0>                                                         \
  constexpr __HY_INLINE vec<__hy_element<conditional_t<__hy_vector<A>, A, B>>,            \
                            __hy_wide<A, B>>                                              \
  operator OP(A a, B b) {                                                                 \
    typedef __hy_element<conditional_t<__hy_vector<A>, A, B>> T;                          \
    __HY_EACH((__hy_wide<A, B>), T(T(__hy_at(a, i)) OP __hy_at(b, i)))                    \
  }
#define __HY_COMPARE(OP)                                                            \
  template <class A, class B, enable_if_t<__hy_binary<A, B>, int> = 0>              \
  constexpr __HY_INLINE vec<bool, __hy_wide<A, B>> operator OP(A a, B b) {          \
    typedef __hy_joined<A, B> T;                                                    \
    __HY_EACH((__hy_wide<A, B>), T(__hy_at(a, i)) OP T(__hy_at(b, i)))                \
  }
#define __HY_UNARY(OP)                                                            \
  template <class A, enable_if_t<__hy_vector<A>, int> = 0>                        \
  constexpr __HY_INLINE vec<__hy_element<A>, __hy_count<A>> operator OP(A a) {    \
    typedef __hy_element<A> T;                                                    \
    __HY_EACH(__hy_count<A>, T(OP __hy_at(a, i)))                                 \
  }
__HY_BINARY(+)
__HY_BINARY(-)
__HY_BINARY(*)
__HY_BINARY(/)
__HY_BINARY(%)
__HY_BINARY(&)
__HY_BINARY(|)
__HY_BINARY(^)
__HY_SHIFT(<<)
__HY_SHIFT(>>)
__HY_COMPARE(==)
__HY_COMPARE(!=)
__HY_COMPARE(<)
__HY_COMPARE(>)
__HY_COMPARE(<=)
__HY_COMPARE(>=)
__HY_COMPARE(&&)
__HY_COMPARE(||)
__HY_UNARY(+)
__HY_UNARY(-)
__HY_UNARY(~)
template <class A, enable_if_t<__hy_vector<A>, int> = 0>
constexpr __HY_INLINE vec<bool, __hy_count<A>> operator!(A a) {
  __HY_EACH(__hy_count<A>, !__hy_at(a, i))
}
#undef __HY_BINARY
#undef __HY_COMPARE
#undef __HY_UNARY

// Assignments with an operation: of vectors, packed vectors and swizzles, in any address space.
#define __HY_ASSIGN_IN(SPACE, OP)                                                                 \
  template <class T, int N, class B>                                                              \
  __HY_INLINE SPACE vec<T, N>& operator OP##=(SPACE vec<T, N>& a, B b) {                          \
    a = vec<T, N>(vec<T, N>(a) OP b);                                                             \
    return a;                                                                                     \
  }                                                                                               \
  template <class T, int N, class B>                                                              \
  __HY_INLINE SPACE packed_vec<T, N>& operator OP##=(SPACE packed_vec<T, N>& a, B b) {            \
    a = packed_vec<T, N>(vec<T, N>(packed_vec<T, N>(a)) OP b);                                    \
    return a;                                                                                     \
  }                                                                                               \
  template <class T, int S, int... I, class B>                                                    \
  __HY_INLINE SPACE __hy_swizzle<T, S, I...>& operator OP##=(SPACE __hy_swizzle<T, S, I...>& a,   \
                                                             B b) {                               \
    a = vec<T, sizeof...(I)>(static_cast<vec<T, sizeof...(I)>>(a) OP b);                          \
    return a;                                                                                     \
  }
#define __HY_ASSIGN(OP)          \
  __HY_ASSIGN_IN(__private, OP)  \
  __HY_ASSIGN_IN(__global, OP)   \
  __HY_ASSIGN_IN(__local, OP)    \
  __HY_ASSIGN_IN(__generic, OP)
__HY_ASSIGN(+)
__HY_ASSIGN(-)
__HY_ASSIGN(*)
__HY_ASSIGN(/)
__HY_ASSIGN(%)
__HY_ASSIGN(&)
__HY_ASSIGN(|)
__HY_ASSIGN(^)
__HY_ASSIGN(<<)
__HY_ASSIGN(>>)
#undef __HY_ASSIGN
#undef __HY_ASSIGN_IN
template <class T, int N>
__HY_INLINE vec<T, N>& operator++(vec<T, N>& a) {
  a = a + T(1);
  return a;
}
template <class T, int N>
__HY_INLINE vec<T, N>& operator--(vec<T, N>& a) {
  a = a - T(1);
  return a;
}
template <class T, int N>
__HY_INLINE vec<T, N> operator++(vec<T, N>& a, int) {
  vec<T, N> old = a;
  a = a + T(1);
  return old;
}
template <class T, int N>
__HY_INLINE vec<T, N> operator--(vec<T, N>& a, int) {
  vec<T, N> old = a;
  a = a - T(1);
  return old;
}
}  // namespace metal

#define __HY_NAMES(T, NAME)              \
  typedef metal::vec<T, 2> NAME##2;      \
  typedef metal::vec<T, 3> NAME##3;      \
  typedef metal::vec<T, 4> NAME##4;      \
  typedef metal::packed_vec<T, 2> packed_##NAME##2; \
  typedef metal::packed_vec<T, 3> packed_##NAME##3; \
  typedef metal::packed_vec<T, 4> packed_##NAME##4; \
  namespace metal {                      \
  using ::NAME##2;                       \
  using ::NAME##3;                       \
  using ::NAME##4;                       \
  using ::packed_##NAME##2;              \
  using ::packed_##NAME##3;              \
  using ::packed_##NAME##4;              \
  }
__HY_NAMES(bool, bool)
__HY_NAMES(char, char)
__HY_NAMES(uchar, uchar)
__HY_NAMES(short, short)
__HY_NAMES(ushort, ushort)
__HY_NAMES(int, int)
__HY_NAMES(uint, uint)
__HY_NAMES(long, long)
__HY_NAMES(ulong, ulong)
__HY_NAMES(half, half)
__HY_NAMES(float, float)
__HY_NAMES(bfloat, bfloat)
#undef __HY_NAMES
