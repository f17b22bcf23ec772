// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that tests write in assembly, built by llvm-mc and ld.lld.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim_gfx/gfx_memory.h"

namespace halyard::testing {

// A kernel of a module.
struct GfxSource {
  std::string name = "test";
  std::string body;
  std::uint32_t lds = 0, scratch = 0;
  unsigned argument_pointers = 2;
  std::string directives;            // further ".amdhsa_" lines
  std::string hidden;                // further ".args" entries
  std::uint32_t argument_bytes = 0;  // 0: of the pointers
};

inline std::string gfx_module_text(const std::vector<GfxSource>& sources) {
  std::string text = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx1100\"\n.text\n";
  for (const GfxSource& each : sources) {
    text += ".globl " + each.name + "\n.p2align 8\n.type " + each.name + ",@function\n" +
            each.name + ":\n" + each.body + "\ns_endpgm\n.size " + each.name + ", .-" + each.name +
            "\n";
  }
  text += ".rodata\n.p2align 6\n";
  std::string kernels;
  for (const GfxSource& each : sources) {
    const std::uint32_t bytes =
        each.argument_bytes != 0 ? each.argument_bytes : 8 * each.argument_pointers;
    text += ".amdhsa_kernel " + each.name +
            "\n.amdhsa_next_free_vgpr 128\n.amdhsa_next_free_sgpr 100\n"
            ".amdhsa_wavefront_size32 1\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            ".amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_vgpr_workitem_id 2\n"
            ".amdhsa_group_segment_fixed_size " +
            std::to_string(each.lds) + "\n.amdhsa_private_segment_fixed_size " +
            std::to_string(each.scratch) + "\n" +
            (each.directives.empty() ? ".amdhsa_float_denorm_mode_32 3" : each.directives) +
            "\n.end_amdhsa_kernel\n";
    kernels += "  - .name: " + each.name + "\n    .symbol: " + each.name +
               ".kd\n    .kernarg_segment_size: " + std::to_string(bytes) +
               "\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: " +
               std::to_string(each.lds) +
               "\n    .private_segment_fixed_size: " + std::to_string(each.scratch) +
               "\n    .wavefront_size: 32\n    .sgpr_count: 100\n    .vgpr_count: 128\n"
               "    .max_flat_workgroup_size: 1024\n    .args:\n";
    for (unsigned i = 0; i < each.argument_pointers; ++i) {
      kernels += "      - .offset: " + std::to_string(8 * i) +
                 "\n        .size: 8\n        .value_kind: global_buffer\n"
                 "        .address_space: global\n";
    }
    kernels += each.hidden;
  }
  return text +
         ".amdgpu_metadata\n---\namdhsa.version:\n  - 1\n  - 2\n"
         "amdhsa.target: amdgcn-amd-amdhsa--gfx1100\namdhsa.kernels:\n" +
         kernels + "...\n.end_amdgpu_metadata\n";
}

inline bool has_gfx_assembler() {
  return std::string_view(HALYARD_LLVM_MC).find("NOTFOUND") == std::string_view::npos &&
         std::string_view(HALYARD_LD_LLD).find("NOTFOUND") == std::string_view::npos;
}
#define HALYARD_NEEDS_ASSEMBLER() \
  if (!has_gfx_assembler()) GTEST_SKIP() << "llvm-mc and ld.lld are not installed"

inline std::vector<std::byte> assemble_gfx(const std::string& text) {
  std::string folder = ::testing::TempDir() + "gfxXXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return {};
  const std::string source = folder + "/k.s", object = folder + "/k.o", image = folder + "/k.co";
  std::ofstream(source) << text;
  const std::string command =
      std::string(HALYARD_LLVM_MC) + " -triple=amdgcn-amd-amdhsa -mcpu=gfx1100 -filetype=obj -o " +
      object + " " + source + " && " + HALYARD_LD_LLD + " -shared -o " + image + " " + object;
  EXPECT_EQ(std::system(command.c_str()), 0) << text;
  std::ifstream file(image, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  for (const std::string& each : {source, object, image}) std::remove(each.c_str());
  rmdir(folder.c_str());
  return result;
}

// A module that is assembled and loaded, with memory for its kernels.
class GfxModule {
 public:
  explicit GfxModule(const std::vector<GfxSource>& sources)
      : loaded_(gfx::CodeObject::load(assemble_gfx(gfx_module_text(sources)), "gfx1100")) {
    EXPECT_EQ(loaded_.status, gfx::LoadStatus::kOk) << loaded_.log;
    if (loaded_.code == nullptr) return;
    image_ = std::make_unique<GfxImage>(*loaded_.code);
    memory.add_mapping(image_->mapping());
  }
  explicit GfxModule(const GfxSource& source) : GfxModule(std::vector<GfxSource>{source}) {}

  explicit operator bool() const { return loaded_.code != nullptr; }

  gfx::Outcome run(std::string_view kernel, gfx::Extent grid, gfx::Extent block,
                   const std::vector<std::uint64_t>& arguments, const gfx::Options& options = {},
                   std::uint32_t dynamic_lds = 0) {
    gfx::Launch launch;
    launch.kernel = loaded_.code->find_kernel(kernel).value();
    launch.grid = grid;
    launch.block = block;
    launch.arguments = std::as_bytes(std::span(arguments));
    launch.image_address = image_->address;
    launch.dynamic_lds_bytes = dynamic_lds;
    return gfx::run(*loaded_.code, launch, memory, options);
  }

  GfxMemory memory;

 private:
  gfx::Loaded loaded_;
  std::unique_ptr<GfxImage> image_;
};

// Inputs of a lane: v[0:1], v[2:3] and v[4:5] of a body.
using GfxInputs = std::vector<std::array<std::uint64_t, 3>>;

// A body that computes v[10:11] from its inputs. It may use v6 to v29 and s10 to s99; v[10:11] and
// vcc are initially 0.
struct GfxCase {
  std::string body;
  std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)> expected;
  enum Kind { kBits, kFloat, kDouble, kHalf } kind = kBits;  // for floats all NaNs are equal
  unsigned ulps = 0;
};

inline std::string gfx_lane_body(const std::string& body) {
  return R"(s_load_b128 s[4:7], s[0:1], 0
v_and_b32 v30, 0x3ff, v0
v_lshl_add_u32 v30, s2, 5, v30
v_mul_u32_u24 v31, 24, v30
s_waitcnt lgkmcnt(0)
global_load_b64 v[0:1], v31, s[4:5]
global_load_b64 v[2:3], v31, s[4:5] offset:8
global_load_b64 v[4:5], v31, s[4:5] offset:16
v_mov_b32 v10, 0
v_mov_b32 v11, 0
s_mov_b32 vcc_lo, 0
s_waitcnt vmcnt(0)
)" + body +
         R"(
v_lshlrev_b32 v31, 3, v30
global_store_b64 v31, v[10:11], s[6:7]
)";
}

