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
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(Compile, CharIsSignedOnEveryTarget) {
  for (const std::string_view target : compiler::known_targets()) {
    EXPECT_EQ(message(compile_text(
                  "_Static_assert((char)-1 < 0, \"as on x86-64\");\n" + std::string(kSmall),
                  std::string(target))),
              "ok")
        << target;
  }
}

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

TEST(Compile, TakesFortyParametersAndReportsMore) {
  const auto with = [](int count) {
    std::string text = "HY_KERNEL(k, 4, 1, 1";
    for (int i = 0; i < count; ++i) text += ", HY_SCALAR(uint, a" + std::to_string(i) + ")";
    return text + ") { HY_ITEMS {} }\n";
  };
  EXPECT_EQ(message(compile_text(with(40))), "ok");
  EXPECT_THAT(message(compile_text(with(41))),
              HasSubstr("41 parameters and statements; 40 are the most"));
  EXPECT_THAT(message(compile_text(with(60))),
              HasSubstr("more than 40 parameters and statements"));
}

// Adds no line about the errors that follow from it.
TEST(Compile, ReportsAMissingMacroArgumentFirst) {
  const auto with = [](const std::string& parameter) {
    return message(compile_text("HY_KERNEL(k, 64, 1, 1, HY_OUT(uint, y), " + parameter +
                                ") { HY_ITEMS { y[HY_X] = n; } }\n"));
  };
  EXPECT_THAT(with("HY_SCALAR(uint n)"),
              AllOf(HasSubstr("error: too few arguments for HY_SCALAR(T, x)"),
                    Not(HasSubstr("more than 40 parameters"))));
  EXPECT_THAT(with("HY_SCALAR(uint, n, m)"),
              HasSubstr("error: too many arguments for HY_SCALAR(T, x)"));
}

}  // namespace
}  // namespace halyard::testing
