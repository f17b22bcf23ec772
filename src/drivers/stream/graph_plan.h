// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphPlan: the nodes of a recording as a graph, and which others each depends on. Every command
// that does work is a node; a join is a node without work.
//
//     barrier, wait     later commands depend on all commands of a prefix of the recording: those
//                       before the barrier, or before the latest set of the event
//     Recorder::after   one command depends on another
//
// Commands depend only on the last nodes of the prefix: those on which no other node of it depends.
// If many nodes follow many, a join is put between them, which keeps the number of edges in the
// order of the number of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "hal/recording/command.h"
#include "hal/recording/walk.h"

namespace halyard::inline v0::stream {

class GraphPlan {
 public:
  static constexpr std::uint32_t kJoin = ~std::uint32_t{0};
  struct Node {
    std::uint32_t command = kJoin;  // an index into the recording's commands
    std::uint32_t first = 0;        // of its dependencies
    std::uint32_t count = 0;
  };

  // Called once. Returns false without memory.
  [[nodiscard]] bool build(const hal::RecordedCommands& recording) noexcept;

  // In an order in which each node depends only on earlier nodes.
  std::span<const Node> nodes() const noexcept { return {nodes_.data(), nodes_.size()}; }
  // Indices of nodes, without duplicates.
  std::span<const std::uint32_t> dependencies(const Node& node) const noexcept {
    return {dependencies_.data() + node.first, node.count};
  }
  std::uint32_t most_dependencies() const noexcept { return most_; }

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  static constexpr std::size_t kMostDirect = 16;  // nodes that a command follows without a join

  // The state of a command in build().
  struct Place {
    std::uint32_t node = 0;
    std::uint32_t prefix = 0;            // it follows all commands before this one
    std::uint32_t first_after = kNever;  // the first command that depends on it
    std::uint32_t seen_by = kNever;      // the latest command whose dependencies have it
    bool is_behind = false;              // its other dependencies imply its prefix
  };
  // A node of the current prefix on which no command of the prefix depends.
  struct Last {
    std::uint32_t node = 0;
    std::uint32_t first_after = kNever;
  };

  bool find_prefixes(const hal::RecordedCommands& recording) noexcept;
  bool advance(const hal::RecordedCommands& recording, std::uint32_t prefix,
               std::size_t followers) noexcept;
  bool add_node(std::uint32_t command, std::size_t first) noexcept {
    const auto count = static_cast<std::uint32_t>(dependencies_.size() - first);
    most_ = std::max(most_, count);
    return nodes_.push_back({command, static_cast<std::uint32_t>(first), count});
  }
  std::uint32_t next_node() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }

  base::Array<Node> nodes_;
  base::Array<std::uint32_t> dependencies_;
  std::uint32_t most_ = 0;

  // Used only by build().
  base::Array<Place> places_;  // by command
  base::Array<Last> lasts_;
  std::uint32_t in_lasts_ = 0;  // commands before this one have been added to lasts_
};

inline bool GraphPlan::find_prefixes(const hal::RecordedCommands& recording) noexcept {
  hal::OrderedPrefix prefix;
  if (!places_.grow(recording.commands.size()) || !prefix.open(recording.event_count)) return false;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    places_[i].prefix = prefix.pass(i, recording.commands[i]);
  }
  for (const hal::CommandEdge& edge : recording.edges) {
    Place& place = places_[edge.after];
    place.is_behind |= edge.before >= place.prefix && places_[edge.before].prefix == place.prefix;
  }
  return true;
}

// Advances lasts_ to the last nodes of `prefix`, which has at most `followers` commands, or to one
// join.
inline bool GraphPlan::advance(const hal::RecordedCommands& recording, std::uint32_t prefix,
                               std::size_t followers) noexcept {
  for (; in_lasts_ < prefix; ++in_lasts_) {
    const Place& place = places_[in_lasts_];
    if (!hal::does_work(recording.commands[in_lasts_].kind)) continue;
    if (!lasts_.push_back({place.node, place.first_after})) return false;
  }
  const auto kept = std::remove_if(lasts_.begin(), lasts_.end(),
                                   [&](const Last& last) { return last.first_after < prefix; });
  lasts_.shrink(static_cast<std::size_t>(kept - lasts_.begin()));
  const std::size_t before = lasts_.size();
  const bool many = before * followers > before + followers || before > kMostDirect;
  if (before < 2 || !many) return true;
  const std::size_t first = dependencies_.size();
  for (const Last& last : lasts_) {
    if (!dependencies_.push_back(last.node)) return false;
  }
  lasts_.shrink(0);
  return lasts_.push_back({next_node(), kNever}) && add_node(kJoin, first);
}

inline bool GraphPlan::build(const hal::RecordedCommands& recording) noexcept {
  if (!find_prefixes(recording)) return false;
  std::uint32_t prefix = 0;
  std::size_t edge = 0;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (!hal::does_work(recording.commands[i].kind)) continue;
    Place& place = places_[i];
    if (place.prefix != prefix) {
      prefix = place.prefix;
      std::size_t followers = 0;
      for (std::uint32_t k = i; k < places_.size() && places_[k].prefix == prefix; ++k) {
        const bool follows = hal::does_work(recording.commands[k].kind) && !places_[k].is_behind;
        followers += follows ? 1 : 0;
      }
      if (!advance(recording, prefix, followers)) return false;
    }
    const std::size_t first = dependencies_.size();
    for (; edge < recording.edges.size() && recording.edges[edge].after <= i; ++edge) {
      const hal::CommandEdge& its = recording.edges[edge];
      Place& earlier = places_[its.before];
      if (its.before < prefix || earlier.seen_by == i) continue;
      earlier.seen_by = i;
      earlier.first_after = std::min(earlier.first_after, i);
      if (!dependencies_.push_back(earlier.node)) return false;
    }
    for (Last& last : lasts_) {
      if (place.is_behind) break;
      last.first_after = std::min(last.first_after, i);
      if (!dependencies_.push_back(last.node)) return false;
    }
    place.node = next_node();
    if (!add_node(i, first)) return false;
  }
  return true;
}

}  // namespace halyard::inline v0::stream
