// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading of code objects: shipped kernels, bundles, targets, damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sim_gfx/gfx_assembler.h"
#include "sim_gfx/llvm_mc.h"
#include "simulation/hip/gfx/bundle.h"
#include "simulation/hip/gfx/elf.h"
#include "simulation/hip/gfx/message_pack.h"
#include "simulation/hip/gfx/print.h"
#include "simulation/hip/gfx/program.h"

namespace halyard::testing {
namespace {

using namespace sim::gfx;  // NOLINT: names of the layer under test

using Image = std::vector<std::byte>;

Image copy_of(std::string_view text) {
  Image bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

struct ShippedImage {
  std::string name;  // "saxpy gfx1100"
  Image bytes;
};

// The code objects of a .hyx file, which holds its images as they are.
void read_images(const std::filesystem::path& path, std::vector<ShippedImage>& images) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  for (std::size_t at = 0; (at = all.find("\x7f"
                                          "ELF",
                                          at)) != std::string::npos;
       ++at) {
    const Image rest = copy_of(std::string_view(all).substr(at));
    if (rest.size() < 64 || *read<std::uint16_t>(rest, 18) != kMachineAmdgpu) continue;
    const std::size_t size = CodeObject::size_of(rest.data());
    const auto flags = *read<std::uint32_t>(rest, 48);
    images.push_back({path.stem().string() + " " + target_of_flags(flags)->id.processor,
                      Image(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size))});
  }
}

const std::vector<ShippedImage>& shipped() {
  static const std::vector<ShippedImage> images = [] {
    std::vector<ShippedImage> found;
    std::set<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(HALYARD_GFX_IMAGES_DIR)) {
      if (entry.path().extension() == ".hyx") paths.insert(entry.path());
    }
    for (const auto& path : paths) read_images(path, found);
    return found;
  }();
  return images;
}

const Image& saxpy() {
  const auto found = std::ranges::find(shipped(), "saxpy gfx1100", &ShippedImage::name);
  EXPECT_NE(found, shipped().end());
  return found->bytes;
}
template <typename T>
void put(Image& image, std::size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, image.size());
  std::memcpy(image.data() + offset, &value, sizeof value);
}
// The same for generic gfx11, with version 6 of the code object, for which clang writes the same
// code.
const Image& generic_saxpy() {
  static const Image image = [] {
    Image copy = saxpy();
    put(copy, 8, std::uint8_t{4});
    put(copy, 48, std::uint32_t{0x54 | 1 << 24});
    return copy;
  }();
  return image;
}

template <typename T>
void append(Image& image, T value) {
  image.resize(image.size() + sizeof value);
  std::memcpy(image.data() + image.size() - sizeof value, &value, sizeof value);
}

LoadStatus status_of(const Image& image, std::string_view target = "gfx1100") {
  const Loaded loaded = CodeObject::load(image, target);
  EXPECT_EQ(loaded.code != nullptr, loaded.status == LoadStatus::kOk);
  EXPECT_EQ(loaded.log.empty(), loaded.status == LoadStatus::kOk);
  return loaded.status;
}

// ---- Shipped kernels
// -----------------------------------------------------------------------------

TEST(GfxCodeObject, AllShippedKernelsLoad) {
  std::size_t kernels = 0, instructions = 0;
  std::set<Opcode> opcodes;
  for (const ShippedImage& image : shipped()) {
    const Loaded loaded = CodeObject::load(image.bytes, "gfx1100");
    ASSERT_EQ(loaded.status, LoadStatus::kOk) << image.name << ": " << loaded.log;
    const CodeObject::Program& program = loaded.code->program();
    EXPECT_FALSE(loaded.code->kernels().empty()) << image.name;
    for (std::size_t i = 0; i != loaded.code->kernels().size(); ++i) {
      const Kernel& kernel = loaded.code->kernels()[i];
      EXPECT_EQ(loaded.code->find_kernel(kernel.name), i);
      EXPECT_EQ(program.instructions[program.code[i].entry].offset_in_code,
                program.code[i].entry_offset);
      EXPECT_EQ(program.code[i].descriptor.kernarg_bytes, kernel.argument_bytes);
      EXPECT_EQ(program.code[i].descriptor.group_segment_bytes, kernel.static_lds_bytes);
    }
    kernels += loaded.code->kernels().size();
    instructions += program.instructions.size();
    for (const Instruction& instruction : program.instructions) opcodes.insert(instruction.opcode);
  }
  EXPECT_GE(shipped().size(), 20u);
  EXPECT_GE(kernels, 100u);
  RecordProperty("kernels", static_cast<int>(kernels));
  RecordProperty("instructions", static_cast<int>(instructions));
  RecordProperty("opcodes", static_cast<int>(opcodes.size()));
}

