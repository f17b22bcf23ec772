// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/hyx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "compiler/hyx_writer.h"
#include "hyx_generated.h"

namespace halyard::kernel {
namespace {

using compiler::Contents;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three kernels, two images, one source: every kind of record.
Contents sample() {
  Contents contents;
  contents.kernels.push_back(
      {.name = "saxpy",
       .workgroup_size = {256, 1, 1},
       .bindings = {{"x", Access::kRead, ElementType::kFloat32},
                    {"y", Access::kReadWrite, ElementType::kFloat32}},
       .constants = {{"a", ElementType::kFloat32, 0}, {"n", ElementType::kUint64, 8}},
       .constants_bytes = 16,
       .line = 3});
  contents.kernels.push_back({.name = "tiles",
                              .workgroup_size = {16, 16, 4},
                              .bindings = {{"out", Access::kWrite, ElementType::kInt8}},
                              .constants = {},
                              .static_shared_bytes = 2048,
                              .dynamic_shared_bytes = 64,
                              .line = 9,
                              .may_overlap = true});
  contents.kernels.push_back({.name = "tensors",
                              .workgroup_size = {1, 1, 1},
                              .bindings = {{"x", Access::kRead, ElementType::kFloat32, 1},
                                           {"y", Access::kWrite, ElementType::kFloat32, 2, {4, 8}},
                                           {"z", Access::kReadWrite, ElementType::kFloat32, 1}},
                              .constants = {{"x.size0", ElementType::kUint32, 0},
                                            {"y.size0", ElementType::kUint32, 4},
                                            {"y.size1", ElementType::kUint32, 8},
                                            {"y.stride0", ElementType::kUint32, 12},
                                            {"n", ElementType::kInt32, 16},
                                            {"z.size0", ElementType::kUint32, 20},
                                            {"z.tile0", ElementType::kUint32, 24}},
                              .constants_bytes = 28,
                              .equal_sizes = {{0, 0, 2, 0}, {1, 1, 0, 0}}});
  contents.images.push_back({"x86-64-v3", "hy-cpu-1", "the first image's bytes"});
  contents.images.push_back({"x86-64-v2", "hy-cpu-1", "the second image's bytes"});
  contents.sources.push_back({"saxpy.hyk", "HY_KERNEL(...)\n"});
  return contents;
}

std::string message(const std::vector<std::byte>& bytes) {
  const auto hyx = Hyx::parse(bytes, "k.hyx");
  return hyx.ok() ? "ok" : hyx.status().to_string();
}

std::string message(const Contents& contents) { return message(compiler::write_hyx(contents)); }

std::string message(const flatbuffers::FlatBufferBuilder& builder) {
  const auto buffer = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  std::vector<std::byte> file(buffer.begin(), buffer.end());
  append_checksum(file);
  return message(file);
}

// Reads everything that is reachable, so that a sanitizer checks every view.
std::string everything(const Hyx& hyx) {
  std::string text;
  for (const KernelInfo& kernel : hyx.kernels()) {
    text += kernel.name;
    for (const std::uint32_t extent : kernel.workgroup_size) text += std::to_string(extent) + ' ';
    for (const BindingInfo& binding : kernel.bindings) {
      text += binding.name;
      text += to_string(binding.access);
      text += to_string(binding.type);
      for (std::uint32_t d = 0; d < binding.rank; ++d) {
        text += std::to_string(binding.tile[d]) + ' ';
        text += kernel.constants[binding.first_constant + d].name;
      }
    }
    for (const std::uint32_t i : kernel.scalars) text += kernel.constants[i].name;
    for (const ConstantInfo& constant : kernel.constants) {
      text += constant.name;
      text += to_string(constant.type);
      text += std::to_string(constant.offset) + '/' + std::to_string(constant.size) + ' ';
    }
    text += std::to_string(kernel.constants_bytes) + ' ';
    text += std::to_string(kernel.static_shared_bytes) + ' ';
    text += std::to_string(kernel.dynamic_shared_bytes) + ' ';
    for (const EqualSizes& each : kernel.equal_sizes) {
      text += kernel.bindings[each.binding].name;
      text += kernel.bindings[each.other_binding].name;
      text += std::to_string(each.dimension) + '=' + std::to_string(each.other_dimension) + ' ';
    }
    text += kernel.source;
    text += std::to_string(kernel.line);
  }
  for (const ImageInfo& image : hyx.images()) {
    text += image.target;
    text += image.convention;
    for (const std::byte byte : image.bytes) text += static_cast<char>(byte);
  }
  for (const SourceInfo& source : hyx.sources()) {
    text += source.name;
    text += source.text;
  }
  return text;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view name)
      : path_(std::filesystem::temp_directory_path() /
              (std::to_string(::getpid()) + "-" + std::string(name))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Hyx, GivesBackWhatWasWritten) {
  const auto hyx = Hyx::parse(compiler::write_hyx(sample()), "k.hyx").value();
  ASSERT_EQ(hyx.kernels().size(), 3u);
  const KernelInfo& saxpy = hyx.kernels()[0];
  EXPECT_EQ(saxpy.name, "saxpy");
  EXPECT_EQ(saxpy.workgroup_size, (std::array<std::uint32_t, 3>{256, 1, 1}));
  ASSERT_EQ(saxpy.bindings.size(), 2u);
  EXPECT_EQ(saxpy.bindings[1].name, "y");
  EXPECT_EQ(saxpy.bindings[1].access, Access::kReadWrite);
  EXPECT_EQ(saxpy.bindings[1].type, ElementType::kFloat32);
  ASSERT_EQ(saxpy.constants.size(), 2u);
  EXPECT_EQ(saxpy.constants[1].name, "n");
  EXPECT_EQ(saxpy.constants[1].offset, 8u);
  EXPECT_EQ(saxpy.constants[1].size, 8u);
  EXPECT_EQ(saxpy.constants_bytes, 16u);
  EXPECT_EQ(saxpy.source, "saxpy.hyk");
  EXPECT_EQ(saxpy.line, 3u);
  const KernelInfo& tiles = hyx.kernels()[1];
  EXPECT_EQ(tiles.workgroup_size, (std::array<std::uint32_t, 3>{16, 16, 4}));
  EXPECT_EQ(tiles.bindings[0].type, ElementType::kInt8);
  EXPECT_EQ(tiles.static_shared_bytes, 2048u);
  EXPECT_EQ(tiles.dynamic_shared_bytes, 64u);
  const KernelInfo& tensors = hyx.kernels()[2];
  EXPECT_EQ(tensors.bindings[0].rank, 1u);
  EXPECT_EQ(tensors.bindings[1].rank, 2u);
  EXPECT_EQ(tensors.bindings[1].tile, (std::array<std::uint32_t, kMaxRank>{4, 8, 0}));
  EXPECT_EQ(tensors.bindings[1].first_constant, 1u);
  EXPECT_EQ(tensors.bindings[2].first_constant, 5u);
  EXPECT_THAT(tensors.scalars, ElementsAre(4));
  const auto sizes = [](std::uint32_t binding, std::uint32_t dimension, std::uint32_t other,
                        std::uint32_t other_dimension) {
    return FieldsAre(binding, dimension, other, other_dimension);
  };
  EXPECT_THAT(tensors.equal_sizes, ElementsAre(sizes(0, 0, 2, 0), sizes(1, 1, 0, 0)));
  EXPECT_THAT(saxpy.equal_sizes, IsEmpty());
  EXPECT_FALSE(saxpy.may_overlap);
  EXPECT_TRUE(tiles.may_overlap);
  EXPECT_THAT(saxpy.scalars, ElementsAre(0, 1));
  EXPECT_EQ(saxpy.bindings[0].rank, 0u);
  ASSERT_EQ(hyx.images().size(), 2u);
  EXPECT_EQ(hyx.images()[1].target, "x86-64-v2");
  EXPECT_EQ(hyx.images()[1].bytes.size(), 24u);
  EXPECT_EQ(hyx.sources()[0].text, "HY_KERNEL(...)\n");
}

TEST(Hyx, KeepsItsViewsWhenMoved) {
  Hyx first = Hyx::parse(compiler::write_hyx(sample()), "k.hyx").value();
  const std::string before = everything(first);
  const Hyx second = std::move(first);
  EXPECT_EQ(everything(second), before);
}

TEST(Hyx, FindsKernelsByName) {
  const Hyx hyx = Hyx::parse(compiler::write_hyx(sample()), "k.hyx").value();
  EXPECT_EQ(hyx.find("tiles").value(), &hyx.kernels()[1]);
  const auto missing = hyx.find("tile");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(), "k.hyx: no kernel 'tile'; it has saxpy, tiles, tensors");
}

TEST(Hyx, PrefersTheFirstAcceptableTarget) {
  const Hyx hyx = Hyx::parse(compiler::write_hyx(sample()), "k.hyx").value();
  const std::string_view targets[] = {"x86-64-v4", "x86-64-v2", "x86-64-v3"};
  EXPECT_EQ(hyx.image_for(targets, "hy-cpu-1").value(), &hyx.images()[1]);
  EXPECT_EQ(hyx.image_for(targets, "hy-gpu-1").status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(hyx.image_for(targets, "hy-gpu-1").status().message()),
              ::testing::HasSubstr("(hy-cpu-1)"))
      << "an image of another convention is named with it";
  EXPECT_EQ(hyx.image_for({}, "hy-cpu-1").status().code(), StatusCode::kUnavailable);
}

TEST(Hyx, RefusesEveryTruncation) {
  const auto whole = compiler::write_hyx(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of exactly this size, so that a sanitizer detects a read past its end.
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<long>(size));
    EXPECT_EQ(Hyx::parse(part, "k.hyx").status().code(), StatusCode::kDataLoss) << size;
  }
}

