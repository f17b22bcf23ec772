// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_gfx/llvm_mc.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace halyard::testing {
namespace {

// Between the cases: s_movk_i32 s105, 0xbeef.
constexpr std::string_view kMark = "s_movk_i32 s105, 0xbeef";
constexpr std::string_view kMarkBytes = "[0xef,0xbe,0x69,0xb0]";

struct Output {
  std::vector<std::string> lines, errors;
};

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Output run(const std::string& input, const std::string& options) {
  const std::string base = ::testing::TempDir() + "halyard_llvm_mc_" +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream(base + ".in") << input;
  const std::string command = std::string(HALYARD_LLVM_MC) + " -triple=amdgcn -mcpu=gfx1100 " +
                              options + " '" + base + ".in' > '" + base + ".out' 2> '" + base +
                              ".err'";
  // The exit status is 1 if any line was refused, which its errors show as well.
  (void)!std::system(command.c_str());
  Output output{read_lines(base + ".out"), read_lines(base + ".err")};
  for (const char* ending : {".in", ".out", ".err"}) std::remove((base + ending).c_str());
  return output;
}

// "[0x01,0x02,0x03,0x04]"
Words parse_words(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = text.find("0x"); at != std::string_view::npos;
       at = text.find("0x", at + 2)) {
    bytes.push_back(static_cast<std::uint8_t>(
        std::strtoul(std::string(text.substr(at, 4)).c_str(), nullptr, 16)));
  }
  Words words(bytes.size() / 4);
  for (std::size_t i = 0; i != bytes.size(); ++i) {
    words[i / 4] |= std::uint32_t{bytes[i]} << 8 * (i % 4);
  }
  return words;
}

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  const std::size_t end = line.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
}

// Of "file:12:3: error: ...": 12.
std::optional<std::size_t> line_of(const std::string& message, std::string_view kind) {
  const std::size_t at = message.find(".in:");
  if (at == std::string::npos || message.find(kind) == std::string::npos) return std::nullopt;
  return std::strtoul(message.c_str() + at + 4, nullptr, 10);
}

}  // namespace

bool has_llvm_mc() { return std::string_view(HALYARD_LLVM_MC).starts_with('/'); }

std::vector<Assembled> assemble(const std::vector<std::string>& texts) {
  std::string input;
  for (const std::string& text : texts) input += text + "\n" + std::string(kMark) + "\n";
  const Output output = run(input, "-show-encoding");
  std::vector<Assembled> results(texts.size());
  // Each case has two lines.
  for (const std::string& line : output.errors) {
    const auto number = line_of(line, ": error: ");
    if (!number) continue;
    Assembled& result = results.at((*number - 1) / 2);
    if (result.error.empty()) result.error = line.substr(line.find(": error: ") + 9);
  }
  std::size_t index = 0;
  for (const std::string& line : output.lines) {
    const std::size_t at = line.find("encoding: [");
    if (at == std::string::npos) continue;
    const std::string bytes = line.substr(at + 10);
    if (bytes == kMarkBytes) {
      ++index;
    } else {
      results.at(index).words = parse_words(bytes);
    }
  }
  EXPECT_EQ(index, texts.size()) << "llvm-mc lost a case";
  return results;
}

std::vector<std::string> disassemble(const std::vector<Words>& words) {
  std::ostringstream input;
  for (const Words& one : words) {
    input << '[' << std::hex;
    for (const std::uint32_t word : one) {
      for (unsigned i = 0; i != 4; ++i) input << " 0x" << (word >> 8 * i & 0xff);
    }
    input << "]\n[0xef 0xbe 0x69 0xb0]\n";
  }
  const Output output = run(input.str(), "-disassemble");
  std::vector<std::string> results(words.size());
  std::vector<unsigned> count(words.size());
  std::size_t index = 0;
  for (const std::string& line : output.lines) {
    const std::string text = trimmed(line);
    if (text.empty() || text.front() == '.') continue;
    if (text.starts_with(kMark)) {
      ++index;
    } else if (++count.at(index) == 1) {
      const bool is_invalid = text.find("/*") != std::string::npos;
      results.at(index) = is_invalid ? "" : trimmed(text.substr(0, text.find("//")));
    }
  }
  EXPECT_EQ(index, words.size()) << "llvm-mc lost a case";
  // Text after a refused word is not a result, and neither are two instructions.
  for (const std::string& line : output.errors) {
    const auto number = line_of(line, ": warning: ");
    if (number) results.at((*number - 1) / 2).clear();
  }
  for (std::size_t i = 0; i != results.size(); ++i) {
    if (count[i] != 1) results[i].clear();
  }
  return results;
}

}  // namespace halyard::testing
