// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The properties that a module reports, and the log of a malformed text.
#include <gmock/gmock.h>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

using ::testing::HasSubstr;

std::string log_of(std::string_view text) { return ptx::Module::parse(text).log; }

TEST(PtxParse, LaysOutParameters) {
  const ptx::Parsed parsed = ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .f32 d)
.maxntid 128, 2 .minnctapersm 3
{ .shared .align 8 .b8 s[100]; .local .align 4 .b8 l[12]; ret; })"));
  ASSERT_NE(parsed.module, nullptr) << parsed.log;
  const ptx::Entry& entry = parsed.module->entries()[0];
  std::vector<std::array<std::uint32_t, 3>> layout;
  for (const ptx::Parameter& each : entry.parameters) {
    layout.push_back({each.offset, each.size, each.alignment});
  }
  EXPECT_EQ(layout, (std::vector<std::array<std::uint32_t, 3>>{
                        {0, 1, 1}, {8, 8, 8}, {16, 20, 16}, {36, 4, 4}}));
  EXPECT_EQ(entry.parameter_bytes, 40u);
  EXPECT_EQ(entry.static_shared_bytes, 100u);
  EXPECT_EQ(entry.local_bytes, 16u);
  EXPECT_EQ(entry.max_threads, 256u);
  EXPECT_EQ(entry.max_block, (ptx::Extent{128, 2, 1}));
  EXPECT_EQ(entry.min_blocks, 3u);
}

TEST(PtxParse, DescribesVariables) {
  const ptx::Parsed parsed = ptx::Module::parse(ptx_text(R"(
.visible .global .align 8 .u32 counts[4] = {1, -1, 0x10, 0b11};
.const .f64 third = 0d3FD5555555555555;
.global .u64 where[2] = {counts, generic(third)+8};
.visible .global .attribute(.managed) .align 4 .b8 zeros[1024];
.func f() { ret; }
.visible .global .u64 table = f;
)"));
  ASSERT_NE(parsed.module, nullptr) << parsed.log;
  const ptx::Module& module = *parsed.module;
  ASSERT_EQ(module.variables().size(), 5u);
  EXPECT_EQ(module.find_variable("counts"), 0u);
  EXPECT_FALSE(module.variables()[1].visible);
  EXPECT_EQ(module.variables()[1].space, ptx::Space::kConstant);
  EXPECT_TRUE(module.variables()[3].is_managed);
  EXPECT_TRUE(module.variables()[3].is_zero);
  EXPECT_EQ(module.variables()[3].size, 1024u);
  const std::uint64_t addresses[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000};
  const auto words = [&](std::size_t i) {
    const std::vector<std::byte> bytes = module.initial_bytes(i, addresses);
    std::vector<std::uint64_t> result(bytes.size() / 8);
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  };
  EXPECT_EQ(words(0), (std::vector<std::uint64_t>{0xffffffff00000001, 0x300000010}));
  EXPECT_EQ(words(2), (std::vector<std::uint64_t>{0x1000, 0x2008}));
  EXPECT_GE(words(4)[0], ptx::kFunctionWindow);
}

// nvcc declares the variables of whole programs without linkage, and cuModuleGetGlobal finds them.
TEST(PtxParse, FindsVariablesWithoutLinkage_ButVisibleOnesFirst) {
  const std::string first = ptx_text(".global .u32 hidden = 1; .global .u32 both = 2;");
  const std::string second = ptx_text(".visible .global .u32 both = 3;");
  const std::string_view texts[] = {first, second};
  const ptx::Parsed parsed = ptx::Module::parse(texts);
  ASSERT_NE(parsed.module, nullptr) << parsed.log;
  EXPECT_EQ(parsed.module->find_variable("hidden"), 0u);
  EXPECT_EQ(parsed.module->find_variable("both"), 2u);
  EXPECT_EQ(parsed.module->find_variable("neither"), std::nullopt);
}

TEST(PtxParse, LinksTexts) {
  const std::string first = ptx_text(R"(
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .u32 base;
.visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<2>;
ld.global.u32 %r1, [base];
{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), twice, (p); ld.param.b32 %r2, [q]; }
ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r2; ret; })");
  const std::string second = ptx_text(R"(
.visible .global .u32 base = 21;
.visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<2>;
ld.param.b32 %r1, [x]; add.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; })");
  const std::string_view texts[] = {first, second};
  PtxModule module(ptx::Module::parse(texts));
  ASSERT_TRUE(module) << module.log();
  const std::uint64_t out = module.memory.add(4);
  const auto outcome = module.run("k", {1, 1, 1}, {1, 1, 1}, pack_parameters(out));
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  EXPECT_EQ(*reinterpret_cast<const std::uint32_t*>(out), 42u);

  const ptx::Parsed alone = ptx::Module::parse(first);
  EXPECT_EQ(alone.status, ptx::ParseStatus::kUndefinedSymbol);
  EXPECT_THAT(alone.log, HasSubstr("base"));
}

TEST(PtxParse, NamesTheUnknownInstructionAndItsLine) {
  const ptx::Parsed parsed = ptx::Module::parse(ptx_text(".entry k() {\n\n  frobnicate.u32 1;\n}"));
  EXPECT_EQ(parsed.status, ptx::ParseStatus::kInvalid);
  EXPECT_EQ(parsed.line, 6u);
  EXPECT_THAT(parsed.log, HasSubstr("line 6"));
  EXPECT_THAT(parsed.log, HasSubstr("'frobnicate'"));
}

