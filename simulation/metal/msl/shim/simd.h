// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fifth part of `metal_stdlib`: functions of simdgroups and quadgroups (Metal Shading Language
// Specification 3.2, sections 6.9.2 and 6.9.3). Each is a meeting of the active lanes, after which
// every lane reads the values of the others.
namespace metal {
// The values of the active lanes of a simdgroup (WIDTH 0) or a quadgroup (WIDTH 4).
template <class T, int WIDTH>
struct __hy_meeting {
  ulong values;
  ulong mask;  // by lane of the simdgroup
  uint lane;
  uint first;  // of the group
  uint width;
  __HY_INLINE __hy_meeting(T value) {
    static_assert(sizeof(T) <= 256, "a value of a simdgroup has at most 256 bytes");
    ulong active = 0;
    T own = value;
    values = __hy_exchange((ulong)(__private T*)&own, sizeof(T), WIDTH, (ulong)(__private ulong*)&active);
    mask = active;
    lane = __hy_lane();
    width = WIDTH == 0 ? __hy_width() : WIDTH;
    first = WIDTH == 0 ? 0 : lane & ~3u;
  }
  __HY_INLINE bool has(uint l) const { return (mask >> l & 1) != 0; }
  __HY_INLINE T at(uint l) const {
    T r;
    __hy_copy((ulong)(__private T*)&r, values + 256ul * l, sizeof(T));
    return r;
  }
  // The value of lane l of the group; of a lane that does not take part it is undefined.
  __HY_INLINE T from(uint l) const {
    if (l >= width) return at(lane);
    if (!has(first + l)) {
      __hy_inactive(first + l);
      return at(lane);
    }
    return at(first + l);
  }
  __HY_INLINE uint index() const { return lane - first; }
};

template <class T>
struct __hy_filled {
  T value, fill;
};

#define __HY_REDUCE(PREFIX, WIDTH, NAME, ...)                                            \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_##NAME(T value) {                                               \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    bool any = false;                                                                    \
    T x = value;                                                                         \
    for (uint i = m.first; i < m.first + m.width; ++i) {                                 \
      if (!m.has(i)) continue;                                                           \
      const T y = m.at(i);                                                               \
      if (any) {                                                                         \
        x = T(__VA_ARGS__);                                                              \
      } else {                                                                           \
        x = y;                                                                           \
      }                                                                                  \
      any = true;                                                                        \
    }                                                                                    \
    return x;                                                                            \
  }
#define __HY_PREFIX(PREFIX, WIDTH, NAME, START, OP)                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_prefix_exclusive_##NAME(T value) {                              \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    T x = T(START);                                                                      \
    for (uint i = m.first; i < m.lane; ++i)                                              \
      if (m.has(i)) x = T(x OP m.at(i));                                                 \
    return x;                                                                            \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_prefix_inclusive_##NAME(T value) {                              \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    T x = T(START);                                                                      \
    for (uint i = m.first; i <= m.lane; ++i)                                             \
      if (m.has(i)) x = T(x OP m.at(i));                                                 \
    return x;                                                                            \
  }
