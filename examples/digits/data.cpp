// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "network.h"

namespace digits {
namespace {

constexpr std::size_t kMaxFileSize = 1 << 20;  // bytes; the real file has 264,712
constexpr int kMaxPixel = 16;

}  // namespace

Dataset parse_csv(std::string_view text, const std::string& name) {
  const auto fail = [&](const std::string& what) { throw std::runtime_error(name + ": " + what); };
  Dataset data;
  data.pixels.reserve(kRows * kPixels);
  data.labels.reserve(kRows);

  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t row = 1; row <= kRows; ++row) {
    if (at == end) {
      fail("ends after " + std::to_string(row - 1) + " of " + std::to_string(kRows) + " rows");
    }
    for (std::size_t column = 1; column <= kPixels + 1; ++column) {
      const bool is_label = column == kPixels + 1;
      const int limit = is_label ? static_cast<int>(kClasses) - 1 : kMaxPixel;
      const auto fail_here = [&](const std::string& what) {
        fail("row " + std::to_string(row) + ", column " + std::to_string(column) + ": " + what);
      };
      int value = 0;
      const auto parsed = std::from_chars(at, end, value);
      if (parsed.ec != std::errc{} || value < 0 || value > limit) {
        fail_here("not an integer from 0 to " + std::to_string(limit));
      }
      at = parsed.ptr;
      const char separator = is_label ? '\n' : ',';
      if (at != end && *at == separator) {
        ++at;
      } else if (at != end || !is_label) {  // only the last line may lack its newline
        fail_here(is_label ? "expected the end of the line behind it"
                           : "expected a comma behind it");
      }
      if (is_label) {
        data.labels.push_back(value);
      } else {
        data.pixels.push_back(static_cast<float>(value) / kMaxPixel);
      }
    }
  }
  if (at != end) fail("has more than " + std::to_string(kRows) + " rows");
  return data;
}

Dataset read_csv(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw std::runtime_error(path + ": no such file");
  if (!std::filesystem::is_regular_file(status)) throw std::runtime_error(path + ": not a file");

  std::string text(kMaxFileSize + 1, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open()) throw std::runtime_error(path + ": cannot be read");
  if (!file.eof()) throw std::runtime_error(path + ": larger than 1 MiB, not the digits");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_csv(text, path);
}

}  // namespace digits
