// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/cpu_image.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/hyx_writer.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

using kernel::CpuImage;
using kernel::Hyx;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// An image whose one kernel writes `value` to y[0].
std::vector<std::byte> image_that_writes(int value) {
  const auto bytes = compile_text("HY_KERNEL(k, 1, 1, 1, HY_OUT(int, y)) { HY_ITEMS { y[0] = " +
                                  std::to_string(value) + "; } }\n")
                         .value();
  const Hyx hyx = Hyx::parse(bytes, "k.hyx").value();
  const auto image = hyx.images()[0].bytes;
  return {image.begin(), image.end()};
}

int run(const CpuImage& image) {
  int y = 0;
  void* buffers[] = {&y};
  const Workgroup group{{0, 0, 0}, {1, 1, 1}};
  image.entry("k").value()(&group, buffers, nullptr);
  return y;
}

TEST(CpuTargets, EndWithTheBaseline) {
  const auto targets = kernel::cpu_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(targets.back(), "x86-64");
}

TEST(CpuImage, RunsItsEntry) {
  EXPECT_EQ(run(*CpuImage::load(image_that_writes(7), "seven").value()), 7);
}

TEST(CpuImage, KeepsImagesApartThatAreLoadedOneAfterAnother) {
  const auto seven = image_that_writes(7);
  const auto eight = image_that_writes(8);
  EXPECT_EQ(run(*CpuImage::load(seven, "seven").value()), 7);
  EXPECT_EQ(run(*CpuImage::load(eight, "eight").value()), 8);
  const auto first = CpuImage::load(seven, "seven").value();
  const auto second = CpuImage::load(eight, "eight").value();
  EXPECT_EQ(run(*first), 7);
  EXPECT_EQ(run(*second), 8);
}

TEST(CpuImage, NamesAMissingEntry) {
  const auto image = CpuImage::load(image_that_writes(7), "seven").value();
  const auto entry = image->entry("missing");
  EXPECT_EQ(entry.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(entry.status().message(), "seven: has no entry 'missing'");
}

TEST(CpuImage, TakesTheBestImageOfAFile) {
  const auto bytes = compile_text("HY_KERNEL(k, 1, 1, 1) { HY_ITEMS {} }\n").value();
  EXPECT_TRUE(CpuImage::load(Hyx::parse(bytes, "k.hyx").value()).ok());
}

TEST(CpuImage, LacksAKernelThatItsFilePromises) {
  const auto bytes = compile_text("HY_KERNEL(other, 1, 1, 1) { HY_ITEMS {} }\n").value();
  const Hyx hyx = Hyx::parse(bytes, "k.hyx").value();
  EXPECT_EQ(CpuImage::load(hyx).value()->entries(hyx).value().size(), 1u);
  const auto seven = CpuImage::load(image_that_writes(7), "seven").value();
  const Status status = seven->entries(hyx).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "seven: has no entry 'other'");
}

TEST(CpuImage, NamesTheTargetsOfAFileThatHasNoneForThisCpu) {
  compiler::Contents contents;
  contents.kernels.push_back(
      {.name = "k", .workgroup_size = {1, 1, 1}, .bindings = {}, .constants = {}});
  contents.images.push_back({"ptx-sm_80", "hy-cuda-1", "code"});
  const Hyx hyx = Hyx::parse(compiler::write_hyx(contents), "k.hyx").value();
  const auto image = CpuImage::load(hyx);
  EXPECT_EQ(image.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("it has ptx-sm_80"));
}

struct Damage {
  const char* name;
  void (*apply)(std::vector<std::byte>&);
  const char* message;
};

Elf64_Ehdr& header(std::vector<std::byte>& image) {
  return *reinterpret_cast<Elf64_Ehdr*>(image.data());
}

class CpuImageRefuses : public ::testing::TestWithParam<Damage> {};

TEST_P(CpuImageRefuses, WithItsReason) {
  auto bytes = image_that_writes(7);
  GetParam().apply(bytes);
  const auto image = CpuImage::load(bytes, "bad");
  EXPECT_EQ(image.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("bad: cannot be loaded: "));
  EXPECT_THAT(std::string(image.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, CpuImageRefuses,
    ::testing::Values(
        Damage{"no_bytes", [](auto& image) { image.clear(); }, "too short"},
        Damage{"a_header_cut_short", [](auto& image) { image.resize(63); }, "too short"},
        Damage{"a_wrong_magic_number", [](auto& image) { image[0] = std::byte{'E'}; },
               "no ELF file"},
        Damage{"another_class", [](auto& image) { header(image).e_ident[EI_CLASS] = ELFCLASS32; },
               "another machine"},
        Damage{"another_machine", [](auto& image) { header(image).e_machine = EM_RISCV; },
               "another machine"},
        Damage{"an_object_file", [](auto& image) { header(image).e_type = ET_REL; },
               "not a shared object"},
        Damage{"no_program_headers", [](auto& image) { header(image).e_phnum = 0; },
               "program headers"},
        Damage{"program_headers_beyond_the_end",
               [](auto& image) { header(image).e_phoff = ~std::uint64_t{0} - 8; },
               "program headers"},
        Damage{"a_program_header_that_ends_beyond_the_image",
               [](auto& image) {
                 header(image).e_phoff =
                     image.size() - header(image).e_phnum * sizeof(Elf64_Phdr) + 8;
               },
               "program headers"},
        Damage{"an_image_cut_short",
               [](auto& image) {
                 image.resize(header(image).e_phoff + header(image).e_phnum * sizeof(Elf64_Phdr));
               },
               "a segment leaves the image"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CpuImage, PassesOnTheErrorOfTheDynamicLinker) {
  auto bytes = image_that_writes(7);
  // An ABI version that no dynamic linker supports.
  header(bytes).e_ident[EI_ABIVERSION] = 99;
  const auto image = CpuImage::load(bytes, "bad");
  EXPECT_EQ(image.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(image.status().message()),
              AnyOf(HasSubstr("/proc/self/fd/"), HasSubstr("/halyard-kernels-")));
}

}  // namespace
}  // namespace halyard::testing
