// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the contents of a .hyx file as bytes.
//
// It does not check its input: the reader, kernel::Hyx, does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halyard/kernel/types.h"
#include "kernel/reflection.h"

namespace halyard::inline v0::compiler {

struct Binding {
  std::string name;
  kernel::Access access;
  kernel::ElementType type;
  std::uint8_t rank = 0;                 // of a tensor
  std::vector<std::uint32_t> tile = {};  // of a tensor with a static tile

  friend bool operator==(const Binding&, const Binding&) = default;
};

struct Constant {
  std::string name;
  kernel::ElementType type;
  std::uint32_t offset;

  friend bool operator==(const Constant&, const Constant&) = default;
};

struct Kernel {
  std::string name;
  std::array<std::uint32_t, 3> workgroup_size;
  std::vector<Binding> bindings;
  std::vector<Constant> constants;
  std::uint32_t constants_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t line = 0;  // in sources[0]
  std::vector<kernel::EqualSizes> equal_sizes = {};
  bool may_overlap = false;

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

struct Image {
  std::string target;
  std::string convention;
  std::string bytes;

  friend bool operator==(const Image&, const Image&) = default;
};

struct Source {
  std::string name;
  std::string text;

  friend bool operator==(const Source&, const Source&) = default;
};

struct Contents {
  std::vector<Kernel> kernels;
  std::vector<Image> images;
  std::vector<Source> sources;

  friend bool operator==(const Contents&, const Contents&) = default;
};

// Equal contents give equal bytes.
std::vector<std::byte> write_hyx(const Contents& contents);

}  // namespace halyard::inline v0::compiler
