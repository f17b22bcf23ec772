// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/compile.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "kernel/cpu_image.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

using kernel::Access;
using kernel::ElementType;
using ::testing::HasSubstr;

constexpr std::string_view kSmall = "HY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\n";

std::string message(const Result<std::vector<std::byte>>& result) {
  return result.ok() ? "ok" : result.status().to_string();
}

TEST(Compile, ReflectsAKernel) {
  const auto bytes = compile_text(R"(
#define N (8 * 2)
HY_KERNEL(first, N, 2, 1, HY_IN(float, a), HY_SCALAR(int, i), HY_OUT(uint, b), HY_INOUT(int, c),
          HY_SCALAR(float, f), HY_SHARED(float, s, N), HY_SHARED2(int, t, 4, N + 1),
          HY_PRIVATE(float, p), HY_PRIVATE_ARRAY(uint, q, 3)) {
  HY_ITEMS {}
}
HY_KERNEL(second, 1, 1, 1) { HY_ITEMS {} }
)");
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes.value(), "k").value();
  ASSERT_EQ(hyx.kernels().size(), 2u);
  const kernel::KernelInfo& first = hyx.kernels()[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.workgroup_size, (std::array<std::uint32_t, 3>{16, 2, 1}));
  ASSERT_EQ(first.bindings.size(), 3u);
  EXPECT_EQ(first.bindings[0].name, "a");
  EXPECT_EQ(first.bindings[0].access, Access::kRead);
  EXPECT_EQ(first.bindings[0].type, ElementType::kFloat32);
  EXPECT_EQ(first.bindings[1].name, "b");
  EXPECT_EQ(first.bindings[1].access, Access::kWrite);
  EXPECT_EQ(first.bindings[1].type, ElementType::kUint32);
  EXPECT_EQ(first.bindings[2].name, "c");
  EXPECT_EQ(first.bindings[2].access, Access::kReadWrite);
  EXPECT_EQ(first.bindings[2].type, ElementType::kInt32);
  ASSERT_EQ(first.constants.size(), 2u);
  EXPECT_EQ(first.constants[0].name, "i");
  EXPECT_EQ(first.constants[0].type, ElementType::kInt32);
  EXPECT_EQ(first.constants[1].name, "f");
  EXPECT_EQ(first.constants[1].offset, 4u);
  EXPECT_EQ(first.constants_bytes, 8u);
  EXPECT_EQ(first.static_shared_bytes, (16u + 4 * 17) * 4);
  EXPECT_EQ(first.dynamic_shared_bytes, 0u);
  EXPECT_EQ(first.line, 3u);
  EXPECT_EQ(hyx.kernels()[1].name, "second");
  EXPECT_EQ(hyx.kernels()[1].constants_bytes, 0u);
  EXPECT_EQ(hyx.kernels()[1].line, 8u);
}

