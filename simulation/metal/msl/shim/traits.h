// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First part of `metal_stdlib`: scalar types and type traits (Metal Shading Language Specification
// 3.2, sections 2.1 and 6.3). This and the parts after it are C++ for OpenCL, which clang compiles
// for this processor; names that begin with __hy are ours. The token pass has replaced Metal's
// address spaces by OpenCL's before the text of a program meets these.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-inline"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef __bf16 bfloat;

namespace metal {
using ::bfloat;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::ulong;
using ::ushort;

template <class T, T V>
struct integral_constant {
  static constexpr __constant T value = V;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return V; }
  constexpr T operator()() const { return V; }
};
template <bool V>
using bool_constant = integral_constant<bool, V>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool C, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool C, class T = void>
using enable_if_t = typename enable_if<C, T>::type;
template <bool C, class A, class B>
struct conditional {
  typedef A type;
};
template <class A, class B>
struct conditional<false, A, B> {
  typedef B type;
};
template <bool C, class A, class B>
using conditional_t = typename conditional<C, A, B>::type;

template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};

// Also removes an address space: a template parameter is never a type with an address space.
template <class T>
struct remove_const {
  typedef T type;
};
template <class T>
struct remove_const<const T> {
  typedef T type;
};
template <class T>
struct remove_volatile {
  typedef T type;
};
template <class T>
struct remove_volatile<volatile T> {
  typedef T type;
};
template <class T>
struct __hy_remove_space {
  typedef T type;
};
#define __HY_SPACE(S)               \
  template <class T>                \
  struct __hy_remove_space<S T> {   \
    typedef T type;                 \
  };                                \
  template <class T>                \
  struct __hy_remove_space<S const T> { \
    typedef const T type;           \
  };                                \
  template <class T>                \
  struct __hy_remove_space<S volatile T> { \
    typedef volatile T type;        \
  };
__HY_SPACE(__global)
__HY_SPACE(__local)
__HY_SPACE(__private)
__HY_SPACE(__generic)
__HY_SPACE(__constant)
#undef __HY_SPACE
template <class T>
struct remove_cv {
  typedef typename remove_volatile<
      typename remove_const<typename __hy_remove_space<T>::type>::type>::type type;
};
template <class T>
struct remove_reference {
  typedef T type;
};
template <class T>
struct remove_reference<T&> {
  typedef T type;
};
template <class T>
struct remove_reference<T&&> {
  typedef T type;
};
template <class T>
struct remove_pointer {
  typedef T type;
};
template <class T>
struct remove_pointer<T*> {
  typedef T type;
};
template <class T>
struct remove_cvref {
  typedef typename remove_cv<typename remove_reference<T>::type>::type type;
};
template <class T>
struct decay {
  typedef typename remove_cvref<T>::type type;
};
template <class T>
struct add_const {
  typedef const T type;
};
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_volatile_t = typename remove_volatile<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
template <class T>
using decay_t = typename decay<T>::type;
template <class T>
using __hy_id = typename conditional<true, T, void>::type;  // a type that is not deduced

template <class T>
struct __hy_integer : false_type {};
template <class T>
struct __hy_float : false_type {};
#define __HY_IS(TRAIT, T) \
  template <>             \
  struct TRAIT<T> : true_type {};
__HY_IS(__hy_integer, bool)
__HY_IS(__hy_integer, char)
__HY_IS(__hy_integer, signed char)
__HY_IS(__hy_integer, uchar)
__HY_IS(__hy_integer, short)
__HY_IS(__hy_integer, ushort)
__HY_IS(__hy_integer, int)
__HY_IS(__hy_integer, uint)
__HY_IS(__hy_integer, long)
__HY_IS(__hy_integer, ulong)
__HY_IS(__hy_integer, long long)
__HY_IS(__hy_integer, unsigned long long)
__HY_IS(__hy_float, float)
__HY_IS(__hy_float, half)
__HY_IS(__hy_float, bfloat)
__HY_IS(__hy_float, double)
#undef __HY_IS
template <class T>
struct is_integral : __hy_integer<remove_cv_t<T>> {};
template <class T>
struct is_floating_point : __hy_float<remove_cv_t<T>> {};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T>
struct is_scalar : bool_constant<__is_scalar(T)> {};
template <class T>
struct is_signed
    : bool_constant<is_floating_point<T>::value || (is_integral<T>::value && __is_signed(T))> {};
