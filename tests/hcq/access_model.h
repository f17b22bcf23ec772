// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A byte-by-byte model of DependencyTracker, and random accesses for comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "hcq/dependencies.h"

namespace halyard::hcq {

inline Access read(std::uint64_t begin, std::uint64_t end, std::uint32_t space = 0) {
  return {space, begin, end, false};
}
inline Access write(std::uint64_t begin, std::uint64_t end, std::uint32_t space = 0) {
  return {space, begin, end, true};
}

constexpr std::uint32_t kModelSpaces = 3;
constexpr std::size_t kModelBytes = 24;  // per space

inline std::vector<Access> random_accesses(std::mt19937& random) {
  std::vector<Access> accesses(random() % 4);
  for (Access& access : accesses) {
    const std::uint64_t begin = random() % kModelBytes;
    // Short and long ranges, and some empty ones.
    const std::uint64_t length = random() % (1 + random() % (kModelBytes - begin + 1));
    access = {static_cast<std::uint32_t>(random() % kModelSpaces), begin, begin + length,
              random() % 3 == 0};
  }
  return accesses;
}

class AccessModel {
 public:
  std::vector<std::uint32_t> access(std::uint32_t node, std::span<const Access> accesses) {
    std::set<std::uint32_t> dependencies;
    for (const Access& access : accesses) {
      for (std::uint64_t i = access.begin; i < access.end; ++i) {
        const Byte& byte = bytes_[access.space][i];
        if (byte.writer) dependencies.insert(*byte.writer);
        if (access.writes) dependencies.insert(byte.readers.begin(), byte.readers.end());
      }
    }
    for (const bool writes : {false, true}) {
      for (const Access& access : accesses) {
        if (access.writes != writes) continue;
        for (std::uint64_t i = access.begin; i < access.end; ++i) {
          Byte& byte = bytes_[access.space][i];
          if (writes) {
            byte = {node, {}};
          } else {
            byte.readers.insert(node);
          }
        }
      }
    }
    return {dependencies.begin(), dependencies.end()};
  }

  // Number of ranges of equal bytes, without those that no node has accessed.
  std::size_t piece_count() const {
    std::size_t count = 0;
    for (const auto& space : bytes_) {
      for (std::size_t i = 0; i < kModelBytes; ++i) {
        if (space[i] != Byte{} && (i == 0 || space[i] != space[i - 1])) ++count;
      }
    }
    return count;
  }

 private:
  struct Byte {
    std::optional<std::uint32_t> writer;
    std::set<std::uint32_t> readers;  // since the last write
    friend bool operator==(const Byte&, const Byte&) = default;
  };
  Byte bytes_[kModelSpaces][kModelBytes];
};

}  // namespace halyard::hcq