TEST(Compile, ReflectsTensorsAndTheirConstants) {
  const auto bytes = compile_text(R"(
HY_KERNEL(k, 4, 1, 1, HY_SCALAR(float, a), HY_IN_TENSOR1(float, x), HY_OUT_TILE2(int, y, 4, 1 << 3),
          HY_OUT(int, plain), HY_OUT_TENSOR3(uint, z), HY_SCALAR(uint, n)) {
  HY_TILE_ITEMS3(z, i, j, l) { hy_atomic_add(HY_Y3(z, i, j, l), 1u); }
}
HY_KERNEL(both, 4, 1, 1, HY_INOUT_TENSOR1(float, y), HY_INOUT_TILE2(int, z, 4, 8)) {
  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) += 1.0f; }
  HY_TILE_ITEMS2(z, i, j) { HY_Y2(z, i, j) += 1; }
}
)");
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes.value(), "k").value();
  const kernel::KernelInfo& k = hyx.kernels()[0];
  struct Want {
    const char* name;
    Access access;
    ElementType type;
    std::uint32_t rank;
    std::array<std::uint32_t, 3> tile;
    std::uint32_t first_constant;
  };
  const Want bindings[] = {{"x", Access::kRead, ElementType::kFloat32, 1, {}, 1},
                           {"y", Access::kWrite, ElementType::kInt32, 2, {4, 8, 0}, 2},
                           {"plain", Access::kWrite, ElementType::kInt32, 0, {}, 0},
                           {"z", Access::kReadWrite, ElementType::kUint32, 3, {}, 5}};
  ASSERT_EQ(k.bindings.size(), std::size(bindings));
  for (std::size_t i = 0; i < std::size(bindings); ++i) {
    EXPECT_EQ(k.bindings[i].name, bindings[i].name);
    EXPECT_EQ(k.bindings[i].access, bindings[i].access) << bindings[i].name;
    EXPECT_EQ(k.bindings[i].type, bindings[i].type) << bindings[i].name;
    EXPECT_EQ(k.bindings[i].rank, bindings[i].rank) << bindings[i].name;
    EXPECT_EQ(k.bindings[i].tile, bindings[i].tile) << bindings[i].name;
    EXPECT_EQ(k.bindings[i].first_constant, bindings[i].first_constant) << bindings[i].name;
  }
  const auto& both = hyx.kernels()[1].bindings;
  EXPECT_EQ(both[0].access, Access::kReadWrite);
  EXPECT_EQ(both[1].access, Access::kReadWrite);
  EXPECT_EQ(both[0].tile, (std::array<std::uint32_t, 3>{}));
  EXPECT_EQ(both[1].tile, (std::array<std::uint32_t, 3>{4, 8, 0}));
  const std::vector<std::string_view> constants = {
      "a",       "x.size0",   "y.size0",   "y.size1", "y.stride0", "z.size0", "z.size1",
      "z.size2", "z.stride0", "z.stride1", "z.tile0", "z.tile1",   "z.tile2", "n"};
  ASSERT_EQ(k.constants.size(), constants.size());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    EXPECT_EQ(k.constants[i].name, constants[i]);
    EXPECT_EQ(k.constants[i].offset, 4 * i);
  }
  EXPECT_EQ(k.constants_bytes, 4 * constants.size());
}

TEST(Compile, ReflectsAnOutputWithAtomicsAsReadToo) {
  const auto bytes = compile_text(R"(
HY_KERNEL(plain, 4, 1, 1, HY_OUT(int, y)) { HY_ITEMS { y[HY_X] = 1; } }
HY_KERNEL(atomic, 4, 1, 1, HY_OUT(int, x), HY_OUT(int, y), HY_OUT(int, z)) {
  HY_ITEMS { x[HY_X] = hy_atomic_max(y[0], 1) + hy_atomic_compare_exchange(z[0], 1, 2); }
}
)");
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes.value(), "k").value();
  EXPECT_EQ(hyx.kernels()[0].bindings[0].access, Access::kWrite);
  EXPECT_EQ(hyx.kernels()[1].bindings[0].access, Access::kWrite);
  EXPECT_EQ(hyx.kernels()[1].bindings[1].access, Access::kReadWrite);
  EXPECT_EQ(hyx.kernels()[1].bindings[2].access, Access::kReadWrite);
}

TEST(Compile, KeepsTheSourceUnderItsFileName) {
  const TextFile file(kSmall);
  const auto bytes = compiler::compile({.source = file.path(), .targets = {"x86-64"}}).value();
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes, "k").value();
  ASSERT_EQ(hyx.sources().size(), 1u);
  EXPECT_EQ(hyx.sources()[0].name, std::filesystem::path(file.path()).filename().string());
  EXPECT_EQ(hyx.sources()[0].text, kSmall);
  EXPECT_EQ(hyx.kernels()[0].source, hyx.sources()[0].name);
}

TEST(Compile, BuildsOneImagePerTarget) {
  const TextFile file(kSmall);
  const auto bytes =
      compiler::compile({.source = file.path(), .targets = {"x86-64-v4", "x86-64"}}).value();
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes, "k").value();
  ASSERT_EQ(hyx.images().size(), 2u);
  EXPECT_EQ(hyx.images()[0].target, "x86-64-v4");
  EXPECT_EQ(hyx.images()[1].target, "x86-64");
  EXPECT_EQ(hyx.images()[1].convention, "hy-cpu-1");
}

TEST(Compile, BuildsForAarch64BesideX86) {
  const TextFile file(kSmall);
  const auto bytes =
      compiler::compile({.source = file.path(), .targets = {"aarch64", "x86-64"}}).value();
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes, "k").value();
  ASSERT_EQ(hyx.images().size(), 2u);
  EXPECT_EQ(hyx.images()[0].target, "aarch64");
  const std::span<const std::byte> image = hyx.images()[0].bytes;
  Elf64_Ehdr header;
  ASSERT_GE(image.size(), sizeof header);
  std::memcpy(&header, image.data(), sizeof header);
  EXPECT_EQ(header.e_machine, EM_AARCH64);
  EXPECT_EQ(header.e_type, ET_DYN);
  EXPECT_NE(std::string_view(reinterpret_cast<const char*>(image.data()), image.size())
                .find(std::string_view("\0k\0", 3)),
            std::string_view::npos);
  EXPECT_TRUE(kernel::CpuImage::load(hyx).ok());
}

