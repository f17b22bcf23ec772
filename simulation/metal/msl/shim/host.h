// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fourth part of `metal_stdlib`: barriers, fences, atomics and arrays (Metal Shading Language
// Specification 3.2, sections 2.18, 6.9 and 6.15). The functions __hy_* without a body are in
// glue.h, which is compiled with each library.
extern "C" {
__attribute__((convergent)) void __hy_barrier(uint flags, int scope);
void __hy_fence(uint flags, int scope);
void __hy_atomic(ulong address, uint size, int write);
int __hy_exchange_fails();
__attribute__((convergent)) ulong __hy_exchange(ulong value, uint size, uint width, ulong mask);
void __hy_inactive(uint lane);
void __hy_copy(ulong to, ulong from, uint size);
uint __hy_lane();
uint __hy_width();
ulong __hy_variable_at(ulong key, uint size, uint alignment);
}

namespace metal {
enum class mem_flags {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(int(a) & int(b)); }
enum memory_order {
  memory_order_relaxed,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst
};
enum thread_scope {
  thread_scope_thread,
  thread_scope_simdgroup,
  thread_scope_threadgroup,
  thread_scope_device,
  thread_scope_system
};

__HY_INLINE void threadgroup_barrier(mem_flags flags, thread_scope = thread_scope_threadgroup) {
  __hy_barrier(uint(flags), 0);
}
__HY_INLINE void simdgroup_barrier(mem_flags flags, thread_scope = thread_scope_simdgroup) {
  __hy_barrier(uint(flags), 1);
}
__HY_INLINE void atomic_thread_fence(mem_flags flags, memory_order = memory_order_seq_cst,
                                     thread_scope scope = thread_scope_device) {
  __hy_fence(uint(flags), int(scope));
}
__HY_INLINE void threadgroup_fence(mem_flags flags) { __hy_fence(uint(flags), 2); }

template <class T>
struct atomic {
  T __value;
};
template struct atomic<int>;
template struct atomic<uint>;
template struct atomic<float>;
template struct atomic<bool>;
template struct atomic<ulong>;
// The token pass renames Metal's names for these: clang has types with the same names.
typedef atomic<int> __hy_atomic_int;
typedef atomic<uint> __hy_atomic_uint;
typedef atomic<float> __hy_atomic_float;
typedef atomic<bool> __hy_atomic_bool;
typedef atomic<ulong> __hy_atomic_ulong;

// Section 6.15: 64 bits have atomic_max_explicit and atomic_min_explicit, without a result, and
// nothing else.
template <class T>
struct __hy_word_of {
  static_assert(sizeof(T) <= 4, "64-bit atomics have no operation but atomic_max_explicit and "
                                "atomic_min_explicit");
  typedef make_unsigned_t<T> type;
};
template <class T>
using __hy_word = typename __hy_word_of<T>::type;
template <class T>
__HY_INLINE T __hy_load(ulong address) {
  __hy_atomic(address, sizeof(T), 0);
  return __hy_bits<T>(__atomic_load_n((__private __hy_word<T>*)address, __ATOMIC_SEQ_CST));
}
template <class T>
__HY_INLINE void __hy_store(ulong address, T value) {
  __hy_atomic(address, sizeof(T), 1);
  __atomic_store_n((__private __hy_word<T>*)address, __hy_bits<__hy_word<T>>(value),
                   __ATOMIC_SEQ_CST);
}
template <class T, class U, class F>
__HY_INLINE T __hy_update_word(ulong address, F f) {
  __hy_atomic(address, sizeof(T), 1);
  __private U* const word = (__private U*)address;
  U old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (true) {
    const T before = __hy_bits<T>(old);
    const T after = f(before);
    if (__atomic_compare_exchange_n(word, (__private U*)&old, __hy_bits<U>(after), false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      return before;
    }
  }
}
template <class T, class F>
__HY_INLINE T __hy_update(ulong address, F f) {
  return __hy_update_word<T, __hy_word<T>>(address, f);
}

#define __HY_ATOMIC_UPDATE(SPACE, NAME, EXPRESSION)                                         \
  template <class T>                                                                        \
  __HY_INLINE T NAME(volatile SPACE atomic<T>* object, __hy_id<T> y, memory_order,          \
                     thread_scope = thread_scope_device) {                                  \
    return __hy_update<T>((ulong)object, [=](T x) __HY_INLINE { return T(EXPRESSION); });   \
  }
#define __HY_ATOMICS(SPACE)                                                                   \
  template <class T>                                                                          \
  __HY_INLINE T atomic_load_explicit(const volatile SPACE atomic<T>* object, memory_order,    \
                                     thread_scope = thread_scope_device) {                    \
    return __hy_load<T>((ulong)object);                                                       \
  }                                                                                           \
  template <class T>                                                                          \
  __HY_INLINE void atomic_store_explicit(volatile SPACE atomic<T>* object, __hy_id<T> value,  \
                                         memory_order, thread_scope = thread_scope_device) {  \
    __hy_store<T>((ulong)object, value);                                                      \
  }                                                                                           \
  template <class T>                                                                          \
  __HY_INLINE bool atomic_compare_exchange_weak_explicit(                                     \
      volatile SPACE atomic<T>* object, __private T* expected, __hy_id<T> desired,            \
      memory_order, memory_order, thread_scope = thread_scope_device) {                       \
    typedef __hy_word<T> U;                                                                   \
    __hy_atomic((ulong)object, sizeof(T), 1);                                                 \
    U old = __hy_bits<U>(*expected);                                                          \
    if (__hy_exchange_fails()) {                                                              \
      *expected = __hy_bits<T>(__atomic_load_n((__private U*)(ulong)object, __ATOMIC_SEQ_CST)); \
      return false;                                                                           \
    }                                                                                         \
    const bool done = __atomic_compare_exchange_n(                                            \
        (__private U*)(ulong)object, (__private U*)&old, __hy_bits<U>(T(desired)), false,     \
        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                                  \
    *expected = __hy_bits<T>(old);                                                            \
    return done;                                                                              \
  }                                                                                           \
  __HY_ATOMIC_UPDATE(SPACE, atomic_exchange_explicit, y)                                      \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_add_explicit, x + y)                                 \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_sub_explicit, x - y)                                 \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_and_explicit, x & y)                                 \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_or_explicit, x | y)                                  \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_xor_explicit, x ^ y)                                 \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_max_explicit, x < y ? y : x)                         \
  __HY_ATOMIC_UPDATE(SPACE, atomic_fetch_min_explicit, y < x ? y : x)
