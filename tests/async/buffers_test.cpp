// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that tensors and code over the HAL share: order, ownership and refusals.
#include "halyard/async/buffers.h"

#include <bit>
#include <optional>
#include <utility>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::await_into;
using testing::Awaited;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Fill;
using testing::Handmade;
using testing::refused_with;

class AsyncBuffers : public testing::SteppedTest {
 protected:
  static constexpr std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
  hal::Buffer floats(std::uint64_t count) {
    return device.allocate({.size = 4 * count, .memory = hal::MemoryType::kHostVisible}).value();
  }
  static hal::BufferView view(const hal::Buffer& buffer, std::uint64_t count,
                              std::uint64_t offset = 0) {
    const std::uint64_t shape[] = {count};
    return hal::BufferView::create(buffer, hal::ElementType::kFloat32, shape, offset).value();
  }
  Tensor<float> tensor_of(const hal::BufferView& of, const ReadyAt& ready = {}) {
    return from_buffer<float>(runtime.device(), of, ready).value();
  }
  std::span<float> mapped(const hal::Buffer& buffer) {
    mapping = buffer.map().value();
    return mapping.as<float>();
  }
  hal::Mapping mapping;
};

TEST_F(AsyncBuffers, ATensorOfAPartHasItsElements) {
  const hal::Buffer buffer = floats(6);
  for (int i = 0; i < 6; ++i) mapped(buffer)[static_cast<std::size_t>(i)] = static_cast<float>(i);
  EXPECT_THAT(elements(tensor_of(view(buffer, 3, 8)) | share), ElementsAre(2, 3, 4));
  std::optional<Result<Tensor<float>>> out;
  const Handmade coroutine =
      await_into(out, Fill{tensor_of(view(buffer, 3, 8)), 9} | on(runtime.device()));
  run_all();
  EXPECT_THAT(mapped(buffer), ElementsAre(0, 1, 9, 9, 9, 5));
}

TEST_F(AsyncBuffers, UsesOfATensorWaitForItsPoint) {
  const hal::Buffer buffer = floats(4);
  const hal::Semaphore filled = semaphore();
  const auto x = tensor_of(view(buffer, 4), {filled, 3}) | share;
  std::optional<Result<std::vector<float>>> out;
  const Handmade coroutine = await_into(out, to_host(x) | on(runtime.device()));
  run_all();
  EXPECT_FALSE(coroutine.done());
  std::ranges::fill(mapped(buffer), 7.0f);
  check(filled.signal(3));
  run_all();
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(out->value(), Each(7.0f));
}

TEST_F(AsyncBuffers, APointThatFailsFailsTheUses) {
  const hal::Semaphore filled = semaphore();
  const auto x = tensor_of(view(floats(4), 4), {filled, 1}) | share;
  std::optional<Result<std::vector<float>>> out;
  const Handmade coroutine = await_into(out, to_host(x) | on(runtime.device()));
  filled.fail(Status(StatusCode::kDataLoss, "on purpose"));
  run_all();
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(out->status(), refused_with(StatusCode::kDataLoss, "on purpose"));
}

TEST_F(AsyncBuffers, ATensorLeavesAPoolsBufferToItsOwner) {
  const hal::Pool pool = make_pool();
  const hal::Buffer buffer = allocate(pool, 16);
  run_all();
  {
    const auto x = tensor_of(view(buffer, 4)) | share;
    (void)elements(x);
  }
  run_all();
  EXPECT_TRUE(has_memory(buffer));
  EXPECT_NE(pool.statistics().used_bytes, 0u);
  check(queue.deallocate(buffer, {}));
  run_all();
  EXPECT_EQ(pool.statistics().used_bytes, 0u);
}

