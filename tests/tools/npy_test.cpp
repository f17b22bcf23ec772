// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npy files: NumPy's files are read, written files equal NumPy's, and any other bytes are an error
// that names the file.
#include "npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <limits>

#include "tools/temporary_directory.h"

namespace halyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tools::ElementType;
using tools::NpyArray;
using tools::parse_npy;
using tools::read_npy;
using tools::write_npy;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// A file of this version with this text as its header, followed by these bytes.
std::vector<std::byte> npy(int version, std::string header, std::string_view data) {
  header += '\n';
  std::string file("\x93NUMPY");
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  }
  return bytes_of(file + header + std::string(data));
}

// The output of numpy.save for a short header: 128 bytes, then the array.
std::string numpy_file(std::string_view dict, std::string_view data) {
  std::string file("\x93NUMPY\x01\x00v\x00", 10);
  file += dict;
  file.resize(127, ' ');
  return file + '\n' + std::string(data);
}

std::string header(std::string_view descr, std::string_view shape,
                   std::string_view fortran = "False") {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }";
}

Result<NpyArray> parse_header(const std::string& text, std::string_view data = "") {
  return parse_npy(npy(1, text, data), "k.npy");
}

void expect_refused(const Result<NpyArray>& result, StatusCode code) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), code) << result.status().to_string();
  EXPECT_THAT(result.status().message(), HasSubstr("k.npy"));
}

