// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trees of operations without memory: each allocation of the awaiting thread fails, first only this
// one and then together with all later allocations. Each time the trees end without a hang or a
// leak, and the runtime stays usable.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "async/allocation_test_util.h"
#include "async/async_test_util.h"
#include "counts/allocations.h"
#include "hal/device/registry.h"
#include "halyard/async/nursery.h"
#include "halyard/async/recorded.h"
#include "halyard/halyard.h"

namespace halyard::async {
namespace {

using counts::FailingAllocation;
using testing::saxpy;
using Floats = Shared<Tensor<float>>;

const Shape kShape = {16, 16};

class AsyncExhaustion : public testing::CountingTest {
 protected:
  // Runs `program`, which returns its number of correct elements, once for each of its allocations,
  // which then fails. Then checks that its devices close, as they do when no reference to them is
  // left.
  template <class F>
  void exhaust(F&& program, std::size_t right) {
    for (const bool later : {false, true}) {
      std::uint64_t n = 0;  // 0: none fails, so that objects of the thread are allocated
      for (bool failed = true; failed; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + (later ? " and later ones" : ""));
        hal::DriverRegistry registry;
        ASSERT_TRUE(register_all_drivers(registry).ok());
        {
          const Runtime runtime =
              Runtime::create(registry.open_all("cpu://?devices=2&workers=1").value(),
                              {.queues = 2})
                  .value();
          {
            FailingAllocation failing(n, later);
            try {
              EXPECT_EQ(program(runtime), right);
            } catch (const std::bad_alloc&) {  // an allocation of the program itself
            } catch (const Error& error) {
              EXPECT_EQ(error.status().code(), StatusCode::kResourceExhausted) << error.what();
            }
            failed = failing.has_failed() || n == 0;
          }
          EXPECT_EQ(program(runtime), right);
        }
        ASSERT_EQ(registry.shutdown(std::chrono::seconds(20)).to_string(), "Ok");
        if (HasFailure()) return;
      }
      EXPECT_GT(n, 3u);
    }
  }
};

std::size_t count_of(const std::vector<float>& elements, float value) {
  return static_cast<std::size_t>(std::ranges::count(elements, value));
}

TEST_F(AsyncExhaustion, KernelsOnTensorsOfOneQueue) {
  exhaust(
      [](const Runtime& runtime) {
        const Floats x = sync_wait(full<float>(kShape, 2.0f) | share, runtime);
        auto y = saxpy(3.0f, x, ones<float>(kShape) | partition(4, 4)) | last | unpartition;
        return count_of(sync_wait(to_host(std::move(y)), runtime), 7.0f);
      },
      256);
}

// More trees read x at once than a tensor has entries for or a submission has waits for.
Task<std::size_t> read_side_by_side(const Runtime& runtime) {
  std::optional<Floats> x;
  std::vector<std::vector<float>> read(12);
  std::vector<std::stop_source> stops(read.size());
  std::optional<Tensor<float>> written;
  Nursery nursery;
  const auto keep = [&x](Floats product) { return x = std::move(product), 0; };
  co_await nursery.spawn(matmul(ones<float>({256, 256}), ones<float>({256, 256})) | share |
                         map(keep) | on(runtime.device()));
  for (std::size_t i = 0; i < read.size() && x; ++i) {
    co_await nursery.spawn(
        to_host(*x) | on(runtime.queues()[i % 4]) | stop_with(stops[i].get_token()), read[i]);
  }
  std::optional<Tensor<float>> alone;
  if (x) alone = (*std::exchange(x, {})).try_unwrap();
  if (alone) {
    co_await nursery.spawn(fill(*std::move(alone), 1.0f) | on(runtime.device()), written);
  }
  co_await nursery.join();
  std::size_t right = 0;
  for (const std::vector<float>& elements : read) right += count_of(elements, 256.0f);
  co_return right;
}

TEST_F(AsyncExhaustion, ReadsSideBySideAndTheWriteBehindThem) {
  exhaust([](const Runtime& runtime) { return sync_wait(read_side_by_side(runtime), runtime); },
          12 * 256 * 256);
}

TEST_F(AsyncExhaustion, ARecordingAndItsReplays) {
  exhaust(
      [](const Runtime& runtime) {
        auto recorded = sync_wait(
            record(
                [](Floats x, Tensor<float> y) {
                  auto total = saxpy(2.0f, x, std::move(y) | partition(4, 4)) | last | unpartition;
                  return add(x, std::move(total) | share, scratch<float>(kShape));
                },
                kShape, kShape),
            runtime);
        std::size_t right = 0;
        for (const float value : {1.0f, 2.0f}) {
          auto total = sync_wait(
              recorded(full<float>(kShape, value) | share, full<float>(kShape, 10 * value)),
              runtime);
          right += count_of(sync_wait(to_host(total), runtime), 13 * value);
        }
        return right;
      },
      512);
}

TEST_F(AsyncExhaustion, SharedOperationsAndCopiesBetweenDevices) {
  exhaust(
      [](const Runtime& runtime) {
        auto x = full<float>(kShape, 3.0f) | share;
        auto there = x | copy_to(runtime.device(1)) | share;
        auto [a, b] = zip(to_host(x), to_host(there)) | unzip;
        return count_of(sync_wait(std::move(b), runtime), 3.0f) +
               count_of(sync_wait(std::move(a), runtime), 3.0f);
      },
      512);
}

// More parts than a tree can join without a submission.
TEST_F(AsyncExhaustion, PartsOnManyQueues) {
  exhaust(
      [](const Runtime& runtime) {
        const Floats x = sync_wait(ones<float>({1 << 16}) | share, runtime);
        const auto part = [&](std::size_t i) { return to_host(x) | on(runtime.queues()[i % 4]); };
        const auto [a, b, c, d, e] =
            sync_wait(zip(part(0), part(1), part(2), part(3), part(4)), runtime);
        return count_of(a, 1.0f) + count_of(b, 1.0f) + count_of(c, 1.0f) + count_of(d, 1.0f) +
               count_of(e, 1.0f);
      },
      5 << 16);
}

}  // namespace
}  // namespace halyard::async
