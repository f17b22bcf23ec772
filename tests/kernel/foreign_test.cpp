// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in CUDA, OpenCL C, GLSL and Metal: built by their compilers, checked against their
// reflection.
#include "compiler/foreign.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/process.h"
#include "compiler/spirv.h"
#include "kernel/foreign_test_util.h"
#include "kernel/hyx.h"

namespace halyard::compiler {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::string_view kCuda = R"(
extern "C" __global__ void __launch_bounds__(64) saxpy(const float* x, float* y, float a,
                                                       unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

constexpr std::string_view kOpenCl = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void saxpy(__global const float* x, __global float* y, float a, uint n) {
  __local float own[64];
  own[get_local_id(0)] = a;
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t i = get_global_id(0);
  if (i < n) y[i] = own[63 - get_local_id(0)] * x[i] + y[i];
}
)";

class Foreign : public ForeignFixture {};

// ---- CUDA ------------------------------------------------------------------------------------

TEST_F(Foreign, CudaIsBuiltByNvccForEachTarget) {
  SKIP_WITHOUT("nvcc");
  const kernel::Hyx hyx =
      build(write("k.cu", kCuda), {"ptx-sm_80", "ptx-sm_90"}, kManifest).value();
  ASSERT_EQ(hyx.images().size(), 2u);
  EXPECT_EQ(hyx.images()[1].target, "ptx-sm_90");
  EXPECT_EQ(hyx.images()[1].convention, "hy-kernarg-1");
  EXPECT_THAT(std::string(text_of(hyx.images()[1])), HasSubstr(".target sm_90"));
  EXPECT_EQ(hyx.kernels()[0].workgroup_size[0], 64u);
  EXPECT_EQ(hyx.sources()[0].text, kCuda);
}

TEST_F(Foreign, CudaWithoutAToolkitIsBuiltByClang) {
  SKIP_WITHOUT("clang-19");
  const Environment path("PATH", folder_with({"clang-19"}));
  const kernel::Hyx hyx = build(write("k.cu", kCuda), {"ptx-sm_80"}, kManifest).value();
  EXPECT_THAT(std::string(text_of(hyx.images()[0])), HasSubstr(".visible .entry saxpy("));
}

TEST_F(Foreign, CudaThatDoesNotFitItsManifestIsRefusedByName) {
  SKIP_WITHOUT("clang-19");
  const Environment path("PATH", folder_with({"clang-19"}));
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const std::string source = write("k.cu", kCuda);
  expect_refused(source, "", kInvalid, "give a manifest");
  expect_refused(source, manifest_with("saxpy", "saxpi"), kInvalid,
                 "kernel saxpi is not an .entry of its PTX, which has saxpy");
  expect_refused(source, manifest_with(R"({"name": "a", "type": "float32"}, )", ""), kInvalid,
                 "kernel saxpy: parameter 2 is .f32");
  expect_refused(source, manifest_with("[64]", "[128]"), kInvalid, "the entry allows 64 items");
  expect_refused(write("mangled.cu", "__global__ void saxpy(float* x) { *x = 1; }"), kManifest,
                 kInvalid, "which has _Z5saxpyPf");
  expect_refused(write("none.cu", "int main() {}"), kManifest, kInvalid, "which has none");
  expect_refused(write("bad.cu", "this is no kernel"), kManifest, kInvalid, "bad.cu:1:");
}

// ---- OpenCL C --------------------------------------------------------------------------------

TEST_F(Foreign, OpenClDescribesItsOwnKernels) {
  SKIP_WITHOUT("clang-19");
  const kernel::Hyx hyx =
      build(write("k.cl", kOpenCl), {"ptx-sm_80", "hsaco-gfx942", "hsaco-gfx1100"}).value();
  ASSERT_EQ(hyx.images().size(), 3u);
  EXPECT_THAT(std::string(text_of(hyx.images()[0])), HasSubstr(".target sm_80"));
  EXPECT_EQ(hyx.images()[2].convention, "hy-kernarg-1");
  const kernel::KernelInfo& saxpy = hyx.kernels()[0];
  EXPECT_EQ(saxpy.name, "saxpy");
  EXPECT_THAT(saxpy.workgroup_size, ElementsAre(64, 1, 1));
  ASSERT_EQ(saxpy.bindings.size(), 2u);
  EXPECT_EQ(saxpy.bindings[0].access, kernel::Access::kRead);
  EXPECT_EQ(saxpy.bindings[1].access, kernel::Access::kReadWrite);
  EXPECT_EQ(saxpy.bindings[1].type, kernel::ElementType::kFloat32);
  ASSERT_EQ(saxpy.constants.size(), 2u);
  EXPECT_EQ(saxpy.constants[1].name, "n");
  EXPECT_EQ(saxpy.constants[1].type, kernel::ElementType::kUint32);
  EXPECT_EQ(saxpy.constants[1].offset, 4u);
  EXPECT_EQ(saxpy.static_shared_bytes, 256u);
}

TEST_F(Foreign, OpenClTakesAManifestInstead) {
  SKIP_WITHOUT("clang-19");
  const std::string source = write("k.cl", kOpenCl);
  const kernel::Hyx hyx = build(source, {}, manifest_with("\"n\"", "\"count\"")).value();
  EXPECT_EQ(hyx.kernels()[0].constants[1].name, "count");
  EXPECT_EQ(hyx.images().size(), 3u);
  expect_refused(source, manifest_with("\"uint32\"", "\"float64\""), StatusCode::kInvalidArgument,
                 "saxpy", {"hsaco-gfx90a"});
  expect_refused(source, manifest_with("saxpy", "saxpi"), StatusCode::kInvalidArgument, "saxpi",
                 {"hsaco-gfx90a"});
}

TEST_F(Foreign, OpenClThatCannotBeLaunchedIsRefused) {
  SKIP_WITHOUT("clang-19");
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  expect_refused(write("free.cl", "__kernel void k(__global int* x) { *x = 1; }"), "", kInvalid,
                 "kernel k: has no reqd_work_group_size");
  constexpr std::string_view kOne = "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) ";
  expect_refused(
      write("order.cl", std::string(kOne) + "void k(int n, __global int* x) { *x = n; }"), "",
      kInvalid, "parameter 'x', int*, is a buffer after a scalar");
  expect_refused(
      write("vector.cl", std::string(kOne) + "void k(__global int* x, int2 n) { *x = n.x; }"), "",
      kInvalid, "parameter 'n', int2, is neither a buffer nor a number");
  expect_refused(
      write("local.cl", std::string(kOne) + "void k(__global int* x, __local int* t) { *x = *t; }"),
      "", kInvalid, "parameter 't'");
  const std::string library =
      write("library.cl", std::string(kOne) + "void k(__global float* x) { *x = tgamma(*x); }");
  expect_refused(library, "", kInvalid, "tgamma");
  expect_refused(library,
                 R"({"kernels": [{"name": "k", "workgroup_size": [1], "bindings":
                     [{"name": "x", "access": "read-write", "type": "float32"}]}]})",
                 kInvalid, "calls _Z6tgammaf, which it does not define", {"ptx-sm_80"});
  expect_refused(write("nothing.cl", "int f(int x) { return x; }"), "", kInvalid, "kernel");
  expect_refused(write("bad.cl", "no kernel"), "", kInvalid, "bad.cl:1:");
}

