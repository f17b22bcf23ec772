// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled like the sources in does_not_compile/, without an error.
#include "halyard/async.h"

using namespace halyard::async;

constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};

Task<> f(Partition<Tensor<float>> y, Shared<Tensor<float>> x) {
  (void)co_await saxpy(2.0f, x, std::move(y));
}

// A user's operation in a scope without Halyard's names.
namespace elsewhere {
struct Mine {
  using Output = int;
  halyard::Result<int> execute(halyard::async::Context&) && { return 1; }
};
auto f(halyard::async::QueueRef queue, std::stop_token stop) {
  return Mine() | halyard::async::map([](int x) { return x; }) | halyard::async::share |
         halyard::async::on(queue) | halyard::async::stop_with(stop);
}
}  // namespace elsewhere
