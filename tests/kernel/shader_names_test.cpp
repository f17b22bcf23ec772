// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of C that mean something else in a shading language: each of them may name a kernel, a
// parameter, a function, a variable or a member. Only Metal's words cannot name a kernel for Metal,
// whose functions have the kernels' names.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <sstream>

#include "compiler/metal_words.h"
#include "kernel/shader_test_util.h"

namespace halyard::testing {
namespace {

// The GLSL specification, version 4.60: https://registry.khronos.org/OpenGL/specs/gl/. Keywords and
// reserved words of section 3.6, and those of the extensions that a module's text enables.
constexpr const char* kGlslWords =
    "attribute uniform varying buffer shared coherent readonly writeonly atomic_uint layout "
    "centroid flat smooth noperspective patch sample invariant precise subroutine in out inout "
    "true false vec2 vec3 vec4 ivec2 ivec3 ivec4 bvec2 bvec3 bvec4 uvec2 uvec3 uvec4 dvec2 dvec3 "
    "dvec4 mat2 mat3 mat4 mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 mat4x2 mat4x3 mat4x4 dmat2 "
    "dmat3 dmat4 dmat2x2 dmat2x3 dmat2x4 dmat3x2 dmat3x3 dmat3x4 dmat4x2 dmat4x3 dmat4x4 lowp "
    "mediump highp precision sampler1D sampler2D sampler3D samplerCube sampler1DShadow "
    "sampler2DShadow samplerCubeShadow sampler1DArray sampler2DArray sampler1DArrayShadow "
    "sampler2DArrayShadow isampler2D usampler2D sampler2DRect samplerBuffer isamplerBuffer "
    "usamplerBuffer samplerCubeArray sampler2DMS sampler2DMSArray image1D image2D image3D "
    "imageCube imageBuffer image2DArray image2DMS iimage2D uimage2D itexture2D texture1D texture2D "
    "texture3D textureCube textureBuffer sampler samplerShadow subpassInput subpassInputMS discard "
    "common partition active class union_ filter namespace using noinline public external "
    "interface long_ half_ fixed unsigned_ superp input output hvec2 hvec3 hvec4 fvec2 fvec3 fvec4 "
    "sampler3DRect cast this template int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t "
    "uint64_t float16_t float32_t float64_t u8vec2 i16vec3 f16vec4 buffer_reference std430 "
    "push_constant local_size_x restrict_ volatile_ define version extension line";
// Built-in functions of chapter 8.
constexpr const char* kGlslFunctions =
    "radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 "
    "log2 sqrt inversesqrt abs sign floor trunc round roundEven ceil fract mod modf min max clamp "
    "mix step smoothstep isnan isinf floatBitsToInt floatBitsToUint intBitsToFloat "
    "uintBitsToFloat fma frexp ldexp packUnorm2x16 packSnorm2x16 packUnorm4x8 packSnorm4x8 "
    "unpackUnorm2x16 unpackSnorm2x16 unpackUnorm4x8 unpackSnorm4x8 packHalf2x16 unpackHalf2x16 "
    "packDouble2x32 unpackDouble2x32 length distance dot cross normalize ftransform faceforward "
    "reflect refract matrixCompMult outerProduct transpose determinant inverse lessThan "
    "lessThanEqual greaterThan greaterThanEqual equal notEqual any all not uaddCarry usubBorrow "
    "umulExtended imulExtended bitfieldExtract bitfieldInsert bitfieldReverse bitCount findLSB "
    "findMSB textureSize textureQueryLod textureQueryLevels textureSamples texture textureProj "
    "textureLod textureOffset texelFetch texelFetchOffset textureGrad textureGather atomicCounter "
    "atomicCounterIncrement atomicAdd atomicMin atomicMax atomicAnd atomicOr atomicXor "
    "atomicExchange atomicCompSwap imageSize imageSamples imageLoad imageStore imageAtomicAdd "
    "imageAtomicExchange dFdx dFdy fwidth interpolateAtCentroid noise1 noise2 EmitVertex "
    "EndPrimitive barrier memoryBarrier memoryBarrierAtomicCounter memoryBarrierBuffer "
    "memoryBarrierShared memoryBarrierImage groupMemoryBarrier subpassLoad anyInvocation "
    "allInvocations allInvocationsEqual";
// Reserved forms, built-in variables, macros, and the names of a module's own text.
constexpr const char* kGlslForms =
    "gl_LocalInvocationID gl_WorkGroupID gl_NumWorkGroups gl_WorkGroupSize gl_mine a__b __c d_ e__ "
    "_f VULKAN GL_core_profile GL_mine main GLSL_std_450 local_size";
// C++ and Metal, whose own words are listed in MetalWords.
constexpr const char* kCppWords =
    "catch delete explicit export friend mutable new operator private protected public throw try "
    "typename virtual typeid and or xor bitand bitor compl not_eq and_eq or_eq xor_eq alignas "
    "alignof char16_t char32_t constexpr const_cast decltype dynamic_cast noexcept nullptr "
    "reinterpret_cast static_assert static_cast thread_local bool wchar_t metal device constant "
    "thread threadgroup vertex fragment kernel visible mesh object object_data ray_data as_type "
    "bfloat float2 float3 float4 uint2 uint3 half4 packed_float3 float4x4 "
    "INFINITY NAN MAXFLOAT M_PI_F FLT_MAX INT_MAX";

std::vector<std::string> words_in(const std::vector<const char*>& lists) {
  std::vector<std::string> words;
  std::set<std::string> seen;
  for (const char* const list : lists) {
    std::istringstream text(list);
    for (std::string word; text >> word;) {
      if (seen.insert(word).second) words.push_back(word);
    }
  }
  return words;
}
const std::vector<std::string>& all_words() {
  static const std::vector<std::string> words =
      words_in({kGlslWords, kGlslFunctions, kGlslForms, kCppWords});
  return words;
}

// `write` gives a text for each word and its number.
template <class F>
std::string for_words(std::span<const std::string> words, F&& write) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += write(words[i], i);
  return text;
}

// Kernels p0, p1, ..., whose parameters have all names, in each kind of parameter.
std::string parameters_named(std::span<const std::string> words) {
  static constexpr const char* kKinds[] = {"HY_IN(uint, {})", "HY_OUT(float, {})",
                                           "HY_SCALAR(uint, {})", "HY_SHARED(uint, {}, 1)",
                                           "HY_PRIVATE(uint, {})"};
  constexpr std::size_t kEach = 35;
  std::string text;
  for (std::size_t first = 0, kernel = 0; first < words.size(); first += kEach, ++kernel) {
    const auto some = words.subspan(first, std::min(kEach, words.size() - first));
    text += fmt::format("HY_KERNEL(p{}, 1, 1, 1{}) {{ HY_ITEMS {{\n", kernel,
                        for_words(some, [&](const std::string& word, std::size_t i) {
                          return ", " + fmt::format(fmt::runtime(kKinds[(i + kernel) % 5]), word);
                        }));
    static constexpr const char* kUses[] = {"(void){}[0];\n", "{}[0] = 1.0f;\n", "(void){};\n",
                                            "{}[0] = 1;\n", "HY_MY({}) = 1;\n"};
    text += for_words(some, [&](const std::string& word, std::size_t i) {
      return fmt::format(fmt::runtime(kUses[(i + kernel) % 5]), word);
    });
    text += "} }\n";
  }
  return text;
}

// Structs, members, and locals of their types.
std::string variables_named(std::span<const std::string> words) {
  std::string text = for_words(words, [](const std::string& word, std::size_t) {
    return fmt::format("struct {0} {{ uint {0}; }};\n", word);
  });
  text += "HY_KERNEL(k, 1, 1, 1, HY_OUT(uint, y_)) { HY_ITEMS {\n";
  text += for_words(words, [](const std::string& word, std::size_t i) {
    return fmt::format("struct {0} {0} = {{{1}u}};\ny_[0] += {0}.{0};\n", word, i);
  });
  return text + "} }\n";
}

// Functions with a parameter each, and constants at file scope.
std::string functions_named(std::span<const std::string> words) {
  std::string text = for_words(words, [](const std::string& word, std::size_t i) {
    return i % 2 == 0 ? fmt::format("HY_FN uint {0}(uint x) {{ return x + {1}u; }}\n", word, i)
                      : fmt::format("static const uint {0}[2] = {{1u, {1}u}};\n", word, i);
  });
  text += "HY_KERNEL(k, 1, 1, 1, HY_OUT(uint, y_)) { HY_ITEMS {\n";
  text += for_words(words, [](const std::string& word, std::size_t i) {
    return fmt::format("y_[0] += {}{}y_[1] % 2{};\n", word, i % 2 == 0 ? '(' : '[',
                       i % 2 == 0 ? ')' : ']');
  });
  return text + "} }\n";
}

std::string kernels_named(std::span<const std::string> words) {
  return for_words(words, [](const std::string& word, std::size_t) {
    return fmt::format(
        "HY_KERNEL({}, 4, 1, 1, HY_OUT(uint, y)) {{ HY_ITEMS {{ y[HY_X] = 1; }} }}\n", word);
  });
}

void expect_builds(const std::string& text) {
  const TextFile source(text);
  const auto images = shaders_of_file(source.path(), {"spirv-1.5", "msl-3.0"});
  ASSERT_TRUE(images.ok()) << images.status().message();
  EXPECT_EQ(invalid(images->at(0)), "");
  EXPECT_EQ(malformed(images->at(1)), "");
}

TEST(ShaderNames, Parameters_OfEveryWord_Build) { expect_builds(parameters_named(all_words())); }

TEST(ShaderNames, VariablesAndMembers_OfEveryWord_Build) {
  expect_builds(variables_named(all_words()));
}

TEST(ShaderNames, FunctionsAndConstants_OfEveryWord_Build) {
  // C already has functions with these names.
  static const std::set<std::string> kOfC = {
      "sin",   "cos",  "tan",  "asin", "acos", "atan", "sinh",  "cosh",  "tanh", "asinh",
      "acosh", "atanh", "pow",  "exp",  "log",  "exp2", "log2",  "sqrt",  "abs",  "floor",
      "trunc", "round", "ceil", "modf", "fma",  "frexp", "ldexp", "main"};
  std::vector<std::string> words;
  std::ranges::copy_if(all_words(), std::back_inserter(words),
                       [](const std::string& word) { return !kOfC.contains(word); });
  expect_builds(functions_named(words));
  std::ranges::rotate(words, words.begin() + 1);  // a function where there was a constant
  expect_builds(functions_named(words));
}

// A SPIR-V kernel's name is not part of its GLSL text, so a few names of each kind suffice. A
// module takes 0.1 s per name.
TEST(ShaderNames, Kernels_OfWordsOfGlsl_BuildForSpirv) {
  const std::vector<std::string> names = words_in(
      {"barrier memoryBarrier reflect mix max atomicAdd subpassLoad texture main buffer sample in "
       "true vec4 common this gl_WorkGroupID gl_mine a__b _f VULKAN hyx class bfloat"});
  const auto module = shader_of(kernels_named(names), "spirv-1.5");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(invalid(*module), "");
  constexpr std::uint32_t kOpName = 5, kOpEntryPoint = 15;
  std::set<std::string> entries, debug_names;
  for (const SpirvInstruction& instruction : instructions_of(*module)) {
    if (instruction.opcode == kOpEntryPoint) entries.insert(instruction.text_at(2));
    if (instruction.opcode == kOpName) debug_names.insert(instruction.text_at(1));
  }
  EXPECT_EQ(entries, std::set<std::string>(names.begin(), names.end()));
  EXPECT_THAT(debug_names, ::testing::IsSupersetOf(names));
}

TEST(ShaderNames, Kernels_OfEveryWord_BuildForMetalUnlessTheyAreItsOwn) {
  std::vector<std::string> words;
  std::ranges::copy_if(all_words(), std::back_inserter(words),
                       [](const std::string& word) { return !compiler::is_metal_word(word); });
  EXPECT_GT(words.size(), 200u);
  const auto metal = shader_of(kernels_named(words), "msl-3.0");
  ASSERT_TRUE(metal.ok()) << metal.status().message();
  EXPECT_EQ(malformed(*metal), "");
  for (const char* const own : {"class", "vertex", "float4", "packed_half3", "float4x4", "M_PI_F",
                                "FLT_MAX", "INFINITY", "int8_t", "ray_data", "not_eq"}) {
    EXPECT_TRUE(compiler::is_metal_word(own)) << own;
  }
  for (const char* const other : {"barrier", "vec2", "floaty4", "float5", "M_x", "x4", "4", ""}) {
    EXPECT_FALSE(compiler::is_metal_word(other)) << other;
  }
}

}  // namespace
}  // namespace halyard::testing
