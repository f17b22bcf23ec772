// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workload: a program that makes every native call, in independent sections. Each section opens its
// own runtime, uses a part of Halyard, checks the results, and closes the runtime. So a failing
// call in one section does not affect other sections.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "halyard/base/status.h"

namespace halyard::testing {

// Folders and files of the workload, removed with the object.
struct Workplace {
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::string folder;
  std::string kernels;  // a .hyx with `add`
  bool has_vulkan = false;
  bool has_cuda = false;
  bool has_hip = false;
  std::string shared_kernels;  // with CUDA: a .hyx with `large`
  std::string shader;          // with Vulkan: a .hyx of another compiler's `add`
};

struct Section {
  std::string_view name;
  // Returns the first error of the section. `whole`: no call fails, so best-effort work must also
  // succeed.
  Status (*run)(const Workplace& workplace, bool whole);
  enum class Needs : std::uint8_t { kNothing, kVulkan, kCuda, kHip };
  Needs needs = Needs::kNothing;
};

std::span<const Section> sections();

}  // namespace halyard::testing
