// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of halyard/kernel.h that the C compiler does not check: violations are rejected, even in
// unusual spellings, and valid kernels are accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/rejected.h"

namespace halyard::testing {
namespace {

class BreaksARule : public ::testing::TestWithParam<Rejected> {};

TEST_P(BreaksARule, IsRefusedWithTheLine) { expect_rejected(GetParam()); }

// Writes of a block or the group that the checker must detect.
INSTANTIATE_TEST_SUITE_P(
    Writes, BreaksARule,
    ::testing::Values(Rejected{"an_index_before_its_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  0[y] = 7;
  HY_ITEMS {}
}
)",
                               3, "'y' is written outside a block"},
                      Rejected{"a_number_before_its_pointer", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  *(1 + y) = 7;
  HY_ITEMS {}
}
)",
                               3, "'y' is written outside a block"},
                      Rejected{"a_number_before_a_local_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a[2] = {0, 0};
  HY_ITEMS { *(1 + a) += 1; }
  HY_ITEMS { y[HY_X] = a[1]; }
}
)",
                               4, "a block writes 'a', which is declared outside it"},
                      Rejected{"an_index_before_an_array_of_a_struct", R"(
struct pair { int v[2]; };
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  struct pair a = {{0, 0}};
  HY_ITEMS { 0[a.v] += 1; }
  HY_ITEMS { y[HY_X] = a.v[0]; }
}
)",
                               5, "a block writes 'a', which is declared outside it"},
                      Rejected{"one_of_two_locals", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0, b = 0;
  HY_ITEMS { *(HY_X < 32 ? &a : &b) += 1; }
  HY_ITEMS { y[HY_X] = a + b; }
}
)",
                               4, "cannot tell what this writes"},
                      Rejected{"a_chosen_local", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0, b = 0;
  HY_ITEMS { __builtin_choose_expr(1, a, b) += 1; }
  HY_ITEMS { y[HY_X] = a + b; }
}
)",
                               4, "cannot tell what this writes"},
                      Rejected{"one_of_two_buffers_that_a_block_reads", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = (n ? x : y)[HY_X]; }
}
)",
                               3, "cannot tell what this reads"},
                      Rejected{"one_of_two_buffers_that_a_function_reads_for_a_block", R"(
HY_FN int first(const int* p) { return p[0]; }
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = first(n ? x : y); }
}
)",
                               4, "cannot tell what this reads"},
                      Rejected{"an_element_behind_a_shared_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_SHARED(int, s, 4), HY_SCALAR(int, n)) {
  HY_ITEMS { s[HY_X] = n; }
  HY_ITEMS { y[HY_X] = s[3 + 1]; }
}
)",
                               4, "'s' has 4 elements; index 4 is outside"},
                      Rejected{"an_element_before_a_shared_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_SHARED(int, s, 4), HY_SCALAR(int, n)) {
  HY_ITEMS { s[HY_X] = n; }
  HY_ITEMS { y[HY_X] = s[-1]; }
}
)",
                               4, "'s' has 4 elements; index -1 is outside"},
                      Rejected{"a_difference_before_a_shared_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_SHARED(int, s, 4), HY_SCALAR(int, n)) {
  HY_ITEMS { s[HY_X] = n; }
  HY_ITEMS { y[HY_X] = s[2 - 3]; }
}
)",
                               4, "'s' has 4 elements; index -1 is outside"},
                      Rejected{"a_row_behind_a_shared_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_SHARED2(int, s, 2, 4), HY_SCALAR(int, n)) {
  HY_ITEMS { s[2][HY_X] = n; }
}
)",
                               3, "'s' has 2 elements; index 2 is outside"},
                      Rejected{"a_column_behind_a_shared_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_SHARED2(int, s, 2, 4), HY_SCALAR(int, n)) {
  HY_ITEMS { s[1][2 * 2] = n; }
}
)",
                               3, "array index 4 is past the end of the array"},
                      Rejected{"a_value_behind_a_private_array", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_PRIVATE_ARRAY(int, p, 2), HY_SCALAR(int, n)) {
  HY_ITEMS { HY_MY(p, 2) = n; }
}
)",
                               3, "'p' has 2 elements; index 2 is outside"},
                      Rejected{"what_stands_behind_a_comma", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { *((void)0, &a) += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                               4, "a block writes 'a', which is declared outside it"},
                      Rejected{"the_value_of_a_statement", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { *({ &a; }) += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                               4, "cannot tell what this writes"},
                      Rejected{"an_element_of_a_vector", R"(
typedef int four __attribute__((ext_vector_type(4)));
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  four a = {0, 0, 0, 0};
  HY_ITEMS { a.x += 1; }
  HY_ITEMS { y[HY_X] = a.x; }
}
)",
                               5, "a block writes 'a', which is declared outside it"},
                      Rejected{"what_a_generic_selection_selects", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { int b = 0; _Generic(b, int: a) += 1; y[HY_X] = a; }
}
)",
                               4, "a block writes 'a', which is declared outside it"},
                      Rejected{"what_a_function_returns_the_address_of", R"(
HY_FN const int* same(const int* p) { return p; }
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { *(int*)(size_t)same(&a) += 1; y[HY_X] = a; }
}
)",
                               5, "an address is made from an integer"},
                      Rejected{"the_second_operand_of_an_atomic", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { __atomic_compare_exchange_n(&y[0], &a, 1, 0, 0, 0); y[HY_X] = a; }
}
)",
                               4, "a block writes 'a', which is declared outside it"},
                      Rejected{"assembly_in_a_block", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { __asm__("" : "+r"(a)); }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                               4, "assembly"},
                      Rejected{"assembly_in_a_function", R"(
HY_FN int same(int a) {
  __asm__("" : "+r"(a));
  return a;
}
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = same(n); }
}
)",
                               3, "assembly"},
                      Rejected{"assembly_at_file_scope", R"(
__asm__("nop");
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = n; }
}
)",
                               2, "assembly"},
                      Rejected{"a_count_of_items_that_writes", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  uint a = 0;
  HY_ITEMS_BELOW(a++) { y[HY_X] = (int)a; }
}
)",
                               4, "a block writes 'a', which is declared outside it"},
                      Rejected{"a_parameter_that_a_block_moves", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y += 1; }
}
)",
                               3, "'y' is a pointer"},
                      Rejected{"a_parameter_that_the_group_replaces", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  x = y;
  HY_ITEMS { y[HY_X] = x[HY_X]; }
}
)",
                               3, "'x' is a pointer"},
                      Rejected{"an_input_by_way_of_an_integer", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { ((int*)(size_t)x)[HY_X] = 1; }
}
)",
                               3, "an address is made from an integer"},
                      Rejected{"an_input_by_way_of_an_integer_in_a_function", R"(
HY_FN void set(const int* p) {
  __builtin_memset((void*)(size_t)p, 0, 4);
}
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { set(x); }
}
)",
                               3, "an address is made from an integer"},
                      Rejected{"an_input_given_to_what_writes", R"(
HY_FN void set(int* p) { p[0] = 1; }
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { set(x); }
}
)",
                               4, "inputs are never written"},
                      Rejected{"the_index_of_a_tile_block", R"(
HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR2(int, y)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = 1;
    j += 1;
  }
}
)",
                               5, "'j' is the index of this block"},
                      Rejected{"the_outer_index_of_a_tile_block", R"(
HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR2(int, y)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = 1;
    i += 1;
  }
}
)",
                               5, "'i' is the index of this block"},
                      Rejected{"the_index_of_an_item", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = 1; HY_X += 2; }
}
)",
                               3, "'HY_X' is the index of this block"},
                      Rejected{"the_other_index_of_an_item", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = 1; HY_Y = 2; }
}
)",
                               3, "'HY_Y' is the index of this block"},
                      Rejected{"an_index_whose_address_is_given_away", R"(
HY_FN void next(size_t* i) { *i += 2; }
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = 1; next(&HY_X); }
}
)",
                               4, "'HY_X' is the index of this block"}),
    name_of_case);

