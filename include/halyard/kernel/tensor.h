/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tensor parameters of kernels: buffers that know their sizes. Described for rank 2; ranks 1 and 3
 * have the same names and uses, with 1 or 3 in the name and as many indices.
 *
 *   HY_KERNEL(scale, 64, 1, 1, HY_IN_TENSOR2(float, x), HY_OUT_TILE2(float, y, 8, 128),
 *             HY_SAME_SHAPE(x, y)) {
 *     HY_TILE_ITEMS2(y, i, j) {
 *       HY_Y2(y, i, j) = 2.0f * HY_AT2(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j);
 *     }
 *   }
 *
 *   HY_IN_TENSOR2(T, x)           read only, all of it
 *   HY_OUT_TENSOR2(T, y)          each group writes one tile, and may read back what it wrote; the
 *                                 launch gives the tile's extents
 *   HY_OUT_TILE2(T, y, t0, t1)    the same, with constant extents, each at least 1
 *   HY_INOUT_TENSOR2(T, y), HY_INOUT_TILE2(T, y, t0, t1)
 *                                 the same two; the previous contents can be read too
 *
 * A kernel that indexes one tensor by the sizes of another states which sizes are equal, as further
 * entries of its list, before or after the tensors. These entries are not parameters and do not
 * change the kernel's code. A launch is refused if the sizes differ, or if two outputs with sizes
 * declared equal have different tiles there.
 *   HY_SAME_SHAPE(x, y)           x and y, of one rank, have equal sizes in all dimensions
 *   HY_SAME_SIZE(x, d, y, e)      size d of x equals size e of y; d and e are digits
 *
 * Dimension 0 is the slowest. The last one is dense: its stride is 1 by definition, because the
 * compiler cannot load vectors with an unknown stride. A group's tile is number HY_GX in the last
 * dimension, HY_GY in the one before, HY_GZ in the one before that. A launch has ceil(size / tile)
 * groups in each; further groups have an empty tile.
 *
 * Each tensor is one binding. Its constants are uints among the scalars, in list order. The kernel
 * does not check them: the buffer must hold every element they describe, no two at the same place.
 *   x.size0, x.size1       elements
 *   x.stride0              elements from one row to the next; of rank 3 also x.stride1
 *   y.tile0, y.tile1       of HY_OUT_TENSOR2 and HY_INOUT_TENSOR2 only
 *
 * In a body, d being a constant below the rank:
 *   HY_AT2(x, i, j)        the element at these indices of an input
 *   HY_Y2(y, i, j)         the element of the group's own tile, from its origin; assignable
 *   HY_SIZE(x, d)          size of an input or output
 *   HY_TILE(y, d)          extent of a tile, the same for every group
 *   HY_EDGE(y, d)          extent of this group's tile within the tensor; 0 if it is empty
 *   HY_ORIGIN(y, d)        index in the tensor at which this group's tile begins
 *   HY_INSIDE2(y, i, j)    true if i and j are below the edges
 *   HY_TILE_ITEMS2(y, i, j) { }    a block over the elements of the own tile that lie in the
 *                          tensor, instead of over items; declares i and j
 *
 * An index outside the tensor or beyond the edge is an error in the kernel. If `halyard compile
 * --checked` defines HY_CHECKED, HY_AT2 and HY_Y2 trap it on a GPU, and on a CPU it ends the group
 * with a message (kernel/checked.h).
 */
#ifndef HALYARD_KERNEL_TENSOR_H_
#define HALYARD_KERNEL_TENSOR_H_

#define HY_IN_TENSOR1(T, x) (hy_in_tensor, T, x, 1)
#define HY_IN_TENSOR2(T, x) (hy_in_tensor, T, x, 2)
#define HY_IN_TENSOR3(T, x) (hy_in_tensor, T, x, 3)
#define HY_OUT_TENSOR1(T, y) (hy_out_tensor, T, y, 1, hy_out)
#define HY_OUT_TENSOR2(T, y) (hy_out_tensor, T, y, 2, hy_out)
#define HY_OUT_TENSOR3(T, y) (hy_out_tensor, T, y, 3, hy_out)
#define HY_OUT_TILE1(T, y, t0) (hy_out_tile, T, y, 1, hy_out, t0, 1, 1)
#define HY_OUT_TILE2(T, y, t0, t1) (hy_out_tile, T, y, 2, hy_out, t0, t1, 1)
#define HY_OUT_TILE3(T, y, t0, t1, t2) (hy_out_tile, T, y, 3, hy_out, t0, t1, t2)
#define HY_INOUT_TENSOR1(T, y) (hy_out_tensor, T, y, 1, hy_inout)
#define HY_INOUT_TENSOR2(T, y) (hy_out_tensor, T, y, 2, hy_inout)
#define HY_INOUT_TENSOR3(T, y) (hy_out_tensor, T, y, 3, hy_inout)
#define HY_INOUT_TILE1(T, y, t0) (hy_out_tile, T, y, 1, hy_inout, t0, 1, 1)
#define HY_INOUT_TILE2(T, y, t0, t1) (hy_out_tile, T, y, 2, hy_inout, t0, t1, 1)
#define HY_INOUT_TILE3(T, y, t0, t1, t2) (hy_out_tile, T, y, 3, hy_inout, t0, t1, t2)
#define HY_SAME_SHAPE(x, y) (hy_same_shape, x, y)
#define HY_SAME_SIZE(x, d, y, e) (hy_same_size, x, d, y, e)

