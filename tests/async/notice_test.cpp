// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callbacks at the end of work: one for each await, however large its tree is. The linker wraps
// Semaphore::on_reach (CMakeLists.txt), and this test counts its calls.
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "async/stepped_world.h"

#define HALYARD_ON_REACH                             \
  "_ZNK7halyard2v03hal9Semaphore15on_reach_erasedEm" \
  "PvPFvS3_RKNS0_6StatusEEPFvS3_ENS1_14CallbackThreadE"

namespace halyard::async {
namespace testing {

std::atomic<int> notices{0};

// The ABI passes the object of a member function as the first argument.
Result<hal::Registration> real_on_reach(
    const hal::Semaphore* self, std::uint64_t value, void* state,
    void (*call)(void*, const Status&), void (*destroy)(void*),
    hal::CallbackThread thread) __asm__("__real_" HALYARD_ON_REACH);
Result<hal::Registration> counted_on_reach(
    const hal::Semaphore* self, std::uint64_t value, void* state,
    void (*call)(void*, const Status&), void (*destroy)(void*),
    hal::CallbackThread thread) __asm__("__wrap_" HALYARD_ON_REACH);

Result<hal::Registration> counted_on_reach(const hal::Semaphore* self, std::uint64_t value,
                                           void* state, void (*call)(void*, const Status&),
                                           void (*destroy)(void*), hal::CallbackThread thread) {
  ++notices;
  return real_on_reach(self, value, state, call, destroy, thread);
}

}  // namespace testing

namespace {

using testing::await_into;
using ::testing::Each;
using testing::Handmade;

class AsyncNotice : public testing::SteppedTest {
 protected:
  template <class F>
  static int notices_of(F&& f) {
    const int before = testing::notices;
    f();
    return testing::notices - before;
  }
  // Ten operations on queues 0 and 1.
  auto ten() {
    const auto four = [&](std::size_t index) {
      auto copied = async::copy(x, full<float>({8}, 2.0f)) | last;
      return to_host(async::copy(std::move(copied), full<float>({8}, 3.0f)) | last) |
             on(runtime.device().queue(index));
    };
    return zip(four(0), four(1));
  }
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
};

TEST_F(AsyncNotice, OneIsAskedForByAnAwaitOfATreeOnSeveralQueues) {
  std::optional<Result<std::tuple<std::vector<float>, std::vector<float>>>> out;
  EXPECT_EQ(notices_of([&] {
              const Handmade coroutine = await_into(out, ten() | on(runtime.device().queue(2)));
              EXPECT_FALSE(coroutine.done());
              run_all();
              EXPECT_TRUE(coroutine.done());
            }),
            1);
  EXPECT_THAT(std::get<0>(out->value()), Each(1.0f));
  EXPECT_THAT(std::get<1>(out->value()), Each(1.0f));
}

TEST_F(AsyncNotice, NoneIsAskedForByAnAwaitOfWhatIsDone) {
  const auto shared = full<float>({8}, 2.0f) | share;
  const auto awaited = [&](bool at_once) {
    std::optional<Result<Shared<Tensor<float>>>> out;
    const Handmade coroutine = await_into(out, auto(shared) | on(runtime.device()));
    EXPECT_EQ(coroutine.done(), at_once);
    run_all();
    EXPECT_TRUE(out->ok());
  };
  EXPECT_EQ(notices_of([&] { awaited(false); }), 1);
  EXPECT_EQ(notices_of([&] { awaited(true); }), 0) << "and no thread had to step";
}

TEST_F(AsyncNotice, EachOfThousandsOfAwaitsInFlightHearsOnce) {
  constexpr std::size_t kAwaits = 2000;
  for (int round = 0; round < 2; ++round) {
    std::vector<int> ended(kAwaits);
    std::vector<Handmade> awaiting;
    const auto await_one = [](int& count, Shared<Tensor<float>> of, QueueRef there) -> Handmade {
      const auto elements = co_await (to_host(std::move(of)) | on(std::move(there)));
      EXPECT_THAT(elements, Each(1.0f));
      ++count;
    };
    const int asked = notices_of([&] {
      for (std::size_t i = 0; i < kAwaits; ++i) {
        awaiting.push_back(await_one(ended[i], x, runtime.device().queue(i % 3)));
      }
    });
    EXPECT_EQ(asked, static_cast<int>(kAwaits));
    EXPECT_THAT(ended, Each(0));
    for (int i = 0; i < 4; ++i) run_all();
    EXPECT_THAT(ended, Each(1)) << round;
  }
}

TEST_F(AsyncNotice, NoneIsAskedForByATaskOrAThreadThatBlocks) {
  const auto body = [](auto tree) -> Task<> {
    const auto both = co_await std::move(tree);
    EXPECT_THAT(std::get<0>(both), Each(1.0f));
  };
  std::atomic<bool> ended = false;
  EXPECT_EQ(notices_of([&] {
              std::jthread waiter([&] {
                sync_wait(body(ten()), runtime);
                EXPECT_THAT(std::get<1>(sync_wait(ten(), runtime)), Each(1.0f));
                ended = true;
              });
              while (!ended) {
                std::this_thread::yield();
                run_all();
              }
            }),
            0);
}

}  // namespace
}  // namespace halyard::async
