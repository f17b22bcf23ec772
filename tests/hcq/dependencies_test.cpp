// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/dependencies.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <vector>

#include "access_model.h"

namespace halyard::hcq {
namespace {

using Nodes = std::vector<std::uint32_t>;

// Numbers its nodes 0, 1, 2, ...
class Tracker {
 public:
  Nodes operator()(std::initializer_list<Access> accesses) {
    Nodes dependencies = {99};  // must be replaced
    tracker_.access(next_++, {accesses.begin(), accesses.size()}, dependencies);
    return dependencies;
  }
  std::size_t piece_count() const { return tracker_.piece_count(); }

 private:
  DependencyTracker tracker_;
  std::uint32_t next_ = 0;
};

TEST(Dependencies, ReadFollowsTheLastWrite) {
  Tracker node;
  EXPECT_EQ(node({write(0, 8)}), Nodes{});
  EXPECT_EQ(node({read(0, 8)}), Nodes{0});
  EXPECT_EQ(node({read(7, 8)}), Nodes{0});
}

TEST(Dependencies, WriteFollowsTheLastWrite) {
  Tracker node;
  node({write(0, 8)});
  EXPECT_EQ(node({write(0, 8)}), Nodes{0});
  EXPECT_EQ(node({write(0, 8)}), Nodes{1});
}

TEST(Dependencies, WriteFollowsTheReadersSinceTheLastWrite) {
  Tracker node;
  node({read(0, 8)});
  EXPECT_EQ(node({write(0, 8)}), Nodes{0});
  node({read(0, 8)});
  node({read(4, 6)});
  EXPECT_EQ(node({write(0, 8)}), (Nodes{1, 2, 3}));
}

TEST(Dependencies, ReadersDoNotFollowOneAnother) {
  Tracker node;
  node({write(0, 8)});
  EXPECT_EQ(node({read(0, 8)}), Nodes{0});
  EXPECT_EQ(node({read(0, 8)}), Nodes{0});
}

TEST(Dependencies, ReadAfterACopyFollowsTheCopyNotItsSource) {
  Tracker node;
  node({write(0, 8)});
  EXPECT_EQ(node({write(100, 108), read(0, 8)}), Nodes{0});
  EXPECT_EQ(node({read(100, 108)}), Nodes{1});
  EXPECT_EQ(node({write(0, 8)}), (Nodes{0, 1}));
}

TEST(Dependencies, ViewsThatOverlapAreTheSameBytes) {
  Tracker node;
  node({write(0, 8)});
  node({write(8, 16)});
  EXPECT_EQ(node({read(4, 12)}), (Nodes{0, 1}));
  EXPECT_EQ(node({read(0, 4)}), Nodes{0});
  EXPECT_EQ(node({write(11, 20)}), (Nodes{1, 2}));
}

TEST(Dependencies, AdjacentRangesDoNotOverlap) {
  Tracker node;
  node({write(8, 16)});
  EXPECT_EQ(node({write(0, 8)}), Nodes{});
  EXPECT_EQ(node({write(16, 24)}), Nodes{});
}

TEST(Dependencies, PartialWriteLeavesTheRestItsOwn) {
  Tracker node;
  node({write(0, 16)});
  node({read(0, 16)});
  EXPECT_EQ(node({write(8, 16)}), (Nodes{0, 1}));
  EXPECT_EQ(node({read(0, 8)}), Nodes{0});
  EXPECT_EQ(node({write(0, 8)}), (Nodes{0, 1, 3}));
  EXPECT_EQ(node({read(8, 16)}), Nodes{2});
}

TEST(Dependencies, WriteInTheMiddleSplitsARange) {
  Tracker node;
  node({write(0, 30)});
  EXPECT_EQ(node({write(10, 20)}), Nodes{0});
  EXPECT_EQ(node.piece_count(), 3u);
  EXPECT_EQ(node({read(0, 10)}), Nodes{0});
  EXPECT_EQ(node({read(10, 20)}), Nodes{1});
  EXPECT_EQ(node({read(20, 30)}), Nodes{0});
  EXPECT_EQ(node({write(9, 21)}), (Nodes{0, 1, 2, 3, 4}));
}

TEST(Dependencies, InputThatIsAlsoAnOutputIsReadBeforeItIsWritten) {
  Tracker node;
  EXPECT_EQ(node({read(0, 8, 1), write(100, 108)}), Nodes{});
  EXPECT_EQ(node({read(100, 108), write(0, 8, 1)}), Nodes{0});
  EXPECT_EQ(node({read(0, 8, 1)}), Nodes{1});
}

TEST(Dependencies, DifferentSpacesNeverConflict) {
  Tracker node;
  node({write(0, 8, 0)});
  EXPECT_EQ(node({write(0, 8, 1)}), Nodes{});
  EXPECT_EQ(node({write(0, 8, 2)}), Nodes{});
  EXPECT_EQ(node({write(4, 12, 1)}), Nodes{1});
}

TEST(Dependencies, NodeDoesNotFollowItself) {
  for (const auto& accesses : {std::vector{read(0, 8), write(4, 12)}, {write(4, 12), read(0, 8)}}) {
    DependencyTracker tracker;
    Nodes dependencies;
    tracker.access(0, accesses, dependencies);
    EXPECT_EQ(dependencies, Nodes{});
    tracker.access(1, accesses, dependencies);
    EXPECT_EQ(dependencies, Nodes{0});
    EXPECT_EQ(tracker.piece_count(), 2u);
  }
}

TEST(Dependencies, EmptyRangesAreNoAccess) {
  Tracker node;
  EXPECT_EQ(node({write(4, 4)}), Nodes{});
  EXPECT_EQ(node.piece_count(), 0u);
  node({write(0, 8)});
  EXPECT_EQ(node({write(4, 4)}), Nodes{});
  EXPECT_EQ(node.piece_count(), 1u);
}

TEST(Dependencies, AdjacentPiecesThatBecomeEqualMerge) {
  Tracker node;
  node({write(0, 8), write(8, 16)});
  EXPECT_EQ(node.piece_count(), 1u);
  node({write(4, 12)});
  EXPECT_EQ(node.piece_count(), 3u);
  node({read(0, 4)});
  node({write(0, 16)});
  EXPECT_EQ(node.piece_count(), 1u);
  node({read(0, 6)});
  node({read(6, 16), read(0, 3)});
  EXPECT_EQ(node.piece_count(), 3u);  // readers: both, the first, the second
}

TEST(Dependencies, AgreesWithAByteByByteModelOnRandomAccesses) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    DependencyTracker tracker;
    AccessModel model;
    Nodes dependencies;
    std::uint32_t node = 0;
    for (int i = 0; i < 100; ++i, node += 1 + random() % 2) {
      const std::vector<Access> accesses = random_accesses(random);
      tracker.access(node, accesses, dependencies);
      ASSERT_EQ(dependencies, model.access(node, accesses));
      ASSERT_EQ(tracker.piece_count(), model.piece_count());
    }
  }
}

}  // namespace
}  // namespace halyard::hcq
