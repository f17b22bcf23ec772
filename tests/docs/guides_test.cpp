// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guides for authors of drivers and backends agree with the repository: their code is in the
// files that they name, and these cases exist. CMakeLists.txt compiles code that names no file.
// Every document links to files that exist, and the index lists it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace halyard {
namespace {

const std::string kRoot = HALYARD_SOURCE_DIR "/";

struct Guide {
  const char* name;
  bool compiled;       // code that names no file is compiled
  std::size_t blocks;  // minimum number
  friend void PrintTo(const Guide& guide, std::ostream* to) { *to << guide.name; }
};
constexpr Guide kGuides[] = {{"add-a-driver", false, 10}, {"hcq", true, 4}};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string path_of(const Guide& guide) { return kRoot + "docs/" + guide.name + ".md"; }

class Guides : public ::testing::TestWithParam<Guide> {};
INSTANTIATE_TEST_SUITE_P(Of, Guides, ::testing::ValuesIn(kGuides), [](const auto& test) {
  return test.index == 0 ? "Drivers" : "HardwareQueues";
});

// "```cpp src/hal/device/driver.h" starts lines that occur in that file in this
// order; "..." is a gap.
TEST_P(Guides, QuoteOnlyWhatIsInTheTree) {
  std::size_t blocks = 0;
  std::vector<std::string> source;
  std::vector<std::string>::iterator at;
  bool inside = false;
  bool gap = true;  // if false, the next line follows directly
  std::string name;
  for (const std::string& line : lines_of(path_of(GetParam()))) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside && line == "...") {
      gap = true;
    } else if (inside) {
      const auto end = gap || at == source.end() ? source.end() : at + 1;
      const auto found = std::find(at, end, line);
      ASSERT_NE(found, end) << name << " has no line " << line;
      at = found + 1;
      gap = false;
    } else if (GetParam().compiled && line == "```cpp") {
      continue;
    } else if (line.starts_with("```cpp") || line.starts_with("```cmake")) {
      inside = gap = true;
      const std::size_t space = line.find(' ');
      ASSERT_NE(space, line.npos) << "of which file? " << line;
      name = line.substr(space + 1);
      source = lines_of(kRoot + name);
      ASSERT_FALSE(source.empty()) << name;
      at = source.begin();
      ++blocks;
    }
  }
  EXPECT_GE(blocks, GetParam().blocks);
}

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
  std::vector<fs::path> paths{kRoot + "README.md", kRoot + "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot + "docs")) {
    if (entry.path().extension() == ".md") paths.push_back(entry.path());
  }
  return paths;
}

// The files to which a document links.
std::vector<fs::path> links_of(const fs::path& document) {
  std::vector<fs::path> links;
  bool code = false;
  for (const std::string& line : lines_of(document)) {
    if (line.starts_with("```")) code = !code;
    if (code) continue;
    for (std::size_t at = line.find("]("); at != line.npos; at = line.find("](", at + 1)) {
      const std::string target = line.substr(at + 2, line.find_first_of("#)", at) - at - 2);
      if (target.empty() || target.starts_with("http")) continue;
      links.push_back((document.parent_path() / target).lexically_normal());
    }
  }
  return links;
}

TEST(Documents, LinkToFilesThatExist) {
  for (const fs::path& document : documents()) {
    for (const fs::path& link : links_of(document)) {
      EXPECT_TRUE(fs::exists(link)) << document << " links to " << link;
    }
  }
}

TEST(Documents, AreInTheIndex) {
  const fs::path index = kRoot + "docs/README.md";
  const std::vector<fs::path> links = links_of(index);
  for (const fs::path& document : documents()) {
    if (document == index) continue;
    EXPECT_NE(std::ranges::find(links, document.lexically_normal()), links.end()) << document;
  }
}

// Each case that it names, "suite.words_of_the_case" between backquotes, belongs to the suite.
TEST(DriverGuide, NamesCasesThatExist) {
  std::string suite;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "conformance")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const std::string& line : lines_of(entry.path())) suite += line + '\n';
  }
  std::size_t cases = 0;
  for (const std::string& line : lines_of(path_of(kGuides[0]))) {
    for (std::size_t at = line.find('`'); at != line.npos; at = line.find('`', at + 1)) {
      const std::string word = line.substr(at + 1, line.find('`', at + 1) - at - 1);
      const std::size_t dot = word.find('.');
      const bool is_case =
          dot != word.npos && std::ranges::count(word, '_') >= 3 &&
          word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == word.npos;
      if (!is_case) continue;
      EXPECT_NE(suite.find(word.substr(dot + 1)), suite.npos) << word;
      ++cases;
    }
  }
  EXPECT_GE(cases, 10u);
}

}  // namespace
}  // namespace halyard
