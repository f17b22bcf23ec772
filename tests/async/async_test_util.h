// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fixture of the async tests: a runtime of two devices.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "halyard/async.h"
#include "halyard/async/execution.h"

namespace halyard::async::testing {

// A coroutine of no library, which starts at once and destroys itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// The environment of a receiver with a stop token.
template <class Token>
struct StopEnvironment {
  Token query(execution::get_stop_token_t) const noexcept { return stop; }
  Token stop;
};

inline constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

class AsyncTest : public ::testing::Test {
 protected:
  // HALYARD_TEST_DEVICES: two that share memory, instead of the CPU's.
  static const char* devices() {
    const char* const chosen = std::getenv("HALYARD_TEST_DEVICES");
    return chosen != nullptr ? chosen : "cpu://?devices=2&workers=1";
  }
  template <class Awaitable>
  auto run(Awaitable&& awaitable) {
    return sync_wait(std::move(awaitable), runtime);
  }
  // The elements of an array, or of the array that an operation returns.
  template <class Array>
  auto elements(Array&& array) {
    return run(to_host(std::forward<Array>(array)));
  }
  HostEvent event() { return HostEvent::create(runtime).value(); }
  // The error of an operation.
  template <class Operation>
  Status failure(Operation&& operation) {
    return run(as_result(std::move(operation))).status();
  }

  Runtime runtime = Runtime::open(devices()).value();
};

// The Error that a function throws.
template <class F>
Status thrown_by(F&& function) {
  try {
    (void)function();
  } catch (const Error& error) {
    return error.status();
  }
  return {};
}

inline auto refused_with(StatusCode code, const std::string& text) {
  return ::testing::AllOf(
      ::testing::ResultOf([](const Status& status) { return status.code(); }, code),
      ::testing::ResultOf([](const Status& status) { return std::string(status.message()); },
                          ::testing::HasSubstr(text)));
}

}  // namespace halyard::async::testing
