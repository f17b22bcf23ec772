// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The halyard command with kernels of other compilers and of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "halyard/base/half.h"
#include "npy.h"
#include "tools/command.h"

namespace halyard {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using testing::Command;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::operator+;
using testing::Outcome;
using ::testing::StartsWith;
using testing::Words;
using tools::ElementType;
using tools::NpyArray;

// ---- Kernels of other compilers --------------------------------------------------------------

constexpr std::string_view kManifest = R"({"kernels": [{"name": "saxpy", "workgroup_size": [64],
  "bindings": [{"name": "x", "access": "read", "type": "float32"},
               {"name": "y", "access": "read-write", "type": "float32"}],
  "constants": [{"name": "a", "type": "float32"}, {"name": "n", "type": "uint32"}]}]})";

TEST_F(Command, PacksWhatAnotherCompilerBuiltAndRunsIt) {
  std::ofstream(path("k.c")) << R"(
#include <stddef.h>
struct workgroup { size_t group[3], count[3]; };
struct constants { float a; unsigned n; };
void saxpy(const struct workgroup* g, void* const* buffers, const void* constants) {
  const struct constants* c = constants;
  for (size_t i = g->group[0] * 64; i < g->group[0] * 64 + 64 && i < c->n; ++i) {
    ((float*)buffers[1])[i] += c->a * ((const float*)buffers[0])[i];
  }
}
)";
  std::ofstream(path("k.json")) << kManifest;
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + path("k.so") + " " + path("k.c")).c_str()), 0);
  const std::string file = path("k.hyx");
  const Words pack = {
      "pack", "--manifest", path("k.json"), "--image", HALYARD_CPU "=" + path("k.so"), "-o", file};
  const Outcome packed = halyard(pack);
  ASSERT_EQ(packed.code, 0) << packed.err;
  Words run = saxpy();
  run[1] = file;
  ASSERT_EQ(halyard(run).code, 0);
  EXPECT_EQ(tools::read_npy(path("z.npy")).value().as<float>()[100], 2.0f * 101 + 110);

  // The output of inspect for a file is a manifest of the same file.
  const Outcome shown = halyard({"inspect", file, "--json"});
  std::ofstream(path("k.json")) << shown.out;
  ASSERT_EQ(halyard(pack).code, 0);
  EXPECT_EQ(halyard({"inspect", file, "--json"}).out, shown.out);
}