TEST(PtxParse, ReportsWhatIsWrong) {
  const auto in_kernel = [](std::string_view body) {
    return log_of(ptx_text(".entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .pred %p<2>; " +
                           std::string(body) + " }"));
  };
  EXPECT_EQ(in_kernel("add.u32 %r1, %r2, 7;"), "");
  EXPECT_THAT(in_kernel("add.u32 %r1, %r2;"), HasSubstr("Too few operands"));
  EXPECT_THAT(in_kernel("add.u32 %r1, %r2, %r9;"), HasSubstr("'%r9'"));
  EXPECT_THAT(in_kernel("add.u64 %r1, %r2, 7;"), HasSubstr("Arguments mismatch"));
  EXPECT_THAT(in_kernel("add.u32 %r1, %p1, 7;"), HasSubstr("Arguments mismatch"));
  EXPECT_THAT(in_kernel("add.strange.u32 %r1, %r2, 7;"), HasSubstr("'.strange'"));
  EXPECT_THAT(in_kernel("mov.u32 %r1, %r2[1];"), HasSubstr("Array expected, not '%r2'"));
  EXPECT_THAT(in_kernel("bra nowhere;"), HasSubstr("'nowhere'"));
  EXPECT_THAT(in_kernel("L: L: ret;"), HasSubstr("Duplicate definition of label"));
  EXPECT_THAT(in_kernel("ld.shared.u32 %r1, [p];"), HasSubstr("State space mismatch"));
  EXPECT_THAT(in_kernel("add.u32 %r1, %r2, 7"), HasSubstr("syntax error"));
  EXPECT_THAT(in_kernel("add.u32 %r1, %r2, 1/0;"), HasSubstr("Division by zero"));
  EXPECT_THAT(log_of(""), HasSubstr("Missing .version"));
  EXPECT_THAT(log_of(".version 7.0 .target sm_80 .entry k() {"), HasSubstr("end of input"));
  EXPECT_THAT(log_of(".version 7.0 .target sm_80 .address_size 32"), HasSubstr(".address_size"));
  EXPECT_THAT(log_of(".version 7.0 .target sm_80 .texref t;"), HasSubstr("'.texref'"));
}

TEST(PtxParse, RefusesNewerVersionsAndDevices) {
  EXPECT_EQ(ptx::Module::parse(".version 99.0\n.target sm_80").status,
            ptx::ParseStatus::kUnsupportedVersion);
  EXPECT_EQ(ptx::Module::parse(".version 8.0\n.target sm_90").status,
            ptx::ParseStatus::kNotForThisDevice);
  EXPECT_EQ(ptx::Module::parse(".version 8.0\n.target sm_90", {.compute_capability = 90}).status,
            ptx::ParseStatus::kOk);
}

TEST(PtxParse, SkipsDebugDirectives) {
  EXPECT_EQ(log_of(ptx_text(R"(
.file 1 "a.cu", 123, 456
.visible .entry k() {
.loc 1 7 9
.pragma "nounroll";
.loc 1 8 2, function_name $L__info, inlined_at 1 5 3
ret; }
.section .debug_str { $L__info: .b8 1,2,3 }
)") + std::string(3, '\0')),
            "");
}

// Every prefix of a text, and texts with damaged bytes, either parse or have a log.
TEST(PtxParse, SurvivesDamage) {
  const std::string text = ptx_text(R"(
.visible .global .align 4 .u32 g[3] = {1, (2+3)*4, -5};
.func (.param .b32 r) f(.param .b32 x) { .reg .b32 %r<2>; ld.param.b32 %r1, [x]; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 p, .param .align 8 .b8 q[24]) .reqntid 32, 1, 1 {
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .v4 .f32 %v; .shared .b8 s[64];
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.lt.and.u32 %p1|%p2, %r1, 0x10U, !%p2;
@!%p1 bra DONE; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f, (a);
ld.param.b32 %r2, [b]; } st.shared.v2.u32 [s+8], {%r1, %r2}; mov.b64 %rd2, {%r1, %r2};
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};
ts: .branchtargets DONE; brx.idx %r1, ts; DONE: ret; })");
  ASSERT_EQ(log_of(text), "");
  for (std::size_t size = 0; size < text.size(); ++size) {
    const ptx::Parsed parsed = ptx::Module::parse(std::string_view(text).substr(0, size));
    ASSERT_TRUE(parsed.module != nullptr || !parsed.log.empty()) << size;
  }
  std::mt19937 engine(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (int j = 0; j < 3; ++j) {
      damaged[engine() % damaged.size()] = "\0 {}[]();,.<>%@!|+-09afx\"/*:="[engine() % 29];
    }
    const ptx::Parsed parsed = ptx::Module::parse(damaged);
    ASSERT_TRUE(parsed.module != nullptr || !parsed.log.empty()) << damaged;
  }
}

TEST(PtxParse, BoundsWhatATextMayAskFor) {
  EXPECT_NE(log_of(ptx_text(".entry k() { .shared .b8 s[1000000000]; ret; }")), "");
  EXPECT_NE(log_of(ptx_text(".entry k() { .local .b8 s[1000000000]; ret; }")), "");
  EXPECT_NE(log_of(ptx_text(".global .b8 g[0xffffffffffffffff];")), "");
  EXPECT_NE(log_of(ptx_text(".entry k(.param .b8 p[40000]) { ret; }")), "");
  EXPECT_NE(log_of(ptx_text(".global .u32 g = " + std::string(100000, '(') + "1;")), "");
  EXPECT_NE(log_of(ptx_text(".entry k() " + std::string(100000, '{'))), "");
  // A range of registers costs nothing until they are used.
  EXPECT_EQ(log_of(ptx_text(".entry k() { .reg .b64 %rd<1000000000>; ret; }")), "");
}

}  // namespace
}  // namespace halyard::testing