// ---- GLSL ------------------------------------------------------------------------------------

// The shader calls a function of this name.
TEST_F(Foreign, Shader_NamedAsAFunctionOfGlsl_HasThatName) {
  SKIP_WITHOUT("glslangValidator");
  const kernel::Hyx hyx = build(write("barrier.comp", kGlsl)).value();
  EXPECT_EQ(hyx.kernels()[0].name, "barrier");
  EXPECT_EQ(reflect_spirv("k", text_of(hyx.images()[0])).value()[0].name, "barrier");
}

TEST_F(Foreign, AShaderDescribesItsOwnKernel) {
  SKIP_WITHOUT("glslangValidator");
  const kernel::Hyx hyx = build(write("mix_in.comp", kGlsl)).value();
  EXPECT_EQ(hyx.images()[0].target, "spirv-1.5");
  EXPECT_EQ(hyx.images()[0].convention, "hy-vulkan-1");
  const kernel::KernelInfo& kernel = hyx.kernels()[0];
  EXPECT_EQ(kernel.name, "mix_in");
  EXPECT_THAT(kernel.workgroup_size, ElementsAre(16, 4, 1));
  ASSERT_EQ(kernel.bindings.size(), 3u);
  EXPECT_EQ(kernel.bindings[0].name, "x");
  EXPECT_EQ(kernel.bindings[0].access, kernel::Access::kRead);
  EXPECT_EQ(kernel.bindings[1].name, "y");
  EXPECT_EQ(kernel.bindings[1].type, kernel::ElementType::kFloat32);
  EXPECT_EQ(kernel.bindings[1].access, kernel::Access::kReadWrite);
  EXPECT_EQ(kernel.bindings[2].access, kernel::Access::kWrite);
  EXPECT_EQ(kernel.bindings[2].type, kernel::ElementType::kUint8) << "elements of two kinds";
  std::vector<std::string> constants;
  for (const kernel::ConstantInfo& each : kernel.constants) {
    constants.push_back(std::string(each.name) + "@" + std::to_string(each.offset));
  }
  EXPECT_THAT(constants, ElementsAre("a@0", "n@4", "v.x@16", "v.y@20"));
  EXPECT_EQ(kernel.constants_bytes, 24u);
  EXPECT_EQ(kernel.static_shared_bytes, 256u);
}

