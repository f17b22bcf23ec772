// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/treap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace halyard::base {
namespace {

std::vector<std::uint64_t> drain(Treap& treap) {
  std::vector<std::uint64_t> keys;
  while (TreapNode* node = treap.min()) {
    keys.push_back(node->key);
    treap.erase(*node);
  }
  return keys;
}

TEST(Treap, DrainsInOrderWhateverTheInsertionOrder) {
  for (int order = 0; order < 3; ++order) {
    std::vector<TreapNode> nodes(1000);
    for (std::uint64_t i = 0; i < nodes.size(); ++i) {
      nodes[i].key = order == 0 ? i : order == 1 ? 1000 - i : (i * 7919) % 1009;
    }
    Treap treap;
    for (auto& node : nodes) treap.insert(node);
    const auto keys = drain(treap);
    EXPECT_EQ(keys.size(), nodes.size());
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  }
}

// A random tree of n nodes has a mean depth of about 2 ln n (Seidel and Aragon, "Randomized search
// trees", 1996): 17 for 10,000. That is the cost of an insertion or erasure, except at the ends.
TEST(Treap, HasTheDepthOfARandomTreeWhateverTheOrderOfTheKeys) {
  constexpr std::uint64_t kCount = 10'000;
  for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{1} << 20,
                                     std::uint64_t{1} << 40, std::uint64_t{0x9e3779b97f4a7}}) {
    for (int order = 0; order < 3; ++order) {
      std::vector<TreapNode> nodes(kCount);
      Treap treap;
      for (std::uint64_t i = 0; i < kCount; ++i) {
        const std::uint64_t place = order == 0   ? i
                                    : order == 1 ? kCount - 1 - i
                                                 : (i * 7919) % kCount;
        nodes[i].key = place * stride;
        treap.insert(nodes[i]);
      }
      std::uint64_t sum = 0;
      std::uint64_t deepest = 0;
      for (const TreapNode& node : nodes) {
        std::uint64_t depth = 0;
        for (const TreapNode* at = node.parent; at != nullptr; at = at->parent) ++depth;
        sum += depth;
        deepest = std::max(deepest, depth);
      }
      EXPECT_LT(sum / kCount, 25u) << "stride " << stride << ", order " << order;
      EXPECT_LT(deepest, 60u) << "stride " << stride << ", order " << order;
    }
  }
}

TEST(Treap, EqualKeysLeaveInInsertionOrder) {
  std::vector<TreapNode> nodes(5);
  Treap treap;
  for (auto& node : nodes) {
    node.key = 7;
    treap.insert(node);
  }
  treap.erase(nodes[0]);  // the node that is in the tree
  treap.erase(nodes[2]);  // a node from the middle of the ring
  EXPECT_EQ(treap.lower_bound(5), &nodes[1]);
  treap.erase(nodes[1]);
  EXPECT_EQ(treap.min(), &nodes[3]);
}

TEST(Treap, AgreesWithAMultimapUnderRandomInsertionsAndErasures) {
  std::mt19937 random(1);
  std::vector<TreapNode> nodes(400);
  std::map<std::uint64_t, std::deque<TreapNode*>> model;
  Treap treap;
  for (int step = 0; step < 200'000; ++step) {
    TreapNode& node = nodes[random() % nodes.size()];
    if (node.linked()) {
      auto& ring = model[node.key];
      std::erase(ring, &node);
      if (ring.empty()) model.erase(node.key);
      treap.erase(node);
    } else {
      node.key = random() % 97;
      model[node.key].push_back(&node);
      treap.insert(node);
    }
    const std::uint64_t key = random() % 100;
    const auto found = model.lower_bound(key);
    ASSERT_EQ(treap.lower_bound(key), found == model.end() ? nullptr : found->second.front());
    ASSERT_EQ(treap.min(), model.empty() ? nullptr : model.begin()->second.front());
    if (step % 1000 == 0) {
      std::size_t count = 0, expected = 0;
      treap.for_each([&](TreapNode&) { ++count; });
      for (auto& [_, ring] : model) expected += ring.size();
      ASSERT_EQ(count, expected);
    }
  }
}

}  // namespace
}  // namespace halyard::base