// Rule 5, in many spellings.
INSTANTIATE_TEST_SUITE_P(Pointers, BreaksARule,
                         ::testing::Values(Rejected{"a_constant_pointer", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { int* const p = &a; *p += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    4, "'p' is a pointer"},
                                           Rejected{"a_pointer_by_another_name", R"(
typedef int* place;
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { place p = &a; *p += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    5, "'p' is a pointer"},
                                           Rejected{"an_array_of_pointers", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { int* p[1] = {&a}; *p[0] += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    4, "'p' is a pointer"},
                                           Rejected{"an_array_of_pointers_by_another_name", R"(
typedef int* place;
typedef place also;
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { also p[1] = {&a}; *p[0] += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    6, "'p' is a pointer"},
                                           Rejected{"an_array_of_pointers_without_a_name", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS { typeof(&a) p[1] = {&a}; *p[0] += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    4, "a pointer is read from memory"},
                                           Rejected{"a_pointer_to_a_function", R"(
HY_FN int same(int v) { return v; }
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { int (*p)(int) = same; y[HY_X] = p(n); }
}
)",
                                                    4, "'p' is a pointer"},
                                           Rejected{"a_pointer_of_the_group", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int* const p = y;
  p[0] = 1;
  HY_ITEMS {}
}
)",
                                                    3, "'p' is a pointer"},
                                           Rejected{"a_pointer_in_a_struct_by_another_name", R"(
typedef int* place;
struct pl { place at; };
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  struct pl a = {y};
  *a.at = 3;
  HY_ITEMS {}
}
)",
                                                    3, "'at' is a pointer"},
                                           Rejected{"an_array_of_pointers_in_a_struct", R"(
typedef int* place;
struct pl {
  place at[2];
};
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  struct pl a = {{y, y}};
  *a.at[0] = 3;
  HY_ITEMS {}
}
)",
                                                    4, "'at' is a pointer"},
                                           Rejected{"a_pointer_in_a_function", R"(
HY_FN int first(const int* v) {
  const int* p = v;
  return p[0];
}
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = first(x); }
}
)",
                                                    3, "'p' is a pointer"},
                                           Rejected{"a_pointer_at_file_scope", R"(
static const int table[2] = {1, 2};
static const int* const p = table;
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  HY_ITEMS { y[HY_X] = p[0]; }
}
)",
                                                    3, "'p' is a pointer"},
                                           Rejected{"a_pointer_that_is_kept_as_an_integer", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  HY_ITEMS {
    size_t p = (size_t)&a;
    **(int**)&p += 1;
  }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    6, "a pointer is read from memory"},
                                           Rejected{"an_integer_as_a_pointer", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SCALAR(int, n)) {
  int a = 0;
  const size_t p = (size_t)&a;
  HY_ITEMS { *(int*)p += 1; }
  HY_ITEMS { y[HY_X] = a; }
}
)",
                                                    5, "an address is made from an integer"}),
                         name_of_case);

