// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/dependencies.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace halyard::inline v0::hcq {

void DependencyTracker::access(std::uint32_t node, std::span<const Access> accesses,
                               std::vector<std::uint32_t>& dependencies) {
  assert(node >= next_node_ && node != kNoNode);
  next_node_ = node + 1;
  dependencies.clear();
  for (const Access& access : accesses) collect(node, access, dependencies);
  std::sort(dependencies.begin(), dependencies.end());
  dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
  for (const Access& access : accesses) record(node, access);
}

// The first piece that ends after the access begins.
DependencyTracker::Pieces::iterator DependencyTracker::first_overlap(const Access& access) {
  auto piece = pieces_.upper_bound(Place{access.space, access.begin});
  if (piece != pieces_.begin()) {
    const auto previous = std::prev(piece);
    if (previous->first.space == access.space && previous->second.end > access.begin) {
      return previous;
    }
  }
  return piece;
}

void DependencyTracker::collect(std::uint32_t node, const Access& access,
                                std::vector<std::uint32_t>& out) {
  assert(access.begin <= access.end);
  if (access.begin == access.end) return;
  const Place end{access.space, access.end};
  for (auto piece = first_overlap(access); piece != pieces_.end() && piece->first < end; ++piece) {
    const auto& [_, writer, readers] = piece->second;
    if (writer != kNoNode) out.push_back(writer);
    if (!access.writes) continue;
    // A writer that has collected a set has collected all sets that it contains.
    for (std::uint32_t cell = readers; cell != kNoReaders && cells_[cell].seen_by != node;
         cell = cells_[cell].others) {
      cells_[cell].seen_by = node;
      out.push_back(cells_[cell].reader);
    }
  }
}

void DependencyTracker::record(std::uint32_t node, const Access& access) {
  if (access.begin == access.end) return;
  auto piece = first_overlap(access);
  const Place begin{access.space, access.begin};
  const Place end{access.space, access.end};
  if (piece != pieces_.end() && piece->first < begin) piece = split(piece, access.begin);
  for (std::uint64_t at = access.begin; at != access.end;) {
    if (piece == pieces_.end() || piece->first > Place{access.space, at}) {
      const bool gap_ends_first = piece != pieces_.end() && piece->first < end;
      const std::uint64_t gap_end = gap_ends_first ? piece->first.begin : access.end;
      piece = pieces_.emplace_hint(piece, Place{access.space, at}, Piece{gap_end});
    } else if (piece->second.end > access.end) {
      split(piece, access.end);
    }
    auto& [piece_end, writer, readers] = piece->second;
    if (access.writes) {
      writer = node;
      readers = kNoReaders;
    } else if (writer != node) {  // a writer is followed once, not also as a reader
      readers = add_reader(readers, node);
    }
    at = piece_end;
    piece = std::next(merge_into_previous(piece));
  }
  if (piece != pieces_.end()) merge_into_previous(piece);
}

// Returns the second part.
DependencyTracker::Pieces::iterator DependencyTracker::split(Pieces::iterator piece,
                                                             std::uint64_t at) {
  const auto second =
      pieces_.emplace_hint(std::next(piece), Place{piece->first.space, at}, piece->second);
  piece->second.end = at;
  return second;
}

// Merges the piece into the previous one if they are adjacent and equal. Returns the piece that
// then holds the bytes.
DependencyTracker::Pieces::iterator DependencyTracker::merge_into_previous(Pieces::iterator piece) {
  if (piece == pieces_.begin()) return piece;
  const auto previous = std::prev(piece);
  if (Place{previous->first.space, previous->second.end} != piece->first ||
      previous->second.writer != piece->second.writer ||
      previous->second.readers != piece->second.readers) {
    return piece;
  }
  previous->second.end = piece->second.end;
  pieces_.erase(piece);
  return previous;
}

// Nodes only ascend. A set therefore gets `node` as its newest reader for the first time, or got it
// in this same access(): no set is stored twice.
std::uint32_t DependencyTracker::add_reader(std::uint32_t readers, std::uint32_t node) {
  if (readers != kNoReaders && cells_[readers].reader == node) return readers;
  const std::uint32_t longer = cells_[readers].last_longer;
  if (longer != 0 && cells_[longer].reader == node) return longer;
  const auto cell = static_cast<std::uint32_t>(cells_.size());
  cells_[readers].last_longer = cell;
  cells_.push_back({node, readers});
  return cell;
}

}  // namespace halyard::inline v0::hcq