template <class T>
struct is_unsigned : bool_constant<is_integral<T>::value && !is_signed<T>::value> {};
template <class T>
struct is_pointer : bool_constant<__is_pointer(T)> {};
template <class T>
struct is_reference : bool_constant<__is_reference(T)> {};
template <class T>
struct is_array : bool_constant<__is_array(T)> {};
template <class T>
struct is_enum : bool_constant<__is_enum(T)> {};
template <class T>
struct is_class : bool_constant<__is_class(T)> {};
template <class T>
struct is_void : is_same<remove_cv_t<T>, void> {};
template <class T>
struct is_empty : bool_constant<__is_empty(T)> {};
template <class T>
struct is_const : false_type {};
template <class T>
struct is_const<const T> : true_type {};
template <class T>
struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class A, class B>
struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B>
struct is_convertible : bool_constant<__is_convertible_to(A, B)> {};
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T>
struct is_function : bool_constant<__is_function(T)> {};
template <class... A>
struct conjunction : bool_constant<(A::value && ...)> {};
template <class... A>
struct disjunction : bool_constant<(A::value || ...)> {};
template <class A>
struct negation : bool_constant<!A::value> {};
template <class... A>
using void_t = void;

template <class A, class B>
inline constexpr __constant bool is_same_v = is_same<A, B>::value;
#define __HY_V(NAME)   \
  template <class T>   \
  inline constexpr __constant bool NAME##_v = NAME<T>::value;
__HY_V(is_integral)
__HY_V(is_floating_point)
__HY_V(is_arithmetic)
__HY_V(is_scalar)
__HY_V(is_signed)
__HY_V(is_unsigned)
__HY_V(is_pointer)
__HY_V(is_reference)
__HY_V(is_array)
__HY_V(is_enum)
__HY_V(is_class)
__HY_V(is_void)
__HY_V(is_empty)
__HY_V(is_const)
__HY_V(is_trivially_copyable)
#undef __HY_V
template <class A, class B>
inline constexpr __constant bool is_base_of_v = is_base_of<A, B>::value;
template <class A, class B>
inline constexpr __constant bool is_convertible_v = is_convertible<A, B>::value;

template <class T>
struct make_unsigned {
  typedef conditional_t<
      sizeof(T) == 1, uchar,
      conditional_t<sizeof(T) == 2, ushort, conditional_t<sizeof(T) == 4, uint, ulong>>>
      type;
};
template <class T>
struct make_signed {
  typedef conditional_t<sizeof(T) == 1, char,
                        conditional_t<sizeof(T) == 2, short,
                                      conditional_t<sizeof(T) == 4, int, long>>>
      type;
};
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
T __hy_declval();
// Makes operands of ?: values, because clang considers an object and a temporary of one class as
// different types.
template <class T>
constexpr __attribute__((always_inline)) T __hy_value(T x) {
  return x;
}

template <class T, T... I>
struct integer_sequence {
  static constexpr size_t size() { return sizeof...(I); }
};
template <size_t... I>
using index_sequence = integer_sequence<size_t, I...>;
template <class T, T N>
using make_integer_sequence = __make_integer_seq<integer_sequence, T, N>;
template <size_t N>
using make_index_sequence = make_integer_sequence<size_t, N>;

// Reinterprets the bits of a scalar or vector as another type of the same size (section 2.20). The
// value type of an argument; a vector if the argument is a swizzle.
template <class T>
struct __hy_plain {
  typedef T type;
};