TEST_F(Foreign, AShaderHasElementsOfEverySize) {
  constexpr std::string_view kText = R"(#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { int8_t a[]; };
layout(set = 0, binding = 1) buffer B { uint8_t b[]; };
layout(set = 0, binding = 2) buffer C { int16_t c[]; };
layout(set = 0, binding = 3) buffer D { uint16_t d[]; };
layout(set = 0, binding = 4) buffer E { int64_t e[]; };
layout(set = 0, binding = 5) buffer F { uint64_t f[]; };
layout(set = 0, binding = 6) buffer G { double g[]; };
layout(set = 0, binding = 7) buffer H { float16_t h[]; };
layout(push_constant) uniform P { int64_t i; uint64_t j; double k; };
void main() {
  const uint at = gl_GlobalInvocationID.x;
  a[at] = int8_t(b[at]);
  c[at] = int16_t(d[at]);
  e[at] = int64_t(f[at]) + i + int64_t(j);
  g[at] = double(h[at]) + k;
}
)";
  const kernel::Hyx hyx = build(write("t.comp", kText)).value();
  const kernel::KernelInfo& kernel = hyx.kernels()[0];
  using enum kernel::ElementType;
  const kernel::ElementType types[] = {kInt8,  kUint8,  kInt16,   kUint16,
                                       kInt64, kUint64, kFloat64, kFloat16};
  ASSERT_EQ(kernel.bindings.size(), std::size(types));
  for (std::size_t i = 0; i < std::size(types); ++i) EXPECT_EQ(kernel.bindings[i].type, types[i]);
  ASSERT_EQ(kernel.constants.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(kernel.constants[i].type, types[4 + i]);
}

TEST_F(Foreign, AShaderHasAtMostThePushConstantsThatEveryDeviceHas) {
  const auto of = [&](int words) {
    std::string fields;
    for (int i = 0; i < words; ++i) fields += "uint w" + std::to_string(i) + "; ";
    return write("p.comp",
                 "#version 450\nlayout(local_size_x = 64) in;\n"
                 "layout(set = 0, binding = 0) buffer Y { uint y[]; };\n"
                 "layout(push_constant) uniform P { " +
                     fields +
                     "};\n"
                     "void main() { y[0] = w0; }\n");
  };
  EXPECT_TRUE(build(of(32)).ok());
  expect_refused(of(33), {}, StatusCode::kInvalidArgument,
                 "132 bytes of push constants; 128 is the most");
}

TEST_F(Foreign, OptionsThatCannotBeAreRefused) {
  const std::string source = write("k.comp", kGlsl);
  const auto message = [](CompileOptions options) {
    return std::string(compile_foreign(options).status().message());
  };
  EXPECT_THAT(message({.source = source, .targets = {}}), HasSubstr("no target to compile for"));
  EXPECT_THAT(message({.source = source, .targets = {"spirv-1.5"}, .optimization = 4}),
              HasSubstr("optimization level 4; 0 to 3 are known"));
  EXPECT_THAT(message({.source = source, .targets = {"spirv-1.5"}, .optimization = -1}),
              HasSubstr("optimization level -1"));
  EXPECT_THAT(message({.source = source, .targets = {"spirv-1.5"}, .checked = true}),
              HasSubstr("only .hyk kernels can be checked builds"));
  EXPECT_THAT(message({.source = source, .targets = {"spirv-1.5", "spirv-1.5"}}),
              HasSubstr("target 'spirv-1.5' is given twice"));
  EXPECT_THAT(message({.source = "k.txt"}), HasSubstr("not a .cu, .cl, .comp or .metal file"));
}

