// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the length of the trainer of `digits` with async with that over the HAL.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <string>

#include "program.h"

namespace halyard_test {
namespace {

std::size_t lines_of(std::initializer_list<const char*> sources) {
  std::size_t lines = 0;
  for (const char* source : sources) {
    const std::string text = read(std::string(EXAMPLES) + "/" + source);
    EXPECT_FALSE(text.empty()) << source;
    lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  return lines;
}

// A trainer's sources, including its header and main. Code of both programs is in digits/.
std::size_t with_async() { return lines_of({"digits/trainer.cpp"}); }
std::size_t over_the_hal() {
  return lines_of({"digits_hal/main.cpp", "digits_hal/trainer.cpp", "digits_hal/trainer.h"});
}

TEST(DigitsLines, AreWithAsyncTwoFifthsAtMostOfThoseOverTheHal) {
  EXPECT_LE(5 * with_async(), 2 * over_the_hal()) << with_async() << " of " << over_the_hal();
}

TEST(DigitsLines, AreAllOfTheProgramOverTheHal) {
  std::size_t sources = 0;
  for (const auto& file : std::filesystem::directory_iterator(EXAMPLES "/digits_hal")) {
    sources += file.path().extension() == ".cpp" || file.path().extension() == ".h";
  }
  EXPECT_EQ(sources, 3u) << "count them all";
}

TEST(DigitsLines, AreAsManyAsTheGuideSays) {
  const std::string row = "| the trainer, with its header and `main` | " +
                          std::to_string(with_async()) + " lines | " +
                          std::to_string(over_the_hal()) + " lines |\n";
  EXPECT_NE(read(GUIDE).find(row), std::string::npos) << row;
}

}  // namespace
}  // namespace halyard_test
