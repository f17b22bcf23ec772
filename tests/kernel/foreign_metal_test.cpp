// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in GLSL, SPIR-V and Metal as texts of convention hy-metal-2, and the reader of such
// texts.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/metal_text.h"
#include "compiler/process.h"
#include "compiler/spirv.h"
#include "compiler/spirv_to_metal.h"
#include "fuzz/hyx_contents.h"
#include "kernel/foreign_test_util.h"
#include "kernel/hyx.h"

namespace halyard::compiler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kMetal = R"(#include <metal_stdlib>
struct Bindings {
  device const float* x [[id(0)]];
  device float* y [[id(1)]];
};
struct Constants { float a; uint n; };
kernel void saxpy(constant Bindings& b [[buffer(0)]], constant Constants& c [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  if (i < c.n) b.y[i] = c.a * b.x[i] + b.y[i];
}
)";

class ForeignMetal : public ForeignFixture {};

// "device const float* [[id(0)]]" of each member of the argument buffer, then the other arguments.
std::vector<std::string> interface_of(std::string_view metal, std::string_view kernel) {
  const MetalText text = read_metal(metal);
  const auto found = std::ranges::find(text.kernels, kernel, &MetalKernel::name);
  std::vector<std::string> result;
  if (found == text.kernels.end()) return result;
  for (const MetalVariable& argument : found->arguments) {
    const auto* const buffer = argument.attribute("buffer");
    if (buffer == nullptr) continue;
    result.push_back(argument.space + " buffer " + std::to_string(*buffer->value));
    if (*buffer->value != 0) continue;
    const auto structure = std::ranges::find(text.structs, argument.type, &MetalStruct::name);
    for (const MetalVariable& member : structure->members) {
      result.push_back(member.space + (member.is_const ? " const" : "") + " id " +
                       std::to_string(*member.attribute("id")->value));
    }
  }
  return result;
}

TEST_F(ForeignMetal, AShaderIsAMetalTextAsWell) {
  SKIP_WITHOUT("spirv-cross");
  const kernel::Hyx hyx = build(write("mix_in.comp", kGlsl), {"spirv-1.5", "msl-3.0"}).value();
  ASSERT_EQ(hyx.images().size(), 2u);
  EXPECT_EQ(hyx.images()[1].target, "msl-3.0");
  EXPECT_EQ(hyx.images()[1].convention, "hy-metal-2");
  EXPECT_THAT(interface_of(text_of(hyx.images()[1]), "mix_in"),
              ElementsAre("constant buffer 0", "device const id 0", "device id 1", "device id 2",
                          "constant buffer 1"));
}

TEST_F(ForeignMetal, BindingsOfAllSetsOfAShaderAreNumberedInTheirOrder) {
  SKIP_WITHOUT("spirv-cross");
  constexpr std::string_view kText = R"(#version 450
layout(local_size_x = 64) in;
layout(set = 3, binding = 0) readonly buffer D { float d[]; };
layout(set = 1, binding = 7) buffer C { int c[]; };
layout(set = 0, binding = 9) writeonly buffer A { float a[]; };
layout(set = 1, binding = 2) readonly buffer B { uint b[]; };
void main() { a[0] = d[0]; c[0] = int(b[0]); }
)";
  const std::string source = write("sets.comp", kText);
  const kernel::Hyx hyx = build(source, {"msl-3.0"}).value();
  const auto& bindings = hyx.kernels()[0].bindings;
  ASSERT_EQ(bindings.size(), 4u);
  std::string names;
  for (const kernel::BindingInfo& binding : bindings) names += binding.name;
  EXPECT_EQ(names, "abcd");
  EXPECT_THAT(interface_of(text_of(hyx.images()[0]), "sets"),
              ElementsAre("constant buffer 0", "device id 0", "device const id 1", "device id 2",
                          "device const id 3"));
  expect_refused(source, {}, StatusCode::kInvalidArgument, "in set", {"spirv-1.5"});
}

TEST_F(ForeignMetal, AShaderForMetalHasAsManyBindingsAsAKernelMayHave) {
  SKIP_WITHOUT("spirv-cross");
  std::string text = "#version 450\nlayout(local_size_x = 64) in;\n", sum = "0u";
  for (int i = 0; i < 64; ++i) {
    const std::string n = std::to_string(i);
    text += "layout(set = 0, binding = " + n + ") buffer B" + n + " { uint b" + n + "[]; };\n";
    sum += " + b" + n + "[1]";
  }
  const kernel::Hyx hyx =
      build(write("wide.comp", text + "void main() { b63[0] = " + sum + "; }\n"), {"msl-3.0"})
          .value();
  EXPECT_EQ(hyx.kernels()[0].bindings.size(), 64u);
  EXPECT_THAT(interface_of(text_of(hyx.images()[0]), "wide"), Contains("device id 63"));
}

