// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control flow of the group, which all its items share. Rejected are constructs that would
// separate items on a GPU, and blocks that write an element that some path to them has read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernel/rejected.h"

namespace halyard::testing {
namespace {

class BreaksTheFlow : public ::testing::TestWithParam<Rejected> {};

TEST_P(BreaksTheFlow, IsRefusedWithTheLine) { expect_rejected(GetParam()); }

// The place of a block.
INSTANTIATE_TEST_SUITE_P(Flow, BreaksTheFlow,
                         ::testing::Values(Rejected{"a_block_under_what_each_item_has", R"(
HY_KERNEL(k, 64, 1, 1, HY_OUT(uint, y), HY_PRIVATE(int, p)) {
  HY_ITEMS { HY_MY(p) = HY_X < 3; }
  if (p[0]) {
    HY_ITEMS { y[HY_GLOBAL_X] = 1; }
  }
}
)",
                                                    4, "'p' has a value per item"},
                                           Rejected{"a_private_without_its_item", R"(
HY_KERNEL(k, 64, 1, 1, HY_OUT(uint, y), HY_PRIVATE_ARRAY(uint, p, 2)) {
  HY_ITEMS {
    HY_MY(p, 0) = 1;
    y[HY_X] = p[0] != 0;
  }
}
)",
                                                    5, "'p' has a value per item"},
                                           Rejected{"a_block_in_an_expression", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  if (({
        HY_ITEMS { y[HY_X] = 1; }
        n;
      }) > 1) {
    HY_ITEMS {}
  }
}
)",
                                                    4, "a block is in an expression"},
                                           Rejected{"a_loop_that_is_called_a_block", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  _Pragma("omp simd") for (uint i = 0; i < 4; ++i) { y[i] = n; }
  HY_ITEMS {}
}
)",
                                                    3, "a loop of OpenMP"},
                                           Rejected{"another_pragma_of_openmp", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
#pragma omp simd
  for (uint i = 0; i < 4; ++i) { y[i] = n; }
  HY_ITEMS {}
}
)",
                                                    3, "a loop of OpenMP"},
                                           Rejected{"goto_between_blocks", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
again:;
  HY_ITEMS { s[HY_X] = n; }
  if (s[0] != 0) goto again;
  HY_ITEMS { y[HY_X] = 1; }
}
)",
                                                    5, "goto"},
                                           Rejected{"goto_by_a_value", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  void* const p = &&end;
  HY_ITEMS { y[HY_X] = 1; }
  goto* p;
end:;
}
)",
                                                    5, "goto"}),
                         name_of_case);

// Rule 6: reads outside blocks, on each path to the block that writes.
INSTANTIATE_TEST_SUITE_P(
    Races, BreaksTheFlow,
    ::testing::Values(
        Rejected{"an_index_before_what_is_read", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  HY_ITEMS { s[HY_X] = 1; }
  const uint t = 0[s];
  HY_ITEMS { s[HY_X] = t; }
}
)",
                 5, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_member_of_what_is_read", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  HY_ITEMS { s[HY_X] = 1; }
  const uint t = ((const struct { uint first; }*)s)->first;
  HY_ITEMS { s[HY_X] = t; }
}
)",
                 5, "a block writes 's', which is read between it and the previous block"},
        Rejected{"one_of_two_that_are_read", R"(
HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 4), HY_SHARED(uint, r, 4), HY_SCALAR(uint, n)) {
  HY_ITEMS { s[HY_X] = r[HY_X] = 1; }
  const uint t = *(n ? s : r);
  HY_ITEMS { s[HY_X] = t; }
}
)",
                 4, "cannot tell what this reads"},
        Rejected{"one_of_two_that_a_function_reads", R"(
HY_FN uint first(const uint* p) { return p[0]; }
HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 4), HY_SHARED(uint, r, 4), HY_SCALAR(uint, n)) {
  HY_ITEMS { s[HY_X] = r[HY_X] = 1; }
  const uint t = first(n ? s : r);
  HY_ITEMS { s[HY_X] = t; }
}
)",
                 5, "cannot tell what this reads"},
        Rejected{"a_round_that_is_continued", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  uint m = 0;
  for (uint i = 0; i < 3; ++i) {
    HY_ITEMS { s[HY_X] = i; }
    m += s[63];
    if (m == 1) continue;
    HY_ITEMS { y[HY_X] = m; }
  }
}
)",
                 5, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_round_that_is_continued_in_do", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  uint m = 0;
  do {
    HY_ITEMS { s[HY_X] = m; }
    m += 1 + s[63];
    if (m == 1) continue;
    HY_ITEMS { y[HY_X] = m; }
  } while (m < 5);
}
)",
                 5, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_loop_that_is_left", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  while (1) {
    HY_ITEMS { y[HY_X] = 1; }
    if (s[0] == 0) break;
    HY_ITEMS { y[HY_X] = 2; }
  }
  HY_ITEMS { s[HY_X] = 5; }
}
)",
                 8, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_loop_that_is_left_within_a_switch", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  for (;;) {
    HY_ITEMS { y[HY_X] = 1; }
    switch (n) {
      case 0: break;
      default: n > 3 ? (void)0 : (void)s[1];
    }
    if (n == 2) break;
    HY_ITEMS { y[HY_X] = 2; }
  }
  HY_ITEMS { s[HY_X] = 5; }
}
)",
                 12, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_case_that_reads", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  uint t = 0;
  switch (n) {
    case 0: t = s[63]; break;
    case 1:
      HY_ITEMS { y[HY_X] = 1; }
      break;
  }
  HY_ITEMS { s[HY_X] = t; }
}
)",
                 10, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_case_that_is_passed_over", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  const uint t = s[63];
  switch (n) {
    case 1:
      HY_ITEMS { y[HY_X] = 1; }
  }
  HY_ITEMS { s[HY_X] = t; }
}
)",
                 8, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_case_that_is_entered_past_a_block", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  const uint t = s[63];
  switch (n) {
    case 0:
      HY_ITEMS { y[HY_X] = 1; }
      break;
    default:
      HY_ITEMS { s[HY_X] = t; }
  }
}
)",
                 9, "a block writes 's', which is read between it and the previous block"},
        Rejected{"a_case_that_falls_into_a_block", R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  switch (n) {
    case 0:
      if (s[63] == 1) return;
    case 1:
      HY_ITEMS { s[HY_X] = 1; }
  }
}
)",
                 7, "a block writes 's', which is read between it and the previous block"}),
    name_of_case);