TEST(Hyx, NoticesEveryFlippedBit) {
  const auto whole = compiler::write_hyx(sample());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto flipped = whole;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_EQ(Hyx::parse(flipped, "k.hyx").status().code(), StatusCode::kDataLoss) << bit;
  }
  auto flipped = whole;
  flipped[whole.size() / 2] ^= std::byte{1};
  EXPECT_THAT(message(flipped), HasSubstr("k.hyx: damaged: its " + std::to_string(whole.size()) +
                                          " bytes do not match the checksum at their end"));
  flipped = whole;
  flipped.push_back({});
  EXPECT_THAT(message(flipped), HasSubstr("do not match the checksum"));
}

// The other rules are checked whatever the checksum: it finds damage, not malice.
TEST(Hyx, SurvivesEveryFlippedByte) {
  auto whole = compiler::write_hyx(sample());
  whole.resize(whole.size() - 16);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned mask : {0x01u, 0x02u, 0x04u, 0x08u, 0x10u, 0x20u, 0x40u, 0x80u, 0xffu}) {
      auto flipped = whole;
      flipped[at] ^= static_cast<std::byte>(mask);
      append_checksum(flipped);
      const auto hyx = Hyx::parse(flipped, "k.hyx");
      if (hyx.ok()) everything(*hyx);
    }
  }
}

