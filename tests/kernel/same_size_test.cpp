// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HY_SAME_SHAPE and HY_SAME_SIZE appear in the reflection and nowhere else.
// tests/hal/launch_test.cpp tests their effect on a launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/manifest.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "x0=y1": the statements of a file's first kernel.
std::vector<std::string> equal_sizes(const kernel::Hyx& hyx) {
  std::vector<std::string> all;
  const kernel::KernelInfo& k = hyx.kernels()[0];
  for (const kernel::EqualSizes& each : k.equal_sizes) {
    all.push_back(fmt::format("{}{}={}{}", k.bindings[each.binding].name, each.dimension,
                              k.bindings[each.other_binding].name, each.other_dimension));
  }
  return all;
}

std::vector<std::string> equal_sizes_of(const std::string& list) {
  const auto bytes = compile_text("HY_KERNEL(k, 4, 1, 1, " + list + ") { HY_ITEMS {} }\n");
  if (!bytes.ok()) return {bytes.status().to_string()};
  return equal_sizes(kernel::Hyx::parse(*bytes, "k").value());
}

TEST(SameSize, AShapeIsAnEqualityForEachDimension) {
  EXPECT_THAT(equal_sizes_of("HY_IN_TENSOR1(int, x), HY_OUT_TILE1(int, y, 4), HY_SAME_SHAPE(x, y)"),
              ElementsAre("x0=y0"));
  EXPECT_THAT(
      equal_sizes_of("HY_IN(int, a), HY_OUT_TENSOR3(int, y), HY_INOUT_TILE3(int, z, 4, 2, 1), "
                     "HY_SAME_SHAPE(z, y)"),
      ElementsAre("z0=y0", "z1=y1", "z2=y2"));
}

TEST(SameSize, ASizeEqualsThatOfAnotherDimensionOrOfTheTensorItself) {
  EXPECT_THAT(equal_sizes_of("HY_IN_TENSOR2(int, x), HY_OUT_TENSOR3(int, y), "
                             "HY_SAME_SIZE(x, 1, y, 2), HY_SAME_SIZE(y, 0, y, 1)"),
              ElementsAre("x1=y2", "y0=y1"));
}

TEST(SameSize, MayBeStatedBeforeTheTensorsAndAmongThem) {
  EXPECT_THAT(equal_sizes_of("HY_SAME_SHAPE(x, y), HY_SCALAR(int, n), HY_IN_TENSOR1(int, x), "
                             "HY_SAME_SIZE(z, 1, y, 0), HY_IN_TENSOR2(int, z), "
                             "HY_OUT_TENSOR1(int, y)"),
              ElementsAre("x0=y0", "z1=y0"));
}

TEST(SameSize, NamesMayBeAnyAndComeFromMacros) {
  EXPECT_THAT(equal_sizes_of("HY_IN_TENSOR1(int, a$b), HY_IN_TENSOR1(int, a), "
                             "HY_OUT_TENSOR1(int, b$a), HY_SAME_SHAPE(a$b, a), "
                             "HY_SAME_SIZE(a, 0, b$a, 0)"),
              ElementsAre("a$b0=a0", "a0=b$a0"));
  const auto bytes = compile_text(R"(
#define ROWS 0
#define Y result
#define KERNEL(name, ...) \
  HY_KERNEL(name, 4, 1, 1, HY_IN_TENSOR2(int, x), HY_OUT_TENSOR2(int, Y), __VA_ARGS__)
KERNEL(k, HY_SAME_SIZE(x, ROWS, Y, 1)) { HY_ITEMS {} }
)");
  EXPECT_THAT(equal_sizes(kernel::Hyx::parse(bytes.value(), "k").value()),
              ElementsAre("x0=result1"));
}

TEST(SameSize, AKernelMayStateNothing) {
  EXPECT_THAT(equal_sizes_of("HY_IN_TENSOR1(int, x), HY_OUT_TENSOR1(int, y)"), IsEmpty());
}

