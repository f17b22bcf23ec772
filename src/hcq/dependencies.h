// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DependencyTracker: determines which earlier nodes of a graph a node must follow, from the bytes
// they read and write.
//
// Each space is divided into pieces: ranges with the same last writer and the same readers since.
// An access splits pieces at its ends; adjacent pieces that have become equal are merged. Bytes
// that no node has accessed have no piece.
//
// Sets of readers share their storage: a set is a cell with its newest reader and the set of the
// others. A set is never stored twice (see add_reader), so sets are equal if their cells are, and a
// split copies two words for any number of readers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace halyard::inline v0::hcq {

// Bytes that a node reads or, if `writes`, writes and perhaps reads. begin <= end; an empty range
// is not an access. Ranges of different spaces never overlap.
struct Access {
  std::uint32_t space;  // 0: absolute addresses; n > 0: the graph's input n, from its first byte
  std::uint64_t begin;
  std::uint64_t end;
  bool writes;
};

// Not thread-safe.
class DependencyTracker {
 public:
  DependencyTracker() : cells_(1) {}

  // Sets `dependencies` to the nodes that `node` must follow, ascending and each once: the last
  // writer of every byte that it accesses, and the later readers of every byte that it writes.
  // Compares all `accesses` with earlier nodes, then records them, so their order does not matter.
  // Nodes are passed in ascending order, each once, and are less than 2^32 - 1.
  //
  // O(log n) for each access with n pieces, O(1) for each piece it overlaps, and the sorting of the
  // dependencies. Allocates a map node for each new piece, and grows one vector by at most a cell
  // for each piece that is read.
  void access(std::uint32_t node, std::span<const Access> accesses,
              std::vector<std::uint32_t>& dependencies);

  std::size_t piece_count() const noexcept { return pieces_.size(); }

 private:
  static constexpr std::uint32_t kNoNode = ~std::uint32_t{0};
  static constexpr std::uint32_t kNoReaders = 0;  // the cell of the empty set

  struct Place {
    std::uint32_t space;
    std::uint64_t begin;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Piece {
    std::uint64_t end;
    std::uint32_t writer = kNoNode;
    std::uint32_t readers = kNoReaders;
  };
  struct Cell {
    std::uint32_t reader = kNoNode;
    std::uint32_t others = kNoReaders;  // the readers before it
    std::uint32_t last_longer = 0;      // the newest set that is this one plus a reader; 0: none
    std::uint32_t seen_by = kNoNode;    // the last writer that collected this set
  };
  using Pieces = std::map<Place, Piece>;

  Pieces::iterator first_overlap(const Access& access);
  void collect(std::uint32_t node, const Access& access, std::vector<std::uint32_t>& out);
  void record(std::uint32_t node, const Access& access);
  Pieces::iterator split(Pieces::iterator piece, std::uint64_t at);
  Pieces::iterator merge_into_previous(Pieces::iterator piece);
  std::uint32_t add_reader(std::uint32_t readers, std::uint32_t node);

  Pieces pieces_;
  std::vector<Cell> cells_;
  std::uint32_t next_node_ = 0;
};

}  // namespace halyard::inline v0::hcq
