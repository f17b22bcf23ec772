// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel descriptors, those that LLVM's assembler makes among them, and scratch memory.
#include "drivers/amd/kernel_descriptor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "amd/amd_test_util.h"

namespace halyard::amd {
namespace {

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

struct Assembled {
  std::vector<std::byte> descriptor;
  std::vector<std::byte> image;  // as it is loaded
};

// A kernel "test" that ends at once, and before it another one.
Assembled assemble(const std::string& processor, const std::string& directives) {
  std::string folder = ::testing::TempDir() + "amdXXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/k.s")
      << ".amdgcn_target \"amdgcn-amd-amdhsa--" << processor << "\"\n"
      << ".text\n.p2align 8\ns_nop 0\n.globl test\n.p2align 8\n.type test,@function\n"
      << "test:\ns_nop 5\ns_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel test\n"
      << ".amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 16\n"
      << directives << "\n.end_amdhsa_kernel\n";
  const std::string commands =
      "cd " + folder + " && " HALYARD_LLVM_MC " -triple=amdgcn-amd-amdhsa -mcpu=" + processor +
      " -filetype=obj -o k.o k.s && " HALYARD_LD_LLD " -shared -o k.so k.o && " HALYARD_LLVM_OBJCOPY
      " -O binary --only-section=.rodata k.so rodata && " HALYARD_LLVM_OBJCOPY
      " -O binary k.so image";
  EXPECT_EQ(std::system(commands.c_str()), 0) << directives;
  Assembled result{read_bytes(folder + "/rodata"), read_bytes(folder + "/image")};
  for (const char* name : {"/k.s", "/k.o", "/k.so", "/rodata", "/image"})
    unlink((folder + name).c_str());
  rmdir(folder.c_str());
  return result;
}

bool has_tools() {
  return std::string_view(HALYARD_LLVM_MC HALYARD_LD_LLD HALYARD_LLVM_OBJCOPY).find("NOTFOUND") ==
         std::string_view::npos;
}

TEST(KernelDescriptor, OfGfx1100AsAssembled) {
  if (!has_tools()) GTEST_SKIP() << "llvm-mc-19, ld.lld or llvm-objcopy-19 is not installed";
  const Assembled code = assemble("gfx1100", R"(.amdhsa_group_segment_fixed_size 1536
.amdhsa_private_segment_fixed_size 48
.amdhsa_kernarg_size 24
.amdhsa_user_sgpr_dispatch_ptr 1
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_count 13
.amdhsa_wavefront_size32 1)");
  const Result<KernelDescriptor> read = read_kernel_descriptor(code.descriptor);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->shared_bytes, 1536u);
  EXPECT_EQ(read->private_bytes, 48u);
  EXPECT_EQ(read->argument_bytes, 24u);
  EXPECT_TRUE(read->wants(UserValue::kDispatchPacket));
  EXPECT_TRUE(read->wants(UserValue::kArguments));
  EXPECT_FALSE(read->wants(UserValue::kQueue));
  EXPECT_FALSE(read->wants(UserValue::kDispatchId));
  EXPECT_EQ(read->user_registers(), 13u);
  EXPECT_EQ(read->preloaded_words(), 0u);
  EXPECT_TRUE(read->wave32());

