// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order between trees by their data, on queues that the test steps in the wrong order.
#include <optional>
#include <utility>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::await_into;
using testing::Awaited;
using ::testing::Each;
using testing::Fill;
using testing::Handmade;

class AsyncEdge : public testing::SteppedTest {
 protected:
  QueueRef queue(std::size_t index) const { return runtime.device().queue(index); }
  using Elements = std::optional<Result<std::vector<float>>>;
  using Written = std::optional<Result<Tensor<float>>>;
};

TEST_F(AsyncEdge, AReadWaitsForTheWrite) {
  std::optional<Shared<Tensor<float>>> x;
  std::optional<Result<int>> made;
  Elements read;
  const Handmade writer = await_into(made, full<float>({8}, 1.0f) | share | map([&](auto&& shared) {
                                             x = shared;
                                             return 0;
                                           }) | on(queue(0)));
  const Handmade reader = await_into(read, to_host(*x) | on(queue(1)));
  run_queue(1);
  EXPECT_FALSE(reader.done()) << "it is not written yet";
  run_all();
  EXPECT_THAT(read->value(), Each(1.0f));
}

TEST_F(AsyncEdge, AnEndThatIsWaitedForAsAnEdgeCostsNoSubmission) {
  // The submissions that queues 0 and 2 run for a tree on queue 0.
  const auto submissions_of = [&](auto tree) {
    Awaited<decltype(tree)> out;
    const Handmade coroutine = await_into(out, std::move(tree) | on(queue(0)));
    run_queue(1);
    const int ran = run_queue(2) + run_queue(0);
    EXPECT_TRUE(coroutine.done());
    run_all();
    return ran;
  };
  const auto copied = [&](auto x) { return async::copy(std::move(x), tensor(0.0f)); };
  const auto copied_there = [&](auto x) { return std::move(x) | copy_to(queue(2)) | share; };
  const auto made_on_queue_1 = [&] { return fill(tensor(0.0f), 1.0f) | share | on(queue(1)); };
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  const int plain = submissions_of(copied(x));
  EXPECT_EQ(submissions_of(copied(made_on_queue_1())), plain);
  (void)submissions_of(copied_there(value(x)));  // lets pools grow
  const int copy_there = submissions_of(copied_there(value(x)));
  EXPECT_EQ(submissions_of(copied_there(made_on_queue_1() | share)), copy_there);
}

TEST_F(AsyncEdge, AWriteWaitsForTheReads) {
  Shared<Tensor<float>> x = tensor(1.0f) | share;
  Elements read[2];
  Written written;
  const Handmade first = await_into(read[0], to_host(x) | on(queue(1)));
  const Handmade second = await_into(read[1], to_host(x) | on(queue(2)));
  // The reads are submitted, so the only owner may write.
  const Handmade writer =
      await_into(written, Fill{*std::move(x).try_unwrap(), 2.0f} | on(queue(0)));
  run_queue(0);
  run_queue(1);
  run_queue(0);
  EXPECT_FALSE(writer.done()) << "one read is in flight";
  run_all();
  EXPECT_THAT(read[0]->value(), Each(1.0f));
  EXPECT_THAT(read[1]->value(), Each(1.0f));
  EXPECT_THAT(elements(std::move(*written).value() | share), Each(2.0f));
}

TEST_F(AsyncEdge, AWriteWaitsForMoreReadsThanThereIsRoomFor) {
  constexpr std::size_t kReaders = 40;
  Shared<Tensor<float>> x = tensor(1.0f) | share;
  std::vector<Elements> read(kReaders);
  std::vector<Handmade> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.push_back(await_into(read[i], to_host(x) | on(queue(1 + i % 2))));
  }
  Written written;
  const Handmade writer =
      await_into(written, Fill{*std::move(x).try_unwrap(), 2.0f} | on(queue(0)));
  run_queue(0);
  run_queue(1);
  run_queue(0);
  EXPECT_FALSE(writer.done());
  run_all();
  for (const Elements& elements : read) EXPECT_THAT(elements->value(), Each(1.0f));
  EXPECT_TRUE(written->ok());
}

TEST_F(AsyncEdge, AWriteWaitsForTheWrite) {
  Tensor<float> x = tensor(0.0f);
  std::optional<Tensor<float>> between;
  std::optional<Result<int>> done;
  Written written;
  const Handmade first = await_into(done, Fill{std::move(x), 1.0f} | map([&](auto&& tensor) {
                                            between = std::move(tensor);
                                            return 0;
                                          }) | on(queue(1)));
  const Handmade second = await_into(written, Fill{*std::move(between), 2.0f} | on(queue(0)));
  run_queue(0);
  EXPECT_FALSE(second.done());
  run_all();
  EXPECT_THAT(elements(std::move(*written).value() | share), Each(2.0f));
}

