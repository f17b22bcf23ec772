// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of images, the checks before HIP reads them, and their lifetime.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compiler/hyx_writer.h"
#include "hip_test_util.h"
#include "kernel/hyx.h"

namespace halyard::hip {
namespace {

using ::testing::ElementsAre;

TEST(HipTargets, AreThoseOfTheProcessorWithItsFeaturesFirst) {
  EXPECT_THAT(image_targets("gfx942:sramecc+:xnack-"),
              ElementsAre("hsaco-gfx942:sramecc+:xnack-", "hsaco-gfx942:sramecc+",
                          "hsaco-gfx942:xnack-", "hsaco-gfx942", "hsaco-gfx9-4-generic"));
  EXPECT_THAT(image_targets("gfx1100"), ElementsAre("hsaco-gfx1100", "hsaco-gfx11-generic"));
  EXPECT_THAT(image_targets("gfx1032"), ElementsAre("hsaco-gfx1032", "hsaco-gfx10-3-generic"));
  EXPECT_THAT(image_targets("gfx90a:xnack-"), ElementsAre("hsaco-gfx90a:xnack-", "hsaco-gfx90a"));
  EXPECT_THAT(image_targets("gfx906"), ElementsAre("hsaco-gfx906", "hsaco-gfx9-generic"));
  EXPECT_THAT(image_targets("gfx1250"), ElementsAre("hsaco-gfx1250"));
}

// A code object with one segment and one section, whose bytes follow the headers.
struct CodeObject {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  Elf64_Shdr section{};
  std::uint64_t bytes = 0;

  CodeObject() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = 224;
    header.e_phoff = offsetof(CodeObject, segment);
    header.e_phentsize = sizeof segment;
    header.e_phnum = 1;
    header.e_shoff = offsetof(CodeObject, section);
    header.e_shentsize = sizeof section;
    header.e_shnum = 1;
    segment.p_offset = section.sh_offset = offsetof(CodeObject, bytes);
    segment.p_filesz = section.sh_size = sizeof bytes;
    section.sh_type = SHT_PROGBITS;
  }
  std::span<const std::byte> view() const { return std::as_bytes(std::span(this, 1)); }
};

std::string bundle(std::uint64_t offset, std::uint64_t size) {
  std::string text = "__CLANG_OFFLOAD_BUNDLE__";
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx1100";
  const auto add = [&](std::uint64_t value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(1), add(offset), add(size), add(id.size());
  return text + id + "code";
}
std::span<const std::byte> view(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class HipImages : public ::testing::Test {
 protected:
  HipImages()
      : file_(kernel::Hyx::parse(
                  compiler::write_hyx({.kernels = {{.name = "put",
                                                    .workgroup_size = {1, 1, 1},
                                                    .bindings = {},
                                                    .constants = {}}},
                                       .images = {{"hsaco-gfx1100", "hy-kernarg-1", "code"}},
                                       .sources = {}}),
                  "test.hyx")
                  .value()) {}
  Status load(std::span<const std::byte> bytes) {
    return hip_.api().load_image(file_, "hsaco-gfx1100", bytes, module_);
  }

  FakeTable hip_;
  kernel::Hyx file_;
  HipApi::Module module_;
};

TEST_F(HipImages, AreKeptUntilTheyAreUnloaded) {
  {
    const CodeObject image;
    ASSERT_TRUE(load(image.view()).ok());
    EXPECT_NE(FakeTable::state.image, static_cast<const void*>(&image));
  }
  hip_.api().unload(module_);
  EXPECT_EQ(FakeTable::state.first_byte, 0x7f);
}

TEST_F(HipImages, ThatAreCutOffAreNotPassedToHip) {
  const CodeObject whole;
  for (std::size_t size = 0; size < sizeof whole; ++size) {
    EXPECT_EQ(load(whole.view().first(size)).code(), StatusCode::kDataLoss) << size;
  }
  CodeObject image;
  image.segment.p_filesz = ~std::uint64_t{0};
  EXPECT_EQ(load(image.view()).code(), StatusCode::kDataLoss);
  image = {};
  image.header.e_machine = EM_X86_64;
  EXPECT_EQ(load(image.view()).code(), StatusCode::kDataLoss);
  image = {};
  image.header.e_shoff = ~std::uint64_t{0} - 8;
  EXPECT_EQ(load(image.view()).code(), StatusCode::kDataLoss);
  EXPECT_EQ(load(view(bundle(0, 1000))).code(), StatusCode::kDataLoss);
  EXPECT_EQ(load(view("just text")).code(), StatusCode::kDataLoss);
  EXPECT_EQ(FakeTable::state.loads, 0);
}

// The formats of clang 17 and later contain their length.
TEST_F(HipImages, MayBeCompressedBundles) {
  const auto compressed = [](std::uint16_t version, std::uint64_t size) {
    std::string text = "CCOB";
    const auto add = [&](auto value) {
      text.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    add(version), add(std::uint16_t{0});
    version == 3 ? add(size) : add(static_cast<std::uint32_t>(size));
    text.resize(40);
    return text;
  };
  for (const std::uint16_t version : {std::uint16_t{2}, std::uint16_t{3}}) {
    EXPECT_TRUE(load(view(compressed(version, 40))).ok()) << version;
    hip_.api().unload(module_);
    EXPECT_EQ(load(view(compressed(version, 41))).code(), StatusCode::kDataLoss) << version;
    EXPECT_EQ(load(view(compressed(version, 8))).code(), StatusCode::kDataLoss) << version;
  }
  EXPECT_EQ(load(view(compressed(1, 40))).code(), StatusCode::kDataLoss);
  EXPECT_EQ(FakeTable::state.loads, 2);
  FakeTable::state.of_load = hipErrorInvalidImage;
  EXPECT_TRUE(HipApi::is_foreign(load(view(compressed(2, 40)))));
}

TEST_F(HipImages, OfAnotherDeviceAreForeign) {
  FakeTable::state.of_load = hipErrorNoBinaryForGpu;
  EXPECT_TRUE(HipApi::is_foreign(load(CodeObject().view())));
  // HIP 7.2 returns this for a bundle without an entry for the device as well.
  FakeTable::state.of_load = hipErrorInvalidImage;
  EXPECT_TRUE(HipApi::is_foreign(load(view(bundle(0, 4)))));
  const Status damaged = load(CodeObject().view());
  EXPECT_FALSE(HipApi::is_foreign(damaged));
  EXPECT_EQ(damaged.code(), StatusCode::kDataLoss);
  EXPECT_EQ(damaged.native_error(), "hipErrorInvalidImage (200)");
}

}  // namespace
}  // namespace halyard::hip
