// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Seventh part: helpers of generated entry points, which pass arguments and describe their types.
namespace __hy {
using namespace metal;

// Parameter I of a function.
template <int I, class F>
struct parameter;
template <int I, class R, class P, class... O>
struct parameter<I, R(P, O...)> : parameter<I - 1, R(O...)> {};
template <class R, class P, class... O>
struct parameter<0, R(P, O...)> {
  typedef P type;
};
template <int I, class F>
using parameter_t = typename parameter<I, F>::type;

// An argument in memory, as a pointer, as a reference or by value.
template <class P>
struct memory_argument {
  static __HY_INLINE P get(ulong address) { return *(const __private P*)address; }
};
template <class T>
struct memory_argument<T*> {
  static __HY_INLINE T* get(ulong address) { return (T*)address; }
};
template <class T>
struct memory_argument<T&> {
  static __HY_INLINE T& get(ulong address) { return *(T*)address; }
};

// An input: up to three components.
template <class P>
struct input {
  static __HY_INLINE P get(const __private uint* v) { return P(v[0]); }
};
template <class T>
struct input<vec<T, 2>> {
  static __HY_INLINE vec<T, 2> get(const __private uint* v) { return vec<T, 2>(T(v[0]), T(v[1])); }
};
template <class T>
struct input<vec<T, 3>> {
  static __HY_INLINE vec<T, 3> get(const __private uint* v) {
    return vec<T, 3>(T(v[0]), T(v[1]), T(v[2]));
  }
};
template <class T>
struct input<const T> : input<T> {};

// MTLDataType of a type.
template <class T>
struct code {
  static constexpr __constant uint value = __is_pointer(T) ? 60 : __is_array(T) ? 2 : __is_enum(T) ? 29 : 1;
};
#define __HY_CODE(T, VALUE)                              \
  template <>                                            \
  struct code<T> {                                       \
    static constexpr __constant uint value = VALUE;      \
  };                                                     \
  template <>                                            \
  struct code<atomic<T>> {                               \
    static constexpr __constant uint value = VALUE;      \
  };
__HY_CODE(float, 3)
__HY_CODE(half, 16)
__HY_CODE(int, 29)
__HY_CODE(uint, 33)
__HY_CODE(short, 37)
__HY_CODE(ushort, 41)
__HY_CODE(char, 45)
__HY_CODE(uchar, 49)
__HY_CODE(bool, 53)
__HY_CODE(long, 81)
__HY_CODE(ulong, 85)
__HY_CODE(bfloat, 121)
#undef __HY_CODE
template <class T, int N>
struct code<vec<T, N>> {
  static constexpr __constant uint value = code<T>::value + N - 1;
};
template <class T, int N>
struct code<packed_vec<T, N>> : code<vec<T, N>> {};
template <class T>
struct code<const T> : code<T> {};

template <class T>
struct sized {
  static constexpr __constant uint size = sizeof(T);
  static constexpr __constant uint alignment = alignof(T);
};
template <>
struct sized<void> {
  static constexpr __constant uint size = 0;
  static constexpr __constant uint alignment = 1;
};

// The type of a parameter or a member, as numbers: type, size, alignment, count of an array, 1 for
// a pointer or a reference, 1 for a const target, and the element's type, size and alignment.
struct type_words {
  uint type, size, alignment, count, indirect, is_constant, element_type, element_size, element_alignment;
};
template <class T>
constexpr type_words describe_value() {
  typedef remove_cv_t<T> V;
  return {code<V>::value, sized<V>::size, sized<V>::alignment, 1, 0, 0, 0, 0, 0};
}
template <class T>
struct description {
  static constexpr type_words get() { return describe_value<T>(); }
};
template <class T>
struct pointer_description {
  static constexpr type_words get() {
    typedef remove_cv_t<T> V;
    const type_words e = description<V>::get();
    return {60, 8, 8, 1, 1, is_const<typename __hy_remove_space<T>::type>::value || __is_const(T) ? 1u : 0u,
            e.type, e.size, e.alignment};
  }
};
template <class T>
struct description<T*> : pointer_description<T> {};
template <class T>
struct description<T* const> : pointer_description<T> {};
template <class T>
struct description<T&> : pointer_description<T> {};
template <>
struct description<void> {
  static constexpr type_words get() { return {0, 0, 1, 1, 0, 0, 0, 0, 0}; }
};
template <class T, size_t N>
constexpr type_words describe_array() {
  type_words w = description<T>::get();
  w.count = w.count * uint(N);
  return w;
}
template <class T, size_t N>
struct description<T[N]> {
  static constexpr type_words get() { return describe_array<T, N>(); }
};
template <class T, size_t N>
struct description<array<T, N>> {
  static constexpr type_words get() { return describe_array<T, N>(); }
};

// The argument of an entry point.
struct call {
  ulong arguments[64];  // addresses by parameter, 0 for inputs
  uint inputs[24][3];   // in the order of kInputs in kernel_source.cpp
};
}  // namespace __hy