TEST(GroupFlow, AcceptUniformControlFlowAndLocalWrites) {
  EXPECT_EQ(message_of(compile_text(R"(
static const float kTable[2] = {1.0f, 2.0f};
HY_FN float twice(float x) { float y = x; y += x; return y; }
HY_KERNEL(k, 4, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n),
          HY_SHARED(float, s, 4)) {
  uint step = 1;
  while (step < n) {
    HY_ITEMS {
      float t[2] = {0.0f, 1.0f};
      for (int i = 0; i < 2; ++i) {
        if (i == 1) break;
        t[i] += twice(x[HY_X]) * kTable[i];
      }
      if (HY_X == 3) continue;
      s[HY_X] = t[0];
    }
    step *= 2;
    if (step == 64) break;
  }
  if (n == 0) return;
  HY_ITEMS { y[HY_X] = s[HY_X]; }
}
)")),
            "ok");
}

TEST(GroupFlow, AcceptWhatABlockSeparatesFromTheRead) {
  EXPECT_EQ(message_of(compile_text(R"(
HY_KERNEL(k, 4, 1, 1, HY_SHARED(uint, s, 4), HY_SHARED(uint, other, 4), HY_INOUT(uint, y)) {
  HY_ITEMS { s[HY_X] = y[HY_X]; }
  while (s[0] != 0) {
    HY_ITEMS { other[HY_X] = s[HY_X] - 1; }
    HY_ITEMS { s[HY_X] = other[HY_X]; }
  }
  const uint last = s[3];
  HY_ITEMS { if (HY_L == 0) s[2] = last; }
  for (uint i = 0; i < last; ++i) {
    HY_ITEMS {}
    HY_ITEMS { s[HY_X] += y[HY_X]; }
  }
}
)")),
            "ok");
}

TEST(GroupFlow, AcceptLoopsThatALoopLeavesBehindABarrier) {
  EXPECT_EQ(message_of(compile_text(R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {
  uint rounds = 0;
  HY_ITEMS { s[HY_X] = y[HY_X]; }
  while (1) {
    const uint done = s[0] == 0;
    HY_ITEMS {}
    if (done) break;
    if (++rounds == 7) continue;
    HY_ITEMS { s[HY_X] /= 2; }
  }
  HY_ITEMS { s[HY_X] = rounds; }
  while (1) {
    HY_ITEMS { y[HY_X] += s[HY_X]; }
    if (rounds == 9) break;
    rounds = s[5];
  }
  HY_ITEMS { s[HY_X] = rounds; }
  do {
    HY_ITEMS { s[HY_X] += rounds; }
    rounds = s[6];
  } while (0);
  HY_ITEMS {}
  uint sum = 0;
  for (uint i = 0; i < n; ++i) {
    switch (s[i]) {
      case 0: continue;
      case 1: sum += s[0]; break;
      default: sum += s[1];
    }
  }
  HY_ITEMS {}
  switch (n) {
    case 0: HY_ITEMS { s[HY_X] = sum; } break;
    case 1: sum = s[1];
    default: HY_ITEMS {}
  }
  HY_ITEMS { s[HY_X] = sum; }
  do {
    HY_ITEMS { y[HY_X] += s[HY_X]; }
    if (s[3] == 0) return;
    HY_ITEMS {}
    HY_ITEMS { s[HY_X] -= 1; }
  } while (n > 1);
  HY_ITEMS { s[HY_X] = 1; }
}
)")),
            "ok");
}

TEST(GroupFlow, FollowsLoopsInLoopsInLinearTime) {
  constexpr int kDepth = 40;
  std::string text =
      "HY_KERNEL(k, 64, 1, 1, HY_INOUT(uint, y), HY_SHARED(uint, s, 64), HY_SCALAR(uint, n)) {\n"
      "  uint m = 0;\n";
  for (int i = 0; i < kDepth; ++i) text += "while (m < n) {\n";
  text += "m += s[m];\n" + std::string(kDepth, '}');
  text += "\n  HY_ITEMS { s[HY_X] = y[HY_X] = m; }\n}\n";
  EXPECT_THAT(message_of(compile_text(text)), ::testing::HasSubstr("a block writes 's'"));
}

TEST(GroupFlow, AcceptGotoThatStaysInABlockOrAFunction) {
  EXPECT_EQ(message_of(compile_text(R"(
HY_FN uint below(uint n) {
again:
  if (n > 100) {
    n /= 2;
    goto again;
  }
  return n;
}
HY_KERNEL(k, 4, 1, 1, HY_INOUT(uint, y)) {
  HY_ITEMS {
    uint i = 0;
  next:
    if (++i < 5) goto next;
    y[HY_X] = below(i);
  }
}
)")),
            "ok");
}

}  // namespace
}  // namespace halyard::testing
