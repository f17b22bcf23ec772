// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/sanitizers.h"

namespace halyard::testing {

// The sources of Halyard's kernels. External compilers process them, so if a sanitizer only
// observes this program two are enough.
inline std::vector<std::string> shipped_sources() {
  std::vector<std::string> paths = {HALYARD_SOURCE_DIR "/examples/digits/digits.hyk"};
  for (const auto& entry : std::filesystem::directory_iterator(HALYARD_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() == ".hyk") paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  if (HALYARD_ASAN || HALYARD_TSAN) paths.resize(2);
  return paths;
}

}  // namespace halyard::testing
