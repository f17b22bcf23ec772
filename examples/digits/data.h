// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the handwritten digits from a CSV file (see DATA.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

inline constexpr std::size_t kTrainRows = 1437;
inline constexpr std::size_t kTestRows = 360;
inline constexpr std::size_t kRows = kTrainRows + kTestRows;

// The training rows, then the test rows.
struct Dataset {
  std::vector<float> pixels;         // kRows * 64, each from 0 to 1
  std::vector<std::int32_t> labels;  // kRows, each from 0 to 9
};

// Reads exactly kRows lines of 64 integers from 0 to 16 and one from 0 to 9. For other contents
// throws a std::runtime_error that names the file, row and column, which count from 1.
Dataset read_csv(const std::string& path);
Dataset parse_csv(std::string_view text, const std::string& name);

}  // namespace digits