TEST(Npy, ReadsWhatNumPyWrites) {
  // numpy.save(file, numpy.arange(6, dtype=numpy.int16).reshape(2, 3)), NumPy 1.26.
  const std::string text = numpy_file("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }",
                                      {"\0\0\1\0\2\0\3\0\4\0\5\0", 12});
  const auto array = parse_npy(bytes_of(text), "k.npy");
  ASSERT_TRUE(array.ok()) << array.status().to_string();
  EXPECT_EQ(array->element, ElementType::kInt16);
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  EXPECT_EQ(array->count(), 6u);
  EXPECT_THAT(array->as<std::int16_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Npy, ReadsVersionsOneToThree) {
  for (const int version : {1, 2, 3}) {
    const auto array = parse_npy(npy(version, header("|u1", "(3,)"), "abc"), "k.npy");
    ASSERT_TRUE(array.ok()) << version << ": " << array.status().to_string();
    EXPECT_EQ(array->bytes, bytes_of("abc"));
  }
}

TEST(Npy, ReadsEveryElementTypeInEveryNativeSpelling) {
  const std::pair<std::string, ElementType> types[] = {
      {"f4", ElementType::kFloat32}, {"i4", ElementType::kInt32}, {"u4", ElementType::kUint32},
      {"f8", ElementType::kFloat64}, {"i8", ElementType::kInt64}, {"u8", ElementType::kUint64},
      {"f2", ElementType::kFloat16}, {"i2", ElementType::kInt16}, {"u2", ElementType::kUint16},
      {"i1", ElementType::kInt8},    {"u1", ElementType::kUint8}};
  for (const auto& [name, type] : types) {
    const std::string data(size_of(type), 'x');
    for (const std::string order : {"<", "=", "", "|"}) {
      if (order == "|" && size_of(type) > 1) continue;
      const auto array = parse_header(header(order + name, "(1,)"), data);
      ASSERT_TRUE(array.ok()) << array.status().to_string();
      EXPECT_EQ(array->element, type);
    }
  }
}

TEST(Npy, ReadsASingleValueAndAnEmptyArray) {
  const auto value = parse_header(header("<f4", "()"), std::string_view("\0\0\x80\x3f", 4));
  ASSERT_TRUE(value.ok());
  EXPECT_THAT(value->shape, IsEmpty());
  EXPECT_THAT(value->as<float>(), ElementsAre(1.0f));
  const auto empty = parse_header(header("<f4", "(0, 18446744073709551615)"));
  ASSERT_TRUE(empty.ok()) << empty.status().to_string();
  EXPECT_EQ(empty->count(), 0u);
}

TEST(Npy, ReadsKeysInAnyOrderAndEitherQuotes) {
  EXPECT_TRUE(parse_header(R"({"shape":(2,),"fortran_order":False,"descr":"|i1"})", "ab").ok());
}

TEST(Npy, FortranOrderOfOneDimensionIsCOrder) {
  EXPECT_TRUE(parse_header(header("|i1", "(2,)", "True"), "ab").ok());
  expect_refused(parse_header(header("|i1", "(2, 1)", "True"), "ab"), StatusCode::kUnimplemented);
}

TEST(Npy, NamesTheUnsupportedPartOfAValidFile) {
  for (const std::string descr : {">f4", "<c8", "|O", "<U3", "|b1", "<f16", "<M8[ns]", "|f4", ""}) {
    expect_refused(parse_header(header(descr, "(1,)"), "0123"), StatusCode::kUnimplemented);
  }
  expect_refused(parse_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
                 StatusCode::kUnimplemented);
}

TEST(Npy, RefusesOtherFiles) {
  for (const std::string_view text :
       {"", "\x93", "\x93NUMPX\x01", "PK\x03\x04 an archive", "1,2,3\n"}) {
    expect_refused(parse_npy(bytes_of(text), "k.npy"), StatusCode::kDataLoss);
  }
}

TEST(Npy, RefusesAnUnknownVersion) {
  for (const int version : {0, 4, 255}) {
    expect_refused(parse_npy(npy(version, header("|u1", "(1,)"), "a"), "k.npy"),
                   StatusCode::kDataLoss);
  }
}

TEST(Npy, RefusesAFileCutOffAnywhere) {
  const auto whole = npy(1, header("<f4", "(2,)"), "01234567");
  ASSERT_TRUE(parse_npy(whole, "k.npy").ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_refused(
        parse_npy({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, "k.npy"),
        StatusCode::kDataLoss);
  }
}

TEST(Npy, RefusesBytesLeftOver) {
  expect_refused(parse_header(header("<f4", "(1,)"), "01234"), StatusCode::kDataLoss);
}

TEST(Npy, RefusesAHeaderLengthBeyondTheFile) {
  auto file = npy(2, header("|u1", "(1,)"), "a");
  std::memset(file.data() + 8, 0xff, 4);
  expect_refused(parse_npy(std::move(file), "k.npy"), StatusCode::kDataLoss);
}

TEST(Npy, RefusesAHeaderThatDoesNotEndItsLine) {
  auto file = npy(1, header("|u1", "(0,)"), "");
  file.back() = std::byte{' '};
  expect_refused(parse_npy(std::move(file), "k.npy"), StatusCode::kDataLoss);
}

TEST(Npy, RefusesShapesBeyondTheFileBeforeItAllocates) {
  for (const std::string_view shape :
       {"(18446744073709551615,)", "(9223372036854775807, 2)", "(4294967296, 4294967296)",
        "(4611686018427387904,)", "(1000000000000,)",
        // 2^64 bytes, which overflows to 0
        "(65536, 65536, 65536, 16384)"}) {
    expect_refused(parse_header(header("<f4", shape), "0123"), StatusCode::kDataLoss);
  }
}

TEST(Npy, RefusesAnInvalidShape) {
  for (const std::string_view shape :
       {"(18446744073709551616,)", "(-1,)", "(1.5,)", "(1", "(,)", "(1 2)", "(1)", "1", "[1]",
        "(0x10,)", "None", "(1,,)", "((1,),)", "('a',)"}) {
    expect_refused(parse_header(header("|u1", shape), "a"), StatusCode::kDataLoss);
  }
  std::string many = "(";
  for (std::size_t i = 0; i < tools::kMaxNpyDimensions; ++i) many += "1,";
  EXPECT_TRUE(parse_header(header("|u1", many + ")"), "a").ok());
  expect_refused(parse_header(header("|u1", many + "1)"), "a"), StatusCode::kDataLoss);
}

TEST(Npy, RefusesAHeaderThatIsNotTheDict) {
  const std::string sound = header("|u1", "(1,)");
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{}"), std::string("{'descr"), sound + "x",
        sound + sound, "[" + sound + "]", sound.substr(1), std::string("{'shape': (1,), }"),
        std::string("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,), }"),
        std::string("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 1, }"),
        std::string("{'descr' '|u1', 'fortran_order': False, 'shape': (1,), }"),
        std::string("{'descr': '|u1' 'fortran_order': False, 'shape': (1,), }"),
        std::string("{'descr': None, 'fortran_order': False, 'shape': (1,), }"),
        std::string("{'descr': '|u1', 'fortran_order': 0, 'shape': (1,), }"),
        std::string("{'descr': '\\x7cu1', 'fortran_order': False, 'shape': (1,), }"),
        std::string("{'descr': '|u1\0', 'fortran_order': False, 'shape': (1,), }", 58)}) {
    expect_refused(parse_header(text, "a"), StatusCode::kDataLoss);
  }
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path("k.npy");
  ASSERT_TRUE(write_npy(path, {ElementType::kFloat32, {1}, bytes_of({"\0\0\x80\x3f", 4})}).ok());
  // numpy.save(file, numpy.ones(1, numpy.float32)), NumPy 1.26.
  EXPECT_EQ(
      testing::read_text(path),
      numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", {"\0\0\x80\x3f", 4}));
}

TEST(Npy, ReadsWhatItWrites) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path("k.npy");
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{
           {}, {6}, {2, 3}, {1, 2, 3, 1}, {0}, {5, 0}, std::vector<std::uint64_t>(64, 1)}) {
    for (int type = 0; type <= 10; ++type) {
      NpyArray array{static_cast<ElementType>(type), shape, {}};
      array.bytes.resize(tools::npy_bytes(array.element, shape).value(), std::byte{42});
      ASSERT_TRUE(write_npy(path, array).ok());
      const auto back = read_npy(path);
      ASSERT_TRUE(back.ok()) << back.status().to_string();
      EXPECT_EQ(back->element, array.element);
      EXPECT_EQ(back->shape, array.shape);
      EXPECT_EQ(back->bytes, array.bytes);
      EXPECT_EQ(testing::read_text(path).find("\n") % 64, 63u);
    }
  }
}

