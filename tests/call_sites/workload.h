// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workload: a program that makes every native call there is, in sections that have nothing in
// common: each opens a runtime of its own, uses a part of Halyard, looks at the results, and closes
// it again. So a call that fails in one section is no reason for another to fail.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "halyard/base/status.h"

namespace halyard::testing {

// Folders and files of the workload, removed with it.
struct Workplace {
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::string folder;
  std::string kernels;  // a .hyx with `add`
};

struct Section {
  std::string_view name;
  // Ok, or the first error that the section was told. `whole`: nothing is to fail in it, so that
  // what is best effort must have worked, too.
  Status (*run)(const Workplace& workplace, bool whole);
};

std::span<const Section> sections();

}  // namespace halyard::testing
