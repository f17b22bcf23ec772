// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations of a completion token.
#include <memory>
#include <utility>

#include "async/allocation_test_util.h"
#include "halyard/async/asio.h"

namespace halyard::async {
namespace {

namespace asio = detail::asio_api;
using testing::saxpy;

class AsyncAsioAllocation : public testing::AllocationTest {
 protected:
  // Submits, and runs the handler on the context's executor.
  void step() {
    async_wait(saxpy(2.0f, x, std::move(y)) | last | on(runtime),
               asio::bind_executor(context, [this](Result<Partition<Tensor<float>>> result) {
                 y = std::move(result).value();
               }));
    context.run();
    context.restart();
  }

  asio::io_context context{1};
  const Shared<Tensor<float>> x = ones_of({256, 256});
  Partition<Tensor<float>> y = tiles_of({256, 256});
};

TEST_F(AsyncAsioAllocation, AHandlerOnAContextAllocatesNothing) {
  EXPECT_EQ(least_allocations([&] { step(); }), 0u);
}

}  // namespace
}  // namespace halyard::async
