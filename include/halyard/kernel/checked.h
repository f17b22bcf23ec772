/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Checked builds for a CPU (`halyard compile --checked`), convention hy-cpu-checked-1. A part of
 * halyard/kernel.h. An access outside a binding, a tile or an array is not made: it ends the group,
 * and the runtime gets a description.
 *
 * clang checks each subscript of an array whose size it knows (-fsanitize=array-bounds). It knows
 * that of a parameter with pass_dynamic_object_size, here from the alloc_size of hy_bounded. A
 * failed check calls __ubsan_handle_out_of_bounds_abort with the place, the index and the name of
 * the array's type. So each array has a type that contains its name.
 *   https://clang.llvm.org/docs/UndefinedBehaviorSanitizer.html
 *   https://clang.llvm.org/docs/AttributeReference.html#pass-object-size-pass-dynamic-object-size
 */
#ifndef HALYARD_KERNEL_CHECKED_H_
#define HALYARD_KERNEL_CHECKED_H_

/* ---- What the runtime shares: src/kernel/cpu_checked.h --------------------------------------- */

/* A shared or private array of a kernel. */
struct hy_array {
  const char* name; /* null behind the last */
  size_t count;
  size_t is_private;
};

/* In place of struct hy_wg. */
struct hy_checked_wg {
  struct hy_wg at;
  const size_t* bytes;           /* of each binding */
  const struct hy_array* arrays; /* of the kernel, which sets it */
};

struct hy_fault {
  const char* file; /* without folder */
  size_t line;
  const char* array; /* an array's type as clang writes it, or a tensor's name; null: unknown */
  size_t rank;       /* of a tensor; 0: an array */
  size_t is_tile;    /* the sizes are those of the group's tile */
  size_t index[3];   /* modulo 2^64 */
  size_t size[3];    /* of a tensor */
};

/* Set by the runtime; does not return. */
__attribute__((visibility("default"))) void (*hy_fault_handler)(const struct hy_fault*);

/* ---- Faults ---------------------------------------------------------------------------------- */

/* What clang passes: SourceLocation, TypeDescriptor and OutOfBoundsData of compiler-rt's
 * ubsan_value.h and ubsan_handlers.h. */
struct hy_ubsan_type {
  ushort kind; /* 0: an integer, of which `info` is signedness and, above that, log2 of the bits */
  ushort info;
  char name[];
};
struct hy_ubsan_place {
  const char* file;
  uint line;
  uint column;
  const struct hy_ubsan_type* array;
  const struct hy_ubsan_type* index;
};

__attribute__((noreturn, used, noinline)) void __ubsan_handle_out_of_bounds_abort(
    const struct hy_ubsan_place* place, size_t index) {
  struct hy_fault fault = {place->file, place->line, place->array->name, 0, 0, {0}, {0}};
  const uint unused_bits = 64 - (1u << (place->index->info >> 1));
  if (place->index->kind == 0 && (place->index->info & 1) != 0) {
    index = (size_t)((long long)(index << unused_bits) >> unused_bits);
  }
  fault.index[0] = index;
  hy_fault_handler(&fault);
  __builtin_trap();
}

__attribute__((noreturn, noinline)) static void hy_outside(const char* file, size_t line,
                                                           const char* tensor, size_t rank,
                                                           size_t is_tile, const size_t* size,
                                                           size_t i, size_t j, size_t k) {
  struct hy_fault fault = {file, line, tensor, rank, is_tile, {i, j, k}, {0, 0, 0}};
  for (size_t d = 0; d < rank; ++d) fault.size[d] = size[d];
  hy_fault_handler(&fault);
  __builtin_trap();
}

/* ---- Access ---------------------------------------------------------------------------------- */

/* `memory`, of which clang knows that it has so many bytes. */
__attribute__((noinline, alloc_size(2))) static void* hy_bounded(void* memory, size_t bytes) {
  __asm__("" : "+r"(memory) : "r"(bytes));
  return memory;
}