/* ---- Access. Pointers have the rank in their name, so that a wrong rank is undeclared. ------- */

#define HY_SIZE(x, d) (hy_t_##x.size[d])
#define HY_TILE(y, d) (hy_t_##y.tile[d])
#define HY_EDGE(y, d) (hy_t_##y.edge[d])
#define HY_ORIGIN(y, d) (hy_t_##y.origin[d])

#define HY_AT1(x, i) hy_in1_##x[hy_within(i, hy_t_##x.size[0])]
#define HY_AT2(x, i, j) \
  hy_in2_##x[hy_within(i, hy_t_##x.size[0]) * hy_t_##x.stride[0] + hy_within(j, hy_t_##x.size[1])]
#define HY_AT3(x, i, j, k)                                         \
  hy_in3_##x[hy_within(i, hy_t_##x.size[0]) * hy_t_##x.stride[0] + \
             hy_within(j, hy_t_##x.size[1]) * hy_t_##x.stride[1] + hy_within(k, hy_t_##x.size[2])]

#define HY_Y1(y, i) hy_out1_##y[HY_FIRST(y) hy_within(i, hy_t_##y.edge[0])]
#define HY_Y2(y, i, j)                                                          \
  hy_out2_##y[HY_FIRST(y) hy_within(i, hy_t_##y.edge[0]) * hy_t_##y.stride[0] + \
              hy_within(j, hy_t_##y.edge[1])]
#define HY_Y3(y, i, j, k)                                                       \
  hy_out3_##y[HY_FIRST(y) hy_within(i, hy_t_##y.edge[0]) * hy_t_##y.stride[0] + \
              hy_within(j, hy_t_##y.edge[1]) * hy_t_##y.stride[1] +             \
              hy_within(k, hy_t_##y.edge[2])]
/* If no pointer can begin at the tile, the index of its first element is added to each index. */
#ifdef HY_TEXT
#define HY_FIRST(y) hy_t_##y.first +
#else
#define HY_FIRST(y)
#endif

#define HY_INSIDE1(y, i) ((hy_index)(i) < HY_EDGE_OF(1, y, 0))
#define HY_INSIDE2(y, i, j) \
  ((hy_index)(i) < HY_EDGE_OF(2, y, 0) && (hy_index)(j) < HY_EDGE_OF(2, y, 1))
#define HY_INSIDE3(y, i, j, k)                                                   \
  ((hy_index)(i) < HY_EDGE_OF(3, y, 0) && (hy_index)(j) < HY_EDGE_OF(3, y, 1) && \
   (hy_index)(k) < HY_EDGE_OF(3, y, 2))

/* HY_EDGE of a tensor of this rank; undeclared for other ranks. */
#define HY_EDGE_OF(R, y, d) _Generic(hy_out##R##_##y, default: hy_t_##y.edge[d])

#ifdef HY_DEVICE
/* Adjacent items get adjacent elements, so that their writes coalesce. */
#define HY_TILE_ITEMS1(y, i) \
  HY_ITEMS for (hy_index i = HY_L; i < HY_EDGE_OF(1, y, 0); i += hy_nx * hy_ny * hy_nz)
#define HY_TILE_ITEMS2(y, i, j)                                                            \
  HY_DEAL(i, j, HY_TILE(y, 0) * HY_TILE(y, 1), hy_e / HY_TILE(y, 1), hy_e % HY_TILE(y, 1)) \
  if HY_INSIDE2 (y, i, j)
#define HY_TILE_ITEMS3(y, i, j, k)                                                              \
  HY_DEAL(hy_row, k, HY_TILE(y, 0) * HY_TILE(y, 1) * HY_TILE(y, 2), hy_e / HY_TILE(y, 2),       \
          hy_e % HY_TILE(y, 2))                                                                 \
  for (hy_index i = hy_row / HY_TILE(y, 1), j = hy_row % HY_TILE(y, 1), hy_one = 0; hy_one < 1; \
       ++hy_one)                                                                                \
    if HY_INSIDE3 (y, i, j, k)
#define HY_DEAL(i, j, end, i_of, j_of)                                                       \
  HY_ITEMS for (hy_index hy_e = HY_L, i = 0, j = 0; hy_e < (end) && (i = i_of, j = j_of, 1); \
                hy_e += hy_nx * hy_ny * hy_nz)
#else
#define HY_TILE_ITEMS1(y, i) _Pragma("omp simd") for (size_t i = 0; i < HY_EDGE_OF(1, y, 0); ++i)
#define HY_TILE_ITEMS2(y, i, j)                    \
  for (size_t i = 0; i < HY_EDGE_OF(2, y, 0); ++i) \
  _Pragma("omp simd") for (size_t j = 0; j < HY_EDGE_OF(2, y, 1); ++j)
#define HY_TILE_ITEMS3(y, i, j, k)                   \
  for (size_t i = 0; i < HY_EDGE_OF(3, y, 0); ++i)   \
    for (size_t j = 0; j < HY_EDGE_OF(3, y, 1); ++j) \
  _Pragma("omp simd") for (size_t k = 0; k < HY_EDGE_OF(3, y, 2); ++k)
#endif

HY_FN hy_index hy_within(hy_index index, hy_index end) {
#ifdef HY_CHECKED
  if (index >= end) __builtin_trap();
#endif
  return index;
}

/* ---- In the entry: a tensor from its constants ----------------------------------------------- */

/* Elements from the rank on are unused. */
struct hy_in_view {
  hy_index size[3];
  hy_index stride[3];
};

struct hy_out_view {
  hy_index size[3];
  hy_index stride[3];
  hy_index tile[3];
  hy_index origin[3];
  hy_index edge[3];
  hy_index first; /* first element of the tile in the buffer */
};

HY_FN struct hy_in_view hy_view_in(int rank, uint n0, uint n1, uint n2, uint s0, uint s1) {
  struct hy_in_view view = {{n0, n1, n2}, {s0, s1, 0}};
  view.stride[rank - 1] = 1;
  return view;
}

/* The view of the group at gx, gy, gz. */
HY_FN struct hy_out_view hy_view_out(int rank, uint n0, uint n1, uint n2, uint s0, uint s1, uint t0,
                                     uint t1, uint t2, hy_index gx, hy_index gy, hy_index gz) {
  struct hy_out_view view = {{n0, n1, n2}, {s0, s1, 0}, {t0, t1, t2}, {0, 0, 0}, {0, 0, 0}, 0};
  const hy_index group[3] = {gx, gy, gz};
  int empty = (rank < 2 && gy != 0) || (rank < 3 && gz != 0);
  view.stride[rank - 1] = 1;
  HY_UNROLL
  for (int d = 0; d < rank; ++d) {
    view.origin[d] = group[rank - 1 - d] * view.tile[d];
    view.edge[d] = empty ? 0 : hy_clip(view.size[d], view.origin[d], view.tile[d]);
    view.first += view.origin[d] * view.stride[d];
  }
  HY_UNROLL
  for (int d = 0; d < rank; ++d) empty |= view.edge[d] == 0;
  /* A pointer never leaves its buffer. */
  if (empty) view.first = 0;
  return view;
}

/* ---- Expansions of these parameters in HY_KERNEL --------------------------------------------- */

#define HY_FIELD_hy_in_tensor(k, T, x, R) uint hy$size$##x[R], hy$stride$##x[(R) - 1];
#define HY_FIELD_hy_out_tensor(k, T, y, R, A) \
  uint hy$size$##y[R], hy$stride$##y[(R) - 1], hy$tile$##y[R];
#define HY_FIELD_hy_out_tile(k, T, y, R, A, t0, t1, t2) HY_FIELD_hy_in_tensor(k, T, y, R)
#define HY_FIELD_hy_same_shape(k, x, y)
#define HY_FIELD_hy_same_size(k, x, d, y, e)

#define HY_SHARED_BYTES_hy_in_tensor(k, T, x, R)
#define HY_SHARED_BYTES_hy_out_tensor(k, T, y, R, A)
#define HY_SHARED_BYTES_hy_out_tile(k, T, y, R, A, t0, t1, t2)
#define HY_SHARED_BYTES_hy_same_shape(k, x, y)
#define HY_SHARED_BYTES_hy_same_size(k, x, d, y, e)
#define HY_PRIVATE_BYTES_hy_in_tensor(k, T, x, R)
#define HY_PRIVATE_BYTES_hy_out_tensor(k, T, y, R, A)
#define HY_PRIVATE_BYTES_hy_out_tile(k, T, y, R, A, t0, t1, t2)
#define HY_PRIVATE_BYTES_hy_same_shape(k, x, y)
#define HY_PRIVATE_BYTES_hy_same_size(k, x, d, y, e)

#define HY_REFLECT_hy_in_tensor(k, T, x, R) hy$in_tensor##R##$##k##$##x = HY_ELEMENT_TYPE(T),
#define HY_REFLECT_hy_out_tensor(k, T, y, R, A) \
  hy$##A##_tensor##R##$##k##$##y = HY_ELEMENT_TYPE(T),
#define HY_REFLECT_hy_out_tile(k, T, y, R, A, t0, t1, t2)                            \
  hy$##A##_tile##R##$##k##$##y = HY_ELEMENT_TYPE(T), hy$tile0$##k##$##y = (t0),      \
  hy$tile1$##k##$##y = (t1), hy$tile2$##k##$##y = (t2),
/* The value is the length of x, which separates the two names in the enumerator. */
#define HY_REFLECT_hy_same_shape(k, x, y) hy$same_shape$##k##$##x##$##y = sizeof(#x) - 1,
#define HY_REFLECT_hy_same_size(k, x, d, y, e) \
  hy$same_size$##k##$##d##$##e##$##x##$##y = sizeof(#x) - 1,

#define HY_LOCAL_hy_in_tensor(k, T, x, R)                     \
  const HY_GLOBAL T* const hy_v_##x = HY_POINTER(const T, x); \
  const struct hy_in_view hy_t_##x =                          \
      hy_view_in(R, HY_OF##R(hy_c->hy$size$##x), HY_STRIDES##R(hy_c->hy$stride$##x));
#define HY_LOCAL_hy_out_tensor(k, T, y, R, A) HY_LOCAL_OUT(T, y, R, HY_OF##R(hy_c->hy$tile$##y))
#define HY_LOCAL_hy_out_tile(k, T, y, R, A, t0, t1, t2)                                   \
  _Static_assert((t0) >= 1 && (t1) >= 1 && (t2) >= 1, "a tile has at least one element"); \
  HY_LOCAL_OUT(T, y, R, t0, t1, t2)
#define HY_LOCAL_hy_same_shape(k, x, y)
#define HY_LOCAL_hy_same_size(k, x, d, y, e)
#define HY_LOCAL_OUT(T, y, R, ...)                                                                 \
  const struct hy_out_view hy_t_##y =                                                              \
      hy_view_out(R, HY_OF##R(hy_c->hy$size$##y), HY_STRIDES##R(hy_c->hy$stride$##y), __VA_ARGS__, \
                  HY_GROUP(0), HY_GROUP(1), HY_GROUP(2));                                          \
  HY_GLOBAL T* const hy_v_##y = HY_POINTER(T, y) + hy_t_##y.first;
#define HY_OF1(a) (a)[0], 0, 0
#define HY_OF2(a) (a)[0], (a)[1], 0
#define HY_OF3(a) (a)[0], (a)[1], (a)[2]
#define HY_STRIDES1(a) 0, 0
#define HY_STRIDES2(a) (a)[0], 0
#define HY_STRIDES3(a) (a)[0], (a)[1]

#define HY_ACTUAL_hy_in_tensor(k, T, x, R) , hy_v_##x, hy_t_##x
#define HY_ACTUAL_hy_out_tensor(k, T, y, R, A) , hy_v_##y, hy_t_##y
#define HY_ACTUAL_hy_out_tile(k, T, y, R, A, t0, t1, t2) , hy_v_##y, hy_t_##y
#define HY_ACTUAL_hy_same_shape(k, x, y)
#define HY_ACTUAL_hy_same_size(k, x, d, y, e)

#define HY_FORMAL_hy_in_tensor(k, T, x, R) \
  , const HY_GLOBAL T* HY_SECOND_OF k hy_in##R##_##x, const struct hy_in_view hy_t_##x
#define HY_FORMAL_hy_out_tensor(k, T, y, R, A) \
  , HY_GLOBAL T* HY_SECOND_OF k hy_out##R##_##y, const struct hy_out_view hy_t_##y
#define HY_FORMAL_hy_out_tile(k, T, y, R, A, t0, t1, t2) HY_FORMAL_hy_out_tensor(k, T, y, R, A)
#define HY_FORMAL_hy_same_shape(k, x, y)
#define HY_FORMAL_hy_same_size(k, x, d, y, e)

#define HY_OVERLAP_hy_in_tensor(...)
#define HY_OVERLAP_hy_out_tensor(...)
#define HY_OVERLAP_hy_out_tile(...)
#define HY_OVERLAP_hy_same_shape(...)
#define HY_OVERLAP_hy_same_size(...)

#endif /* HALYARD_KERNEL_TENSOR_H_ */
