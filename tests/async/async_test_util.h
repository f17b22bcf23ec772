// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of async have in common: a runtime of cpu devices, and a kernel for each form of
// parameter.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "halyard/async.h"

namespace halyard::async::testing {

inline constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

class AsyncTest : public ::testing::Test {
 protected:
  template <class Awaited>
  auto run(Awaited&& awaited) {
    return sync_wait(std::move(awaited), runtime);
  }
  // The elements of an array, or of what an operation gives.
  template <class Array>
  auto elements(Array&& array) {
    return run(to_host(std::forward<Array>(array)));
  }
  // Why an operation fails.
  template <class Operation>
  Status failure(Operation&& operation) {
    return run(as_result(std::move(operation))).status();
  }

  Runtime runtime = Runtime::open("cpu://?devices=2&workers=1").value();
};

inline auto refused_with(StatusCode code, const std::string& text) {
  return ::testing::AllOf(
      ::testing::ResultOf([](const Status& status) { return status.code(); }, code),
      ::testing::ResultOf([](const Status& status) { return std::string(status.message()); },
                          ::testing::HasSubstr(text)));
}

}  // namespace halyard::async::testing