TEST_F(ForeignMetal, AShaderForMetalWithoutBindingsHasItsConstantsInBuffer1) {
  SKIP_WITHOUT("spirv-cross");
  const kernel::Hyx hyx = build(write("none.comp", R"(#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint n; };
shared uint t[2];
void main() { t[n] = 1u; barrier(); }
)"),
                                {"msl-3.0"})
                              .value();
  EXPECT_THAT(interface_of(text_of(hyx.images()[0]), "none"), ElementsAre("constant buffer 1"));
}

TEST_F(ForeignMetal, SpecializationConstantsOfAShaderForMetalHaveTheirDefaults) {
  SKIP_WITHOUT("spirv-cross");
  const kernel::Hyx hyx = build(write("special.comp", R"(#version 450
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint n = 77;
layout(set = 0, binding = 0) buffer Y { uint y[]; };
void main() { y[0] = n; }
)"),
                                {"msl-3.0"})
                              .value();
  const std::string text(text_of(hyx.images()[0]));
  EXPECT_THAT(text, HasSubstr("= 77u;"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("function_constant")));
}

// spirv-cross writes a product that is NoContraction as fma(a, b, 0), which is 0 for -0.
TEST_F(ForeignMetal, AShaderForMetalIsNotContractedAndKeepsMinusZero) {
  SKIP_WITHOUT("spirv-cross");
  const kernel::Hyx hyx = build(write("exact.comp", R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Y { float y[]; };
void main() { precise float product = y[0] * y[1]; y[2] = product + y[3]; }
)"),
                                {"msl-3.0"})
                              .value();
  const std::string text(text_of(hyx.images()[0]));
  EXPECT_THAT(text, HasSubstr("#pragma METAL fp contract(off)"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("fma(")));
}

TEST_F(ForeignMetal, AShaderThatMetalCannotRunIsRefused) {
  SKIP_WITHOUT("spirv-cross");
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const std::vector<std::string> targets = {"msl-3.0"};
  constexpr std::string_view kHead =
      "#version 450\nlayout(local_size_x = 64) in;\n"
      "layout(set = 0, binding = 0) buffer Y { uint y[]; };\n";
  expect_refused(write("length.comp", std::string(kHead) + "void main() { y[0] = y.length(); }"),
                 "", kInvalid, "kernel length: it uses the length of a buffer", targets);
  expect_refused(write("vertex.comp", std::string(kHead) + "void main() { y[0] = 1u; }"), "",
                 kInvalid, "a kernel named 'vertex', a word of Metal", targets);
  expect_refused(
      write("wide.comp", std::string(kHead) + "void main() { double d = y[0]; y[1] = uint(d); }"),
      "", kInvalid, "it has doubles, which Metal lacks", targets);
}

TEST_F(ForeignMetal, AMissingTranslatorToMetalIsNamedWithItsPackage) {
  SKIP_WITHOUT("glslangValidator");
  const Environment path("PATH", folder_with({"glslangValidator"}));
  expect_refused(write("k.comp", kGlsl), "", StatusCode::kUnavailable, "install spirv-cross",
                 {"msl-3.0"});
}