// Names reserved for the header.
INSTANTIATE_TEST_SUITE_P(
    Names, BreaksARule,
    ::testing::Values(Rejected{"another_kernels_body", R"(
HY_KERNEL(a, 4, 1, 1) { HY_ITEMS {} }
HY_KERNEL(k, 4, 1, 1) {
  hy_body_a(HY_GX, HY_GY, HY_GZ, HY_GROUPS_X, HY_GROUPS_Y, HY_GROUPS_Z, HY_NX, HY_NY, HY_NZ);
}
)",
                               4, "'hy_body_a': names that begin"},
                      Rejected{"another_kernel", R"(
HY_KERNEL(a, 4, 1, 1) { HY_ITEMS {} }
HY_KERNEL(k, 4, 1, 1) {
  a(0, 0, 0);
}
)",
                               4, "'a' is a kernel, which kernels cannot call"},
                      Rejected{"a_tensor_by_its_own_pointer", R"(
HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR2(int, y)) {
  HY_ITEMS {
    hy_out2_y[3] = 1;
  }
}
)",
                               4, "'hy_out2_y': names that begin with hy_ or HY_ are reserved"},
                      Rejected{"a_tensor_by_its_own_pointer_in_a_macro", R"(
#define RAW hy_out2_y[3]
HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR2(int, y)) {
  HY_ITEMS {
    RAW = 1;
  }
}
)",
                               5, "'hy_out2_y': names that begin"},
                      Rejected{"an_index_by_its_own_name", R"(
HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) {
  HY_ITEMS { y[hy_x] = 1; }
}
)",
                               3, "'hy_x': names that begin"},
                      Rejected{"a_private_by_its_own_name", R"(
HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y), HY_PRIVATE(int, p)) {
  HY_ITEMS { HY_MY(p) = HY_X < 3; }
  if (hy_my_p[0]) {
    HY_ITEMS { y[HY_GLOBAL_X] = 1; }
  }
}
)",
                               4, "'hy_my_p': names that begin"},
                      Rejected{"a_variable_of_a_taken_name", R"(
HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) {
  HY_ITEMS {
    uint hy_mine = 1;
    y[HY_X] = hy_mine;
  }
}
)",
                               4, "'hy_mine': names that begin"},
                      Rejected{"a_function_of_a_taken_name", R"(
HY_FN uint hy_one(void) { return 1; }
HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS { y[HY_X] = hy_one(); } }
)",
                               2, "'hy_one': names that begin"},
                      Rejected{"a_struct_of_a_taken_name", R"(
struct hy_pair { uint a, b; };
HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS { y[HY_X] = 1; } }
)",
                               2, "'hy_pair': names that begin"}),
    name_of_case);

