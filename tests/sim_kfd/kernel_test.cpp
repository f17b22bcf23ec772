// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels from an assembler, loaded as a driver loads them, by the packets of PM4 and of AQL.
#include "sim_gfx/gfx_assembler.h"
#include "sim_kfd/kfd_fixture.h"
#include "simulation/hip/gfx/program.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kLanes = 64, kGroups = 3, kLds = 512, kScratch = 16;

// out[group * 64 + lane] = group + (lane ^ 1): by LDS, a barrier and scratch.
GfxSource exchange() {
  return {.body = R"(s_load_b64 s[4:5], s[0:1], 0
v_and_b32 v1, 0x3ff, v0
v_lshlrev_b32 v2, 2, v1
v_add_nc_u32 v3, s2, v1
ds_store_b32 v2, v3
s_waitcnt lgkmcnt(0)
s_barrier
v_xor_b32 v4, 4, v2
ds_load_b32 v5, v4
s_waitcnt lgkmcnt(0)
scratch_store_b32 off, v5, off offset:4
s_waitcnt_vscnt null, 0
scratch_load_b32 v6, off, off offset:4
s_waitcnt vmcnt(0)
v_lshl_add_u32 v7, s2, 8, v2
global_store_b32 v7, v6, s[4:5])",
          .lds = kLds,
          .scratch = kScratch,
          .argument_pointers = 1,
          .directives = ".amdhsa_enable_private_segment 1"};
}

class KernelTest : public KfdTest {
 protected:
  // Loads the image into a buffer and finds the kernel's descriptor in it.
  void load(const GfxSource& source) {
    const gfx::Loaded loaded =
        gfx::CodeObject::load(assemble_gfx(gfx_module_text({source})), "gfx1100");
    ASSERT_EQ(loaded.status, gfx::LoadStatus::kOk) << loaded.log;
    const auto image = loaded.code->image();
    code_ = allocate((image.size() + 4095) / 4096 * 4096);
    std::memcpy(code_.host, image.data(), image.size());
    loaded.code->relocate(std::span(code_.host, image.size()), code_.address);
    const auto& kernel = loaded.code->program().code[0];
    registers_ = kernel.descriptor;
    entry_ = code_.address + kernel.entry_offset;
    // The descriptor is in the image too: the 64 bytes with these registers and this entry.
    for (std::uint64_t at = 0; at + 64 <= image.size(); at += 64) {
      if (code_.word(at + 48) == registers_.rsrc1 && code_.word(at + 52) == registers_.rsrc2 &&
          at + code_.quad(at + 16) == kernel.entry_offset) {
        descriptor_ = code_.address + at;
      }
    }
    ASSERT_NE(descriptor_, 0u);
    output_ = allocate(4096);
    arguments_ = allocate(4096);
    arguments_.quad(0) = output_.address;
  }
  Words dispatch() {
    const KfdBuffer scratch = allocate(1 << 20);
    const std::uint64_t base = scratch.address >> 8;
    const std::uint32_t rsrc2 = registers_.rsrc2 | (kLds / 512) << 15;
    return {0xc0027600,
            0x20c,
            low(entry_ >> 8),
            high(entry_ >> 8),
            0xc0027600,
            0x212,
            registers_.rsrc1 | 1u << 20,
            rsrc2,
            0xc0017600,
            0x228,
            registers_.rsrc3,
            0xc0017600,
            0x218,
            2u << 12 | 32,
            0xc0027600,
            0x210,
            low(base),
            high(base),
            0xc0027600,
            0x240,
            low(arguments_.address),
            high(arguments_.address),
            0xc0087600,
            0x204,
            0,
            0,
            0,
            kLanes,
            1,
            1,
            0,
            0,
            0xc0031500,
            kGroups,
            1,
            1,
            0x8005,
            0xc0004600,
            0x407};
  }
  void expect_output() {
    for (std::uint32_t i = 0; i != kLanes * kGroups; ++i) {
      ASSERT_EQ(output_.word(4 * i), i / kLanes + (i % kLanes ^ 1)) << i;
    }
    EXPECT_EQ(output_.word(4 * kLanes * kGroups), 0u);
  }