TEST_F(Foreign, AShadersEntryPointTakesTheManifestsName) {
  SKIP_WITHOUT("glslangValidator");
  const std::string source = write("k.comp", R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { float a; uint n; } p;
void main() { if (gl_GlobalInvocationID.x < p.n) y[gl_GlobalInvocationID.x] += p.a * x[0]; }
)");
  const kernel::Hyx hyx = build(source, {}, kManifest).value();
  EXPECT_EQ(hyx.kernels()[0].name, "saxpy");
  EXPECT_TRUE(fit_to_spirv(source, text_of(hyx.images()[0]), {}).ok());
  const auto reflected = reflect_spirv(source, text_of(hyx.images()[0])).value();
  EXPECT_EQ(reflected[0].name, "saxpy");

  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  expect_refused(source, manifest_with("[64]", "[32]"), kInvalid,
                 "kernel saxpy: workgroup_size is 32 x 1 x 1, the shader's 64 x 1 x 1");
  expect_refused(source, manifest_with(R"(, {"name": "n", "type": "uint32"})", ""), kInvalid,
                 "1 constant stated, the shader has 2");
  expect_refused(source, manifest_with(R"("type": "uint32")", R"("type": "int32")"), kInvalid,
                 "constant n is int32 at byte 4; the shader's is uint32");
  expect_refused(source, manifest_with("read-write", "read"), kInvalid,
                 "binding y is stated to be read; the shader's is read-write");
}

TEST_F(Foreign, AShaderThatIsNoKernelIsRefused) {
  SKIP_WITHOUT("glslangValidator");
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const auto refused = [&](const std::string& declarations, const std::string& text) {
    const std::string source = write("k.comp", "#version 450\n" + declarations);
    expect_refused(source, "", kInvalid, text);
  };
  refused("layout(binding = 1) buffer X { float x[]; }; void main() { x[0] = 1; }",
          "binding 0 is missing");
  refused("layout(set = 1, binding = 0) buffer X { float x[]; }; void main() { x[0] = 1; }",
          "binding 0 is in set 1");
  refused("layout(binding = 0) uniform U { float u; }; void main() { if (u > 0) barrier(); }",
          "is not a storage buffer");
  refused(
      "layout(push_constant) uniform P { mat4 m; }; void main() { if (m[0][0] > 0) barrier(); }",
      "push constant m is not a number");
  refused("void main() { nothing(); }", "k.comp:2: 'nothing'");
  refused("", "cannot be built for spirv-1.5");
}

TEST_F(Foreign, ADamagedModuleIsRefusedOrRead) {
  SKIP_WITHOUT("glslangValidator");
  const kernel::Hyx hyx = build(write("k.comp", kGlsl)).value();
  const std::string module(text_of(hyx.images()[0]));
  ASSERT_TRUE(reflect_spirv("k", module).ok());
  for (std::size_t length = 0; length < module.size(); ++length) {
    const Status status = reflect_spirv("k", module.substr(0, length)).status();
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidArgument);
    const bool is_whole = length >= 20 && length % 4 == 0;
    EXPECT_TRUE(is_whole || !status.ok()) << length;
  }
  for (std::size_t at = 0; at < module.size(); at += 4) {
    for (const std::uint32_t value : {0u, 1u, 0xffffu, 0x10000u, 0xffffffffu}) {
      std::string damaged = module;
      std::memcpy(damaged.data() + at, &value, 4);
      const Status status = reflect_spirv("k", damaged).status();
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidArgument);
    }
  }
}

