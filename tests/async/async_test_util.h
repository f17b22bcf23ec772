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

namespace halyard::async::testing {

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