#define __HY_SIMD(PREFIX, WIDTH)                                                         \
  __HY_REDUCE(PREFIX, WIDTH, sum, x + y)                                                 \
  __HY_REDUCE(PREFIX, WIDTH, product, x * y)                                             \
  __HY_REDUCE(PREFIX, WIDTH, and, x & y)                                                 \
  __HY_REDUCE(PREFIX, WIDTH, or, x | y)                                                  \
  __HY_REDUCE(PREFIX, WIDTH, xor, x ^ y)                                                 \
  __HY_REDUCE(PREFIX, WIDTH, max, max(x, y))                                             \
  __HY_REDUCE(PREFIX, WIDTH, min, min(x, y))                                             \
  __HY_PREFIX(PREFIX, WIDTH, sum, 0, +)                                                  \
  __HY_PREFIX(PREFIX, WIDTH, product, 1, *)                                              \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_broadcast(T value, ushort lane) {                               \
    return __hy_meeting<T, WIDTH>(value).from(lane);                                     \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_broadcast_first(T value) {                                      \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    return m.at(uint(__builtin_ctzll(m.mask)));                                          \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle(T value, ushort lane) {                                 \
    return __hy_meeting<T, WIDTH>(value).from(lane);                                     \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_xor(T value, ushort mask) {                             \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    return m.from(m.index() ^ mask);                                                     \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_up(T value, ushort delta) {                             \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    return m.index() < delta ? m.at(m.lane) : m.from(m.index() - delta);                        \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_down(T value, ushort delta) {                           \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    return m.index() + delta >= m.width ? m.at(m.lane) : m.from(m.index() + delta);             \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_rotate_up(T value, ushort delta) {                      \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    return m.from((m.index() + m.width - delta % m.width) % m.width);                    \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_rotate_down(T value, ushort delta) {                    \
    const __hy_meeting<T, WIDTH> m(value);                                               \
    return m.from((m.index() + delta) % m.width);                                        \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_and_fill_up(T value, __hy_id<T> fill, ushort delta,     \
                                             ushort modulo = 0) {                        \
    const __hy_meeting<__hy_filled<T>, WIDTH> m(__hy_filled<T>{value, fill});            \
    const uint size = modulo == 0 ? m.width : modulo, at = m.index() % size;             \
    const uint base = m.index() - at;                                                    \
    return at < delta ? m.from(base + (size + at - delta) % size).fill : m.from(base + at - delta).value; \
  }                                                                                      \
  template <class T>                                                                     \
  __HY_INLINE T PREFIX##_shuffle_and_fill_down(T value, __hy_id<T> fill, ushort delta,   \
                                               ushort modulo = 0) {                      \
    const __hy_meeting<__hy_filled<T>, WIDTH> m(__hy_filled<T>{value, fill});            \
    const uint size = modulo == 0 ? m.width : modulo, at = m.index() % size;             \
    const uint base = m.index() - at;                                                    \
    return at + delta >= size ? m.from(base + (at + delta) % size).fill : m.from(base + at + delta).value; \
  }                                                                                      \
  __HY_INLINE bool PREFIX##_all(bool value) {                                            \
    const __hy_meeting<bool, WIDTH> m(value);                                            \
    bool r = true;                                                                       \
    for (uint i = m.first; i < m.first + m.width; ++i) r = r && (!m.has(i) || m.at(i));  \
    return r;                                                                            \
  }                                                                                      \
  __HY_INLINE bool PREFIX##_any(bool value) {                                            \
    const __hy_meeting<bool, WIDTH> m(value);                                            \
    bool r = false;                                                                      \
    for (uint i = m.first; i < m.first + m.width; ++i) r = r || (m.has(i) && m.at(i));   \
    return r;                                                                            \
  }                                                                                      \
  __HY_INLINE ulong __hy_##PREFIX##_ballot(bool value) {                                 \
    const __hy_meeting<bool, WIDTH> m(value);                                            \
    ulong r = 0;                                                                         \
    for (uint i = m.first; i < m.first + m.width; ++i)                                   \
      if (m.has(i) && m.at(i)) r |= 1ul << (i - m.first);                                \
    return r;                                                                            \
  }                                                                                      \
  __HY_INLINE bool PREFIX##_is_first() {                                                 \
    const __hy_meeting<bool, WIDTH> m(true);                                             \
    return uint(__builtin_ctzll(m.mask)) == m.lane;                                      \
  }                                                                                      \
  class PREFIX##_vote {                                                                  \
   public:                                                                               \
    typedef ulong vote_t;                                                                \
    explicit PREFIX##_vote(vote_t v = 0) : votes(v) {}                                   \
    explicit operator vote_t() const { return votes; }                                   \
    explicit operator uint() const { return uint(votes); }                               \
    bool any() const { return votes != 0; }                                              \
    bool all() const {                                                                   \
      const uint width = WIDTH == 0 ? __hy_width() : WIDTH;                              \
      return votes == (width == 64 ? ~0ul : (1ul << width) - 1);                         \
    }                                                                                    \
                                                                                         \
   private:                                                                              \
    vote_t votes;                                                                        \
  };                                                                                     \
  __HY_INLINE PREFIX##_vote PREFIX##_ballot(bool value) {                                \
    return PREFIX##_vote(__hy_##PREFIX##_ballot(value));                                 \
  }                                                                                      \
  __HY_INLINE PREFIX##_vote PREFIX##_active_threads_mask() {                             \
    return PREFIX##_vote(__hy_##PREFIX##_ballot(true));                                  \
  }
__HY_SIMD(simd, 0)
__HY_SIMD(quad, 4)

// The same of some components of a vector.
#define __HY_COMPONENTS(NAME)                                                            \
  template <class T, int S, int... I>                                                    \
  __HY_INLINE vec<T, sizeof...(I)> NAME(__hy_swizzle<T, S, I...> value) {                \
    return NAME(vec<T, sizeof...(I)>(value));                                            \
  }
#define __HY_COMPONENTS_LANE(NAME)                                                       \
  template <class T, int S, int... I>                                                    \
  __HY_INLINE vec<T, sizeof...(I)> NAME(__hy_swizzle<T, S, I...> value, ushort lane) {   \
    return NAME(vec<T, sizeof...(I)>(value), lane);                                      \
  }
#define __HY_SIMD_COMPONENTS(PREFIX)                                                     \
  __HY_COMPONENTS(PREFIX##_sum)                                                          \
  __HY_COMPONENTS(PREFIX##_product)                                                      \
  __HY_COMPONENTS(PREFIX##_and)                                                          \
  __HY_COMPONENTS(PREFIX##_or)                                                           \
  __HY_COMPONENTS(PREFIX##_xor)                                                          \
  __HY_COMPONENTS(PREFIX##_max)                                                          \
  __HY_COMPONENTS(PREFIX##_min)                                                          \
  __HY_COMPONENTS(PREFIX##_prefix_exclusive_sum)                                         \
  __HY_COMPONENTS(PREFIX##_prefix_inclusive_sum)                                         \
  __HY_COMPONENTS(PREFIX##_prefix_exclusive_product)                                     \
  __HY_COMPONENTS(PREFIX##_prefix_inclusive_product)                                     \
  __HY_COMPONENTS(PREFIX##_broadcast_first)                                              \
  __HY_COMPONENTS_LANE(PREFIX##_broadcast)                                               \
  __HY_COMPONENTS_LANE(PREFIX##_shuffle)                                                 \
  __HY_COMPONENTS_LANE(PREFIX##_shuffle_xor)                                             \
  __HY_COMPONENTS_LANE(PREFIX##_shuffle_up)                                              \
  __HY_COMPONENTS_LANE(PREFIX##_shuffle_down)                                            \
  __HY_COMPONENTS_LANE(PREFIX##_shuffle_rotate_up)                                       \
  __HY_COMPONENTS_LANE(PREFIX##_shuffle_rotate_down)
__HY_SIMD_COMPONENTS(simd)
__HY_SIMD_COMPONENTS(quad)
#undef __HY_SIMD_COMPONENTS
#undef __HY_COMPONENTS_LANE
#undef __HY_COMPONENTS
#undef __HY_SIMD
#undef __HY_REDUCE
#undef __HY_PREFIX
__HY_INLINE bool simd_is_helper_thread() { return false; }
}  // namespace metal