template <class To, class From>
inline To __hy_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of equal size");
  union Both {
    From from;
    To to;
    Both() {}
  } both;
  both.from = from;
  return both.to;
}
}  // namespace metal
template <class To, class From>
inline To as_type(From from) {
  return metal::__hy_bits<To>(static_cast<typename metal::__hy_plain<From>::type>(from));
}
namespace metal {
using ::as_type;

template <class T>
struct numeric_limits;
#define __HY_LIMITS(T, MIN, MAX, SIGNED, DIGITS)                     \
  template <>                                                        \
  struct numeric_limits<T> {                                         \
    static constexpr __constant bool is_specialized = true;          \
    static constexpr __constant bool is_signed = SIGNED;             \
    static constexpr __constant bool is_integer = true;              \
    static constexpr __constant bool is_exact = true;                \
    static constexpr __constant bool has_infinity = false;           \
    static constexpr __constant bool has_quiet_NaN = false;          \
    static constexpr __constant int digits = DIGITS;                 \
    static constexpr __constant int radix = 2;                       \
    static constexpr T min() { return T(MIN); }                      \
    static constexpr T lowest() { return T(MIN); }                   \
    static constexpr T max() { return T(MAX); }                      \
    static constexpr T infinity() { return T(0); }                   \
    static constexpr T epsilon() { return T(0); }                    \
  };
__HY_LIMITS(bool, 0, 1, false, 1)
__HY_LIMITS(char, -128, 127, true, 7)
__HY_LIMITS(int8_t, -128, 127, true, 7)
__HY_LIMITS(uchar, 0, 255, false, 8)
__HY_LIMITS(short, -32768, 32767, true, 15)
__HY_LIMITS(ushort, 0, 65535, false, 16)
__HY_LIMITS(int, -2147483647 - 1, 2147483647, true, 31)
__HY_LIMITS(uint, 0, 4294967295u, false, 32)
__HY_LIMITS(long, -9223372036854775807l - 1, 9223372036854775807l, true, 63)
__HY_LIMITS(ulong, 0, 18446744073709551615ul, false, 64)
#undef __HY_LIMITS
#define __HY_LIMITS(T, MIN, MAX, EPSILON, DENORM, DIGITS, MAX_EXPONENT)   \
  template <>                                                            \
  struct numeric_limits<T> {                                             \
    static constexpr __constant bool is_specialized = true;              \
    static constexpr __constant bool is_signed = true;                   \
    static constexpr __constant bool is_integer = false;                 \
    static constexpr __constant bool is_exact = false;                   \
    static constexpr __constant bool has_infinity = true;                \
    static constexpr __constant bool has_quiet_NaN = true;               \
    static constexpr __constant int digits = DIGITS;                     \
    static constexpr __constant int radix = 2;                           \
    static constexpr __constant int max_exponent = MAX_EXPONENT;         \
    static constexpr T min() { return T(MIN); }                          \
    static constexpr T lowest() { return T(-MAX); }                      \
    static constexpr T max() { return T(MAX); }                          \
    static constexpr T epsilon() { return T(EPSILON); }                  \
    static constexpr T denorm_min() { return T(DENORM); }                \
    static constexpr T infinity() { return T(__builtin_inff()); }        \
    static constexpr T quiet_NaN() { return T(__builtin_nanf("")); }     \
    static constexpr T signaling_NaN() { return T(__builtin_nanf("")); } \
  };
__HY_LIMITS(float, 0x1p-126f, 0x1.fffffep127f, 0x1p-23f, 0x1p-149f, 24, 128)
__HY_LIMITS(half, 0x1p-14f, 0x1.ffcp15f, 0x1p-10f, 0x1p-24f, 11, 16)
__HY_LIMITS(bfloat, 0x1p-126f, 0x1.fep127f, 0x1p-7f, 0x1p-133f, 8, 128)
#undef __HY_LIMITS
}  // namespace metal