inline bool gfx_equal(const GfxCase& each, std::uint64_t result, std::uint64_t expected) {
  const auto near = [&](std::uint64_t a, std::uint64_t b, std::uint64_t infinity,
                        std::uint64_t sign) {
    const std::uint64_t x = a & (sign - 1), y = b & (sign - 1);
    if (x > infinity || y > infinity) return x > infinity && y > infinity;
    if (a == b) return true;
    return (a & sign) == (b & sign) && (x > y ? x - y : y - x) <= each.ulps;
  };
  switch (each.kind) {
    case GfxCase::kBits:
      return result == expected;
    case GfxCase::kFloat:
      return near(result & 0xffffffffu, expected & 0xffffffffu, 0x7f800000u, 0x80000000u);
    case GfxCase::kHalf:
      return near(result & 0xffffu, expected & 0xffffu, 0x7c00u, 0x8000u);
    case GfxCase::kDouble:
      return near(result, expected, 0x7ff0000000000000u, 0x8000000000000000u);
  }
  return false;
}

// Runs all cases, a kernel each, on all inputs.
inline void check_gfx_cases(const std::vector<GfxCase>& cases, GfxInputs inputs,
                            const std::string& directives = {}) {
  while (inputs.size() % 32 != 0) inputs.push_back(inputs[0]);
  std::vector<GfxSource> sources;
  for (const GfxCase& each : cases) {
    GfxSource source;
    source.name = "k" + std::to_string(sources.size());
    source.body = gfx_lane_body(each.body);
    source.lds = 1024;
    source.scratch = 64;
    source.directives = directives;
    sources.push_back(source);
  }
  GfxModule module(sources);
  ASSERT_TRUE(module);
  const std::uint64_t in = module.memory.add(inputs.size() * 24);
  const std::uint64_t out = module.memory.add(inputs.size() * 8);
  std::memcpy(reinterpret_cast<void*>(in), inputs.data(), inputs.size() * 24);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    gfx::Options options;
    options.strict = true;
    const auto outcome =
        module.run(sources[i].name, {static_cast<std::uint32_t>(inputs.size() / 32), 1, 1},
                   {32, 1, 1}, {in, out}, options);
    ASSERT_EQ(outcome.kind, gfx::OutcomeKind::kOk) << outcome.message << "\n" << cases[i].body;
    for (const auto& finding : outcome.findings) ADD_FAILURE() << finding.message;
    for (std::size_t lane = 0; lane < inputs.size(); ++lane) {
      std::uint64_t result = 0;
      std::memcpy(&result, reinterpret_cast<const void*>(out + 8 * lane), 8);
      const auto& [a, b, c] = inputs[lane];
      const std::uint64_t expected = cases[i].expected(a, b, c);
      if (gfx_equal(cases[i], result, expected)) continue;
      ADD_FAILURE() << cases[i].body << std::hex << "\nof " << a << ", " << b << ", " << c << " is "
                    << result << ", expected " << expected;
      break;
    }
  }
}

}  // namespace halyard::testing