  KfdBuffer code_, output_, arguments_;
  gfx::KernelDescriptor registers_;
  std::uint64_t entry_ = 0, descriptor_ = 0;
};

TEST_F(KernelTest, Pm4_RunsAKernel) {
  HALYARD_NEEDS_ASSEMBLER();
  load(exchange());
  KfdQueue queue = create(abi::kPm4);
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
  expect_output();
}

TEST_F(KernelTest, Aql_RunsAKernel) {
  HALYARD_NEEDS_ASSEMBLER();
  load(exchange());
  KfdQueue queue = create(abi::kAql);
  const KfdBuffer scratch = allocate(1 << 20);
  queue.pointers.word(140) = 2u << 12 | 32;
  queue.pointers.quad(160) = scratch.address;
  queue.pointers.quad(168) = scratch.size;
  const std::uint32_t packet[16] = {0x00031502,
                                    kLanes | 1u << 16,
                                    1,
                                    kLanes * kGroups,
                                    1,
                                    1,
                                    kScratch,
                                    kLds,
                                    low(descriptor_),
                                    high(descriptor_),
                                    low(arguments_.address),
                                    high(arguments_.address)};
  std::memcpy(queue.ring.host, packet, sizeof(packet));
  queue.put = 1;
  ring(queue);
  EXPECT_THAT(run(), IsEmpty());
  expect_output();
}

TEST_F(KernelTest, NewCodeNeedsAnInvalidation) {
  HALYARD_NEEDS_ASSEMBLER();
  load(exchange());
  KfdQueue queue = create(abi::kPm4);
  const std::uint64_t offset = entry_ - code_.address;
  const std::uint32_t first = code_.word(offset);
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
  code_.word(offset) = 0xbfb00000;  // s_endpgm
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(rules(), ElementsAre("stale-instructions"));
  code_.word(offset) = first;
  push(queue, {0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0xc3f1});
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(KernelTest, RegisterThatNoPacketSets_IsReported) {
  HALYARD_NEEDS_ASSEMBLER();
  load(exchange());
  registers_.rsrc2 &= ~(1u << 7);  // without the workgroup's number, which the kernel reads
  KfdQueue queue = create(abi::kPm4);
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(rules(), ::testing::Contains("kernel"));
  EXPECT_THAT(texts_, ::testing::HasSubstr("s2"));
}

TEST_F(KernelTest, LastUserRegisters_MayBeUnset) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string count = ".amdhsa_user_sgpr_count 15\n";
  load({.body = R"(s_load_b64 s[4:5], s[0:1], 0
v_mov_b32 v1, s15
v_lshlrev_b32 v0, 2, v1
s_waitcnt lgkmcnt(0)
global_store_b32 v0, v1, s[4:5])",
        .argument_pointers = 1,
        .directives = count});
  KfdQueue queue = create(abi::kPm4);
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(output_.word(4 * (kGroups - 1)), kGroups - 1);  // of the last workgroup

  GfxSource reader = exchange();  // of s2
  reader.directives += "\n" + count;
  load(reader);
  push(queue, dispatch());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(rules(), ::testing::Contains("kernel"));
  EXPECT_THAT(texts_, ::testing::HasSubstr("s2"));

  push(queue, {0xc0017600, 0x244, 0});  // those before a set one must be set
  push(queue, dispatch());
  run();
  EXPECT_THAT(rules(), ElementsAre("register-not-set"));
}

TEST_F(KernelTest, EndlessKernel_IsAHang) {
  HALYARD_NEEDS_ASSEMBLER();
  start({.max_instructions = 10'000});
  load({.body = "loop:\ns_branch loop", .argument_pointers = 1});
  registers_.rsrc2 &= ~1u;
  KfdQueue queue = create(abi::kPm4);
  push(queue, dispatch());
  EXPECT_THAT(run(), ElementsAre(::testing::HasSubstr("faulted")));
}

}  // namespace
}  // namespace halyard::testing
