// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C translated to a shading language: its meaning there, and the constructs that are rejected.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "base/format.h"
#include "kernel/shader_constructs.h"
#include "kernel/shader_test_util.h"

namespace halyard::testing {
namespace {

using ::testing::HasSubstr;

// The Metal source of the constructs as a shared object. Groups have one item, so that any C++
// compiler can compile it.
class MetalProgram {
 public:
  explicit MetalProgram(const std::string& metal, std::vector<std::string> kernels)
      : scratch_(compiler::TemporaryDirectory::create().value()) {
    const std::string source = scratch_.path() / "source.metal";
    const std::string object = scratch_.path() / "source.so";
    std::ofstream file(source);
    file << metal;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      file << fmt::format(
          "extern \"C\" void run_{0}(uint* u, float* f, const void* n) {{\n"
          "  const hy_bindings_{1} b = {{(device uint*)u, (device float*)f}};\n"
          "  {0}(*(constant hy_bindings_{1}*)&b, *(constant hy_constants_{1}*)n, {{0, 0, 0}},\n"
          "      {{0, 0, 0}}, {{1, 1, 1}});\n"
          "}}\n",
          kernels[i], i);
    }
    file.close();
    problem_ = complaints(
        metal_command({"-O1", "-shared", "-fPIC", "-fuse-ld=lld", "-o", object, source}), scratch_);
    if (problem_.empty()) library_ = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  MetalProgram(const MetalProgram&) = delete;
  MetalProgram& operator=(const MetalProgram&) = delete;
  ~MetalProgram() {
    if (library_ != nullptr) ::dlclose(library_);
  }

  const std::string& problem() const { return problem_; }
  void run(const std::string& kernel, std::uint32_t* u, float* f, const int* n) const {
    using Run = void (*)(std::uint32_t*, float*, const void*);
    reinterpret_cast<Run>(::dlsym(library_, ("run_" + kernel).c_str()))(u, f, n);
  }

