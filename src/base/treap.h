// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Treap: an ordered multiset of intrusive nodes keyed by a 64-bit value, first in first out among
// equal values. Holds the parked waits and the promises of a semaphore (timelines.md, rule 9).
//
// One tree node per distinct value; other nodes of the same value form a ring attached to it.
// Ascending and descending insertions attach at the cached maximum or minimum and cost O(1)
// expected, others O(log n). Heap priorities are a hash of the value, so a treap's shape depends on
// nothing but its contents. Not thread-safe; the semaphore's lock guards it.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>

namespace halyard::inline v0::base {

struct TreapNode {
  std::uint64_t key = 0;
  TreapNode* parent = nullptr;
  TreapNode* child[2] = {nullptr, nullptr};
  TreapNode* next = nullptr;  // ring of equal keys; null when not in a treap
  TreapNode* prev = nullptr;
  std::uint32_t priority = 0;
  bool in_tree = false;  // represents its ring in the tree

  bool linked() const noexcept { return next != nullptr; }
};

class Treap {
 public:
  bool empty() const noexcept { return root_ == nullptr; }
  // First node of the smallest key, or null.
  TreapNode* min() const noexcept { return end_[0]; }

  // First node of the smallest key >= `key`, or null.
  TreapNode* lower_bound(std::uint64_t key) const noexcept {
    if (end_[0] == nullptr || end_[1]->key < key) return nullptr;
    if (end_[0]->key >= key) return end_[0];
    TreapNode* best = nullptr;
    for (TreapNode* node = root_; node != nullptr;) {
      if (node->key >= key) {
        best = node;
        node = node->child[0];
      } else {
        node = node->child[1];
      }
    }
    return best;
  }

  void insert(TreapNode& node) noexcept {
    assert(!node.linked());
    node.next = node.prev = &node;
    if (root_ == nullptr) return attach(node, nullptr, 0);
    if (node.key > end_[1]->key) return attach(node, end_[1], 1);
    if (node.key < end_[0]->key) return attach(node, end_[0], 0);
    if (node.key == end_[1]->key) return join(node, *end_[1]);
    for (TreapNode* at = root_;;) {
      if (node.key == at->key) return join(node, *at);
      const int side = node.key > at->key ? 1 : 0;
      if (at->child[side] == nullptr) return attach(node, at, side);
      at = at->child[side];
    }
  }

  void erase(TreapNode& node) noexcept {
    assert(node.linked());
    if (TreapNode* heir = node.next; heir != &node) {
      node.prev->next = node.next;
      node.next->prev = node.prev;
      if (node.in_tree) replace(node, *heir);
    } else {
      detach(node);
    }
    node.next = node.prev = node.parent = node.child[0] = node.child[1] = nullptr;
    node.in_tree = false;
  }

  // fn(TreapNode&) for every node, in no particular order. The treap must not change meanwhile.
  template <class F>
  void for_each(F&& fn) const {
    for (TreapNode* at = end_[0]; at != nullptr; at = successor(*at)) {
      TreapNode* node = at;
      do {
        fn(*node);
        node = node->next;
      } while (node != at);
    }
  }

 private:
  // splitmix64's finalizer (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators").
  static std::uint32_t hash(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>(x ^ (x >> 31));
  }

  static TreapNode* successor(TreapNode& node) noexcept {
    if (TreapNode* at = node.child[1]; at != nullptr) {
      while (at->child[0] != nullptr) at = at->child[0];
      return at;
    }
    TreapNode* at = &node;
    while (at->parent != nullptr && at->parent->child[1] == at) at = at->parent;
    return at->parent;
  }

  static void join(TreapNode& node, TreapNode& first) noexcept {
    node.prev = first.prev;
    node.next = &first;
    first.prev->next = &node;
    first.prev = &node;
  }

  TreapNode*& link_to(TreapNode& node) noexcept {
    TreapNode* parent = node.parent;
    return parent == nullptr ? root_ : parent->child[parent->child[1] == &node ? 1 : 0];
  }

  void attach(TreapNode& node, TreapNode* parent, int side) noexcept {
    node.in_tree = true;
    node.parent = parent;
    node.child[0] = node.child[1] = nullptr;
    node.priority = hash(node.key);
    if (parent == nullptr) {
      root_ = end_[0] = end_[1] = &node;
      return;
    }
    parent->child[side] = &node;
    if (parent == end_[side]) end_[side] = &node;
    while (node.parent != nullptr && node.parent->priority < node.priority) rotate_up(node);
  }

  void rotate_up(TreapNode& node) noexcept {
    TreapNode& parent = *node.parent;
    const int side = parent.child[1] == &node ? 1 : 0;
    link_to(parent) = &node;
    node.parent = parent.parent;
    parent.parent = &node;
    parent.child[side] = node.child[1 - side];
    if (parent.child[side] != nullptr) parent.child[side]->parent = &parent;
    node.child[1 - side] = &parent;
  }

  void detach(TreapNode& node) noexcept {
    for (int side = 0; side < 2; ++side) {
      if (end_[side] == &node) end_[side] = neighbour(node, side);
    }
    while (node.child[0] != nullptr && node.child[1] != nullptr) {
      rotate_up(*node.child[node.child[0]->priority > node.child[1]->priority ? 0 : 1]);
    }
    TreapNode* child = node.child[0] != nullptr ? node.child[0] : node.child[1];
    link_to(node) = child;
    if (child != nullptr) child->parent = node.parent;
  }

  // For the end node of `side`: the next one inwards.
  static TreapNode* neighbour(TreapNode& node, int side) noexcept {
    TreapNode* at = node.child[1 - side];
    if (at == nullptr) return node.parent;
    while (at->child[side] != nullptr) at = at->child[side];
    return at;
  }

  void replace(TreapNode& node, TreapNode& heir) noexcept {
    heir.in_tree = true;
    heir.priority = node.priority;
    heir.parent = node.parent;
    link_to(node) = &heir;
    for (int side = 0; side < 2; ++side) {
      heir.child[side] = node.child[side];
      if (heir.child[side] != nullptr) heir.child[side]->parent = &heir;
      if (end_[side] == &node) end_[side] = &heir;
    }
  }

  TreapNode* root_ = nullptr;
  TreapNode* end_[2] = {nullptr, nullptr};  // minimum, maximum
};

}  // namespace halyard::inline v0::base