TEST_F(Command, PackRefusesAFileThatNoLoaderAcceptsInOneLine) {
  std::ofstream(path("image")) << "bytes";
  const std::string image = "x86-64:own-1=" + path("image");
  const auto message = [&](const std::string& manifest, const Words& images) {
    std::ofstream(path("k.json")) << manifest;
    Words words = {"pack", "--manifest", path("k.json"), "-o", path("k.hyx")};
    for (const std::string& each : images) words = words + Words{"--image", each};
    const Outcome outcome = halyard(words);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("k.hyx")));
    return outcome.err;
  };
  const auto kernel = [](const std::string& fields) {
    return R"({"kernels": [{"name": "k", "workgroup_size": [64])" + fields + "}]}";
  };
  const std::string good = kernel("");
  EXPECT_THAT(message("{", {image}), HasSubstr("no JSON"));
  EXPECT_THAT(message("[]", {image}), HasSubstr("not an object"));
  EXPECT_THAT(message(R"({"kernels": 1e999})", {image}), HasSubstr("a number beyond"));
  EXPECT_THAT(message("{}", {image}), HasSubstr("no kernels"));
  EXPECT_THAT(message(R"({"kernels": [{"workgroup_size": [64]}]})", {image}),
              HasSubstr("no string 'name'"));
  EXPECT_THAT(message(R"({"kernels": [{"name": "k"}]})", {image}),
              HasSubstr("kernel k: workgroup_size has 0 numbers"));
  EXPECT_THAT(message(kernel(R"(, "acces": 1)"), {image}), HasSubstr("unknown field 'acces'"));
  EXPECT_THAT(message(kernel(R"(, "constants_bytes": -1)"), {image}),
              HasSubstr("'constants_bytes' that is not a number"));
  EXPECT_THAT(message(kernel(R"(, "constants": [{"name": "c", "type": "float"}])"), {image}),
              HasSubstr("'float' as its type, which is unknown"));
  EXPECT_THAT(message(kernel(R"(, "bindings": [{"name": "b", "type": "int32"}])"), {image}),
              HasSubstr("no string 'access'"));
  const auto with = [&](const std::string& list, const std::string& fields) {
    return message(kernel(R"(, ")" + list + R"(": [{"name": "b", "type": "int32")" + fields + "}]"),
                   {image});
  };
  EXPECT_THAT(with("bindings", R"(, "access": "read", "ranks": 1)"),
              HasSubstr("kernel k: a binding has the unknown field 'ranks'"));
  EXPECT_THAT(with("bindings", R"(, "access": "read", "rank": 256)"), HasSubstr("has rank 256"));
  EXPECT_THAT(with("bindings", R"(, "access": "read", "tile": 4)"), HasSubstr("no list 'tile'"));
  EXPECT_THAT(with("constants", R"(, "offsets": 8)"),
              HasSubstr("kernel k: a constant has the unknown field 'offsets'"));
  EXPECT_THAT(with("constants", R"(, "offset": 4294967295)"), HasSubstr("has offset 4294967295"));
  EXPECT_THAT(with("constants", R"(, "offset": 4294967296)"),
              HasSubstr("'offset' that is not a number from 0 to 2^32 - 1"));
  EXPECT_THAT(message(kernel(R"(, "equal_sizes": [["x.size0"]])"), {image}),
              HasSubstr("an entry that is not a pair of sizes"));
  EXPECT_THAT(message(R"({"kernel": []})", {image}), HasSubstr("unknown field 'kernel'"));
  EXPECT_THAT(message(R"({"kernels": [{"name": "k", "workgroup_size": [2048]}]})", {image}),
              HasSubstr("workgroup_size is 2048"));
  EXPECT_THAT(message(good, {image, image}), HasSubstr("x86-64"));
  EXPECT_THAT(message(good, {"x86-64"}), HasSubstr("is expected"));
  EXPECT_THAT(message(good, {"vax-11=" + path("image")}), HasSubstr("TARGET:CONVENTION=FILE"));
  EXPECT_THAT(message(good, {"x86-64=" + path("none")}), HasSubstr("none"));
  EXPECT_THAT(message(good, {"x86-64=" + path("image")}),
              HasSubstr("no image for x86-64: too short for an ELF header"));
  EXPECT_THAT(message(good, {"x86-64-v3=" HALYARD_SAXPY_HYX}), HasSubstr("no ELF file"));
  const std::string other = std::string_view(HALYARD_CPU) == "aarch64" ? "x86-64" : "aarch64";
  EXPECT_THAT(message(good, {other + "=" HALYARD_TOOL}), HasSubstr("for another machine"));
  EXPECT_THAT(message(kernel(R"(, "dynamic_shared_bytes": 64)"), {HALYARD_CPU "=" HALYARD_TOOL}),
              HasSubstr("kernel k has dynamic_shared_bytes"));
}

TEST_F(Command, PackComparesAnImageForAGpuWithItsManifest) {
  std::ofstream(path("k.json")) << kManifest;
  const auto pack = [&](std::string_view key, std::string_view parameters) {
    std::ofstream(path("k.ptx")) << ".version 7.0\n.target sm_80\n.address_size 64\n"
                                 << ".visible .entry saxpy(" << parameters << ")\n{ ret; }\n";
    return halyard({"pack", "--manifest", path("k.json"), "--image",
                    std::string(key) + "=" + path("k.ptx"), "-o", path("k.hyx")});
  };
  constexpr std::string_view kRight = ".param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n";
  ASSERT_EQ(pack("ptx-sm_80", kRight).code, 0);
  const json shown = json::parse(halyard({"inspect", path("k.hyx"), "--json"}).out);
  EXPECT_EQ(shown["images"][0]["convention"], "hy-kernarg-1");
  expect_error(pack("ptx-sm_80", ".param .u64 x, .param .f32 a, .param .u32 n"), "saxpy");
  expect_error(pack("msl-3.0:hy-metal-1", kRight),
               "no device runs images of hy-metal-1 any more; hy-metal-2 has an argument buffer");
  // Halyard does not check images of other conventions.
  EXPECT_EQ(pack("ptx-sm_80:own-1", "").code, 0);
  // A text is neither a code object nor a module.
  expect_error(pack("hsaco-gfx942", kRight), "not an AMD code object");
  expect_error(pack("spirv-1.5", kRight), "SPIR-V");
}

