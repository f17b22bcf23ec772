// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/sim_msl/msl_test_support.h"

namespace halyard::sim::msl::test {
namespace {

template <class T>
ConstantValue value(std::int32_t index, DataType type, T v) {
  ConstantValue c;
  c.index = index;
  c.type = type;
  std::memcpy(c.bytes.data(), &v, sizeof v);
  return c;
}

TEST(Library, Error_HasTheLineOfTheText) {
  const Library::Result result = Library::compile(
      "#include <metal_stdlib>\n\nkernel void k(device float* x [[buffer(0)]]) {\n  x[0] = y;\n}\n",
      {});
  EXPECT_EQ(result.library, nullptr);
  EXPECT_NE(result.log.find("program_source:4:10: error: use of undeclared identifier 'y'"),
            std::string::npos)
      << result.log;
}

TEST(Library, AddressSpaces_ThatMetalKeepsApart_AreErrors) {
  const auto compiles = [](std::string_view body, bool strict) {
    return Library::compile(
               "#include <metal_stdlib>\nvoid to_device(device const float* p) {}\n"
               "kernel void k(device float* x [[buffer(0)]], constant float* c [[buffer(1)]]) {" +
                   std::string(body) + "}",
               {.strict = strict})
               .library != nullptr;
  };
  EXPECT_TRUE(compiles("x[0] = c[0];", true));
  EXPECT_FALSE(compiles("c[0] = x[0];", false));
  EXPECT_FALSE(compiles("threadgroup float* s = x;", false));
  EXPECT_FALSE(compiles("device const float* d = c;", true));
  EXPECT_TRUE(compiles("device const float* d = c;", false));
}

TEST(Library, Arguments_AreDescribed) {
  const std::shared_ptr<const Library> library = compile(R"(
struct Inner { float4 color; half2 h[3]; };
struct Args { device const float* x [[id(0)]]; device Inner* y [[id(3)]]; array<device uint*, 4> z [[id(4)]]; };
kernel void k(constant Args& args [[buffer(2)]], device Inner* inner [[buffer(1)]],
              constant uint3& n [[buffer(0)]], threadgroup float4* s [[threadgroup(1)]],
              uint3 i [[thread_position_in_grid]]) {
  threadgroup float a[32];
  threadgroup half b;
  a[i.x] = 1;
  b = 2;
}
kernel void without(device atomic_uint* a, constant float& b, device int* c [[buffer(0)]]) {})");
  ASSERT_NE(library, nullptr);
  ASSERT_EQ(library->functions().size(), 2u);
  const FunctionInfo& k = library->functions()[0];
  EXPECT_EQ(k.name, "k");
  EXPECT_GE(k.static_threadgroup_bytes, 130u);
  EXPECT_LT(k.static_threadgroup_bytes, 160u);
  ASSERT_EQ(k.arguments.size(), 4u);
  const Argument& args = k.arguments[0];
  EXPECT_EQ(args.index, 2u);
  EXPECT_TRUE(args.argument_buffer);
  EXPECT_TRUE(args.constant_space);
  EXPECT_EQ(args.access, Access::kReadOnly);
  ASSERT_EQ(args.members.size(), 3u);
  EXPECT_EQ(args.members[0].name, "x");
  EXPECT_EQ(args.members[0].access, Access::kReadOnly);
  EXPECT_EQ(args.members[0].element_type, DataType::kFloat);
  EXPECT_EQ(args.members[1].id, 3);
  EXPECT_EQ(args.members[1].offset, 8u);
  EXPECT_EQ(args.members[1].access, Access::kReadWrite);
  EXPECT_EQ(args.members[1].element_size, 32u);
  EXPECT_EQ(args.members[2].array_length, 4u);
  EXPECT_EQ(args.members[2].offset, 16u);
  const Argument& inner = k.arguments[1];
  EXPECT_FALSE(inner.argument_buffer);
  EXPECT_EQ(inner.access, Access::kReadWrite);
  ASSERT_EQ(inner.members.size(), 2u);
  EXPECT_EQ(static_cast<int>(inner.members[0].type), 6);  // MTLDataTypeFloat4
  EXPECT_EQ(k.arguments[2].size, 16u);
  EXPECT_EQ(k.arguments[3].kind, ArgumentKind::kThreadgroup);
  EXPECT_EQ(k.arguments[3].index, 1u);
  const FunctionInfo& without = library->functions()[1];
  EXPECT_EQ(without.arguments[0].index, 1u);
  EXPECT_EQ(without.arguments[1].index, 2u);
  EXPECT_EQ(without.arguments[0].type, DataType::kUint);
}

constexpr std::string_view kConstants = R"(
constant int scale [[function_constant(0)]];
constant bool twice [[function_constant(1)]];
constant bool offset_given = is_function_constant_defined(offset);
constant float2 both [[function_constant(7)]];
constant float offset [[function_constant(2)]];
kernel void k(device float* y [[buffer(0)]], device float* z [[buffer(1), function_constant(twice)]]) {
  y[0] = scale * (twice ? 2 : 1) + (is_function_constant_defined(offset) ? offset : 0.5f) + both.y;
  if (twice) z[0] = 9;
}
kernel void other(device float* y [[buffer(0)]]) { y[0] = 1; })";

TEST(Library, FunctionConstants_AreSpecialized) {
  const std::shared_ptr<const Library> library = compile(kConstants);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->constants().size(), 4u);
  EXPECT_EQ(library->function("k").function, nullptr);
  EXPECT_NE(library->function("k").log, "");
  EXPECT_NE(library->function("other").function, nullptr);
  EXPECT_EQ(library->function("no_such_function").log, "");
  const float two[2] = {0.0f, 100.0f};
  std::vector<ConstantValue> values = {value(0, DataType::kInt, 3),
                                       value(1, DataType::kBool, true)};
  ConstantValue pair;
  pair.name = "both";
  pair.type = static_cast<DataType>(4);
  std::memcpy(pair.bytes.data(), two, sizeof two);
  values.push_back(pair);
  std::vector<float> y(1), z(1);
  Outcome outcome = run(kernel(kConstants, "k", values), {1}, {1}, {bind(0, y), bind(1, z)});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y[0], 106.5f);
  EXPECT_EQ(z[0], 9.0f);
  values[1] = value(1, DataType::kBool, false);
  values.push_back(value(2, DataType::kFloat, 10.0f));
  const std::shared_ptr<const Function> f = kernel(kConstants, "k", values);
  EXPECT_FALSE(f->info().arguments[1].active);
  outcome = run(f, {1}, {1}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y[0], 113.0f);
}