 private:
  compiler::TemporaryDirectory scratch_;
  std::string problem_;
  void* library_ = nullptr;
};

TEST(ShaderLanguage, MeansWhatCMeans) {
  const TextFile source(kShaderConstructs);
  const Kernels cpu(source.path(), "x86-64");
  std::vector<std::string> names;
  for (const kernel::KernelInfo& kernel : cpu.hyx().kernels()) names.emplace_back(kernel.name);
  const auto metal = shader_of_file(source.path(), "msl-3.0");
  ASSERT_TRUE(metal.ok()) << metal.status().message();
  const MetalProgram program(*metal, names);
  ASSERT_EQ(program.problem(), "") << *metal;
  for (const std::string& name : names) {
    const int n = 5;
    Elements want, got;
    cpu.run(name, {1, 1, 1}, {want.u, want.f}, &n);
    program.run(name, got.u.data(), got.f.data(), &n);
    expect_same(name, got, want);
  }
}

TEST(ShaderLanguage, StoresElementsAsTheyAreInMemory) {
  const char* const text =
      "HY_KERNEL(k, 4, 1, 1, HY_IN(char, a), HY_IN(uchar, b), HY_IN(short, c), HY_IN(ushort, d),\n"
      "          HY_IN(half, e), HY_OUT(half, y), HY_OUT(uchar, z)) {\n"
      "  HY_ITEMS { y[HY_X] = e[HY_X] + a[HY_X]; z[HY_X] = b[HY_X] + c[HY_X] * d[HY_X]; }\n"
      "}";
  const auto metal = shader_of(text, "msl-3.0");
  ASSERT_TRUE(metal.ok()) << metal.status().message();
  EXPECT_EQ(malformed(*metal), "") << *metal;
  EXPECT_THAT(*metal, HasSubstr("hy_p_y[hy_u_hy_x] = half(float(hy_p_e[hy_u_hy_x]) + "
                                "float(int(hy_p_a[hy_u_hy_x])));"));
  const auto spirv = shader_of(text, "spirv-1.5");
  ASSERT_TRUE(spirv.ok()) << spirv.status().message();
  EXPECT_EQ(invalid(*spirv), "");
}

TEST(ShaderLanguage, IsAcceptedByTheCompilersOfItsTargets) {
  const auto spirv = shader_of(kShaderConstructs, "spirv-1.5");
  ASSERT_TRUE(spirv.ok()) << spirv.status().message();
  EXPECT_EQ(invalid(*spirv), "");
}

TEST(ShaderLanguage, NamesTheLineOfWhatATargetCannotSay) {
  struct Case {
    const char* what;  // in the message
    const char* text;  // the fault is in line 3
  };
  const Case cases[] = {
      {"'x' is a 64-bit integer",
       "\nHY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  unsigned long long x = 3; y[0] = (uint)x; } }"},
      {"'x' is a 64-bit integer",
       "\nHY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  long x = 3; y[0] = (uint)x; } }"},
      {"a value that is a floating-point type other than float",
       "\nHY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) { HY_ITEMS {\n"
       "  y[0] = y[0] * 2.0; } }"},
      {"a value that is a floating-point type other than float",
       "\nHY_KERNEL(k, 4, 1, 1, HY_OUT(float, y)) { HY_ITEMS {\n"
       "  y[0] = 2.0 - y[1]; } }"},
      {"'x' has a member 'b', which is an 8- or 16-bit number",
       "struct pair { uint a; uchar b; };\n"
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  struct pair x = {1, 2}; y[0] = x.b; } }"},
      {"the value of ++ or -- after an 8- or 16-bit number",
       "\nHY_KERNEL(k, 4, 1, 1, HY_OUT(uchar, y)) { HY_ITEMS {\n"
       "  y[0] = y[1]++; } }"},
      {"++ or -- on an expression with side effects",
       "\nHY_KERNEL(k, 4, 1, 1, HY_OUT(uchar, y)) { HY_ITEMS { uint i = 0;\n"
       "  ++y[i++]; } }"},
      {"'x' is a floating-point type other than float",
       "\n\nHY_KERNEL(k, 4, 1, 1, HY_IN(double, x), HY_OUT(uint, y)) { HY_ITEMS {} }"},
      {"'f' calls itself",
       "HY_FN uint f(uint x) {\n"
       "  if (x < 2) return x;\n"
       "  return f(x - 1); }\n"
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS { y[0] = f(y[0]); } }"},
      {"a pointer or array as an argument (of 'first')",
       "HY_FN uint first(const uint* x) { return x[0]; }\n"
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS { uint t[2] = {1, 2};\n"
       "  y[0] = first(t); } }"},
      {"goto",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  uint i = 0; if (i > 2)\n"
       "  goto done; y[0] = i;\n  done:; } }"},
      {"'x' is a union",
       "union both { uint u; float f; };\n"
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  union both x; x.f = 1.0f; y[0] = x.u; } }"},
      {"statements within an expression",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n\n"
       "  y[0] = ({ uint a = 1; a; }); } }"},
      {"'x' is a struct without a name",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n\n"
       "  struct { uint a; } x = {1}; y[0] = x.a; } }"},
      {"'x' has a member 'b', which is a bit-field",
       "struct bits { uint a; uint b : 3; };\n"
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  struct bits x = {1, 2}; y[0] = x.b; } }"},
      {"a case nested in a statement",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  switch (y[0]) { case 1: if (y[1]) {\n"
       "    case 2: y[2] = 1; } } } }"},
      {"a range of cases",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  switch (y[0]) {\n"
       "    case 1 ... 3: y[2] = 1; } } }"},
      {"a call of '__builtin_clz'",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n\n"
       "  y[0] = (uint)__builtin_clz(y[1]); } }"},
      {"__builtin_trap()",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  if (y[0])\n"
       "    __builtin_trap(); } }"},
      {"a pointer, other than to index it at once",
       "HY_KERNEL(k, 4, 1, 1, HY_IN(uint, x), HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  uint i = 0;\n"
       "  y[0] = (i++, x)[0]; } }"},
      {"side effects",
       "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) { HY_ITEMS {\n"
       "  uint i = 0;\n"
       "  y[i++] += 1.5f; } }"},
  };
  const auto expect_rejection = [](const Case& fault, const std::string& target) {
    const auto result = shader_of(fault.text, target);
    ASSERT_FALSE(result.ok()) << fault.what;
    const std::string message(result.status().message());
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(message, HasSubstr("not possible in " + target + ": "));
    EXPECT_THAT(message, HasSubstr(fault.what));
    EXPECT_THAT(message, HasSubstr(".hyk:3:")) << fault.what;
  };
  for (const Case& fault : cases) expect_rejection(fault, "msl-3.0");
  expect_rejection(cases[0], "spirv-1.5");
}

TEST(ShaderLanguage, CompilesWhatTheCpuWouldNotNeedToSay) {
  // A function that no kernel calls may contain anything.
  EXPECT_TRUE(shader_of("HY_FN double half_of(double x) { return x / 2; }\n"
                        "HY_KERNEL(k, 1, 1, 1) { HY_ITEMS {} }",
                        "msl-3.0")
                  .ok());
}

TEST(ShaderLanguage, SaysWhereEachStatementIs) {
  const auto metal = shader_of(
      "HY_KERNEL(k, 4, 1, 1, HY_OUT(uint, y)) {\n"
      "  HY_ITEMS {\n"
      "    y[0] = 1;\n"
      "\n\n"
      "    y[1] = 2;\n"
      "  }\n"
      "}",
      "msl-3.0");
  ASSERT_TRUE(metal.ok());
  // The #line before a statement, or before the previous one, gives its place.
  EXPECT_THAT(*metal, HasSubstr("    hy_p_y[0] = 1u;\n#line 6 \"halyard-test-"));
  EXPECT_THAT(*metal, HasSubstr(".hyk\"\n    hy_p_y[1] = 2u;\n"));
}

TEST(ShaderLanguage, KeepsFloatsAsTheyAre) {
  const char* const text =
      "HY_KERNEL(k, 1, 1, 1, HY_OUT(float, y)) { HY_ITEMS { y[0] = 0.1f * 3.0f + 0.2f;"
      " y[1] = -__builtin_inff(); y[2] = y[3] / y[4]; } }";
  const auto metal = shader_of(text, "msl-3.0");
  ASSERT_TRUE(metal.ok());
  // In float, not in double and then rounded: that would be 0.3 + 0.2.
  EXPECT_THAT(*metal, HasSubstr(fmt::format(" = {}f;", 0.1f * 3.0f + 0.2f)));
  EXPECT_THAT(*metal, HasSubstr("as_type<float>(0xff800000u)"));
  EXPECT_THAT(*metal, HasSubstr("metal::precise::divide(hy_p_y[3], hy_p_y[4])"));
  EXPECT_THAT(*metal, HasSubstr("#pragma METAL fp contract(off)\n"));
}

TEST(ShaderLanguage, RefusesAKernelNamedAsAWordOfMetal) {
  const char* const text = "\n\nHY_KERNEL(bfloat, 1, 1, 1) { HY_ITEMS {} }";
  const auto metal = shader_of(text, "msl-3.0");
  EXPECT_THAT(std::string(metal.status().message()), HasSubstr(".hyk:3:"));
  EXPECT_THAT(std::string(metal.status().message()),
              HasSubstr("a kernel named 'bfloat', a word of Metal"));
  EXPECT_TRUE(shader_of(text, "spirv-1.5").ok());
}

}  // namespace
}  // namespace halyard::testing
