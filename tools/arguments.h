// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of `halyard run`, checked against a kernel's reflection before anything is
// launched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/launch.h"
#include "halyard/hal/types.h"
#include "npy.h"

namespace halyard::inline v0::tools {

// What a launch covers.
struct Coverage {
  hal::Grid grid;  // not given: the tensors say it
  hal::Grid::Extent groups;
  // As --items gives them, or the items of all groups; 2^64-1 stands for that many or more.
  hal::Grid::Extent items;
};

// Of exactly one of options.items and options.groups; of a kernel with tensor parameters also of
// none. kInvalidArgument, also for zeros: a launch without items would write no result.
Result<Coverage> parse_coverage(const RunOptions& options, const hal::Function& function);

// Coverage of so many workgroups.
Coverage cover_groups(const hal::Grid::Extent& groups, const hal::Function& function);

// A binding with its contents before the launch and the file for those after it.
struct BoundArray {
  hal::BindingInfo binding;
  std::vector<std::uint64_t> shape;
  std::size_t size = 0;             // bytes
  std::vector<std::byte> contents;  // empty for an output: it starts as zeros
  std::string output;               // empty for an input
  hal::Extents tile;                // of a tensor whose tile the launch chooses
};

struct Arguments {
  std::vector<hal::Constant> constants;  // both in the kernel's order; without those of tensors
  std::vector<BoundArray> arrays;
};

// Reads the input files. Every binding and constant is given exactly once, with the option that its
// access asks for, and has the kernel's type. With --items every array has an element for each
// item: that is what keeps a mistaken size from becoming an access beyond a buffer. Kernels that
// index otherwise are launched with --groups, which leaves sizes to the caller. A tensor's sizes
// are its array's, which fits or is refused as the launch is made.
//
// kNotFound: a name that the kernel does not have, naming those it has. kInvalidArgument,
// kOutOfRange: a value or a size. For files: as read_npy.
Result<Arguments> parse_arguments(const RunOptions& options, const hal::Function& function,
                                  const Coverage& coverage);

}  // namespace halyard::inline v0::tools