TEST(Library, Templates_HaveHostNames) {
  constexpr std::string_view kText = R"(
#define instantiate(name, type) template [[host_name(name)]] [[kernel]] decltype(scale<type, 3>) scale<type, 3>;
template <typename T, int N> [[kernel]] void scale(device T* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  threadgroup T s[N];
  s[i % N] = x[i];
  x[i] = s[i % N] * T(N);
}
instantiate("scale_float", float)
instantiate("scale_half", half)
template [[host_name("scale_int")]] kernel void scale<int, 2>(device int*, uint);
)";
  std::vector<float> x = {1, 2, 3};
  std::vector<int> y = {1, 2, 3};
  EXPECT_EQ(run(kernel(kText, "scale_float"), {3}, {1}, {bind(0, x)}).fault, Fault::kNone);
  EXPECT_EQ(run(kernel(kText, "scale_int"), {3}, {1}, {bind(0, y)}).fault, Fault::kNone);
  EXPECT_EQ(x, (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(y, (std::vector<int>{2, 4, 6}));
}

TEST(Library, MathModes_SafeIsExact_FastIsNot) {
  constexpr std::string_view kText = R"(
kernel void k(device float* y [[buffer(0)]]) {
  y[0] = (y[1] + y[2]) - y[2];
  y[3] = y[4] * y[5] + y[6];
})";
  // 1 + 2^24 rounds; reassociation finds 1. The product needs 48 bits, which contraction keeps.
  const std::vector<float> start = {0, 1, 16777216.0f, 0, 1.0f + 0x1p-23f, 1.0f - 0x1p-23f, -1.0f};
  std::vector<float> y = start;
  (void)run(kernel(kText, "k", {}, {.math_mode = MathMode::kSafe}), {1}, {1}, {bind(0, y)});
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[3], 0.0f);
  y = start;
  (void)run(kernel(kText), {1}, {1}, {bind(0, y)});
  EXPECT_EQ(y[0], 1.0f);
  y = start;
  (void)run(kernel("#pragma METAL fp math_mode(safe)\n" + std::string(kText)), {1}, {1},
            {bind(0, y)});
  EXPECT_EQ(y[0], 0.0f);
}

