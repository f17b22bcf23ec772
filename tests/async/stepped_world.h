// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime whose queues the test steps, and in which the next allocation overwrites freed memory.
// Coroutines that the test can destroy at any moment.
#pragma once

#include <bit>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "async/async_test_util.h"
#include "hal/pool_world.h"

namespace halyard::async::testing {

// A coroutine that starts at once. Its frame lives until destroy() or the end of the scope.
class Handmade {
 public:
  struct promise_type {
    Handmade get_return_object() {
      return Handmade(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  explicit Handmade(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Handmade(Handmade&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handmade& operator=(Handmade&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handmade() { destroy(); }
  void destroy() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  bool done() const { return handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <class Op>
using Awaited = std::optional<Result<typename detail::Await<Op>::Value>>;

template <class Op>
Handmade await_into(Awaited<Op>& out, DeviceFuture<Op> future) {
  out.emplace(co_await as_result(std::move(future)));
}

// Overwrites a tensor.
struct Fill {
  using Output = Tensor<float>;
  Result<Tensor<float>> execute(Context& context) && {
    const Status status = context.fill(tensor.storage(), std::bit_cast<std::uint32_t>(element), 4);
    if (!status.ok()) return status;
    return std::move(tensor);
  }
  Tensor<float> tensor;
  float element;
};

class SteppedTest : public hal::testing::PoolTest {
 protected:
  SteppedTest() { (void)elements(tensor(0.0f) | share); }  // allocates the first slabs of the pools
  ~SteppedTest() override {
    run_all();
    runtime = {};
  }
  hal::PoolStatistics pool() {
    return device.default_pool(hal::MemoryType::kDeviceLocal).statistics();
  }
  std::uint64_t used_bytes() { return pool().used_bytes; }
  // Runs the submissions of that queue up to the first that must wait. Returns their number.
  int run_queue(std::size_t index) {
    step();
    const int ran = control->lanes.at(first_lane + index)->run();
    step();
    return ran;
  }
  // A tensor with its contents written.
  Tensor<float> tensor(float element, const Shape& shape = {8}) {
    std::optional<Result<Tensor<float>>> out;
    const Handmade coroutine = await_into(out, full<float>(shape, element) | on(runtime.device()));
    run_all();
    return std::move(*out).value();
  }
  std::vector<float> elements(Shared<Tensor<float>> shared) {
    std::optional<Result<std::vector<float>>> out;
    const Handmade coroutine = await_into(out, to_host(std::move(shared)) | on(runtime.device()));
    run_all();
    return std::move(*out).value();
  }

  std::size_t first_lane = control->lanes.size();
  Runtime runtime = Runtime::create({device}, {.queues = 3}).value();
};

}  // namespace halyard::async::testing