TEST(Hyx, RefusesForeignFiles) {
  const std::string text = "#!/bin/sh\necho no kernels here\n";
  const auto hyx = Hyx::parse(std::as_bytes(std::span(text)), "k.hyx");
  EXPECT_EQ(hyx.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(hyx.status().message()), HasSubstr("not a .hyx file"));
}

TEST(Hyx, RefusesAFileWithoutItsVectors) {
  flatbuffers::FlatBufferBuilder builder;
  const auto start = builder.StartTable();
  const flatbuffers::Offset<schema::File> file(builder.EndTable(start));
  builder.Finish(file, schema::FileIdentifier());
  EXPECT_THAT(message(builder), HasSubstr("DataLoss: k.hyx: damaged: an offset or length"));
}

// Two faults that the writer cannot produce: a location without its source, and images that share
// bytes.
TEST(Hyx, RefusesALocationWithoutSource) {
  flatbuffers::FlatBufferBuilder builder;
  const schema::WorkgroupSize size(1, 1, 1);
  const schema::Location location(1, 7);
  const std::vector<flatbuffers::Offset<schema::Binding>> bindings;
  const std::vector<flatbuffers::Offset<schema::Constant>> constants;
  const std::vector<std::uint8_t> code = {1};
  const std::vector kernels = {
      schema::CreateKernelDirect(builder, "k", &size, &bindings, &constants, 0, 0, 0, &location)};
  const std::vector images = {schema::CreateImageDirect(builder, "t", "c", &code)};
  const std::vector sources = {schema::CreateSourceDirect(builder, "k.hyk", "")};
  schema::FinishFileBuffer(builder, schema::CreateFileDirect(builder, &kernels, &images, &sources));
  EXPECT_THAT(message(builder), HasSubstr("k.hyx: kernel k: location.source is 1, of 1 source"));
}