// Words of each instruction that the reader uses, from the SPIR-V specification, section 3.
TEST_F(Foreign, AModuleWithAnInstructionThatIsTooShortIsDamaged) {
  SKIP_WITHOUT("glslangValidator");
  const kernel::Hyx hyx = build(write("k.comp", kGlsl)).value();
  const std::string module(text_of(hyx.images()[0]));
  constexpr struct {
    std::uint32_t opcode, words;
  } kInstructions[] = {{5, 3},  {6, 4},  {15, 4}, {16, 3}, {16, 6}, {21, 4},
                       {22, 3}, {23, 4}, {28, 4}, {29, 3}, {30, 2}, {32, 4},
                       {43, 4}, {50, 4}, {59, 4}, {71, 3}, {72, 4}};
  for (const auto& [opcode, words] : kInstructions) {
    std::vector<std::uint32_t> instruction(words - 1, 17);  // as an execution mode: LocalSize
    instruction[0] = (words - 1) << 16 | opcode;
    const std::string tail(reinterpret_cast<const char*>(instruction.data()), 4 * (words - 1));
    EXPECT_THAT(std::string(reflect_spirv("k", module + tail).status().message()),
                HasSubstr("k: not a SPIR-V module, or a damaged one"))
        << opcode << " with " << words - 1 << " words";
  }
}

// ---- Facts of all languages ------------------------------------------------------------------

TEST_F(Foreign, ATargetOfAnotherLanguageIsRefused) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const std::string cuda = write("k.cu", kCuda);
  expect_refused(cuda, kManifest, kInvalid,
                 "hsaco-gfx942 cannot be a target of .cu files; ptx-sm_NN", {"hsaco-gfx942"});
  expect_refused(cuda, kManifest, kInvalid, "ptx-sm_ cannot be a target", {"ptx-sm_"});
  expect_refused(cuda, kManifest, kInvalid, "ptx-sm_80 -o x cannot be", {"ptx-sm_80 -o x"});
  expect_refused(cuda, kManifest, kInvalid, "is given twice", {"ptx-sm_80", "ptx-sm_80"});
  expect_refused(write("k.cl", kOpenCl), "", kInvalid, "x86-64 cannot", {"x86-64"});
  expect_refused(write("k.comp", kGlsl), "", kInvalid, "ptx-sm_80 cannot", {"ptx-sm_80"});
  expect_refused(write("k.metal", "kernel void saxpy() {}"), "", kInvalid, "spirv-1.5 cannot",
                 {"spirv-1.5"});
  expect_refused(write("k.comp", kGlsl), "", kInvalid, "spirv-1.5, msl-3.0 can", {"x86-64"});
}

TEST_F(Foreign, AMissingCompilerIsNamedWithItsPackage) {
  const Environment path("PATH", folder_with({}));
  constexpr auto kUnavailable = StatusCode::kUnavailable;
  expect_refused(write("k.cu", kCuda), kManifest, kUnavailable, "CUDA toolkit");
  expect_refused(write("k.cl", kOpenCl), "", kUnavailable, "clang-19, lld-19");
  expect_refused(write("k.comp", kGlsl), "", kUnavailable, "install glslang-tools");
}

TEST_F(Foreign, AMissingSourceOrManifestIsAnError) {
  EXPECT_EQ(build("none.metal", {}, kManifest).status().code(), StatusCode::kNotFound);
  const std::string source = write("k.metal", "kernel void saxpy() {}");
  EXPECT_EQ(
      compile({.source = source, .manifest = "none.json", .targets = {"msl-3.0"}}).status().code(),
      StatusCode::kNotFound);
  EXPECT_THAT(std::string(build(source, {}, "{}").status().message()),
              EndsWith("k.json: the manifest has no kernels"));
  EXPECT_EQ(compile({.source = source, .targets = {"msl-3.0"}, .checked = true}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(Foreign, ReportsTheFilesThatWereRead) {
  SKIP_WITHOUT("clang-19");
  write("own.h", "#define FACTOR 2\n");
  const std::string source = write("k.cl", "#include \"own.h\"\n" + std::string(kOpenCl));
  std::vector<std::string> inputs;
  CompileOptions options{.source = source, .targets = {"hsaco-gfx90a"}};
  options.manifest = write("k.json", kManifest);
  options.inputs = &inputs;
  ASSERT_TRUE(compile(options).ok());
  EXPECT_THAT(inputs,
              AllOf(Contains(source), Contains(options.manifest), Contains(EndsWith("/own.h"))));
  EXPECT_THAT(inputs, ::testing::Not(Contains(HasSubstr("prelude"))));
}

}  // namespace
}  // namespace halyard::compiler