  // The entry is where the image has the kernel: s_nop 5.
  const auto at = std::ranges::search(code.image, code.descriptor);
  ASSERT_FALSE(at.empty());
  const auto entry = at.begin() + static_cast<std::ptrdiff_t>(read->entry_offset);
  std::uint32_t instruction = 0;
  std::memcpy(&instruction, &*entry, sizeof instruction);
  EXPECT_EQ(instruction, 0xbf80'0005u);
}

TEST(KernelDescriptor, OfGfx942AsAssembled) {
  if (!has_tools()) GTEST_SKIP() << "llvm-mc-19, ld.lld or llvm-objcopy-19 is not installed";
  const Assembled code = assemble("gfx942", R"(.amdhsa_accum_offset 8
.amdhsa_user_sgpr_queue_ptr 1
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_dispatch_id 1
.amdhsa_user_sgpr_kernarg_preload_length 4)");
  const Result<KernelDescriptor> read = read_kernel_descriptor(code.descriptor);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_TRUE(read->wants(UserValue::kQueue));
  EXPECT_TRUE(read->wants(UserValue::kDispatchId));
  EXPECT_FALSE(read->wants(UserValue::kDispatchPacket));
  EXPECT_EQ(read->preloaded_words(), 4u);
  EXPECT_EQ(read->user_registers(), 10u);
  EXPECT_FALSE(read->wave32());
  EXPECT_EQ(read->rsrc3 & 0x3f, 1u);  // accum_offset / 4 - 1
}

TEST(KernelDescriptor, FieldsAreAtTheirOffsets) {
  std::array<std::uint32_t, 16> words{1, 2, 3, 0, 4, 5};
  words[11] = 6;
  words[12] = 7;
  words[13] = 31u << 1;
  words[14] = 9u << 16 | 8;
  const Result<KernelDescriptor> read = read_kernel_descriptor(std::as_bytes(std::span(words)));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->shared_bytes, 1u);
  EXPECT_EQ(read->private_bytes, 2u);
  EXPECT_EQ(read->argument_bytes, 3u);
  EXPECT_EQ(read->entry_offset, 0x5'0000'0004);
  EXPECT_EQ(read->rsrc3, 6u);
  EXPECT_EQ(read->rsrc1, 7u);
  EXPECT_EQ(read->rsrc2, 62u);
  EXPECT_EQ(read->properties, 8u);
  EXPECT_EQ(read->preload, 9u);
  words[4] = ~0u << 8;
  words[5] = ~0u;
  const Kernel kernel{*read_kernel_descriptor(std::as_bytes(std::span(words))), 0x7200'0000'0500};
  EXPECT_EQ(kernel.entry(), 0x7200'0000'0400u);
}

TEST(KernelDescriptor, DamagedOnesAreRefused) {
  std::array<std::byte, 64> bytes{};
  bytes[52] = std::byte{4};  // 2 user registers
  bytes[56] = std::byte{8};  // the arguments
  EXPECT_TRUE(read_kernel_descriptor(bytes).ok());
  EXPECT_EQ(read_kernel_descriptor(std::span(bytes).first(63)).status().to_string(),
            "DataLoss: amd: a kernel descriptor has 64 bytes, this one has 63");
  for (const std::size_t reserved : {12u, 15u, 24u, 43u, 60u, 63u}) {
    auto damaged = bytes;
    damaged[reserved] = std::byte{1};
    EXPECT_EQ(read_kernel_descriptor(damaged).status().code(), StatusCode::kDataLoss) << reserved;
  }
  bytes[56] = std::byte{0xa};
  EXPECT_EQ(read_kernel_descriptor(bytes).status().to_string(),
            "DataLoss: amd: a kernel descriptor wants 4 user registers, and has 2");
}

// The RX 7900 XTX: 96 units in 6 shader engines.
TEST(Scratch, OfGfx11CountsTheWavesOfAShaderEngine) {
  const ComputeUnits units{.units = 96, .shader_engines = 6, .scratch_slots = 32};
  const Result<Scratch> scratch = size_scratch(Generation::kGfx11, units, 128);
  ASSERT_TRUE(scratch.ok());
  EXPECT_EQ(scratch->size, 128u * 64 * 32 * 96);
  EXPECT_EQ(scratch->lane_bytes, 128u);
  EXPECT_EQ(scratch->tmpring_size, 512u | 32u << 12);
  EXPECT_EQ(size_scratch(Generation::kGfx11, units, 1)->lane_bytes, 4u);
}

// The MI300X: 38 units in 4 shader engines, 8 times.
TEST(Scratch, OfGfx942CountsTheWavesOfAnXcc) {
  const ComputeUnits units{.units = 38, .shader_engines = 4, .scratch_slots = 32, .xccs = 8};
  const Result<Scratch> scratch = size_scratch(Generation::kGfx942, units, 20);
  ASSERT_TRUE(scratch.ok());
  EXPECT_EQ(scratch->lane_bytes, 32u);
  EXPECT_EQ(scratch->size, 32u * 64 * 32 * 38 * 8);
  EXPECT_EQ(scratch->tmpring_size, 1216u | 2u << 12);
}

TEST(Scratch, MustFitTheRegister) {
  const ComputeUnits units{.units = 200, .shader_engines = 1, .scratch_slots = 32};
  EXPECT_EQ(size_scratch(Generation::kGfx942, units, 16)->tmpring_size, 0xfffu | 1u << 12);
  EXPECT_TRUE(size_scratch(Generation::kGfx942, units, 0x1fff * 16).ok());
  EXPECT_EQ(size_scratch(Generation::kGfx942, units, 0x1fff * 16 + 1).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_TRUE(size_scratch(Generation::kGfx11, units, 0x7fff * 4).ok());
  EXPECT_EQ(size_scratch(Generation::kGfx11, units, 0x7fff * 4 + 1).status().code(),
            StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace halyard::amd
