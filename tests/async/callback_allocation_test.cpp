// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations of an await that ends with a callback, and of stop tokens.
#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <utility>

#include "async/allocation_test_util.h"
#include "async/async_test_util.h"
#include "halyard/async/sender.h"

namespace halyard::async {
namespace {

using testing::saxpy;

std::binary_semaphore ended{0};

// A coroutine that Halyard does not know. The test provides its frame; freeing it signals `ended`.
struct Foreign {
  struct promise_type {
    static void* operator new(std::size_t size) {
      if (size > frame.size()) std::terminate();
      return frame.data();
    }
    static void operator delete(void*) { ended.release(); }
    Foreign get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
    alignas(64) static inline std::array<std::byte, 4096> frame;
  };
};

// Large enough that the device still works after the host has submitted it.
const Shape kShape = {256, 256};

class AsyncCallbackAllocation : public testing::AllocationTest {
 protected:
  auto step() { return saxpy(2.0f, x, std::move(y)) | last; }

  const Shared<Tensor<float>> x = ones_of(kShape);
  Partition<Tensor<float>> y = tiles_of(kShape);
  int resumed_ = 0;  // how often a thread of the runtime resumed the coroutine
};

template <class Future>
Foreign foreign(Future future, Partition<Tensor<float>>& y, int& resumed) {
  const auto began = std::this_thread::get_id();
  y = co_await std::move(future);
  resumed += std::this_thread::get_id() != began;
}

TEST_F(AsyncCallbackAllocation, AnAwaitInAForeignCoroutineAllocatesNothing) {
  EXPECT_EQ(least_allocations([&] {
              foreign(step() | on(runtime), y, resumed_);
              ended.acquire();
            }),
            0u);
  EXPECT_GT(resumed_, 0);
}

TEST_F(AsyncCallbackAllocation, AStopTokenOfAForeignCoroutineAllocatesNothing) {
  const std::stop_source stop;
  EXPECT_EQ(least_allocations([&] {
              foreign(step() | on(runtime) | stop_with(stop.get_token()), y, resumed_);
              ended.acquire();
            }),
            0u);
  EXPECT_GT(resumed_, 0);
}

TEST_F(AsyncCallbackAllocation, AStopTokenOfAnAwaitThatBlocksAllocatesNothing) {
  const std::stop_source stop;
  EXPECT_EQ(least_allocations([&] { y = sync_wait(step(), runtime, stop.get_token()); }), 0u);
}

template <class Token>
struct Receiver {
  using receiver_concept = execution::receiver_t;
  void set_value(Partition<Tensor<float>> value) && noexcept {
    *y = std::move(value);
    ended.release();
  }
  void set_error(const Status&) && noexcept { std::terminate(); }
  void set_error(const std::exception_ptr&) && noexcept { std::terminate(); }
  void set_stopped() && noexcept { std::terminate(); }
  testing::StopEnvironment<Token> get_env() const noexcept { return {stop}; }

  Partition<Tensor<float>>* y;
  Token stop{};
};

TEST_F(AsyncCallbackAllocation, ASenderAllocatesNothing) {
  const std::stop_source stop;
  EXPECT_EQ(least_allocations([&] {
              auto operation = as_sender(step() | on(runtime))
                                   .connect(Receiver<std::stop_token>{&y, stop.get_token()});
              operation.start();
              ended.acquire();
            }),
            0u);
}

// A stop token type other than std::stop_token.
struct OtherToken {
  template <class F>
  struct callback_type {
    callback_type(const OtherToken& token, F&& fn) : callback(token.stop, std::move(fn)) {}
    std::stop_callback<F> callback;
  };
  bool stop_requested() const noexcept { return stop.stop_requested(); }
  bool stop_possible() const noexcept { return stop.stop_possible(); }
  std::stop_token stop;
};

// It allocates the state of a std::stop_source.
TEST_F(AsyncCallbackAllocation, ATokenOfAnotherTypeAllocatesOnce) {
  const std::stop_source stop;
  EXPECT_EQ(least_allocations(
                [&] {
                  auto operation = as_sender(step() | on(runtime))
                                       .connect(Receiver<OtherToken>{&y, {stop.get_token()}});
                  operation.start();
                  ended.acquire();
                },
                1000),
            1000u);
}

}  // namespace
}  // namespace halyard::async