// All forms of the language: for CPUs, PTX, AMD and shader texts.
TEST(SameSize, IsInNoTargetsCode) {
  const std::string body =
      ") {\n  HY_TILE_ITEMS2(y, i, j) {\n"
      "    HY_Y2(y, i, j) = HY_AT2(x, HY_ORIGIN(y, 1) + j, HY_ORIGIN(y, 0) + i);\n  }\n"
      "  HY_ITEMS { s[HY_X] = HY_X; HY_MY(p) = s[0]; }\n}\n";
  const std::string without =
      "HY_KERNEL(k, 8, 1, 1, HY_IN_TENSOR2(int, x), HY_OUT_TILE2(int, y, 4, 8), "
      "HY_SHARED(uint, s, 8), HY_PRIVATE(uint, p)";
  const std::string with =
      "HY_KERNEL(k, 8, 1, 1, HY_SAME_SIZE(x, 0, y, 1), HY_IN_TENSOR2(int, x), "
      "HY_OUT_TILE2(int, y, 4, 8), HY_SHARED(uint, s, 8), "
      "HY_PRIVATE(uint, p), HY_SAME_SIZE(x, 1, y, 0), HY_SAME_SHAPE(y, x)";
  const std::string path = TextFile("").path();  // a target's text may contain it
  for (const std::string target : {"x86-64", "ptx-sm_80", "hsaco-gfx942", "spirv-1.5", "msl-3.0"}) {
    const auto image = [&](const std::string& text) {
      std::ofstream(path) << text;
      const kernel::Hyx hyx =
          kernel::Hyx::parse(compiler::compile({.source = path, .targets = {target}}).value(), "k")
              .value();
      const auto bytes = hyx.images()[0].bytes;
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    EXPECT_EQ(image(with + body), image(without + body)) << target;
  }
  std::filesystem::remove(path);
}

struct Misuse {
  const char* name;
  const char* list;
  const char* message;
};

class SameSizeMisuse : public ::testing::TestWithParam<Misuse> {};

TEST_P(SameSizeMisuse, IsRefusedByKernelEntryAndFile) {
  const TextFile file(std::string("\nHY_KERNEL(k, 4, 1, 1, HY_IN_TENSOR2(int, x), HY_IN(int, b), "
                                  "HY_SCALAR(int, n), HY_OUT_TENSOR3(int, y), ") +
                      GetParam().list + ") { HY_ITEMS {} }\n");
  const Status status = compiler::compile({.source = file.path(), .targets = {"x86-64"}}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.to_string(), HasSubstr(file.path() + ":2:"));
  EXPECT_THAT(status.to_string(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, SameSizeMisuse,
    ::testing::Values(
        Misuse{"shape_of_no_parameter", "HY_SAME_SHAPE(x, z)",
               "kernel k: HY_SAME_SHAPE(x, z): 'z' is not a tensor of the kernel"},
        Misuse{"shape_of_a_buffer", "HY_SAME_SHAPE(b, x)",
               "kernel k: HY_SAME_SHAPE(b, x): 'b' is not a tensor of the kernel"},
        Misuse{"shape_of_another_rank", "HY_SAME_SHAPE(x, y)",
               "kernel k: HY_SAME_SHAPE(x, y): 'x' has rank 2, 'y' rank 3"},
        Misuse{"shape_of_itself", "HY_SAME_SHAPE(x, x)",
               "kernel k: HY_SAME_SHAPE(x, x): compares a size with itself"},
        Misuse{"size_of_no_parameter", "HY_SAME_SIZE(z, 0, x, 0)",
               "kernel k: HY_SAME_SIZE(z, 0, x, 0): 'z' is not a tensor of the kernel"},
        Misuse{"size_of_a_scalar", "HY_SAME_SIZE(x, 0, n, 0)",
               "kernel k: HY_SAME_SIZE(x, 0, n, 0): 'n' is not a tensor of the kernel"},
        Misuse{
            "dimension_of_a_higher_rank", "HY_SAME_SIZE(y, 2, x, 2)",
            "kernel k: HY_SAME_SIZE(y, 2, x, 2): '2' is not a dimension of 'x', which has rank 2"},
        Misuse{
            "dimension_too_many", "HY_SAME_SIZE(x, 2, y, 2)",
            "kernel k: HY_SAME_SIZE(x, 2, y, 2): '2' is not a dimension of 'x', which has rank 2"},
        Misuse{"dimension_that_is_no_number", "HY_SAME_SIZE(x, n, y, 0)",
               "kernel k: HY_SAME_SIZE(x, n, y, 0): 'n' is not a dimension of 'x'"},
        Misuse{"dimension_that_is_missing", "HY_SAME_SIZE(x, , y, 0)",
               "kernel k: HY_SAME_SIZE(x, , y, 0): '' is not a dimension of 'x'"},
        Misuse{"dimension_beyond_all_numbers", "HY_SAME_SIZE(x, 0, y, 4294967296)",
               "'4294967296' is not a dimension of 'y'"},
        Misuse{"size_of_itself", "HY_SAME_SIZE(x, 1, x, 1)",
               "kernel k: HY_SAME_SIZE(x, 1, x, 1): compares a size with itself"},
        Misuse{"said_twice", "HY_SAME_SIZE(x, 1, y, 1), HY_SAME_SIZE(x, 1, y, 1)",
               "a second HY_SAME_SIZE(x, 1, y, 1)"},
        Misuse{"shape_said_twice", "HY_SAME_SHAPE(x, x), HY_SAME_SHAPE(x, x)",
               "a second HY_SAME_SHAPE(x, x)"},
        Misuse{"too_few_arguments", "HY_SAME_SHAPE(x)", "HY_SAME_SHAPE"}),
    [](const auto& test) { return std::string(test.param.name); });

// ---- Manifests -------------------------------------------------------------------------------

std::string manifest(const std::string& pairs) {
  return R"({"kernels": [{"name": "k", "workgroup_size": [64],
    "bindings": [{"name": "x", "access": "read", "type": "int32", "rank": 2},
                 {"name": "b", "access": "read", "type": "int32"},
                 {"name": "y", "access": "write", "type": "int32", "rank": 1}],
    "constants": [], "equal_sizes": [)" +
         pairs + "]}]}";
}

TEST(SameSize, IsInAManifestByTheNamesOfTheSizes) {
  const auto kernels =
      compiler::parse_manifest(manifest(R"(["x.size1", "y.size0"], ["x.size0", "x.size1"])"), "m");
  EXPECT_THAT(kernels.value()[0].equal_sizes,
              ElementsAre(::testing::FieldsAre(0, 1, 2, 0), ::testing::FieldsAre(0, 0, 0, 1)));
}

TEST(SameSize, OfNoTensorInAManifestIsRefused) {
  for (const std::string pair :
       {R"(["x.size1", "b.size0"])", R"(["x.size2", "y.size0"])", R"(["x.size1"])",
        R"(["x.size1", "y.size0", "y.size0"])", R"(["x.size1", 0])", R"("x.size1")", "{}",
        R"(["x.size1", "x.size"])", R"(["x.size1", "x.size-"])", R"(["x.size1", ""])",
        R"(["x.size1", "x.size00"])"}) {
    const Status status = compiler::parse_manifest(manifest(pair), "m").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << pair;
    EXPECT_THAT(status.to_string(),
                HasSubstr("m: kernel k: has in 'equal_sizes' an entry that is not a pair"))
        << pair;
  }
}

}  // namespace
}  // namespace halyard::testing