TEST(Library, FastFunctions_Perturbed_DifferInTheLastBit) {
  constexpr std::string_view kText = R"(
kernel void k(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  y[3 * i] = sin(float(i)); y[3 * i + 1] = precise::sin(float(i)); y[3 * i + 2] = fast::sin(float(i));
})";
  int differ = 0;
  std::vector<float> y(300);
  const CompileOptions options{.math_mode = MathMode::kSafe, .perturb_fast_functions = true};
  (void)run(kernel(kText, "k", {}, options), {100}, {10}, {bind(0, y)});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(y[3 * i], y[3 * i + 2]);
    EXPECT_NEAR(y[3 * i + 1], std::sin(static_cast<double>(i)), 1e-7);
    EXPECT_NEAR(y[3 * i], y[3 * i + 1], 2e-7);
    differ += y[3 * i] != y[3 * i + 1] ? 1 : 0;
  }
  EXPECT_GT(differ, 20);
  CompileOptions precise = options;
  precise.precise_functions = true;
  (void)run(kernel(kText, "k", {}, precise), {100}, {10}, {bind(0, y)});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(y[3 * i], y[3 * i + 1]);
}

TEST(Library, ManyFunctions_AreCompiledWhenTheyAreAskedFor) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "kernel void k" + std::to_string(i) +
            "(device int* y [[buffer(0)]]) { threadgroup int s[" + std::to_string(i + 1) +
            "]; s[0] = " + std::to_string(i) + "; y[0] = s[0]; }\n";
  }
  const std::shared_ptr<const Library> library = compile(text);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->functions().size(), 100u);
  EXPECT_EQ(library->functions()[99].arguments.size(), 1u);
  std::vector<int> y(1);
  const std::shared_ptr<const Function> f = library->function("k57").function;
  EXPECT_EQ(run(f, {1}, {1}, {bind(0, y)}).fault, Fault::kNone);
  EXPECT_EQ(y[0], 57);
  EXPECT_EQ(f->info().static_threadgroup_bytes, 232u);
}

TEST(Library, Kernel_NamedAsAFunctionOfMetal_Runs) {
  std::vector<float> y = {3, 4};
  (void)run(
      kernel("kernel void max(device float* y [[buffer(0)]]) { y[0] = metal::max(y[0], y[1]); }",
             "max"),
      {1}, {1}, {bind(0, y)});
  EXPECT_EQ(y[0], 4.0f);
}

TEST(Library, Macros_AreDefined) {
  std::vector<int> y(2);
  (void)run(
      kernel("kernel void k(device int* y [[buffer(0)]]) { y[0] = N; y[1] = __METAL_VERSION__; }",
             "k", {}, {.language_version = 0x20004, .macros = {{"N", "5"}}}),
      {1}, {1}, {bind(0, y)});
  EXPECT_EQ(y, (std::vector<int>{5, 240}));
}

}  // namespace
}  // namespace halyard::sim::msl::test
