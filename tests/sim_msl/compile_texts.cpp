// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// msl_compile_texts FILE...: compiles each text in the Metal Shading Language and prints one line
// for it: "ok", the number of kernels and the name, or "no", the name and the first error. With
// --strict, texts must also keep address spaces apart; with --log, whole logs are printed.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "simulation/metal/msl/library.h"

namespace msl = halyard::sim::msl;

int main(int count, char** arguments) {
  msl::CompileOptions options;
  bool whole = false;
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--strict") {
      options.strict = true;
      continue;
    }
    if (argument == "--log") {
      whole = true;
      continue;
    }
    std::ifstream file(arguments[i]);
    std::stringstream text;
    text << file.rdbuf();
    const msl::Library::Result result = msl::Library::compile(text.str(), options);
    if (result.library != nullptr) {
      std::printf("ok %zu %s\n", result.library->functions().size(), arguments[i]);
    } else {
      const std::size_t error = result.log.find("error:");
      const std::size_t begin = error == std::string::npos ? 0 : result.log.rfind('\n', error) + 1;
      const std::string line =
          whole ? result.log : result.log.substr(begin, result.log.find('\n', begin) - begin);
      std::printf("no %s: %s\n", arguments[i], line.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}