TEST(Npy, WritesNoArrayWhoseBytesDoNotFillItsShape) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path("k.npy");
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{
           {2}, {}, {huge, 4}, std::vector<std::uint64_t>(65, 1)}) {
    EXPECT_EQ(write_npy(path, {ElementType::kUint8, shape, bytes_of("abc")}).code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Npy, KeepsTheOldFileUntilTheNewOneIsWhole) {
  const testing::TemporaryDirectory directory;
  const NpyArray array{ElementType::kUint8, {1}, bytes_of("a")};
  ASSERT_TRUE(write_npy(directory.path("k.npy"), array).ok());
  ASSERT_TRUE(write_npy(directory.path("k.npy"), array).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1)
      << "a partial file was left behind";
  const Status status = write_npy("/dev/full", array);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.to_string();
  EXPECT_EQ(status.native_error(), "ENOSPC");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Npy, ReportsErrorsOfTheSystem) {
  const testing::TemporaryDirectory directory;
  const Result<NpyArray> missing = read_npy(directory.path("k.npy"));
  expect_refused(missing, StatusCode::kNotFound);
  EXPECT_EQ(missing.status().native_error(), "ENOENT");
  std::filesystem::create_directory(directory.path("d.k.npy"));
  expect_refused(read_npy(directory.path("d.k.npy")), StatusCode::kInvalidArgument);
  ASSERT_EQ(::mkfifo(directory.path("f.k.npy").c_str(), 0600), 0);
  expect_refused(read_npy(directory.path("f.k.npy")), StatusCode::kInvalidArgument);
  const NpyArray array{ElementType::kUint8, {0}, {}};
  EXPECT_EQ(write_npy(directory.path("no/k.npy"), array).code(), StatusCode::kNotFound);
  EXPECT_EQ(write_npy(directory.path("d.k.npy"), array).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace halyard
