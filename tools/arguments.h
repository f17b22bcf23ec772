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

// The extent of a launch.
struct Coverage {
  hal::Grid grid;  // empty: the tensors determine it
  hal::Grid::Extent groups;
  // The items of --items, or of all groups of --groups; 2^64-1 stands for that many or more.
  hal::Grid::Extent items;
};

// Takes exactly one of options.items and options.groups, or none for a kernel with tensor
// parameters. Errors: kInvalidArgument, including a zero: a launch without items would write no
// result.
Result<Coverage> parse_coverage(const RunOptions& options, const hal::Function& function);

// The coverage of that many workgroups.
Coverage cover_groups(const hal::Grid::Extent& groups, const hal::Function& function);

// A binding with its contents before the launch and the file for its contents after it.
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

// Reads the input files. Every binding and constant is given exactly once, with the option for its
// access, and has the kernel's type. With --items every array has one element per item, so that a
// mistaken size cannot cause an access beyond a buffer. Kernels with other indexing are launched
// with --groups, where the caller is responsible for the sizes. A tensor has the sizes of its
// array, which the launch checks.
//
// Errors:
//   kNotFound         the kernel has no such name; the message lists its names
//   kInvalidArgument  a wrong value
//   kOutOfRange       a wrong size
//   for files: those of read_npy
Result<Arguments> parse_arguments(const RunOptions& options, const hal::Function& function,
                                  const Coverage& coverage);

}  // namespace halyard::inline v0::tools