#undef HY_POINTER
#define HY_POINTER(T, x) ((T*)hy_bounded(*hy_b++, *hy_n++))

/* The index of an element behind the pointer that HY_AT or HY_Y indexes. */
HY_FN size_t hy_place(const char* file, size_t line, const char* tensor, size_t rank,
                      size_t is_tile, const size_t* size, const size_t* stride, size_t i, size_t j,
                      size_t k) {
  if (i >= size[0] || (rank > 1 && j >= size[1]) || (rank > 2 && k >= size[2])) {
    hy_outside(file, line, tensor, rank, is_tile, size, i, j, k);
  }
  return i * stride[0] + (rank > 1 ? j * stride[1] : 0) + (rank > 2 ? k * stride[2] : 0);
}

#undef HY_AT1
#undef HY_AT2
#undef HY_AT3
#undef HY_Y1
#undef HY_Y2
#undef HY_Y3
#define HY_AT1(x, i) hy_in1_##x[HY_PLACE(#x, 1, 0, hy_t_##x.size, hy_t_##x.stride, i, 0, 0)]
#define HY_AT2(x, i, j) hy_in2_##x[HY_PLACE(#x, 2, 0, hy_t_##x.size, hy_t_##x.stride, i, j, 0)]
#define HY_AT3(x, i, j, k) hy_in3_##x[HY_PLACE(#x, 3, 0, hy_t_##x.size, hy_t_##x.stride, i, j, k)]
#define HY_Y1(y, i) hy_out1_##y[HY_PLACE(#y, 1, 1, hy_t_##y.edge, hy_t_##y.stride, i, 0, 0)]
#define HY_Y2(y, i, j) hy_out2_##y[HY_PLACE(#y, 2, 1, hy_t_##y.edge, hy_t_##y.stride, i, j, 0)]
#define HY_Y3(y, i, j, k) hy_out3_##y[HY_PLACE(#y, 3, 1, hy_t_##y.edge, hy_t_##y.stride, i, j, k)]
#define HY_PLACE(name, rank, is_tile, size, stride, i, j, k) \
  hy_place(__FILE_NAME__, __LINE__, name, rank, is_tile, size, stride, i, j, k)

/* `&e` of the element behind the last one is no access for clang, but it is one of an atomic. */
#undef HY_WORD
#define HY_WORD(e)                          \
  _Generic(&(e),                            \
      int*: hy_int_word,                    \
      uint*: hy_uint_word)(__FILE_NAME__, __LINE__, &(e))
HY_FN void hy_check_word(const char* file, size_t line, size_t bytes) {
  if (bytes < sizeof(uint)) hy_outside(file, line, 0, 0, 0, 0, 0, 0, 0);
}
HY_FN int* hy_int_word(const char* file, size_t line, int* word) {
  hy_check_word(file, line, __builtin_dynamic_object_size(word, 0));
  return word;
}
HY_FN uint* hy_uint_word(const char* file, size_t line, uint* word) {
  hy_check_word(file, line, __builtin_dynamic_object_size(word, 0));
  return word;
}

/* A fault leaves the loop of a block. */
#undef HY_SIMD
#define HY_SIMD

/* ---- Expansions in HY_KERNEL ----------------------------------------------------------------- */

#undef HY_TYPES
#define HY_TYPES(name, ...)                                       \
  HY_EACH(HY_NAMED_, name, __VA_ARGS__)                           \
  static const struct hy_array hy_arrays$##name[] = {             \
      HY_EACH(HY_ARRAY_, name, __VA_ARGS__){0, 0, 0}};

/* The type of each array, by name; that of the elements of a shared or private one is a row. */
#define HY_NAMED_hy_buffer(k, T, x, access) typedef T* hy$array$##k##$##x;
#define HY_NAMED_hy_scalar(...)
#define HY_NAMED_hy_shared(k, T, x, n, rest) \
  typedef T hy$row$##k##$##x rest;           \
  typedef hy$row$##k##$##x* hy$array$##k##$##x;
