// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>

namespace halyard::testing {

// The folder `kernels` next to the program, copied together with it.
inline std::string kernels_folder() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kernels/").string();
}

}  // namespace halyard::testing