// Two entry points that share a function, and one of which uses no constant.
TEST_F(ForeignMetal, AModuleOfSeveralShadersIsOneMetalText) {
  SKIP_WITHOUT("spirv-cross");
  SKIP_WITHOUT("spirv-as");
  const std::string assembly = write("k.spvasm", R"(OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %first "first" %id %x %y %p
OpEntryPoint GLCompute %second "second" %id %y
OpExecutionMode %first LocalSize 64 1 1
OpExecutionMode %second LocalSize 64 1 1
OpName %X "x"
OpName %f "f"
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpMemberDecorate %X 0 Offset 0
OpDecorate %X Block
OpDecorate %x DescriptorSet 1
OpDecorate %x Binding 0
OpDecorate %y DescriptorSet 0
OpDecorate %y Binding 5
OpMemberDecorate %P 0 Offset 0
OpDecorate %P Block
%void = OpTypeVoid
%function = OpTypeFunction %void
%float = OpTypeFloat 32
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%of_float = OpTypeFunction %float %float
%array = OpTypeRuntimeArray %float
%X = OpTypeStruct %array
%to_X = OpTypePointer StorageBuffer %X
%x = OpVariable %to_X StorageBuffer
%y = OpVariable %to_X StorageBuffer
%to_float = OpTypePointer StorageBuffer %float
%P = OpTypeStruct %float
%to_P = OpTypePointer PushConstant %P
%p = OpVariable %to_P PushConstant
%to_constant = OpTypePointer PushConstant %float
%to_uint3 = OpTypePointer Input %uint3
%id = OpVariable %to_uint3 Input
%to_uint = OpTypePointer Input %uint
%zero = OpConstant %uint 0
%two = OpConstant %float 2
%f = OpFunction %float None %of_float
%a = OpFunctionParameter %float
%l0 = OpLabel
%r = OpFMul %float %a %two
OpReturnValue %r
OpFunctionEnd
%first = OpFunction %void None %function
%l1 = OpLabel
%i1 = OpAccessChain %to_uint %id %zero
%g1 = OpLoad %uint %i1
%s1 = OpAccessChain %to_float %y %zero %g1
%w1 = OpLoad %float %s1
%c1 = OpAccessChain %to_constant %p %zero
%k1 = OpLoad %float %c1
%m1 = OpFAdd %float %w1 %k1
%n1 = OpFunctionCall %float %f %m1
%d1 = OpAccessChain %to_float %x %zero %g1
OpStore %d1 %n1
OpReturn
OpFunctionEnd
%second = OpFunction %void None %function
%l2 = OpLabel
%i2 = OpAccessChain %to_uint %id %zero
%g2 = OpLoad %uint %i2
%s2 = OpAccessChain %to_float %y %zero %g2
%w2 = OpLoad %float %s2
%n2 = OpFunctionCall %float %f %w2
OpStore %s2 %n2
OpReturn
OpFunctionEnd
)");
  const std::string module_path = (directory_.path() / "k.spv").string();
  const auto assembled = run_process(
      {find_program("spirv-as"), "--target-env", "vulkan1.2", assembly, "-o", module_path},
      directory_);
  ASSERT_EQ(assembled->exit_code, 0) << assembled->err;
  const std::string module = read_file(module_path, 1 << 20).value();
  EXPECT_TRUE(is_spirv(module));
  const std::vector<Kernel> kernels = reflect_spirv("k", module, Sets::kCondensed).value();
  ASSERT_EQ(kernels.size(), 2u);
  const std::string text = metal_from_spirv("k", module, kernels, directory_).value();
  const std::vector<std::string> common = {"constant buffer 0", "device id 0", "device id 1"};
  EXPECT_EQ(interface_of(text, "first"),
            (std::vector<std::string>{common[0], common[1], common[2], "constant buffer 1"}));
  EXPECT_EQ(interface_of(text, "second"),
            (std::vector<std::string>{"constant buffer 1", common[0], common[1], common[2]}));
  // The block called x is renamed, and the component x of a vector is not.
  EXPECT_THAT(text, AllOf(HasSubstr("float f_0("), HasSubstr("float f_1("), HasSubstr("ID.x]"),
                          ::testing::Not(HasSubstr("struct x\n"))));
}

TEST_F(ForeignMetal, MetalIsPackedAsItIs) {
  const std::string source = write("k.metal", kMetal);
  const kernel::Hyx hyx = build(source, {}, kManifest).value();
  EXPECT_EQ(hyx.images()[0].target, "msl-3.0");
  EXPECT_EQ(hyx.images()[0].convention, "hy-metal-2");
  EXPECT_EQ(text_of(hyx.images()[0]), kMetal);
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  expect_refused(source, "", kInvalid, "give a manifest");
  expect_refused(source, manifest_with("saxpy", "saxp"), kInvalid, "kernel saxp is not in it");
}