#define HY_NAMED_hy_private(k, T, x, n)         \
  typedef T hy$row$##k##$##x[hy$items$##k];     \
  typedef hy$row$##k##$##x* hy$array$##k##$##x;
#define HY_NAMED_hy_in_tensor(k, T, x, R) typedef const T* hy$array$##k##$##x;
#define HY_NAMED_hy_out_tensor(k, T, y, R, A) typedef T* hy$array$##k##$##y;
#define HY_NAMED_hy_out_tile(k, T, y, R, A, t0, t1, t2) typedef T* hy$array$##k##$##y;
#define HY_NAMED_hy_same_shape(...)
#define HY_NAMED_hy_same_size(...)
#define HY_NAMED_hy_may_overlap(...)

#define HY_ARRAY_hy_buffer(...)
#define HY_ARRAY_hy_scalar(...)
#define HY_ARRAY_hy_shared(k, T, x, n, rest) {#x, n, 0},
#define HY_ARRAY_hy_private(k, T, x, n) {#x, n, 1},
#define HY_ARRAY_hy_in_tensor(...)
#define HY_ARRAY_hy_out_tensor(...)
#define HY_ARRAY_hy_out_tile(...)
#define HY_ARRAY_hy_same_shape(...)
#define HY_ARRAY_hy_same_size(...)
#define HY_ARRAY_hy_may_overlap(...)

/* The parameters of the body. */
#undef HY_FORMAL_hy_buffer
#undef HY_FORMAL_hy_shared
#undef HY_FORMAL_hy_private
#undef HY_FORMAL_hy_in_tensor
#undef HY_FORMAL_hy_out_tensor
#define HY_FORMAL_hy_buffer(k, T, x, access) HY_BOUNDED(HY_FIRST_OF k, x, x)
#define HY_FORMAL_hy_shared(k, T, x, n, rest) HY_BOUNDED(HY_FIRST_OF k, x, x)
#define HY_FORMAL_hy_private(k, T, x, n) HY_BOUNDED(HY_FIRST_OF k, x, hy_my_##x)
#define HY_FORMAL_hy_in_tensor(k, T, x, R) \
  HY_BOUNDED(HY_FIRST_OF k, x, hy_in##R##_##x), const struct hy_in_view hy_t_##x
#define HY_FORMAL_hy_out_tensor(k, T, y, R, A) \
  HY_BOUNDED(HY_FIRST_OF k, y, hy_out##R##_##y), const struct hy_out_view hy_t_##y
#define HY_BOUNDED(...) HY_BOUNDED_AS(__VA_ARGS__)
#define HY_BOUNDED_AS(k, x, parameter) \
  , hy$array$##k##$##x const parameter __attribute__((pass_dynamic_object_size(0)))

#undef HY_ENTRY
#define HY_ENTRY(name, x, y, z, ...)                                                               \
  __attribute__((visibility("default"))) void name(struct hy_checked_wg* hy_w, void* const* hy_b,  \
                                                   const void* hy_k) {                             \
    const struct hy_wg* const hy_g = &hy_w->at;                                                    \
    const size_t* hy_n = hy_w->bytes;                                                              \
    const struct hy_constants_##name* hy_c = (const struct hy_constants_##name*)hy_k;              \
    (void)hy_c;                                                                                    \
    (void)hy_n;                                                                                    \
    hy_w->arrays = hy_arrays$##name;                                                               \
    HY_EACH(HY_LOCAL_, name, __VA_ARGS__)                                                          \
    hy_body_##name(hy_g->group[0], hy_g->group[1], hy_g->group[2], hy_g->count[0], hy_g->count[1], \
                   hy_g->count[2], (x), (y), (z)HY_EACH(HY_ACTUAL_, name, __VA_ARGS__));           \
  }

#endif /* HALYARD_KERNEL_CHECKED_H_ */