TEST_F(Command, CompilesASourceOfAnotherLanguageWithItsManifest) {
  std::ofstream(path("k.metal")) << R"(struct B {
  device const float* x [[id(0)]];
  device float* y [[id(1)]];
};
struct C { float a; uint n; };
kernel void saxpy(constant B& b [[buffer(0)]], constant C& c [[buffer(1)]]) {}
)";
  std::ofstream(path("k.json")) << kManifest;
  const std::string file = path("k.hyx");
  const Words compile = {"compile", path("k.metal"), "-o", file};
  const Outcome outcome =
      halyard(compile + Words{"--manifest", path("k.json"), "--depfile", path("k.d"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["targets"], (json{"msl-3.0"}));
  const json shown = json::parse(halyard({"inspect", file, "--json"}).out);
  EXPECT_EQ(shown["images"][0]["convention"], "hy-metal-2");
  EXPECT_EQ(shown["kernels"][0]["constants"][1]["name"], "n");
  const std::string rule = testing::read_text(path("k.d"));
  EXPECT_THAT(rule, AllOf(HasSubstr(path("k.metal")), HasSubstr(path("k.json"))));

  expect_error(halyard(compile), "give a manifest");
  expect_error(halyard(compile + Words{"--manifest", path("none.json")}),
               "none.json: no such file");
  expect_error(halyard(compile + Words{"--manifest", path("k.json"), "--target", "ptx-sm_80"}),
               "ptx-sm_80 cannot be a target of .metal files; msl-3.0 can");
  expect_error(halyard({"compile", HALYARD_SAXPY_HYK, "-o", file, "--manifest", path("k.json")}),
               "a .hyk file needs no manifest");
}

TEST_F(Command, PacksAShaderAsAMetalText) {
  if (std::system("command -v spirv-cross glslangValidator >/dev/null") != 0) {
    GTEST_SKIP() << "spirv-cross or glslangValidator is not in PATH";
  }
  std::ofstream(path("saxpy.comp")) << R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 2, binding = 0) buffer Y { float y[]; };
layout(push_constant) uniform P { float a; uint n; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
)";
  const std::string build = "glslangValidator --quiet -V --target-env vulkan1.2 -o " +
                            path("k.spv") + " " + path("saxpy.comp");
  ASSERT_EQ(std::system(build.c_str()), 0);
  std::string manifest(kManifest);
  manifest.replace(manifest.find("saxpy"), 5, "main");
  std::ofstream(path("k.json")) << manifest;
  const auto pack = [&] {
    return halyard({"pack", "--manifest", path("k.json"), "--image", "msl-3.0=" + path("k.spv"),
                    "-o", path("k.hyx")});
  };
  // A function of Metal cannot have the name that glslang gives an entry point.
  expect_error(pack(), "a kernel named 'main', a word of Metal");
  std::string module = testing::read_text(path("k.spv"));
  for (std::size_t at; (at = module.find("main")) != module.npos;) module.replace(at, 4, "axpy");
  std::ofstream(path("k.spv"), std::ios::binary) << module;
  manifest.replace(manifest.find("main"), 4, "axpy");
  std::ofstream(path("k.json")) << manifest;
  ASSERT_EQ(pack().code, 0);
  const json shown = json::parse(halyard({"inspect", path("k.hyx"), "--json"}).out);
  EXPECT_EQ(shown["images"][0]["convention"], "hy-metal-2");
  EXPECT_THAT(testing::read_text(path("k.hyx")), HasSubstr("kernel void axpy(constant "));
}

TEST_F(Command, TheBuildSystemTakesSourcesOfOtherLanguages) {
  const json shown = json::parse(halyard({"inspect", HALYARD_METAL_HYX, "--json"}).out);
  EXPECT_EQ(shown["images"][0]["target"], "msl-3.0");
  EXPECT_EQ(shown["kernels"][0]["workgroup_size"], (json{64, 1, 1}));
}

