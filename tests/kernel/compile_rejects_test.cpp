// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Violations of the kernel language are rejected with their line, in terms of the language.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/rejected.h"

namespace halyard::testing {
namespace {

class CompileRejects : public ::testing::TestWithParam<Rejected> {};

TEST_P(CompileRejects, WithTheLine) { expect_rejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, CompileRejects,
    ::testing::Values(
        Rejected{"a_syntax_error", "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS { int x = ; }\n}\n", 2,
                 "expected expression"},
        Rejected{"break_out_of_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    if (HY_X == 2) break;\n  }\n}\n", 3,
                 "break leaves a block; `continue` ends one item's part (rule 1)"},
        Rejected{"return_from_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    if (HY_X == 2) return;\n  }\n}\n", 3,
                 "return leaves a block"},
        Rejected{
            "goto_out_of_a_block",
            "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    if (HY_X == 2) goto end;\n  }\nend:;\n}\n",
            3, "no label 'end' here: no goto leaves or enters a block (rule 1)"},
        Rejected{"goto_into_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  goto in;\n  HY_ITEMS {\n  in:;\n  }\n}\n", 2,
                 "no goto leaves or enters a block (rule 1)"},
        Rejected{"a_block_in_a_function",
                 "HY_FN void f(void) {\n  HY_ITEMS {}\n}\n"
                 "HY_KERNEL(k, 4, 1, 1) { f(); }\n",
                 2, "blocks and group indices exist only in the body of a kernel (rule 2)"},
        Rejected{"an_array_that_is_not_private",
                 "HY_KERNEL(k, 4, 1, 1, HY_SHARED(int, s, 4)) {\n  HY_ITEMS { HY_MY(s) = 1; }\n}\n",
                 2, "'s' is neither HY_PRIVATE nor HY_PRIVATE_ARRAY"},
        Rejected{
            "a_buffer_used_as_a_tensor",
            "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) {\n  HY_ITEMS { y[0] = HY_SIZE(y, 0); }\n}\n",
            2, "'y' is not a tensor"},
        Rejected{
            "a_tensor_used_as_a_buffer",
            "HY_KERNEL(k, 4, 1, 1, HY_OUT_TILE2(uint, y, 4, 4)) {\n  HY_ITEMS { y[0] = 1; }\n}\n",
            2, "'y' is a tensor: HY_AT or HY_Y, with its rank, gives an element"},
        Rejected{"a_question_what_it_is_compiled_for",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) {\n#ifdef HY_DEVICE\n  return;\n#endif\n"
                 "  HY_ITEMS { y[HY_X] = 1; }\n}\n",
                 2, "reserved for the header: a source is the same for all targets"},
        Rejected{"a_local_that_hides_another",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(int, y)) {\n  HY_ITEMS {\n"
                 "    for (int i = 0; i < 4; ++i) {\n      int i = 3;\n      y[i] = 1;\n    }\n"
                 "  }\n}\n",
                 4, "this hides a variable of the same name, which not every target supports"},
        Rejected{"a_case_in_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(int, y), HY_SCALAR(int, n)) {\n  switch (n) {\n"
                 "    HY_ITEMS {\n      case 1: y[HY_X] = 1;\n    }\n  }\n}\n",
                 4, "'case' outside its switch: a switch around a block cannot enter it (rule 1)"},
        Rejected{"two_parameters_of_one_name",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_IN(int, y), HY_IN(int, y)) { HY_ITEMS {} }\n", 2,
                 "a second parameter 'y'"},
        Rejected{"nested_blocks",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    HY_ITEMS {}\n  }\n}\n", 3,
                 "a block is inside another (rule 2)"},
        Rejected{"an_index_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  hy_index i = HY_X;\n  HY_ITEMS { (void)i; }\n}\n", 2,
                 "item indices and HY_MY exist only in HY_ITEMS"},
        Rejected{"a_private_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_PRIVATE(float, p)) {\n  HY_MY(p) = 0;\n}\n", 2,
                 "item indices and HY_MY exist only in HY_ITEMS"},
        Rejected{"a_write_to_an_input",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(float, x)) {\n  HY_ITEMS { x[HY_X] = 1.0f; }\n}\n", 2,
                 "inputs and scalars are never written (rule 3)"},
        Rejected{"a_write_to_a_scalar",
                 "HY_KERNEL(k, 4, 1, 1, HY_SCALAR(uint, n)) {\n  n = 1;\n  HY_ITEMS {}\n}\n", 2,
                 "'n' is a constant: inputs and scalars are never written (rule 3)"},
        Rejected{"a_local_written_by_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(float, x)) {\n  float sum = 0;\n"
                 "  HY_ITEMS {\n    sum += x[HY_X];\n  }\n}\n",
                 4, "a block writes 'sum', which is declared outside it"},
        Rejected{"a_local_array_written_by_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  float t[4];\n  HY_ITEMS {\n    t[HY_X] = 0;\n  }\n}\n",
                 4, "a block writes 't'"},
        Rejected{"a_local_incremented_by_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  int i = 0;\n  HY_ITEMS {\n    (i)++;\n  }\n}\n", 4,
                 "a block writes 'i'"},
        Rejected{"a_buffer_written_outside",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  HY_ITEMS {}\n  y[0] = 1.0f;\n}\n", 3,
                 "'y' is written outside a block"},
        Rejected{"a_buffer_written_through_a_pointer_outside",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  *(y + 1) += 1.0f;\n}\n", 2,
                 "'y' is written outside a block"},
        Rejected{"a_shared_array_written_outside",
                 "HY_KERNEL(k, 4, 1, 1, HY_SHARED2(float, t, 2, 2)) {\n  t[0][1] = 1.0f;\n}\n", 2,
                 "'t' is written outside a block"},
        Rejected{"an_atomic_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(uint, y)) {\n  HY_ITEMS {}\n"
                 "  hy_atomic_add(y[0], 1u);\n}\n",
                 3, "an atomic on 'y' outside the blocks of a kernel"},
        Rejected{"a_compare_exchange_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_SHARED2(int, s, 2, 2)) {\n  HY_ITEMS {}\n"
                 "  hy_atomic_compare_exchange(s[0][1], 0, 1);\n}\n",
                 3, "an atomic on 's' outside the blocks of a kernel"},
        Rejected{"an_atomic_in_a_function",
                 "HY_FN void f(uint* y) {\n  hy_atomic_or(y[0], 1u);\n}\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(uint, y)) { f(y); HY_ITEMS {} }\n",
                 2, "an atomic on 'y' outside the blocks of a kernel"},
        Rejected{"an_atomic_on_a_private_value",
                 "HY_KERNEL(k, 4, 1, 1, HY_PRIVATE(uint, p)) {\n"
                 "  HY_ITEMS {\n    hy_atomic_add(HY_MY(p), 1u);\n  }\n}\n",
                 3, "an atomic on 'p', which is neither a buffer nor a shared array"},
        Rejected{"an_atomic_on_a_local",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    int i = 0;\n"
                 "    hy_atomic_exchange(i, 1);\n  }\n}\n",
                 4, "an atomic on 'i', which is neither a buffer nor a shared array"},
        Rejected{"a_block_that_writes_what_was_just_read",
                 "HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 4), HY_INOUT(uint, y)) {\n"
                 "  HY_ITEMS { s[HY_X] = y[HY_X]; }\n  const uint first = s[0];\n"
                 "  HY_ITEMS {\n    s[HY_X] = first;\n  }\n}\n",
                 5, "a block writes 's', which is read between it and the previous block"},
        Rejected{
            "a_loop_whose_block_writes_its_condition",
            "HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 1)) {\n"
            "  HY_ITEMS { if (HY_L == 0) s[0] = 9; }\n"
            "  while (s[0] != 0) {\n    HY_ITEMS { if (HY_L == 0) s[0] = s[0] - 1; }\n  }\n}\n",
            4, "a block writes 's'"},
        Rejected{"a_loop_whose_end_reads_what_its_start_writes",
                 "HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 4)) {\n  uint sum = 0;\n"
                 "  for (uint i = 0; i < 3; ++i) {\n    HY_ITEMS { s[HY_X] = i; }\n"
                 "    sum += s[3];\n  }\n  (void)sum;\n}\n",
                 4, "a block writes 's'"},
        Rejected{"an_atomic_on_what_one_branch_has_read",
                 "HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 4), HY_SCALAR(uint, n)) {\n"
                 "  HY_ITEMS { s[HY_X] = 0; }\n  uint last = 0;\n"
                 "  if (n > 1) last = s[n];\n"
                 "  HY_ITEMS { hy_atomic_add(s[last], 1u); }\n}\n",
                 5, "a block writes 's'"},
        Rejected{"an_atomic_on_an_input",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(uint, x)) {\n"
                 "  HY_ITEMS { hy_atomic_add(x[0], 1u); }\n}\n",
                 2, "an atomic needs a writable element of int or uint"},
        Rejected{"an_atomic_on_a_float",
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, x)) {\n"
                 "  HY_ITEMS { hy_atomic_add(x[0], 1.0f); }\n}\n",
                 2, "an atomic needs a writable element of int or uint"},
        Rejected{"a_tile_written_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR2(float, y)) {\n  HY_Y2(y, 0, 0) = 1.0f;\n}\n",
                 2, "'y' is written outside a block"},
        Rejected{"a_write_to_an_input_tensor",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN_TENSOR1(float, x)) {\n"
                 "  HY_ITEMS { HY_AT1(x, 0) = 1.0f; }\n}\n",
                 2, "inputs and scalars are never written (rule 3)"},
        Rejected{"an_output_addressed_as_an_input",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n"
                 "  HY_ITEMS { HY_AT1(y, 0) = 1.0f; }\n}\n",
                 2, "'y' is not an input tensor of rank 1"},
        Rejected{"a_tensor_of_another_rank",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TILE2(float, y, 2, 2)) {\n"
                 "  HY_TILE_ITEMS1(y, i) { (void)i; }\n}\n",
                 2, "'y' is not an output tensor of rank 1"},
        Rejected{"a_local_written_by_a_tile_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n  int n = 0;\n"
                 "  HY_TILE_ITEMS1(y, i) {\n    n += (int)i;\n  }\n}\n",
                 4, "a block writes 'n'"},
        Rejected{
            "break_out_of_a_tile_block",
            "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR3(float, y)) {\n  HY_TILE_ITEMS3(y, a, b, c) {\n"
            "    if (a + b + c == 2) break;\n  }\n}\n",
            3, "break leaves a block"},
        Rejected{"a_block_in_a_tile_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n  HY_TILE_ITEMS1(y, i) {\n"
                 "    HY_ITEMS { HY_Y1(y, i) = 0; }\n  }\n}\n",
                 3, "a block is inside another"},
        Rejected{"an_item_index_in_a_tile_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n  HY_TILE_ITEMS1(y, i) {\n"
                 "    HY_Y1(y, i) = (float)HY_X;\n  }\n}\n",
                 3, "item indices and HY_MY exist only in HY_ITEMS"},
        Rejected{"an_empty_tile",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_OUT_TILE2(float, y, 4, 0)) { HY_ITEMS {} }\n", 2,
                 "a tile has at least one element"},
        Rejected{"a_variable_at_file_scope",
                 "static int count;\nHY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\n", 1,
                 "variable 'count' at file scope"},
        Rejected{"a_static_variable",
                 "HY_KERNEL(k, 4, 1, 1) {\n  static int count;\n  HY_ITEMS {}\n}\n", 2,
                 "static variable 'count'"},
        Rejected{"a_pointer_variable",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  HY_ITEMS { float* p = y; p[0] = 1; "
                 "}\n}\n",
                 2, "'p' is a pointer"},
        Rejected{"a_local_whose_address_a_block_gives_away",
                 "HY_FN void bump(float* a) { *a += 1.0f; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  float a = 0;\n"
                 "  HY_ITEMS { bump(&a); }\n  HY_ITEMS { y[HY_X] = a; }\n}\n",
                 4, "a block writes 'a', which is declared outside it"},
        Rejected{"a_local_array_that_a_block_gives_away",
                 "HY_FN void clear(float* a) { a[0] = 0.0f; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  float a[2] = {1, 2};\n"
                 "  HY_ITEMS { clear(a); y[HY_X] = a[1]; }\n}\n",
                 4, "a block writes 'a'"},
        Rejected{"a_buffer_given_away_outside_a_block",
                 "HY_FN void set(float* q) { q[0] = 1.0f; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {\n  set(y + 1);\n"
                 "  HY_ITEMS { y[HY_X] += 1; }\n}\n",
                 3, "'y' is written outside a block"},
        Rejected{"a_buffer_given_to_a_builtin_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {\n  __builtin_memset(y, 0, 16);\n"
                 "  HY_ITEMS { y[HY_X] += 1; }\n}\n",
                 2, "'y' is written outside a block"},
        Rejected{"a_block_that_writes_what_a_function_has_just_read",
                 "HY_FN float first(const float* q) { return q[0]; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {\n  const float a = first(y);\n"
                 "  HY_ITEMS { y[HY_X] = a; }\n}\n",
                 4, "a block writes 'y', which is read between it and the previous block"},
        Rejected{"a_block_whose_function_writes_what_was_just_read",
                 "HY_FN void set(float* q, float a) { q[0] = a; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {\n  const float a = y[0];\n"
                 "  HY_ITEMS { if (HY_X == 0) set(y, a); }\n}\n",
                 4, "a block writes 'y', which is read between it and the previous block"},
        Rejected{"a_write_to_an_input_by_a_cast",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(float, x)) {\n"
                 "  HY_ITEMS { ((float*)x)[0] = 1.0f; }\n}\n",
                 2, "inputs are never written (rule 3)"},
        Rejected{"a_pointer_in_a_struct",
                 "struct place {\n  float* at;\n};\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  struct place p = {y};\n"
                 "  p.at[0] = 1.0f;\n  HY_ITEMS {}\n}\n",
                 2, "'at' is a pointer"},
        Rejected{"an_array_of_variable_length",
                 "HY_KERNEL(k, 4, 1, 1, HY_SCALAR(uint, n)) {\n"
                 "  HY_ITEMS { float t[n]; t[0] = 0; (void)t; }\n}\n",
                 2, "the length of an array must be a constant"},
        Rejected{"an_empty_workgroup", "\nHY_KERNEL(k, 4, 0, 1) { HY_ITEMS {} }\n", 2,
                 "1 to 1024 items"},
        Rejected{"a_large_workgroup", "\nHY_KERNEL(k, 1025, 1, 1) { HY_ITEMS {} }\n", 2,
                 "1 to 1024 items"},
        Rejected{"too_much_shared_memory",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_SHARED(float, s, 8193)) { HY_ITEMS {} }\n", 2,
                 "32 KiB"},
        Rejected{"an_unknown_element_type",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_IN(long, x)) { HY_ITEMS {} }\n", 2,
                 "'long' is not an element type; float, int, uint and double are"},
        Rejected{"a_scalar_of_8_bits",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_SCALAR(uchar, n)) { HY_ITEMS {} }\n", 2,
                 "'uchar' is for elements of buffers and tensors; other parameters are float, "},
        Rejected{"a_shared_array_of_halves",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_SHARED(half, x, 64)) { HY_ITEMS {} }\n", 2,
                 "'half' is for elements of buffers and tensors; other parameters are float, "},
        Rejected{"a_function_of_half",
                 "\nHY_FN float twice(half x) { return 2 * x; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(half, x)) { HY_ITEMS { x[0] = twice(x[0]); } }\n",
                 2, "half is for elements and variables; a function takes and returns float"},
        Rejected{"a_function_that_returns_half",
                 "\nHY_FN half twice(float x) { return 2 * x; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(half, x)) { HY_ITEMS { x[0] = twice(x[0]); } }\n",
                 2, "half is for elements and variables; a function takes and returns float"},
        Rejected{"an_atomic_on_a_byte",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_INOUT(uchar, x)) {\n"
                 "  HY_ITEMS { hy_atomic_add(x[0], 1); } }\n",
                 3, "an atomic needs a writable element of int or uint"},
        Rejected{"an_unknown_parameter_kind",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_INPUT(float, x)) { HY_ITEMS {} }\n", 2,
                 "unknown kind of parameter; halyard/kernel.h"},
        Rejected{"a_reserved_name", "\nHY_KERNEL(k, 4, 1, 1, HY_IN(float, hy_a)) { HY_ITEMS {} }\n",
                 2, "'hy_a'"},
        Rejected{"two_kernels_of_one_name",
                 "HY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\nHY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\n",
                 2, "a second kernel 'k'"},
        Rejected{
            "an_unknown_function",
            "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  HY_ITEMS { y[HY_X] = sinf(1.0f); }\n}\n",
            2, "no function 'sinf'; there is no library but halyard/kernel/math.h"},
        Rejected{"the_tanh_of_a_double",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(double, x), HY_OUT(double, y)) {\n"
                 "  HY_ITEMS { y[HY_X] = hy_tanh(x[HY_X]); }\n}\n",
                 2, "hy_exp, hy_log and hy_tanh have the accuracy of a float"},
        Rejected{"a_system_header", "#include <stdio.h>\nHY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\n",
                 1, "stdio.h"}),
    name_of_case);