// The tensor's write is still in flight when the tensor is lent, and the HAL's write is in flight
// when the tensor is read.
TEST_F(AsyncBuffers, ALoanOfATensorIsOrderedInBothDirections) {
  std::optional<BufferLoan<Tensor<float>>> loan;
  std::optional<Result<int>> out;
  const Handmade coroutine = await_into(out, full<float>({4}, 1) | map([&](Tensor<float> x) {
                                               loan.emplace(lend_buffer(std::move(x)).value());
                                               return 0;
                                             }) | on(runtime.device()));
  EXPECT_EQ(loan->ready().semaphore.wait(loan->ready().value, kNow).code(),
            StatusCode::kDeadlineExceeded);
  const hal::Semaphore done = semaphore();
  const hal::Point wait = loan->ready().point(), signal(done, 1);
  const hal::Buffer two = loan->view().buffer().subspan(0, 8).value();
  check(queue.fill(two, bits(5), 4, {.wait = {&wait, 1}, .signal = {&signal, 1}}));
  const auto x = std::move(*loan).give_back({done, 1}).value() | share;
  EXPECT_THAT(elements(x), ElementsAre(5, 5, 1, 1));
}

TEST_F(AsyncBuffers, ALoanOfATensorWaitsForItsReads) {
  Tensor<float> x = tensor(1.0f);
  std::optional<Result<std::vector<float>>> out;
  auto shared = std::move(x) | share;
  const Handmade coroutine = await_into(out, to_host(shared) | on(runtime.device()));
  auto loan = lend_buffer(*std::move(shared).try_unwrap()).value();
  const auto state = [&] { return loan.ready().semaphore.wait(loan.ready().value, kNow).code(); };
  EXPECT_EQ(state(), StatusCode::kDeadlineExceeded);
  run_all();
  EXPECT_EQ(state(), StatusCode::kOk);
}

TEST_F(AsyncBuffers, AWriteWaitsForTheReadsOfALoanThatWasGivenBack) {
  auto shared = tensor(1.0f) | share;
  const hal::Semaphore done = semaphore();
  auto loan = lend_buffer(shared.rows(2, 3)).value();
  EXPECT_EQ(loan.view().offset(), 8u);
  EXPECT_EQ(loan.view().element_count(), 3u);
  EXPECT_FALSE(std::move(shared).try_unwrap().has_value()) << "the loan is an owner";
  (void)std::move(loan).give_back({done, 1}).value();
  EXPECT_THAT(elements(shared), Each(1.0f));  // a read does not wait
  std::optional<Result<Tensor<float>>> out;
  const Handmade coroutine =
      await_into(out, Fill{*std::move(shared).try_unwrap(), 2} | on(runtime.device()));
  run_all();
  EXPECT_FALSE(coroutine.done());
  check(done.signal(1));
  run_all();
  EXPECT_TRUE(coroutine.done());
}

TEST_F(AsyncBuffers, RefusesWhatIsNoTensor) {
  const hal::Buffer buffer = floats(8);
  const auto refused = [](const char* words) {
    return refused_with(StatusCode::kInvalidArgument, words);
  };
  const auto made = [&](const hal::BufferView& of) {
    return from_buffer<std::int32_t>(runtime.device(), of).status();
  };
  EXPECT_THAT(made({}), refused("from_buffer: an empty view"));
  EXPECT_THAT(made(view(buffer, 2)), refused("from_buffer: elements of"));
  const std::uint64_t four[] = {1, 2, 2, 2};
  EXPECT_THAT(made(hal::BufferView::create(buffer, hal::ElementType::kInt32, four).value()),
              refused("from_buffer: a tensor of 4 dimensions; the most is 3"));
  EXPECT_EQ(from_buffer<float>(runtime.device(7), view(buffer, 2)).status().code(),
            StatusCode::kOutOfRange);
  Tensor<float> x = tensor(1.0f);
  auto loan = lend_buffer(std::move(x)).value();
  EXPECT_THAT(lend_buffer(std::move(x)).status(), refused("a tensor that was moved from"));
  x = std::move(loan).give_back().value();
  EXPECT_THAT(std::move(loan).give_back().status(), refused("a loan that was moved from"));
}

TEST_F(AsyncBuffers, RefusesAParameterOfARecordedFunction) {
  Status status;
  auto recording = record(
      [&](Shared<Tensor<float>> x) {
        status = lend_buffer(x).status();
        return async::copy(x, scratch<float>({4}));
      },
      Shape{4});
  Awaited<decltype(recording)> out;
  const Handmade coroutine = await_into(out, std::move(recording) | on(runtime.device()));
  run_all();
  EXPECT_THAT(status, refused_with(StatusCode::kInvalidArgument, "that was recorded"));
}

}  // namespace
}  // namespace halyard::async