TEST_F(ForeignMetal, MetalThatDoesNotFollowTheConventionIsRefusedByName) {
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& text) {
    std::string changed(kMetal);
    ASSERT_NE(changed.find(from), changed.npos) << from;
    changed.replace(changed.find(from), from.size(), to);
    expect_refused(write("k.metal", changed), kManifest, StatusCode::kInvalidArgument,
                   "kernel saxpy: " + text);
  };
  refused("[[buffer(1)]]", "[[buffer(2)]]", "argument c is [[buffer(2)]]; there are buffers 0");
  refused("constant Bindings& b [[buffer(0)]], ", "", "it has no argument buffer, [[buffer(0)]]");
  refused(", constant Constants& c [[buffer(1)]]", "", "it has no [[buffer(1)]]");
  refused("constant Constants& c", "device Constants& c",
          "argument c of [[buffer(1)]] is not in the address space 'constant'");
  refused("uint i [[", "threadgroup float* t [[threadgroup(0)]], uint i [[",
          "argument t is [[threadgroup]], which no launch passes");
  refused("uint i [[", "device float* z, uint i [[", "argument z has no [[buffer(n)]]");
  refused("constant Bindings& b", "constant Other& b",
          "the argument buffer's type 'Other' is no struct of this text");
  refused(" [[id(1)]]", "", "member y of the argument buffer has no [[id(n)]]");
  refused("[[id(1)]]", "[[id(0)]]", "two members of the argument buffer are [[id(0)]]");
  refused("[[id(1)]]", "[[id(2)]]", "member y of the argument buffer is [[id(2)]]");
  refused("device float* y [[id(1)]];", "", "binding 1 (y) is not in the argument buffer");
  refused("device float* y", "device float y", "member y of the argument buffer is no pointer");
  refused("device const float* x", "device float* x",
          "binding x is stated to be read; the pointer x is not const");
  refused("device float* y", "device uint* y",
          "binding y is stated to have elements of float32; the pointer's are uint32");
  refused("float a; uint n;", "float a;", "2 constants stated, the struct Constants has 1");
  refused("float a; uint n;", "float a; float2 n;", "2 constants stated");
  refused("float a; uint n;", "uint n; float a;", "constant a is float32 at byte 0; the struct's");
  refused("kernel void", "[[max_total_threads_per_threadgroup(32)]] kernel void",
          "a workgroup has 64 items; the text allows 32");
}

TEST_F(ForeignMetal, MetalIsReadWithoutItsCommentsAndDirectives) {
  const MetalText text = read_metal(R"(// kernel void a(device float* x [[buffer(7)]]) {}
#define K kernel \
  void b()
/* struct S { int x; }; */
struct T {
  metal::packed_float3 p[4], *unused;
  const device float * const q [[ id(3) , function_constant(c) ]];
};
template <typename X> kernel void c(constant X& x [[buffer(0)]]) {}
[[kernel]] void d(constant T& t [[buffer(0)]], texture2d<float, access::read> i [[texture(1)]]) {
  if (t.q) { kernel_like(); }
}
kernel [[max_total_threads_per_threadgroup(256)]] void e(uint3 i [[thread_position_in_grid]]) {}
)");
  ASSERT_EQ(text.structs.size(), 1u);
  ASSERT_EQ(text.structs[0].members.size(), 2u);
  const MetalVariable& q = text.structs[0].members[1];
  EXPECT_EQ(q.name, "q");
  EXPECT_EQ(q.type, "float");
  EXPECT_TRUE(q.is_const && q.is_pointer && q.space == "device");
  EXPECT_EQ(q.attribute("id")->value, 3u);
  ASSERT_EQ(text.kernels.size(), 2u);
  EXPECT_EQ(text.kernels[0].name, "d");
  ASSERT_EQ(text.kernels[0].arguments.size(), 2u);
  EXPECT_EQ(text.kernels[0].arguments[1].attribute("texture")->value, 1u);
  EXPECT_EQ(text.kernels[1].name, "e");
  EXPECT_EQ(text.kernels[1].attributes[0].value, 256u);
}

// Our own writer and the checker agree, for every shipped kernel.
TEST_F(ForeignMetal, TextsOfTheCompilerFollowTheConvention) {
  SKIP_WITHOUT("clang-19");
  for (const std::string name : {"saxpy", "saxpy_tile", "matmul", "radix_sort", "softmax"}) {
    const std::string path = HALYARD_SOURCE_DIR "/kernels/" + name + ".hyk";
    const auto bytes = compile({.source = path, .targets = {"msl-3.0"}});
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const kernel::Hyx hyx = kernel::Hyx::parse(*bytes, path).value();
    const Status status = fit_to_metal(path, text_of(hyx.images()[0]), contents_of(hyx).kernels);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read_metal(text_of(hyx.images()[0])).kernels.size(), hyx.kernels().size());
  }
}

}  // namespace
}  // namespace halyard::compiler