std::string message_for(const std::string& source) {
  const TextFile file(source);
  return message_of(compiler::compile({.source = file.path(), .targets = {"x86-64"}}));
}

TEST(CompileMessage, AnErrorOfTheLanguage_HasItsLineOfTheSourceAndAMark) {
  const std::string message =
      message_for("HY_KERNEL(k, 4, 1, 1) {\n  hy_index i = HY_X;\n  HY_ITEMS { (void)i; }\n}\n");
  EXPECT_THAT(message, ::testing::HasSubstr("(rule 2)\n    2 |   hy_index i = HY_X;\n"));
  EXPECT_THAT(message, ::testing::EndsWith("^"));
  expect_one_error(message);
}

// The undeclared type is the cause; the item index outside a block is a line below it.
TEST(CompileMessage, AnErrorOfCBeforeOneOfTheLanguage_IsTheOneThatIsNamed) {
  const std::string message = message_for(
      "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  flot a = 1;\n  hy_index i = HY_X;\n"
      "  HY_ITEMS { y[i] = a; }\n}\n");
  EXPECT_THAT(message, ::testing::HasSubstr(":2:3: error: use of undeclared identifier 'flot'"));
  expect_one_error(message);
}

TEST(CompileMessage, TooFewArgumentsForAMacro_AreTheOnlyError) {
  const std::string message = message_for("\nHY_KERNEL(k, 4, 1) { HY_ITEMS {} }\n");
  EXPECT_THAT(message, ::testing::HasSubstr(":2:18: error: too few arguments for HY_KERNEL("));
  expect_one_error(message);
}

}  // namespace
}  // namespace halyard::testing