TEST(Compile, FileForAnotherMachineCannotBeLoadedAndSaysForWhich) {
#if defined(__aarch64__)
  const std::string other = "x86-64";
#else
  const std::string other = "aarch64";
#endif
  const TextFile file(kSmall);
  const auto bytes = compiler::compile({.source = file.path(), .targets = {other}}).value();
  const Status status = kernel::CpuImage::load(kernel::Hyx::parse(bytes, "k").value()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(other));
}

TEST(Compile, GivesTheSameBytesTwice) {
  const TextFile file(kSmall);
  const compiler::CompileOptions options{
      .source = file.path(), .targets = {"x86-64"}, .debug = true};
  EXPECT_EQ(compiler::compile(options).value(), compiler::compile(options).value());
}

TEST(Compile, AcceptsTheHeaderIncludedByName) {
  EXPECT_EQ(message(compile_text("#include <halyard/kernel.h>\n" + std::string(kSmall))), "ok");
}

TEST(Compile, FindsHeadersInTheGivenDirectories) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("halyard-include-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "size.h") << "#define SIZE 32\n";
  const TextFile file("#include <size.h>\nHY_KERNEL(k, SIZE, 1, 1) { HY_ITEMS {} }\n");
  const auto bytes = compiler::compile(
      {.source = file.path(), .targets = {"x86-64"}, .include_dirs = {directory.string()}});
  std::filesystem::remove_all(directory);
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes.value(), "k").value();
  EXPECT_EQ(hyx.kernels()[0].workgroup_size[0], 32u);
}

TEST(Compile, ReportsWarnings) {
  const TextFile file("HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS { int unused; }\n}\n");
  std::string warnings;
  EXPECT_EQ(message(compiler::compile(
                {.source = file.path(), .targets = {"x86-64"}, .warnings = &warnings})),
            "ok");
  EXPECT_THAT(warnings, HasSubstr(file.path() + ":2:"));
  EXPECT_THAT(warnings, HasSubstr("unused variable"));
}

TEST(Compile, LeavesNoTemporaryFiles) {
  const std::string before = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
  const TextFile good(kSmall);
  const TextFile bad("syntax error");
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("halyard-empty-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  ::setenv("TMPDIR", directory.c_str(), 1);
  EXPECT_TRUE(compiler::compile({.source = good.path(), .targets = {"x86-64"}}).ok());
  EXPECT_FALSE(compiler::compile({.source = bad.path(), .targets = {"x86-64"}}).ok());
  before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
}

TEST(Compile, NamesAMissingSource) {
  const auto result = compiler::compile({.source = "/nonexistent/k.hyk"});
  EXPECT_EQ(message(result), "NotFound: /nonexistent/k.hyk: no such file");
}

TEST(Compile, RefusesADirectoryAsSource) {
  EXPECT_EQ(compiler::compile({.source = "/"}).status().code(), StatusCode::kInvalidArgument);
}

TEST(Compile, NamesAnUnknownTarget) {
  const TextFile file(kSmall);
  const auto result = compiler::compile({.source = file.path(), .targets = {"vax-11"}});
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message(result), HasSubstr("unknown target 'vax-11'; known are x86-64,"));
}

TEST(Compile, RefusesATargetGivenTwiceOrNone) {
  const TextFile file(kSmall);
  const auto twice = compiler::compile({.source = file.path(), .targets = {"x86-64", "x86-64"}});
  EXPECT_THAT(message(twice), HasSubstr("target 'x86-64' is given twice"));
  const auto none = compiler::compile({.source = file.path(), .targets = {}});
  EXPECT_EQ(none.status().code(), StatusCode::kInvalidArgument);
}

TEST(Compile, NamesAMissingCompiler) {
  const TextFile file(kSmall);
  const auto result = compiler::compile({.source = file.path(), .clang = "no-such-clang"});
  EXPECT_EQ(message(result), "Unavailable: no-such-clang: no such compiler");
}