TEST(Hyx, RefusesImagesThatShareBytes) {
  flatbuffers::FlatBufferBuilder builder;
  const schema::WorkgroupSize size(1, 1, 1);
  const std::vector<flatbuffers::Offset<schema::Binding>> bindings;
  const std::vector<flatbuffers::Offset<schema::Constant>> constants;
  const std::vector<std::uint8_t> code(4096);
  const std::vector kernels = {
      schema::CreateKernelDirect(builder, "k", &size, &bindings, &constants)};
  const auto shared = builder.CreateVector(code);
  std::vector<flatbuffers::Offset<schema::Image>> images;
  for (const char* target : {"a", "b"}) {
    const auto name = builder.CreateString(target);
    images.push_back(schema::CreateImage(builder, name, name, shared));
  }
  const std::vector<flatbuffers::Offset<schema::Source>> sources;
  schema::FinishFileBuffer(builder, schema::CreateFileDirect(builder, &kernels, &images, &sources));
  EXPECT_THAT(message(builder), HasSubstr("image b: bytes overlaps"));
}

struct Fault {
  const char* name;
  void (*plant)(Contents&);
  const char* message;
};

class HyxFault : public ::testing::TestWithParam<Fault> {};

TEST_P(HyxFault, IsNamedInTheError) {
  Contents contents = sample();
  GetParam().plant(contents);
  EXPECT_THAT(message(contents), HasSubstr(std::string("DataLoss: k.hyx: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, HyxFault,
    ::testing::Values(
        Fault{"no_kernels", [](Contents& c) { c.kernels.clear(); }, "kernels has 0 entries"},
        Fault{"too_many_kernels",
              [](Contents& c) { c.kernels.resize(kMaxKernels + 1, c.kernels[0]); },
              "kernels has 4097 entries"},
        Fault{"no_images", [](Contents& c) { c.images.clear(); }, "images has 0 entries"},
        Fault{"too_many_images", [](Contents& c) { c.images.resize(65, c.images[0]); },
              "images has 65 entries"},
        Fault{"too_many_sources", [](Contents& c) { c.sources.resize(65, c.sources[0]); },
              "sources has 65 entries"},
        Fault{"too_many_bindings",
              [](Contents& c) { c.kernels[0].bindings.resize(65, c.kernels[0].bindings[0]); },
              "kernel saxpy: bindings has 65 entries"},
        Fault{"too_many_constants",
              [](Contents& c) { c.kernels[0].constants.resize(257, c.kernels[0].constants[0]); },
              "kernel saxpy: constants has 257 entries"},
        Fault{"empty_kernel_name", [](Contents& c) { c.kernels[1].name = ""; }, "kernels.name"},
        Fault{"kernel_name_with_newline", [](Contents& c) { c.kernels[1].name = "a\nb"; },
              "kernels.name"},
        Fault{"kernel_name_too_long",
              [](Contents& c) { c.kernels[1].name = std::string(256, 'k'); }, "kernels.name"},
        Fault{"kernel_named_twice", [](Contents& c) { c.kernels[1].name = "saxpy"; },
              "two kernels are named saxpy"},
        Fault{"zero_extent", [](Contents& c) { c.kernels[0].workgroup_size = {16, 0, 1}; },
              "kernel saxpy: workgroup_size is 16 x 0 x 1"},
        Fault{"workgroup_too_large", [](Contents& c) { c.kernels[0].workgroup_size = {32, 32, 2}; },
              "kernel saxpy: workgroup_size is 32 x 32 x 2"},
        Fault{"workgroup_product_wraps",
              [](Contents& c) { c.kernels[0].workgroup_size = {1u << 31, 1u << 31, 4}; },
              "kernel saxpy: workgroup_size"},
        Fault{"empty_binding_name", [](Contents& c) { c.kernels[0].bindings[0].name = ""; },
              "kernel saxpy: bindings.name"},
        Fault{"unknown_access",
              [](Contents& c) { c.kernels[0].bindings[0].access = static_cast<Access>(3); },
              "kernel saxpy: binding x: access is 3"},
        Fault{"unknown_element",
              [](Contents& c) { c.kernels[0].bindings[0].type = static_cast<ElementType>(11); },
              "kernel saxpy: parameter x: element is 11"},
        Fault{"unknown_rank", [](Contents& c) { c.kernels[2].bindings[0].rank = 4; },
              "kernel tensors: binding x: rank is 4"},
        Fault{"tile_of_a_buffer", [](Contents& c) { c.kernels[0].bindings[1].tile = {4}; },
              "kernel saxpy: binding y: a tile of 1 extent"},
        Fault{"tile_of_an_input", [](Contents& c) { c.kernels[2].bindings[0].tile = {4}; },
              "kernel tensors: binding x: a tile of 1 extent for a read binding"},
        Fault{"tile_of_another_rank",
              [](Contents& c) { c.kernels[2].bindings[1].tile.resize(3, 2); },
              "kernel tensors: binding y: a tile of 3 extents"},
        Fault{"tile_with_many_extents",
              [](Contents& c) { c.kernels[2].bindings[1].tile.resize(100'000, 2); },
              "kernel tensors: binding y: a tile of 100000 extents"},
        Fault{"empty_tile", [](Contents& c) { c.kernels[2].bindings[1].tile[1] = 0; },
              "kernel tensors: binding y: a tile's extent is 0"},
        Fault{"tensor_without_constants", [](Contents& c) { c.kernels[0].bindings[0].rank = 1; },
              "kernel saxpy: binding x: a tensor, but x.size0 is no uint32 constant in its place"},
        Fault{"tensor_without_a_stride",
              [](Contents& c) { c.kernels[2].constants[3].name = "y.pitch"; },
              "kernel tensors: binding y: a tensor, but y.stride0 is no"},
        Fault{"tensor_whose_tile_is_missing",
              [](Contents& c) { c.kernels[2].constants.pop_back(); },
              "kernel tensors: binding z: a tensor, but z.tile0 is no"},
        Fault{"tensor_constant_of_another_type",
              [](Contents& c) { c.kernels[2].constants[0].type = ElementType::kInt32; },
              "kernel tensors: binding x: a tensor, but x.size0 is no"},
        Fault{"tensor_constants_out_of_order",
              [](Contents& c) { std::swap(c.kernels[2].bindings[0], c.kernels[2].bindings[2]); },
              "kernel tensors: binding y: a tensor, but y.size0 is no"},
        Fault{"too_many_equal_sizes",
              [](Contents& c) { c.kernels[2].equal_sizes.resize(257, {0, 0, 2, 0}); },
              "kernel tensors: equal_sizes has 257 entries"},
        Fault{"equal_size_of_no_binding",
              [](Contents& c) { c.kernels[2].equal_sizes[1].binding = 3; },
              "kernel tensors: equal_sizes: binding 3, of 3"},
        Fault{"equal_size_of_no_other_binding",
              [](Contents& c) { c.kernels[2].equal_sizes[0].other_binding = 0xffff'ffffu; },
              "kernel tensors: equal_sizes: binding 4294967295, of 3"},
        Fault{"equal_size_of_a_dimension_too_many",
              [](Contents& c) { c.kernels[2].equal_sizes[1].dimension = 2; },
              "kernel tensors: equal_sizes: dimension 2 of y, whose rank is 2"},
        Fault{"equal_size_of_another_dimension_too_many",
              [](Contents& c) { c.kernels[2].equal_sizes[0].other_dimension = 1; },
              "kernel tensors: equal_sizes: dimension 1 of z, whose rank is 1"},
        Fault{"equal_size_of_a_buffer",
              [](Contents& c) { c.kernels[0].equal_sizes = {{0, 0, 1, 0}}; },
              "kernel saxpy: equal_sizes: dimension 0 of x, whose rank is 0"},
        Fault{"parameter_named_twice", [](Contents& c) { c.kernels[0].constants[0].name = "y"; },
              "kernel saxpy: two parameters are named y"},
        Fault{"small_constant",
              [](Contents& c) { c.kernels[0].constants[0].type = ElementType::kFloat16; },
              "kernel saxpy: constant a: type float16"},
        Fault{"misaligned_constant", [](Contents& c) { c.kernels[0].constants[1].offset = 4; },
              "kernel saxpy: constant n: offset 4 is not a multiple of 8"},
        Fault{"overlapping_constants", [](Contents& c) { c.kernels[0].constants[1].offset = 0; },
              "kernel saxpy: constant n: offset 0 is inside"},
        Fault{"constant_out_of_bounds", [](Contents& c) { c.kernels[0].constants[1].offset = 16; },
              "kernel saxpy: constant n: offset 16 is beyond"},
        Fault{"constant_offset_wraps",
              [](Contents& c) { c.kernels[0].constants[1].offset = 0xffff'fff8u; },
              "kernel saxpy: constant n: offset 4294967288 is beyond"},
        Fault{"constants_too_large", [](Contents& c) { c.kernels[0].constants_bytes = 4097; },
              "kernel saxpy: constants_bytes is 4097"},
        Fault{"static_shared_too_large",
              [](Contents& c) { c.kernels[1].static_shared_bytes = (1u << 20) + 1; },
              "kernel tiles: shared memory"},
        Fault{"dynamic_shared_too_large",
              [](Contents& c) { c.kernels[1].dynamic_shared_bytes = 0xffff'ffffu; },
              "kernel tiles: shared memory"},
        Fault{"empty_target", [](Contents& c) { c.images[0].target = ""; }, "images.target"},
        Fault{"empty_convention", [](Contents& c) { c.images[0].convention = ""; },
              "image x86-64-v3: convention"},
        Fault{"image_twice", [](Contents& c) { c.images[1].target = "x86-64-v3"; },
              "two images are for target x86-64-v3"},
        Fault{"empty_image", [](Contents& c) { c.images[1].bytes = ""; },
              "image x86-64-v2: bytes is empty"},
        Fault{"empty_source_name", [](Contents& c) { c.sources[0].name = ""; }, "sources.name"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(HyxRead, ReadsAFile) {
  const TemporaryFile file("read.hyx");
  const auto bytes = compiler::write_hyx(sample());
  std::ofstream(file.path(), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const Hyx hyx = Hyx::read(file.path()).value();
  EXPECT_EQ(hyx.name(), file.path());
  EXPECT_EQ(hyx.bytes().size(), bytes.size());
  EXPECT_EQ(hyx.kernels().size(), 3u);
}

TEST(HyxRead, NamesAMissingFile) {
  const auto hyx = Hyx::read("/nonexistent/k.hyx");
  EXPECT_EQ(hyx.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(hyx.status().message()), HasSubstr("/nonexistent/k.hyx"));
  EXPECT_EQ(hyx.status().native_error(), "ENOENT");
}

TEST(HyxRead, RefusesADirectoryAndAPipe) {
  EXPECT_EQ(Hyx::read("/").status().code(), StatusCode::kInvalidArgument);
  const TemporaryFile pipe("pipe.hyx");
  ASSERT_EQ(::mkfifo(pipe.path().c_str(), 0600), 0);
  EXPECT_EQ(Hyx::read(pipe.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST(HyxRead, RefusesAFileAboveOneGibibyte) {
  const TemporaryFile file("large.hyx");
  std::ofstream(file.path()).put('x');
  std::filesystem::resize_file(file.path(), kMaxHyxBytes + 1);  // sparse
  EXPECT_EQ(Hyx::read(file.path()).status().code(), StatusCode::kResourceExhausted);
}

TEST(HyxRead, RefusesAnEmptyFile) {
  const TemporaryFile file("empty.hyx");
  std::ofstream(file.path()).flush();
  EXPECT_EQ(Hyx::read(file.path()).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace halyard::kernel
