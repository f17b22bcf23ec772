// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sixth part of `metal_stdlib`: matrices and matrices of simdgroups (Metal Shading Language
// Specification 3.2, sections 2.3, 2.4, 6.6 and 6.7).
namespace metal {
template <class T, int C, int R>
struct matrix {
  vec<T, R> columns[C];
  matrix() = default;
  matrix(const matrix&) = default;
  __HY_INLINE matrix& operator=(const matrix& o) {
    for (int c = 0; c < C; ++c) columns[c] = o.columns[c];
    return *this;
  }
  template <class A, enable_if_t<__hy_count<A> == 1 && !__hy_vector<A>, int> = 0>
  explicit __HY_INLINE matrix(A diagonal) {
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = c == r ? T(diagonal) : T(0);
  }
  template <class U, enable_if_t<!is_same_v<U, T>, int> = 0>
  explicit __HY_INLINE matrix(matrix<U, C, R> o) {
    for (int c = 0; c < C; ++c) columns[c] = vec<T, R>(o.columns[c]);
  }
  // Columns, or all components, column by column.
  template <class A, class B, class... D, enable_if_t<__hy_fits<C * R, A, B, D...>, int> = 0>
  constexpr __HY_INLINE matrix(A a, B b, D... d) : columns{} {
    for (int i = 0; i < C * R; ++i) __set(i, __hy_part<T>(i, a, b, d...));
  }
  constexpr __HY_INLINE void __set(int i, T value) {
    const int r = i % R;
    if (r == 0) columns[i / R].x = value;
    if (r == 1) columns[i / R].y = value;
    if constexpr (R > 2)
      if (r == 2) columns[i / R].z = value;
    if constexpr (R > 3)
      if (r == 3) columns[i / R].w = value;
  }
  __HY_INLINE vec<T, R> operator[](int c) const&& { return columns[c]; }
  __HY_INLINE vec<T, R>& operator[](int c)& { return columns[c]; }
  __HY_INLINE const vec<T, R>& operator[](int c) const& { return columns[c]; }
  __HY_INLINE __private vec<T, R>& operator[](int c) __private& { return columns[c]; }
  __HY_INLINE const __private vec<T, R>& operator[](int c) const __private& { return columns[c]; }
  __HY_INLINE __global vec<T, R>& operator[](int c) __global& { return columns[c]; }
  __HY_INLINE const __global vec<T, R>& operator[](int c) const __global& { return columns[c]; }
  __HY_INLINE __local vec<T, R>& operator[](int c) __local& { return columns[c]; }
  __HY_INLINE const __local vec<T, R>& operator[](int c) const __local& { return columns[c]; }
  template <class B>
  __HY_INLINE matrix& operator*=(B b) {
    return *this = matrix(*this) * b;
  }
  __HY_INLINE matrix& operator+=(matrix b) { return *this = matrix(*this) + b; }
  __HY_INLINE matrix& operator-=(matrix b) { return *this = matrix(*this) - b; }
};
template <class T, int C, int R>
__HY_INLINE matrix<T, C, R> operator+(matrix<T, C, R> a, matrix<T, C, R> b) {
  for (int c = 0; c < C; ++c) a.columns[c] = a.columns[c] + b.columns[c];
  return a;
}
template <class T, int C, int R>
__HY_INLINE matrix<T, C, R> operator-(matrix<T, C, R> a, matrix<T, C, R> b) {
  for (int c = 0; c < C; ++c) a.columns[c] = a.columns[c] - b.columns[c];
  return a;
}
template <class T, int C, int R>
__HY_INLINE matrix<T, C, R> operator-(matrix<T, C, R> a) {
  for (int c = 0; c < C; ++c) a.columns[c] = -a.columns[c];
  return a;
}
template <class T, int C, int R>
__HY_INLINE matrix<T, C, R> operator*(matrix<T, C, R> a, __hy_id<T> s) {
  for (int c = 0; c < C; ++c) a.columns[c] = a.columns[c] * s;
  return a;
}
template <class T, int C, int R>
__HY_INLINE matrix<T, C, R> operator*(__hy_id<T> s, matrix<T, C, R> a) {
  return a * s;
}
template <class T, int C, int R>
__HY_INLINE vec<T, R> operator*(matrix<T, C, R> a, __hy_id<vec<T, C>> v) {
  vec<T, R> r = a.columns[0] * v[0];
  for (int c = 1; c < C; ++c) r = r + a.columns[c] * v[c];
  return r;
}
template <class T, int C, int R>
__HY_INLINE vec<T, C> operator*(__hy_id<vec<T, R>> v, matrix<T, C, R> a) {
  vec<T, C> r;
  for (int c = 0; c < C; ++c) r[c] = dot(v, a.columns[c]);
  return r;
}
template <class T, int K, int R, int C>
__HY_INLINE matrix<T, C, R> operator*(matrix<T, K, R> a, matrix<T, C, K> b) {
  matrix<T, C, R> r;
  for (int c = 0; c < C; ++c) r.columns[c] = a * b.columns[c];
  return r;
}
template <class T, int C, int R>
__HY_INLINE bool operator==(matrix<T, C, R> a, matrix<T, C, R> b) {
  bool r = true;
  for (int c = 0; c < C; ++c) r = r && all(a.columns[c] == b.columns[c]);
  return r;
}
template <class T, int C, int R>
__HY_INLINE matrix<T, R, C> transpose(matrix<T, C, R> a) {
  matrix<T, R, C> r;
  for (int i = 0; i < C; ++i)
    for (int j = 0; j < R; ++j) r.columns[j][i] = a.columns[i][j];
  return r;
}
template <class T>
__HY_INLINE T determinant(matrix<T, 2, 2> a) {
  return a[0][0] * a[1][1] - a[1][0] * a[0][1];
}
template <class T>
__HY_INLINE T determinant(matrix<T, 3, 3> a) {
  return dot(a.columns[0], cross(a.columns[1], a.columns[2]));
}
template <class T>
__HY_INLINE T determinant(matrix<T, 4, 4> a) {
  T r = T(0);
  for (int k = 0; k < 4; ++k) {
    matrix<T, 3, 3> minor;
    for (int c = 0, d = 0; c < 4; ++c) {
      if (c == k) continue;
      for (int i = 0; i < 3; ++i) minor.columns[d][i] = a.columns[c][i + 1];
      ++d;
    }
    r = r + (k % 2 == 0 ? T(1) : T(-1)) * a.columns[k][0] * determinant(minor);
  }
  return r;
}

// One matrix of 8 x 8 that the lanes of a simdgroup hold together, two elements each, next to each
// other in a row. Which ones is not documented by Apple; programs that depend on it use this order
// (ml-explore/mlx, mlx/backend/metal/kernels/steel/gemm/mma.h, BaseMMAFrag::get_coord).
template <class T, int C, int R>
struct simdgroup_matrix {
  static_assert(C == 8 && R == 8, "matrices of simdgroups are 8 x 8");
  typedef vec<T, 2> storage_type;
  storage_type __elements;
  simdgroup_matrix() = default;
  explicit __HY_INLINE simdgroup_matrix(T diagonal) {
    const uint row = __row(), column = __column();
    __elements = storage_type(row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0));
  }
  __HY_INLINE __private storage_type& thread_elements() __private { return __elements; }
  __HY_INLINE const __private storage_type& thread_elements() const __private { return __elements; }
  static __HY_INLINE uint __row_of(uint lane) { return (lane / 4 & 4) + lane / 2 % 4; }
  static __HY_INLINE uint __column_of(uint lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }
  static __HY_INLINE uint __lane_of(uint row, uint column) {
    return (row & 4) * 4 + (column & 4) * 2 + (row & 3) * 2 + (column & 3) / 2;
  }
  static __HY_INLINE uint __row() { return __row_of(__hy_lane()); }
  static __HY_INLINE uint __column() { return __column_of(__hy_lane()); }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <class T, int C, int R>
__HY_INLINE simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(__hy_id<T> value) {
  simdgroup_matrix<T, C, R> r;
  r.__elements = vec<T, 2>(value);
  return r;
}
template <class T, int C, int R>
__HY_INLINE simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(__hy_id<T> value) {
  return simdgroup_matrix<T, C, R>(value);
}
#define __HY_MATRIX_MEMORY(SPACE)                                                               \
  template <class T, class U, int C, int R>                                                     \
  __HY_INLINE void simdgroup_load(__private simdgroup_matrix<T, C, R>& m, const SPACE U* source, \
                                  ulong stride = 8, vec<ulong, 2> origin = vec<ulong, 2>(0),    \
                                  bool transposed = false) {                                    \
    const ulong row = m.__row(), column = m.__column();                                         \
    const SPACE U* const p = source + origin.y * stride + origin.x;                             \
    for (int i = 0; i < 2; ++i)                                                                 \
      m.__elements[i] =                                                                         \
          T(transposed ? p[(column + i) * stride + row] : p[row * stride + column + i]);        \
  }                                                                                             \
  template <class T, class U, int C, int R>                                                     \
  __HY_INLINE void simdgroup_store(simdgroup_matrix<T, C, R> m, SPACE U* target,                \
                                   ulong stride = 8, vec<ulong, 2> origin = vec<ulong, 2>(0),   \
                                   bool transposed = false) {                                   \
    const ulong row = m.__row(), column = m.__column();                                         \
    SPACE U* const p = target + origin.y * stride + origin.x;                                   \
    for (int i = 0; i < 2; ++i) {                                                               \
      if (transposed)                                                                           \
        p[(column + i) * stride + row] = U(m.__elements[i]);                                    \
      else                                                                                      \
        p[row * stride + column + i] = U(m.__elements[i]);                                      \
    }                                                                                           \
  }
__HY_MATRIX_MEMORY(__global)
__HY_MATRIX_MEMORY(__local)
#undef __HY_MATRIX_MEMORY
template <class D, class A, class B, class E>
__HY_INLINE void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8>& d,
                                               simdgroup_matrix<A, 8, 8> a,
                                               simdgroup_matrix<B, 8, 8> b,
                                               simdgroup_matrix<E, 8, 8> c) {
  struct Both {
    vec<A, 2> a;
    vec<B, 2> b;
  } own;
  own.a = a.__elements;
  own.b = b.__elements;
  const __hy_meeting<Both, 0> m(own);
  const uint row = a.__row(), column = a.__column();
  float sums[2] = {float(c.__elements[0]), float(c.__elements[1])};
  for (uint k = 0; k < 8; ++k) {
    const float x = float(m.from(a.__lane_of(row, k)).a[k & 1]);
    const Both y = m.from(b.__lane_of(k, column));
    sums[0] += x * float(y.b[0]);
    sums[1] += x * float(y.b[1]);
  }
  d.__elements = vec<D, 2>(D(sums[0]), D(sums[1]));
}
template <class D, class A, class B>
__HY_INLINE void simdgroup_multiply(__private simdgroup_matrix<D, 8, 8>& d,
                                    simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0)));
}
template <class T>
__HY_INLINE simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a,
                                                simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> r;
  simdgroup_multiply(r, a, b);
  return r;
}
}  // namespace metal

#define __HY_MATRIX(T, C, R)                      \
  typedef metal::matrix<T, C, R> T##C##x##R;      \
  namespace metal {                               \
  using ::T##C##x##R;                             \
  }
#define __HY_MATRICES(T) \
  __HY_MATRIX(T, 2, 2)   \
  __HY_MATRIX(T, 2, 3)   \
  __HY_MATRIX(T, 2, 4)   \
  __HY_MATRIX(T, 3, 2)   \
  __HY_MATRIX(T, 3, 3)   \
  __HY_MATRIX(T, 3, 4)   \
  __HY_MATRIX(T, 4, 2)   \
  __HY_MATRIX(T, 4, 3)   \
  __HY_MATRIX(T, 4, 4)
__HY_MATRICES(float)
__HY_MATRICES(half)
#undef __HY_MATRICES
#undef __HY_MATRIX