TEST(GfxCodeObject, InstructionsOfShippedKernelsAssembleToTheirWords) {
  if (!has_llvm_mc()) GTEST_SKIP() << "llvm-mc is not installed";
  std::map<std::string, Words> words_of_text;
  for (const ShippedImage& image : shipped()) {
    const Loaded loaded = CodeObject::load(image.bytes, "gfx1100");
    ASSERT_NE(loaded.code, nullptr) << loaded.log;
    const std::vector<Instruction>& all = loaded.code->program().instructions;
    for (std::size_t i = 0; i != all.size(); ++i) {
      if (all[i].size == 0) continue;
      Words words(all[i].size / 4);
      std::memcpy(words.data(), loaded.code->image().data() + all[i].offset_in_code, all[i].size);
      words_of_text[print(std::span(all).subspan(i))] = words;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [text, words] : words_of_text) texts.push_back(text);
  const std::vector<Assembled> assembled = assemble(texts);
  for (std::size_t i = 0; i != texts.size(); ++i) {
    Words words = words_of_text[texts[i]];
    // LLVM uses literals for addresses that it resolves late; the assembler encodes small values as
    // inline constants.
    const bool has_small_literal = words.size() == assembled[i].words.size() + 1 &&
                                   static_cast<std::int32_t>(words.back()) >= -16 &&
                                   static_cast<std::int32_t>(words.back()) <= 64;
    if (has_small_literal) continue;
    EXPECT_EQ(assembled[i].words, words) << texts[i] << assembled[i].error;
  }
  EXPECT_GE(texts.size(), 3000u);
}

TEST(GfxCodeObject, MetadataDescribeArguments) {
  const Loaded loaded = CodeObject::load(saxpy(), "gfx1100");
  ASSERT_NE(loaded.code, nullptr) << loaded.log;
  ASSERT_EQ(loaded.code->kernels().size(), 1u);
  const Kernel& kernel = loaded.code->kernels()[0];
  EXPECT_EQ(kernel.name, "saxpy");
  EXPECT_EQ(kernel.wave_size, 32u);
  ASSERT_EQ(kernel.arguments.size(), 3u);
  EXPECT_EQ(kernel.arguments[0].kind, "global_buffer");
  EXPECT_EQ(kernel.arguments[2].kind, "by_value");
  EXPECT_EQ(kernel.arguments[1].offset, 8u);
  EXPECT_EQ(kernel.arguments[2].size, 8u);
  EXPECT_EQ(kernel.explicit_bytes, 24u);
  EXPECT_EQ(kernel.argument_bytes, 24u);
}

// ---- Targets
// -------------------------------------------------------------------------------------

TEST(GfxCodeObject, CodeRunsOnItsProcessorOnly) {
  EXPECT_EQ(status_of(saxpy(), "gfx1100"), LoadStatus::kOk);
  EXPECT_EQ(status_of(saxpy(), "gfx1101"), LoadStatus::kOtherTarget);
  EXPECT_EQ(status_of(saxpy(), "gfx942:sramecc+:xnack-"), LoadStatus::kOtherTarget);
  EXPECT_EQ(status_of(saxpy(), "sm_80"), LoadStatus::kOtherTarget);
}

TEST(GfxCodeObject, GenericCodeRunsOnThoseThatItCovers) {
  EXPECT_EQ(status_of(generic_saxpy(), "gfx1100"), LoadStatus::kOk);
  EXPECT_EQ(status_of(generic_saxpy(), "gfx1151"), LoadStatus::kOk);
  EXPECT_EQ(status_of(generic_saxpy(), "gfx1030"), LoadStatus::kOtherTarget);
  EXPECT_EQ(status_of(generic_saxpy(), "gfx1201"), LoadStatus::kOtherTarget);
  Image without_version = generic_saxpy();
  put(without_version, 48, std::uint32_t{0x54});
  EXPECT_EQ(status_of(without_version, "gfx1100"), LoadStatus::kOtherTarget);
}

TEST(GfxCodeObject, FeaturesOfTheImageAreThoseOfTheDeviceOrAny) {
  const auto with = [](const char* text) { return *TargetId::parse(text); };
  EXPECT_EQ(match(with("gfx90a"), with("gfx90a:sramecc+:xnack-")), Match::kNative);
  EXPECT_EQ(match(with("gfx90a:xnack-"), with("gfx90a:sramecc+:xnack-")), Match::kNative);
  EXPECT_EQ(match(with("gfx90a:xnack+"), with("gfx90a:sramecc+:xnack-")), Match::kNone);
  EXPECT_EQ(match(with("gfx90a:sramecc-"), with("gfx90a:sramecc+:xnack-")), Match::kNone);
  EXPECT_FALSE(TargetId::parse("gfx90a:fast+"));
  const auto halyard = target_of_flags(0x53f);  // as clang 19 writes it for gfx90a
  EXPECT_EQ(halyard->id.processor, "gfx90a");
  EXPECT_EQ(halyard->id.xnack, Feature::kAny);
}

TEST(GfxCodeObject, OtherFilesAreToldApart) {
  EXPECT_EQ(status_of(copy_of("hello")), LoadStatus::kNotAnImage);
  EXPECT_EQ(status_of({}), LoadStatus::kNotAnImage);
  Image of_x86 = saxpy();
  put(of_x86, 18, std::uint16_t{62});
  EXPECT_EQ(status_of(of_x86), LoadStatus::kOtherTarget);
  Image of_64_bit_less = saxpy();
  put(of_64_bit_less, 4, std::uint8_t{1});
  EXPECT_EQ(status_of(of_64_bit_less), LoadStatus::kDamaged);
  Image of_another_version = saxpy();
  put(of_another_version, 8, std::uint8_t{1});
  EXPECT_EQ(status_of(of_another_version), LoadStatus::kNotExecutable);
}

// ---- Bundles
// -------------------------------------------------------------------------------------

Image bundle(const std::vector<std::pair<std::string, Image>>& entries) {
  Image result = copy_of("__CLANG_OFFLOAD_BUNDLE__");
  append(result, std::uint64_t{entries.size()});
  std::uint64_t offset = result.size();
  for (const auto& [id, image] : entries) offset += 24 + id.size();
  for (const auto& [id, image] : entries) {
    append(result, offset);
    append(result, std::uint64_t{image.size()});
    append(result, std::uint64_t{id.size()});
    std::ranges::copy(copy_of(id), std::back_inserter(result));
    offset += image.size();
  }
  for (const auto& [id, image] : entries) std::ranges::copy(image, std::back_inserter(result));
  return result;
}

Image compressed(std::uint16_t version, std::uint16_t method, const Image& content,
                 std::uint64_t inflated) {
  Image result = copy_of("CCOB");
  append(result, version);
  append(result, method);
  if (version == 2) append(result, static_cast<std::uint32_t>(24 + content.size()));
  if (version == 3) append(result, std::uint64_t{32 + content.size()});
  if (version == 3) {
    append(result, inflated);
  } else {
    append(result, static_cast<std::uint32_t>(inflated));
  }
  append(result, std::uint64_t{0x1234});
  std::ranges::copy(content, std::back_inserter(result));
  return result;
}

// RFC 1950 and 1951: blocks that are stored.
Image zlib(const Image& bytes) {
  Image result = copy_of("\x78\x01");
  std::uint32_t low = 1, high = 0;
  for (const std::byte byte : bytes) {
    low = (low + std::to_integer<std::uint32_t>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min<std::size_t>(bytes.size() - at, 60'000);
    append(result, static_cast<std::uint8_t>(at + size == bytes.size() ? 1 : 0));
    append(result, static_cast<std::uint16_t>(size));
    append(result, static_cast<std::uint16_t>(~size));
    result.insert(result.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  append(result, __builtin_bswap32(high << 16 | low));
  return result;
}

// RFC 8878: one segment, its size in 4 bytes, raw blocks.
Image zstd(const Image& bytes) {
  Image result;
  append(result, std::uint32_t{0xfd2fb528});
  append(result, std::uint8_t{0xa0});
  append(result, static_cast<std::uint32_t>(bytes.size()));
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min<std::size_t>(bytes.size() - at, 100'000);
    const auto header = static_cast<std::uint32_t>(size << 3 | (at + size == bytes.size() ? 1 : 0));
    append(result, static_cast<std::uint16_t>(header));
    append(result, static_cast<std::uint8_t>(header >> 16));
    result.insert(result.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  return result;
}

TEST(GfxBundle, TheNativeEntryIsTakenBeforeTheGenericOne) {
  Image broken_generic = generic_saxpy();
  put(broken_generic, 18, std::uint16_t{62});
  const Image both = bundle({{"host-x86_64-unknown-linux-gnu-", {}},
                             {"hipv4-amdgcn-amd-amdhsa--gfx11-generic", broken_generic},
                             {"hipv4-amdgcn-amd-amdhsa--gfx1100", saxpy()},
                             {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", saxpy()}});
  EXPECT_EQ(status_of(both), LoadStatus::kOk);
  EXPECT_EQ(status_of(both, "gfx1101"),
            LoadStatus::kOtherTarget);  // the broken generic image
  EXPECT_EQ(status_of(bundle({{"hip-amdgcn-amd-amdhsa--gfx11-generic", generic_saxpy()}})),
            LoadStatus::kOk);
}

TEST(GfxBundle, ABundleWithoutAFittingEntryHasNoImage) {
  EXPECT_EQ(status_of(bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1201", saxpy()},
                              {"host-x86_64-unknown-linux-gnu-gfx1100", saxpy()},
                              {"hip-spirv64-amd-amdhsa--amdgcnspirv", saxpy()}})),
            LoadStatus::kNoImageInBundle);
  EXPECT_EQ(status_of(bundle({})), LoadStatus::kNoImageInBundle);
}

TEST(GfxBundle, EntriesOutsideItAreDamage) {
  Image cut = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", saxpy()}});
  put(cut, 32, std::uint64_t{cut.size()});
  EXPECT_EQ(status_of(cut), LoadStatus::kDamaged);
  put(cut, 24, ~std::uint64_t{0});
  EXPECT_EQ(status_of(cut), LoadStatus::kDamaged);
}

TEST(GfxBundle, CompressedOnesAreInflated) {
  const Image plain = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", saxpy()}});
  for (const std::uint16_t version : {1, 2, 3}) {
    for (const std::uint16_t method : {0, 1}) {
      const Image content = method == 0 ? zlib(plain) : zstd(plain);
      const Image whole = compressed(version, method, content, plain.size());
      const Loaded loaded = CodeObject::load(whole, "gfx1100");
      if (loaded.log.find("this system has no") != std::string::npos) continue;
      EXPECT_EQ(loaded.status, LoadStatus::kOk) << loaded.log;
      EXPECT_EQ(status_of(compressed(version, method, content, plain.size() + 1)),
                LoadStatus::kDamaged);
      EXPECT_EQ(CodeObject::size_of(whole.data()), version == 1 ? 0 : whole.size());
    }
  }
  EXPECT_EQ(status_of(compressed(2, 9, zlib(plain), plain.size())), LoadStatus::kDamaged);
  EXPECT_EQ(status_of(compressed(4, 0, zlib(plain), plain.size())), LoadStatus::kDamaged);
}

TEST(GfxCodeObject, SizesAreThoseOfTheHeaders) {
  EXPECT_EQ(CodeObject::size_of(saxpy().data()), saxpy().size());
  const Image both = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1201", saxpy()},
                             {"hipv4-amdgcn-amd-amdhsa--gfx1100", generic_saxpy()}});
  EXPECT_EQ(CodeObject::size_of(both.data()), both.size());
  EXPECT_EQ(CodeObject::size_of(copy_of("neither of them").data()), 0u);
}

// ---- Code
// ----------------------------------------------------------------------------------------

Image module_of(const std::string& body, const std::string& more = "") {
  GfxSource source;
  source.body = body;
  return assemble_gfx(gfx_module_text({source}) + more);
}

TEST(GfxCodeObject, AnUnknownInstructionThatIsReachedIsNamed) {
  HALYARD_NEEDS_ASSEMBLER();
  const Loaded loaded =
      CodeObject::load(module_of("s_nop 0\n.long 0xf0000000\n.long 0\n"), "gfx1100");
  EXPECT_EQ(loaded.status, LoadStatus::kNotExecutable);
  EXPECT_NE(loaded.log.find("In test"), std::string::npos) << loaded.log;
  EXPECT_NE(loaded.log.find("0xf0000000: an instruction MIMG"), std::string::npos) << loaded.log;
}

TEST(GfxCodeObject, WhatIsNotReachedMayBeAnything) {
  HALYARD_NEEDS_ASSEMBLER();
  EXPECT_EQ(status_of(module_of("s_branch over\n.long 0xf0000000\n.long 0xffffffff\nover:\n")),
            LoadStatus::kOk);
  EXPECT_EQ(status_of(module_of("s_trap 2\n.long 0xffffffff\n")), LoadStatus::kOk);
  EXPECT_EQ(status_of(module_of("s_cbranch_scc0 over\n.long 0xffffffff\nover:\n")),
            LoadStatus::kNotExecutable);
}

TEST(GfxCodeObject, BranchesIntoTheMiddleOfAnInstructionAreFollowed) {
  HALYARD_NEEDS_ASSEMBLER();
  // The literal of s_mov_b32 is s_endpgm.
  const Loaded loaded =
      CodeObject::load(module_of("s_cbranch_scc0 1\ns_mov_b32 s0, 0xbfb00000\n"), "gfx1100");
  ASSERT_EQ(loaded.status, LoadStatus::kOk) << loaded.log;
  const CodeObject::Program& program = loaded.code->program();
  const std::uint32_t entry = program.code[0].entry;
  const Instruction& branch = program.instructions[entry];
  EXPECT_EQ(program.instructions[branch.target].opcode, Opcode::s_endpgm);
  EXPECT_EQ(program.instructions[entry + 1].opcode, Opcode::s_mov_b32);
}

TEST(GfxCodeObject, BranchesOutOfTheCodeAreDamage) {
  HALYARD_NEEDS_ASSEMBLER();
  EXPECT_EQ(status_of(module_of("s_branch 0x7000\n")), LoadStatus::kDamaged);
}

TEST(GfxCodeObject, FunctionsThatAreCalledByAddressAreRead) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string call = "s_getpc_b64 s[4:5]\ns_swappc_b64 s[6:7], s[4:5]\n";
  const std::string callee = ".text\n.type callee,@function\ncallee:\n";
  EXPECT_EQ(status_of(module_of(call, callee + "s_setpc_b64 s[6:7]\n")), LoadStatus::kOk);
  EXPECT_EQ(status_of(module_of(call, callee + ".long 0xffffffff\n")), LoadStatus::kNotExecutable);
  EXPECT_EQ(status_of(module_of("", callee + ".long 0xffffffff\n")), LoadStatus::kOk);
}

TEST(GfxCodeObject, WavesOf64AreRefused) {
  HALYARD_NEEDS_ASSEMBLER();
  std::string text = gfx_module_text({GfxSource{}});
  const std::string wave32 = ".amdhsa_wavefront_size32 1";
  const std::size_t at = text.find(wave32);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, wave32.size(), ".amdhsa_wavefront_size32 0");
  const Loaded loaded = CodeObject::load(assemble_gfx(text), "gfx1100");
  EXPECT_EQ(loaded.status, LoadStatus::kNotExecutable);
  EXPECT_NE(loaded.log.find("waves of 64"), std::string::npos) << loaded.log;
}

TEST(GfxCodeObject, VariablesAndTheirAddressesAreRelocated) {
  HALYARD_NEEDS_ASSEMBLER();
  const Loaded loaded = CodeObject::load(module_of("", R"(
.data
.globl number
.type number,@object
.p2align 3
number: .quad 0x1234
.size number, 8
.globl pointer
.type pointer,@object
pointer: .quad number + 4
.size pointer, 8
.globl to_local
.type to_local,@object
to_local: .quad local
.size to_local, 8
local: .quad 7
)"),
                                         "gfx1100");
  ASSERT_EQ(loaded.status, LoadStatus::kOk) << loaded.log;
  std::map<std::string, Variable> variables;
  for (const Variable& variable : loaded.code->variables()) variables[variable.name] = variable;
  ASSERT_EQ(variables.size(), 3u);  // neither kernel descriptors nor local names
  Image image(loaded.code->image().begin(), loaded.code->image().end());
  constexpr std::uint64_t kAddress = 0x7f00'0000'0000;
  loaded.code->relocate(image, kAddress);
  EXPECT_EQ(variables["number"].size, 8u);
  EXPECT_EQ(read<std::uint64_t>(image, variables["number"].offset), 0x1234u);
  EXPECT_EQ(read<std::uint64_t>(image, variables["pointer"].offset),
            kAddress + variables["number"].offset + 4);
  EXPECT_EQ(read<std::uint64_t>(image, variables["to_local"].offset),
            kAddress + variables["to_local"].offset + 8);
}

// ---- Damage
// --------------------------------------------------------------------------------------

TEST(MessagePack, ReadsWhatTheSpecificationHas) {
  constexpr std::array<std::uint8_t, 17> kBytes = {0x83, 0xa1, 'a',  0xcd, 1,    2, 0xa1, 'b', 0x92,
                                                   0xff, 0xc3, 0xa1, 'c',  0xd9, 2, 'x',  'y'};
  const auto value = parse_message_pack(std::as_bytes(std::span(kBytes)));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->integer_at("a"), 258);
  ASSERT_NE(value->find("b"), nullptr);
  EXPECT_EQ(value->find("b")->items[0].integer, -1);
  EXPECT_EQ(value->find("b")->items[1].integer, 1);
  EXPECT_EQ(value->text_at("c"), "xy");
  EXPECT_FALSE(value->integer_at("c"));
}

TEST(MessagePack, RefusesWhatIsLongerThanItsBytesOrDeep) {
  EXPECT_FALSE(parse_message_pack(copy_of("\xdd\xff\xff\xff\xff")));  // an array of 2^32 - 1
  EXPECT_FALSE(parse_message_pack(copy_of("\xdf\xff\xff\xff\xff")));
  EXPECT_FALSE(parse_message_pack(copy_of("\xdb\xff\xff\xff\xff")));
  EXPECT_FALSE(parse_message_pack(copy_of("\xc1")));
  EXPECT_FALSE(parse_message_pack(Image(1000, std::byte{0x91})));
  EXPECT_FALSE(parse_message_pack({}));
}

TEST(GfxCodeObject, EveryTruncationIsRefusedOrLoads) {
  const Image& whole = saxpy();
  std::size_t refused = 0;
  for (std::size_t size = 0; size != whole.size(); ++size) {
    // A separate buffer, so that a read beyond it is detected.
    const Image part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    refused += status_of(part) != LoadStatus::kOk ? 1 : 0;
  }
  EXPECT_EQ(refused, whole.size());
}

TEST(GfxCodeObject, BytesThatAreFlippedNeverCrash) {
  std::mt19937_64 random(1);
  const Image plain = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", saxpy()}});
  const std::array<Image, 3> originals = {saxpy(), plain,
                                          compressed(2, 0, zlib(plain), plain.size())};
  for (const Image& original : originals) {
    std::map<LoadStatus, unsigned> count;
    const unsigned rounds = &original == originals.data() ? 10'000 : 2000;
    for (unsigned i = 0; i != rounds; ++i) {
      Image damaged = original;
      // Mostly in the headers, which are at both ends of the file.
      const unsigned flips = 1 + static_cast<unsigned>(random() % 4);
      for (unsigned flip = 0; flip != flips; ++flip) {
        const std::size_t range = random() % 2 == 0 ? damaged.size() : 1024;
        const std::size_t at = random() % range;
        damaged[random() % 4 == 0 ? damaged.size() - 1 - at : at] ^=
            static_cast<std::byte>(1 + random() % 255);
      }
      ++count[status_of(damaged)];
    }
    EXPECT_GT(count[LoadStatus::kDamaged], 100u);
  }
}

TEST(GfxCodeObject, MetadataAndCodeThatAreFlippedNeverCrash) {
  std::mt19937_64 random(2);
  for (const ShippedImage& image : shipped()) {
    for (unsigned i = 0; i != 100; ++i) {
      Image damaged = image.bytes;
      for (unsigned flip = 0; flip != 8; ++flip) {
        damaged[random() % damaged.size()] ^= static_cast<std::byte>(1 + random() % 255);
      }
      status_of(damaged);
    }
  }
}

}  // namespace
}  // namespace halyard::testing