TEST_F(Command, AFileMayHoldImagesOfEveryConvention) {
  // The kernel of the cpu's image is the shipped one. A device loads the image that it can run.
  const json saxpy = json::parse(halyard({"inspect", HALYARD_SAXPY_HYX, "--json"}).out);
  std::ofstream(path("k.json")) << saxpy.dump();
  std::ofstream(path("k.c")) << "struct g; void saxpy(const struct g* g, void* const* b, "
                                "const void* c) { ((float*)b[1])[0] = 7; }\n";
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + path("k.so") + " " + path("k.c")).c_str()), 0);
  std::ofstream(path("other")) << "code of another machine";
  Words pack = {"pack", "--manifest", path("k.json"), "-o", path("k.hyx")};
  for (const std::string image :
       {"ptx-sm_80:own-1", "hsaco-gfx942:own-2", "spirv-1.5:own-3", "msl-3.0:own-4"}) {
    pack.insert(pack.end(), {"--image", image + "=" + path("other")});
  }
  pack.insert(pack.end(), {"--image", HALYARD_CPU "=" + path("k.so")});
  ASSERT_EQ(halyard(pack).code, 0);
  EXPECT_EQ(json::parse(halyard({"inspect", path("k.hyx"), "--json"}).out)["images"].size(), 5u);
  Words run = saxpy_with(HALYARD_SAXPY_HYX, path("k.hyx"));
  ASSERT_EQ(halyard(run).code, 0);
  EXPECT_EQ(tools::read_npy(path("z.npy")).value().as<float>()[0], 7.0f);
}

// ---- Tensors ---------------------------------------------------------------------------------

