// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks docs/conformance.md against the existing cases and tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/conformance.h"

namespace halyard::inline v0::conformance {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A row of a table, with the words in backticks of its last column.
struct Row {
  std::string text;
  std::string cases;
  std::vector<std::string> names;
};
std::vector<Row> rows_of(const std::string& document) {
  std::vector<Row> rows;
  std::string_view rest = document;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with("| ") || line == "| fact | cases |") continue;
    const std::size_t end = line.rfind(" |");
    const std::size_t column = line.rfind(" | ", end - 1);
    Row row{std::string(line), std::string(line.substr(column + 3, end - column - 3)), {}};
    for (std::size_t at = row.cases.find('`'); at != std::string::npos;) {
      const std::size_t close = row.cases.find('`', at + 1);
      row.names.push_back(row.cases.substr(at + 1, close - at - 1));
      at = row.cases.find('`', close + 1);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The "Suite.Name" of every GoogleTest under tests/.
std::set<std::string> tests_of(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string source = read(entry.path());
    for (std::size_t at = source.find("TEST"); at != std::string::npos;
         at = source.find("TEST", at + 1)) {
      const std::size_t open = source.find('(', at);
      const std::size_t comma = source.find(',', at);
      const std::size_t close = source.find(')', at);
      if (open == std::string::npos || comma > close || open > comma || open - at > 6) continue;
      const std::size_t name = source.find_first_not_of(" \n", comma + 1);
      names.insert(source.substr(open + 1, comma - open - 1) + "." +
                   source.substr(name, close - name));
    }
  }
  return names;
}

TEST(Document, NamesOnlyCasesAndTestsThatExist) {
  std::set<std::string> known = tests_of(HALYARD_SOURCE_DIR "/tests");
  for (const Case& it : cases()) known.insert(std::string(it.suite) + "." + std::string(it.name));
  std::size_t named = 0;
  for (const Row& row : rows_of(read(HALYARD_SOURCE_DIR "/docs/conformance.md"))) {
    for (const std::string& name : row.names) {
      if (name.find('.') == std::string::npos) continue;  // a word of the language or of a shell
      EXPECT_TRUE(known.contains(name)) << name << " in: " << row.text;
      ++named;
    }
  }
  EXPECT_GT(named, 400u);
}

TEST(Document, GivesEachFactACaseOrAReasonForNone) {
  const std::vector<Row> rows = rows_of(read(HALYARD_SOURCE_DIR "/docs/conformance.md"));
  EXPECT_GT(rows.size(), 200u);
  for (const Row& row : rows) {
    const bool has_case = std::ranges::any_of(
        row.names, [](const std::string& name) { return name.find('.') != std::string::npos; });
    const bool has_reason = std::ranges::any_of(
        std::initializer_list<const char*>{"absent", "not built yet", "not run"},
        [&](const char* words) { return row.cases.find(words) != std::string::npos; });
    EXPECT_TRUE(has_case || has_reason) << row.text;
  }
}

TEST(Document, NamesEverySuite) {
  std::set<std::string_view> suites;
  for (const Case& it : cases()) suites.insert(it.suite);
  for (const Row& row : rows_of(read(HALYARD_SOURCE_DIR "/docs/conformance.md"))) {
    for (const std::string& name : row.names) {
      suites.erase(std::string_view(name).substr(0, name.find('.')));
    }
  }
  EXPECT_EQ(suites, std::set<std::string_view>());
}

}  // namespace
}  // namespace halyard::inline v0::conformance
