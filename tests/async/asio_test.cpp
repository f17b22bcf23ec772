// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Completion tokens of Asio; of Boost.Asio if HALYARD_BOOST_ASIO is defined.
#include "halyard/async/asio.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

namespace asio = detail::asio_api;
using ::testing::Each;
using testing::refused_with;

class AsyncAsio : public testing::AsyncTest {
 protected:
  asio::io_context context;
};

TEST_F(AsyncAsio, AHandlerRunsOnItsExecutorAndNeverWithinTheCall) {
  std::optional<Result<int>> out;
  std::thread::id ran_on;
  async_wait(value(7) | on(runtime), asio::bind_executor(context, [&](Result<int> result) {
               ran_on = std::this_thread::get_id();
               out.emplace(std::move(result));
             }));
  EXPECT_FALSE(out.has_value());
  context.run();
  EXPECT_EQ(out->value(), 7);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST_F(AsyncAsio, TheExecutorHasWorkUntilTheHandlerHasRun) {
  int ended = 0;
  for (int i = 0; i < 20; ++i) {
    async_wait(to_host(matmul(ones<float>({64, 64}), ones<float>({64, 64}))) | on(runtime),
               asio::bind_executor(context, [&](Result<std::vector<float>> result) {
                 EXPECT_THAT(result.value(), Each(64.0f));
                 ++ended;
               }));
  }
  context.run();
  EXPECT_EQ(ended, 20);
}

TEST_F(AsyncAsio, EveryTokenOfManyThreadsIsCompletedOnce) {
  constexpr int kThreads = 8, kTokens = 500;
  const auto x = run(ones<float>({16}) | share);
  std::vector<std::atomic<int>> completed(kThreads * kTokens);
  {
    auto busy = asio::make_work_guard(context);
    std::jthread handlers[2];
    for (std::jthread& thread : handlers) thread = std::jthread([&] { context.run(); });
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kTokens; ++i) {
          auto& count = completed[static_cast<std::size_t>(t * kTokens + i)];
          async_wait(to_host(x) | on(runtime.device(static_cast<std::size_t>(t) % 2)),
                     asio::bind_executor(context, [&count](Result<std::vector<float>> result) {
                       EXPECT_THAT(result.value(), Each(1.0f));
                       ++count;
                     }));
        }
      });
    }
    threads.clear();
    busy.reset();
  }
  for (const std::atomic<int>& count : completed) ASSERT_EQ(count, 1);
}

TEST_F(AsyncAsio, ErrorsAreGivenAsAStatus) {
  std::optional<Status> status;
  async_wait(add(ones<float>({4}), ones<float>({5})) | on(runtime),
             asio::bind_executor(context,
                                 [&](Result<Tensor<float>> result) { status = result.status(); }));
  context.run();
  EXPECT_THAT(*status, refused_with(StatusCode::kInvalidArgument, "4 and 5"));
}

TEST_F(AsyncAsio, WhatAFunctionThrowsIsThrownByTheCall) {
  const auto call = [&] {
    async_wait(
        value(1) | map([](int) -> int { throw std::runtime_error("on purpose"); }) | on(runtime),
        asio::bind_executor(context, [](Result<int>) {}));
  };
  EXPECT_THROW(call(), std::runtime_error);
}

TEST_F(AsyncAsio, AFutureOfTheStandardLibraryIsACompletionToken) {
  auto future = async_wait(to_host(ones<float>({4})) | on(runtime), asio::use_future);
  EXPECT_THAT(future.get().value(), Each(1.0f));
}

#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)
TEST_F(AsyncAsio, ACoroutineOfAsioAwaitsAnOperation) {
  float sum = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 10; ++i) {
          auto result =
              co_await async_wait(to_host(ones<float>({4})) | on(runtime), asio::use_awaitable);
          sum += result.value()[0];
        }
      },
      asio::detached);
  context.run();
  EXPECT_EQ(sum, 10.0f);
}
#endif

// The condition of detail/asio_await.h: Boost has slots from 1.77 on.
#if defined(ASIO_VERSION) && ASIO_VERSION >= 101900 || \
    defined(BOOST_ASIO_VERSION) && BOOST_ASIO_VERSION >= 101900
class AsyncAsioStop : public testing::SteppedTest {};

TEST_F(AsyncAsioStop, ACancellationSlotStopsTheAwaitWhateverTokenTheFutureHas) {
  std::stop_source other;
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  asio::io_context context;
  asio::cancellation_signal signal;
  std::optional<Status> status;
  async_wait(
      to_host(x) | on(runtime.device()) | stop_with(other.get_token()),
      asio::bind_cancellation_slot(
          signal.slot(), asio::bind_executor(context, [&](Result<std::vector<float>> result) {
            status = result.status();
          })));
  signal.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_THAT(*status, refused_with(StatusCode::kCancelled, "a stop was requested"));
  run_all();
}
#endif

}  // namespace
}  // namespace halyard::async
