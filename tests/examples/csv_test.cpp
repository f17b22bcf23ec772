// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// examples/digits/data.h with damaged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "data.h"
#include "program.h"

namespace halyard_test {
namespace {

using ::testing::HasSubstr;

// The error message, or "" if the text is valid.
std::string complaint(const std::string& text) {
  try {
    (void)digits::parse_csv(text, "x.csv");
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

class Csv : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(text_.size(), 264'712u) << "examples/digits/digits.csv is not the published data";
  }
  // Offset of row `row` (from 1).
  std::size_t row_start(std::size_t row) const {
    std::size_t at = 0;
    while (--row > 0) at = text_.find('\n', at) + 1;
    return at;
  }
  std::string with_first_row(const std::string& row) const {
    return row + text_.substr(text_.find('\n'));
  }
  std::string text_ = read(DIGITS_CSV);
};

TEST_F(Csv, PublishedFileIsReadWhole) {
  const digits::Dataset data = digits::parse_csv(text_, "digits.csv");
  EXPECT_EQ(data.labels.size(), 1797u);
  EXPECT_EQ(data.pixels.size(), 1797u * 64);
  EXPECT_EQ(data.labels[0], 0);
  EXPECT_EQ(data.labels[1], 1);
  EXPECT_EQ(data.pixels[2], 5.0f / 16);
}

TEST_F(Csv, LastLineMayLackItsNewline) {
  text_.pop_back();
  EXPECT_EQ(complaint(text_), "");
}

TEST_F(Csv, EveryShorterFileIsRefused) {
  // Cuts the file at each byte of the last rows, and at some bytes before them.
  for (std::size_t size = 0; size + 1 < text_.size();
       size += size + 400 < text_.size() ? 9973 : 1) {
    EXPECT_NE(complaint(text_.substr(0, size)), "") << size;
  }
}

TEST_F(Csv, MissingRowsAreCounted) {
  EXPECT_EQ(complaint(""), "x.csv: ends after 0 of 1797 rows");
  EXPECT_EQ(complaint(text_.substr(0, row_start(1797))), "x.csv: ends after 1796 of 1797 rows");
}

TEST_F(Csv, SurplusRowsAreRefused) {
  EXPECT_EQ(complaint(text_ + "0"), "x.csv: has more than 1797 rows");
  EXPECT_EQ(complaint(text_ + "\n"), "x.csv: has more than 1797 rows");
}

TEST_F(Csv, DamageIsNamedByRowAndColumn) {
  std::string text = text_;
  text[row_start(1000)] = 'x';
  EXPECT_EQ(complaint(text), "x.csv: row 1000, column 1: not an integer from 0 to 16");
  text = text_;
  text[text.size() - 2] = '\0';
  EXPECT_EQ(complaint(text), "x.csv: row 1797, column 65: not an integer from 0 to 9");
}

TEST_F(Csv, PixelsOutsideTheirRangeAreRefused) {
  for (const char* const pixel : {"17", "-1", "99999999999999999999", "", " 1", "+1", "nan", "é"}) {
    std::string row = pixel;
    for (int i = 0; i < 64; ++i) row += ",0";
    EXPECT_EQ(complaint(with_first_row(row)), "x.csv: row 1, column 1: not an integer from 0 to 16")
        << pixel;
  }
}

TEST_F(Csv, RowsOfOtherLengthsAreRefused) {
  std::string row = "0";
  for (int i = 0; i < 63; ++i) row += ",0";
  EXPECT_EQ(complaint(with_first_row(row)), "x.csv: row 1, column 64: expected a comma behind it");
  row += ",0,0";
  EXPECT_EQ(complaint(with_first_row(row)),
            "x.csv: row 1, column 65: expected the end of the line behind it");
}

TEST_F(Csv, FractionsAreRefused) {
  EXPECT_EQ(complaint("0.5" + text_.substr(1)),
            "x.csv: row 1, column 1: expected a comma behind it");
}

TEST_F(Csv, LabelsOutsideTheirRangeAreRefused) {
  std::string row = "0";
  for (int i = 0; i < 63; ++i) row += ",0";
  EXPECT_THAT(complaint(with_first_row(row + ",10")), HasSubstr("row 1, column 65"));
}

TEST(CsvFile, MustBeARegularFileOfModestSize) {
  EXPECT_THROW((void)digits::read_csv("nowhere/digits.csv"), std::runtime_error);
  EXPECT_THROW((void)digits::read_csv(::testing::TempDir()), std::runtime_error);
  EXPECT_THROW((void)digits::read_csv("/dev/zero"), std::runtime_error);
  const std::string path = test_path("large.csv");
  std::ofstream(path) << std::string(2 << 20, '0');
  EXPECT_THROW((void)digits::read_csv(path), std::runtime_error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace halyard_test
