// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Documents that are programs: CMakeLists.txt compiles their C++ blocks. The output of a block
// follows it in the document.
#include <sstream>

#include "program.h"

namespace halyard_test {
namespace {

std::string shown_in(const std::string& document) {
  std::istringstream lines(read(document));
  std::string shown;
  bool output = false;
  for (std::string line, last; std::getline(lines, line); last = line) {
    if (line == "```") {
      output = last == "```";
    } else if (output) {
      shown += line + '\n';
    }
  }
  return shown;
}

class DocumentProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(DocumentProgram, PrintsWhatTheDocumentShows) {
  const std::string shown = shown_in(std::string(DOCS "/") + GetParam() + ".md");
  ASSERT_NE(shown, "");
  std::filesystem::current_path(program_folder());  // they load kernels/saxpy.hyx
  const Ended ended = run(GetParam() + "_guide");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, shown);
}
INSTANTIATE_TEST_SUITE_P(Of, DocumentProgram, ::testing::Values("hal", "hcq"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace halyard_test