TEST_F(Command, InspectsAndRunsAKernelOfTensors) {
  std::ofstream(path("k.hyk")) << R"(
HY_KERNEL(transpose, 1, 1, 1, HY_IN_TENSOR2(float, x), HY_SCALAR(float, a),
          HY_OUT_TILE2(float, y, 2, 3), HY_OUT_TENSOR2(float, z), HY_SAME_SIZE(x, 0, y, 1),
          HY_SAME_SIZE(x, 1, y, 0), HY_MAY_OVERLAP) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = HY_AT2(x, HY_ORIGIN(y, 1) + j, HY_ORIGIN(y, 0) + i);
  }
  HY_TILE_ITEMS2(z, i, j) { HY_Y2(z, i, j) = a; }
}
)";
  const std::string file = path("k.hyx");
  ASSERT_EQ(halyard({"compile", path("k.hyk"), "-o", file, "--checked"}).code, 0);
  const json shown = json::parse(halyard({"inspect", file, "--json"}).out)["kernels"][0];
  const json bindings = shown["bindings"];
  EXPECT_EQ(bindings[0]["rank"], 2);
  EXPECT_FALSE(bindings[0].contains("tile"));
  EXPECT_EQ(bindings[1]["tile"], (json{2, 3}));
  EXPECT_EQ(bindings[2]["rank"], 2);
  EXPECT_EQ(shown["equal_sizes"],
            json::parse(R"([["x.size0", "y.size1"], ["x.size1", "y.size0"]])"));
  EXPECT_EQ(shown["may_overlap"], true);
  EXPECT_THAT(
      halyard({"inspect", file}).out,
      AllOf(HasSubstr("x float32 read, tensor of rank 2\n"),
            HasSubstr("y float32 write, tensor of rank 2, tile 2 x 3\n"),
            HasSubstr("y.stride0 uint32\n"), HasSubstr("z.tile0 uint32\n"),
            HasSubstr("equal        x.size1 = y.size0\n"), HasSubstr("  bindings may overlap\n")));

  // x is 5 x 7, y its transpose: the arrays determine sizes, strides and grid.
  NpyArray x{ElementType::kFloat32, {5, 7}, std::vector<std::byte>(4 * 35)};
  std::iota(x.as<float>().begin(), x.as<float>().end(), 0.0f);
  check(tools::write_npy(path("m.npy"), x));
  const Words run = {"run",
                     file,
                     "transpose",
                     "--in",
                     "x=" + path("m.npy"),
                     "--out",
                     "y=" + path("t.npy") + ":7,5"};
  const std::string z = "z=" + path("z.npy");
  const Words tile = {"--tile", "z=1,1"};
  const Words a = {"--arg", "a=7"};
  const Outcome outcome = halyard(run + Words{"--out", z + ":4,2"} + tile + a);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("transpose: 2 x 4 items in 2 x 4 groups on "));
  const NpyArray y = tools::read_npy(path("t.npy")).value();
  EXPECT_EQ(y.shape, (std::vector<std::uint64_t>{7, 5}));
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      ASSERT_EQ(y.as<float>()[i * 5 + j], static_cast<float>(j * 7 + i));
    }
  }
  EXPECT_EQ(tools::read_npy(path("z.npy")).value().as<float>()[7], 7.0f);
  // The same with a grid that the caller chooses: one group too many in each dimension.
  EXPECT_EQ(halyard(run + Words{"--out", z + ":4,2", "--groups", "3,5"} + tile + a).code, 0);

  const Words out = {"--out", z + ":4,2"};
  expect_error(halyard(run + out + a), "not given: --tile z");
  expect_error(halyard(run + out + a + tile + tile), "--tile z is given twice");
  expect_error(halyard(run + out + a + Words{"--tile", "z=1,x"}), "not of the form NAME=8,128");
  expect_error(halyard(run + out + a + Words{"--tile", "y=2,3"}), "y is not a tensor whose tile");
  expect_error(halyard(run + out + a + Words{"--tile", "z=1,0"}),
               "kernel transpose: z: tile1 is 0");
  expect_error(halyard(run + out + a + Words{"--tile", "z=4"}), "z: a tile of 1 extent is given");
  expect_error(halyard(run + Words{"--out", z + ":4,3"} + a + tile),
               "y needs 2 x 4 x 1 workgroups, z needs 3 x 4 x 1");
  expect_error(halyard(run + Words{"--out", z + ":8"} + a + tile),
               "z: a tensor of rank 1 is given; it has rank 2");
  expect_error(halyard(run + Words{"--out", z} + a + tile), "give the tensor's shape");
  expect_error(halyard(Words{"run", file, "transpose", "--in", "x=" + path("m.npy")} +
                       Words{"--out", "y=" + path("t.npy") + ":8,5"} + out + a + tile),
               "kernel transpose: size 1 of x is 7, size 0 of y is 8");
  expect_error(halyard(run + out + tile), "not given: --arg a (float32)");
  expect_error(halyard(run + out + a + tile + Words{"--arg", "x.size0=5"}),
               "--arg x.size0: no such parameter");
}

// "|u1" and "<f2" in NumPy's words.
TEST_F(Command, RunsAKernelOfBytesAndHalves) {
  std::ofstream(path("k.hyk")) << R"(
HY_KERNEL(quarter, 1, 1, 1, HY_IN_TENSOR1(uchar, x), HY_OUT_TILE1(half, y, 4),
          HY_SAME_SHAPE(x, y)) {
  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) = 0.25f * HY_AT1(x, HY_ORIGIN(y, 0) + i); }
}
)";
  const std::uint8_t bytes[] = {0, 1, 2, 7, 255};
  const auto raw = std::as_bytes(std::span(bytes));
  check(tools::write_npy(path("x.npy"), {ElementType::kUint8, {5}, {raw.begin(), raw.end()}}));
  const Words run = {"run", path("k.hyk"), "quarter", "--out", "y=" + path("y.npy") + ":5"};
  const Outcome outcome = halyard(run + Words{"--in", "x=" + path("x.npy")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const NpyArray y = tools::read_npy(path("y.npy")).value();
  EXPECT_EQ(y.element, ElementType::kFloat16);
  EXPECT_EQ(y.shape, (std::vector<std::uint64_t>{5}));
  const auto halves = y.as<std::uint16_t>();
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(Half::from_bits(halves[i]), 0.25f * bytes[i]);
  }
  check(tools::write_npy(path("x.npy"), {ElementType::kInt8, {5}, {raw.begin(), raw.end()}}));
  expect_error(halyard(run + Words{"--in", "x=" + path("x.npy")}), "its elements are int8");
}

}  // namespace
}  // namespace halyard