// Types that differ between targets.
INSTANTIATE_TEST_SUITE_P(
    Types, BreaksARule,
    ::testing::Values(Rejected{"a_type_of_another_width_on_each_target", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {
  HY_ITEMS {
    long double a = y[HY_X];
    y[HY_X] = (float)(a * a);
  }
}
)",
                               4, "'long double' is a type that differs between targets"},
                      Rejected{"a_value_of_another_width_on_each_target", R"(
HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {
  HY_ITEMS { y[HY_X] = (float)(y[HY_X] * 1.1L); }
}
)",
                               3, "'long double' is a type that differs between targets"},
                      Rejected{"a_type_that_is_rounded_otherwise", R"(
typedef _Float16 short_float;
HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {
  HY_ITEMS {
    short_float a = (short_float)y[HY_X];
    y[HY_X] = (float)(a * a + a);
  }
}
)",
                               2, "'_Float16' is a type that differs between targets"}),
    name_of_case);

// Valid code that resembles violations.
TEST(Rules, AcceptAddressesOfWhatAnItemMayWrite) {
  EXPECT_EQ(message_of(compile_text(R"(
HY_FN void set(float* to, float value) { to[0] = value; }
HY_FN float sum(const float* of) { return of[0] + of[1]; }
HY_KERNEL(k, 4, 1, 1, HY_IN(float, x), HY_OUT(float, y)) {
  float same[2] = {0.0f, 0.0f};
  set(same, sum(x));
  HY_ITEMS {
    float own[2] = {0.0f, sum(same)};
    set(own, 2.0f);
    set(y + HY_X, sum(own));
  }
}
)")),
            "ok");
}

TEST(Rules, AcceptWhatLooksLikeAPointerOrAWriteElsewhere) {
  EXPECT_EQ(message_of(compile_text(R"(
typedef const int entry;
static entry one = 1;
static entry table[2] = {1, 2};
static const struct { int a[2]; } tables[1] = {{{3, 4}}};
typedef int pair[2];
HY_FN void add(int* to, const int* from) {
  if (from != 0) to[0] += from[0];
}
struct four {
  int v[4];
};
HY_FN struct four made(int a) { return (struct four){{a, a, a, a}}; }
HY_FN int last(int* of) {
  ++of;
  return *of;
}
HY_KERNEL(k, 4, 1, 1, HY_INOUT(int, y), HY_IN(int, x), HY_SHARED2(int, s, 2, 2)) {
  pair group = {made(3).v[1], 1};
  1[group] = 2;
  HY_ITEMS {
    pair own = {one, table[1]};
    0[own] += tables[0].a[1];
    *(1 + own) += 1;
    (own[0])++;
    int four __attribute__((vector_size(16))) = {own[0]};
    four[1] = four[0];
    add(&own[1], 0);
    add(&own[1], (const int[2]){1, 2});
    y[HY_X] = last(own) + group[1] + x[HY_X];
    if (HY_X < 2) 0[s[HY_X]] = *s[1];
  }
}
)")),
            "ok");
}

}  // namespace
}  // namespace halyard::testing
