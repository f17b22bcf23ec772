// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/block_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/failing_calls.h"
#include "hal/memory/arena.h"

namespace halyard::hal {
namespace {

TEST(BlockPool, GivesAlignedBytes) {
  BlockPool pool;
  for (std::size_t size : {0u, 1u, 256u, 257u, 1024u, 65536u, 65537u, 1000000u}) {
    const Block block = pool.allocate(size);
    ASSERT_TRUE(block) << size;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 16, 0u);
    std::memset(block.data(), 0xab, size);  // for the address sanitizer
  }
}

TEST(BlockPool, ReusesAFreedBlockOfTheClass) {
  BlockPool pool;
  for (std::size_t size : {1u, 257u, 1025u, 4097u, 65536u}) {
    const std::byte* first = pool.allocate(size).data();
    EXPECT_EQ(pool.allocate(size).data(), first) << size;
  }
}

TEST(BlockPool, KeepsSixteenMebibytesOfAClass) {
  BlockPool pool;
  const auto allocate = [&](std::vector<Block>& blocks) {
    while (blocks.size() < 300) {
      Block block = pool.allocate(64 << 10);
      if (!block) break;
      blocks.push_back(std::move(block));
    }
    return blocks.size();
  };
  std::vector<Block> burst, later;
  ASSERT_EQ(allocate(burst), 300u);
  burst.clear();
  const halyard::testing::FailingCalls system("block_pool.allocate");
  EXPECT_EQ(allocate(later), 256u);
}

TEST(BlockPool, BlocksInUseAreDistinct) {
  BlockPool pool;
  std::vector<Block> blocks;
  std::set<std::byte*> places;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(pool.allocate(200));
    EXPECT_TRUE(places.insert(blocks.back().data()).second);
  }
}

TEST(BlockPool, AnswersAnEmptyBlockWhenMemoryIsExhausted) {
  BlockPool pool;
  EXPECT_FALSE(pool.allocate(SIZE_MAX));
  EXPECT_FALSE(pool.allocate(SIZE_MAX / 2));
}

TEST(BlockPool, MovingABlockMovesItsOwnership) {
  BlockPool pool;
  Block a = pool.allocate(10);
  const std::byte* const place = a.data();
  Block b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(b.data(), place);
  a = std::move(b);
  EXPECT_EQ(a.data(), place);
}

TEST(BlockPool, IsSafeFromSeveralThreads) {
  BlockPool pool;
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      Block block = pool.allocate(i);
      std::memset(block.data(), i, static_cast<std::size_t>(i));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(Arena, KeepsWhatItGave) {
  Arena arena;
  std::vector<std::byte*> places;
  for (std::size_t size = 1; size < 10000; size = size * 3 / 2 + 1) {
    std::byte* place = arena.allocate(size);
    ASSERT_NE(place, nullptr);
    std::memset(place, static_cast<int>(places.size()), size);
    places.push_back(place);
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(places[i][0], static_cast<std::byte>(i));
}

TEST(Arena, ZeroBytesAreAPlaceToo) { EXPECT_NE(Arena().allocate(0), nullptr); }

TEST(Arena, AnswersNullWhenMemoryIsExhausted) {
  Arena arena;
  EXPECT_EQ(arena.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(arena.allocate_array<std::uint64_t>(SIZE_MAX / 4), nullptr);
}

TEST(Array, GrowsWithDefaults) {
  Array<int> array;
  ASSERT_TRUE(array.push_back(7));
  ASSERT_TRUE(array.grow(100));
  EXPECT_EQ(array.size(), 100u);
  EXPECT_EQ(array[0], 7);
  EXPECT_EQ(array[99], 0);
}

}  // namespace
}  // namespace halyard::hal