// A timeline fails at once, while submissions before the failed one are still to run.
TEST_F(AsyncEdge, AWriteWaitsForAReadThatHasFailedAndDoesNotFailWithIt) {
  Shared<Tensor<float>> x = tensor(1.0f) | share;
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "planted");
  std::optional<Result<std::tuple<std::vector<float>, Tensor<float>>>> failed;
  const Handmade reader =
      await_into(failed, zip(to_host(x), zeros<float>({1 << 20})) | on(queue(1)));
  step();
  EXPECT_FALSE(failed->ok());
  Written written;
  const Handmade writer =
      await_into(written, Fill{*std::move(x).try_unwrap(), 2.0f} | on(queue(0)));
  run_queue(0);
  EXPECT_FALSE(writer.done()) << "the read is in flight";
  run_all();
  EXPECT_THAT(elements(std::move(*written).value() | share), Each(2.0f));
}

// The block goes to another tensor, whose contents must not be written before the read.
TEST_F(AsyncEdge, MemoryGoesBackBehindAReadOnAnotherQueue) {
  const Shape slab = {hal::PoolInfo().slab_size / sizeof(float)};  // the pool has no other block
  std::optional<Shared<Tensor<float>>> x = tensor(1.0f, slab) | share;
  Elements read;
  Written other;
  const Handmade reader = await_into(read, to_host(*x) | on(queue(1)));
  const std::uint64_t reuses = pool().reuses;
  x.reset();
  const Handmade writer = await_into(other, full<float>(slab, 2.0f) | on(queue(0)));
  run_queue(0);
  EXPECT_GT(pool().reuses, reuses);
  EXPECT_FALSE(writer.done());
  run_all();
  EXPECT_THAT(read->value(), Each(1.0f));
  EXPECT_TRUE(other->ok());
}

// The submitting thread may be within a tree and hold the lock of a shared operation.
TEST_F(AsyncEdge, NoCoroutineGoesOnWithinTheSubmissionOfAnother) {
  Elements read;
  Written other;
  const Handmade first = await_into(read, to_host(full<float>({8}, 1.0f)) | on(queue(0)));
  step();
  control->lanes.at(first_lane)->run();
  // No free block is large enough, so the allocation checks the progress of the first tree's
  // deallocation.
  const Shape larger = {2 * hal::PoolInfo().slab_size / sizeof(float)};
  const Handmade second = await_into(other, zeros<float>(larger) | on(queue(1)));
  EXPECT_FALSE(first.done()) << "though the allocation has found all its work done";
  step();
  EXPECT_TRUE(first.done());
  run_all();
  EXPECT_THAT(read->value(), Each(1.0f));
}

TEST_F(AsyncEdge, TreesThatShareNoDataDoNotWaitForEachOther) {
  Elements read[2];
  const Handmade first = await_into(read[0], to_host(full<float>({8}, 1.0f)) | on(queue(0)));
  const Handmade second = await_into(read[1], to_host(full<float>({8}, 2.0f)) | on(queue(1)));
  run_queue(1);
  EXPECT_TRUE(second.done());
  EXPECT_FALSE(first.done());
  run_all();
  EXPECT_THAT(read[0]->value(), Each(1.0f));
}

TEST_F(AsyncEdge, AnAwaitOfATreeIncludesItsPartsOnOtherQueues) {
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  std::optional<Result<std::tuple<int, std::vector<float>>>> out;
  const Handmade coroutine = await_into(out, zip(1, to_host(x) | on(queue(1))) | on(queue(0)));
  run_queue(0);
  EXPECT_FALSE(coroutine.done());
  run_all();
  EXPECT_THAT(std::get<1>(out->value()), Each(1.0f));
}

TEST_F(AsyncEdge, AnAwaitOfATreeIncludesManyParts) {
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  std::optional<Result<int>> out;
  auto parts = [&] {
    auto part = [&](std::size_t i) {
      return to_host(x) | map([](auto&&) { return 0; }) | on(queue(i));
    };
    return zip(part(0), part(1), part(2), part(0), part(1), part(2)) | first;
  };
  const Handmade coroutine = await_into(out, parts() | on(queue(0)));
  for (int i = 0; i < 4; ++i) {
    run_queue(0);
    run_queue(1);
  }
  EXPECT_FALSE(coroutine.done()) << "queue 2 has not run";
  run_all();
  EXPECT_TRUE(out->ok());
}

}  // namespace
}  // namespace halyard::async