// What the dialect forbids: `line` is where the message must point.
struct Rejected {
  const char* name;
  const char* source;
  int line;
  const char* message;
};

class CompileRejects : public ::testing::TestWithParam<Rejected> {};

TEST_P(CompileRejects, WithTheLine) {
  const TextFile file(GetParam().source);
  const auto result = compiler::compile({.source = file.path(), .targets = {"x86-64"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message(result),
              HasSubstr(file.path() + ":" + std::to_string(GetParam().line) + ":"));
  EXPECT_THAT(message(result), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, CompileRejects,
    ::testing::Values(
        Rejected{"a_syntax_error", "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS { int x = ; }\n}\n", 2,
                 "expected expression"},
        Rejected{"break_out_of_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    if (HY_X == 2) break;\n  }\n}\n", 3,
                 "break"},
        Rejected{"return_from_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    if (HY_X == 2) return;\n  }\n}\n", 3,
                 "return"},
        Rejected{
            "goto_out_of_a_block",
            "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    if (HY_X == 2) goto end;\n  }\nend:;\n}\n",
            3, "end"},
        Rejected{"nested_blocks",
                 "HY_KERNEL(k, 4, 1, 1) {\n  HY_ITEMS {\n    HY_ITEMS {}\n  }\n}\n", 3, "shadows"},
        Rejected{"an_index_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1) {\n  hy_index i = HY_X;\n  HY_ITEMS { (void)i; }\n}\n", 2,
                 "undeclared"},
        Rejected{"a_private_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_PRIVATE(float, p)) {\n  HY_MY(p) = 0;\n}\n", 2,
                 "undeclared"},
        Rejected{"a_write_to_an_input",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(float, x)) {\n  HY_ITEMS { x[HY_X] = 1.0f; }\n}\n", 2,
                 "read-only"},
        Rejected{"a_write_to_a_scalar",
                 "HY_KERNEL(k, 4, 1, 1, HY_SCALAR(uint, n)) {\n  n = 1;\n  HY_ITEMS {}\n}\n", 2,
                 "const"},
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
                 5, "a block writes 's', which is read between it and the block before"},
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
                 2, "'const uint *'"},
        Rejected{"an_atomic_on_a_float",
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, x)) {\n"
                 "  HY_ITEMS { hy_atomic_add(x[0], 1.0f); }\n}\n",
                 2, "'float *'"},
        Rejected{"a_tile_written_outside_a_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR2(float, y)) {\n  HY_Y2(y, 0, 0) = 1.0f;\n}\n",
                 2, "'y' is written outside a block"},
        Rejected{"a_write_to_an_input_tensor",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN_TENSOR1(float, x)) {\n"
                 "  HY_ITEMS { HY_AT1(x, 0) = 1.0f; }\n}\n",
                 2, "read-only"},
        Rejected{"an_output_addressed_as_an_input",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n"
                 "  HY_ITEMS { HY_AT1(y, 0) = 1.0f; }\n}\n",
                 2, "hy_in1_y"},
        Rejected{"a_tensor_of_another_rank",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TILE2(float, y, 2, 2)) {\n"
                 "  HY_TILE_ITEMS1(y, i) { (void)i; }\n}\n",
                 2, "hy_out1_y"},
        Rejected{"a_local_written_by_a_tile_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n  int n = 0;\n"
                 "  HY_TILE_ITEMS1(y, i) {\n    n += (int)i;\n  }\n}\n",
                 4, "a block writes 'n'"},
        Rejected{
            "break_out_of_a_tile_block",
            "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR3(float, y)) {\n  HY_TILE_ITEMS3(y, a, b, c) {\n"
            "    if (a + b + c == 2) break;\n  }\n}\n",
            3, "break"},
        Rejected{"a_block_in_a_tile_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n  HY_TILE_ITEMS1(y, i) {\n"
                 "    HY_ITEMS { HY_Y1(y, i) = 0; }\n  }\n}\n",
                 3, "a block stands inside another"},
        Rejected{"an_item_index_in_a_tile_block",
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT_TENSOR1(float, y)) {\n  HY_TILE_ITEMS1(y, i) {\n"
                 "    HY_Y1(y, i) = (float)HY_X;\n  }\n}\n",
                 3, "undeclared"},
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
                 4, "a block writes 'y', which is read between it and the block before"},
        Rejected{"a_block_whose_function_writes_what_was_just_read",
                 "HY_FN void set(float* q, float a) { q[0] = a; }\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_INOUT(float, y)) {\n  const float a = y[0];\n"
                 "  HY_ITEMS { if (HY_X == 0) set(y, a); }\n}\n",
                 4, "a block writes 'y', which is read between it and the block before"},
        Rejected{"a_write_to_an_input_by_a_cast",
                 "HY_KERNEL(k, 4, 1, 1, HY_IN(float, x)) {\n"
                 "  HY_ITEMS { ((float*)x)[0] = 1.0f; }\n}\n",
                 2, "drops const qualifier"},
        Rejected{"a_pointer_in_a_struct",
                 "struct place {\n  float* at;\n};\n"
                 "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  struct place p = {y};\n"
                 "  p.at[0] = 1.0f;\n  HY_ITEMS {}\n}\n",
                 2, "'at' is a pointer"},
        Rejected{"an_array_of_variable_length",
                 "HY_KERNEL(k, 4, 1, 1, HY_SCALAR(uint, n)) {\n"
                 "  HY_ITEMS { float t[n]; t[0] = 0; (void)t; }\n}\n",
                 2, "variable length array"},
        Rejected{"an_empty_workgroup", "\nHY_KERNEL(k, 4, 0, 1) { HY_ITEMS {} }\n", 2,
                 "1 to 1024 items"},
        Rejected{"a_large_workgroup", "\nHY_KERNEL(k, 1025, 1, 1) { HY_ITEMS {} }\n", 2,
                 "1 to 1024 items"},
        Rejected{"too_much_shared_memory",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_SHARED(float, s, 8193)) { HY_ITEMS {} }\n", 2,
                 "32 KiB"},
        Rejected{"an_unknown_element_type",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_IN(char, x)) { HY_ITEMS {} }\n", 2, "char"},
        Rejected{"an_unknown_parameter_kind",
                 "\nHY_KERNEL(k, 4, 1, 1, HY_INPUT(float, x)) { HY_ITEMS {} }\n", 2, "HY_INPUT"},
        Rejected{"a_reserved_name", "\nHY_KERNEL(k, 4, 1, 1, HY_IN(float, hy_a)) { HY_ITEMS {} }\n",
                 2, "'hy_a'"},
        Rejected{"two_kernels_of_one_name",
                 "HY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\nHY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\n",
                 2, "redefinition"},
        Rejected{
            "an_unknown_function",
            "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) {\n  HY_ITEMS { y[HY_X] = sinf(1.0f); }\n}\n",
            2, "sinf"},
        Rejected{"a_system_header", "#include <stdio.h>\nHY_KERNEL(k, 4, 1, 1) { HY_ITEMS {} }\n",
                 1, "stdio.h"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Compile, ReportsAFunctionThatIsOnlyDeclared) {
  const auto result = compile_text(
      "float sinf(float);\n"
      "HY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) { HY_ITEMS { y[HY_X] = sinf(1.0f); } }\n");
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message(result), HasSubstr("undefined symbol: sinf"));
}