__HY_ATOMICS(__global)
__HY_ATOMICS(__local)
#undef __HY_ATOMICS
#undef __HY_ATOMIC_UPDATE

__HY_INLINE void atomic_max_explicit(volatile __global atomic<ulong>* object, ulong y,
                                     memory_order) {
  __hy_update_word<ulong, ulong>((ulong)object,
                                 [=](ulong x) __HY_INLINE { return x < y ? y : x; });
}
__HY_INLINE void atomic_min_explicit(volatile __global atomic<ulong>* object, ulong y,
                                     memory_order) {
  __hy_update_word<ulong, ulong>((ulong)object,
                                 [=](ulong x) __HY_INLINE { return y < x ? y : x; });
}

// An array as a class (section 2.12).
template <class T, size_t N>
struct array {
  T __elements[N];
  __HY_INLINE constexpr size_t size() const { return N; }
  __HY_INLINE constexpr bool empty() const { return N == 0; }
  __HY_INLINE constexpr T operator[](size_t i) const&& { return __elements[i]; }
  __HY_INLINE constexpr T& operator[](size_t i)& { return __elements[i]; }
  __HY_INLINE constexpr const T& operator[](size_t i) const& { return __elements[i]; }
  __HY_INLINE __private T& operator[](size_t i) __private& { return __elements[i]; }
  __HY_INLINE const __private T& operator[](size_t i) const __private& { return __elements[i]; }
  __HY_INLINE __global T& operator[](size_t i) __global& { return __elements[i]; }
  __HY_INLINE const __global T& operator[](size_t i) const __global& { return __elements[i]; }
  __HY_INLINE __local T& operator[](size_t i) __local& { return __elements[i]; }
  __HY_INLINE const __local T& operator[](size_t i) const __local& { return __elements[i]; }
  __HY_INLINE __private T* data() __private { return __elements; }
  __HY_INLINE __private T* begin() __private { return __elements; }
  __HY_INLINE __private T* end() __private { return __elements + N; }
};
template <class T>
__HY_INLINE void swap(__private T& a, __private T& b) {
  T old = a;
  a = b;
  b = old;
}

// Conversions of packed formats (section 6.14).
#define __HY_PACK(NAME, N, T, BITS, LOW, HIGH, SCALE)                                   \
  inline T pack_float_to_##NAME(vec<float, N> v) {                                      \
    T r = 0;                                                                            \
    for (int i = 0; i < N; ++i) {                                                       \
      const float x = __builtin_fminf(__builtin_fmaxf(v[i], LOW), HIGH) * SCALE;        \
      r |= (T(int(__builtin_rintf(x))) & T((1ul << BITS) - 1)) << (BITS * i);           \
    }                                                                                   \
    return r;                                                                           \
  }
#define __HY_UNPACK(NAME, N, T, BITS, PART, LOW, SCALE)                                 \
  inline vec<float, N> unpack_##NAME##_to_float(T v) {                                  \
    vec<float, N> r;                                                                    \
    for (int i = 0; i < N; ++i)                                                         \
      r[i] = __builtin_fmaxf(float(PART(v >> (BITS * i))) / SCALE, LOW);                \
    return r;                                                                           \
  }
__HY_PACK(unorm4x8, 4, uint, 8, 0.0f, 1.0f, 255.0f)
__HY_PACK(snorm4x8, 4, uint, 8, -1.0f, 1.0f, 127.0f)
__HY_PACK(unorm2x16, 2, uint, 16, 0.0f, 1.0f, 65535.0f)
__HY_PACK(snorm2x16, 2, uint, 16, -1.0f, 1.0f, 32767.0f)
__HY_UNPACK(unorm4x8, 4, uint, 8, uchar, 0.0f, 255.0f)
__HY_UNPACK(snorm4x8, 4, uint, 8, char, -1.0f, 127.0f)
__HY_UNPACK(unorm2x16, 2, uint, 16, ushort, 0.0f, 65535.0f)
__HY_UNPACK(snorm2x16, 2, uint, 16, short, -1.0f, 32767.0f)
#undef __HY_PACK
#undef __HY_UNPACK
}  // namespace metal