TEST(Compile, RefusesAFileWithoutKernels) {
  EXPECT_THAT(message(compile_text("HY_FN int f(void) { return 1; }\n")),
              HasSubstr("has no kernel"));
  EXPECT_THAT(message(compile_text("")), HasSubstr("has no kernel"));
}

TEST(Compile, TakesFortyParametersAndSaysThatItDoesNotTakeMore) {
  const auto with = [](int count) {
    std::string text = "HY_KERNEL(k, 4, 1, 1";
    for (int i = 0; i < count; ++i) text += ", HY_SCALAR(uint, a" + std::to_string(i) + ")";
    return text + ") { HY_ITEMS {} }\n";
  };
  EXPECT_EQ(message(compile_text(with(40))), "ok");
  EXPECT_THAT(message(compile_text(with(41))),
              HasSubstr("41 parameters and statements on sizes; 40 are the most"));
}

// What is allowed although it looks like what is not.
TEST(Compile, AcceptsAddressesOfWhatAnItemMayWrite) {
  EXPECT_EQ(message(compile_text(R"(
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

TEST(Compile, AcceptsUniformControlFlowAndLocalWrites) {
  EXPECT_EQ(message(compile_text(R"(
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

TEST(Compile, AcceptsWhatABlockSeparatesFromTheRead) {
  EXPECT_EQ(message(compile_text(R"(
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

}  // namespace
}  // namespace halyard::testing
