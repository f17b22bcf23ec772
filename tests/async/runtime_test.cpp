// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/runtime.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "async/async_test_util.h"
#include "hal/device/registry.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;
using testing::saxpy;

class AsyncRuntime : public AsyncTest {
 protected:
  Status failure_on(const Device& device) {
    return sync_wait(as_result(ones<float>({4}) | on(device))).status();
  }
};

TEST_F(AsyncRuntime, HasTheDevicesOfItsUri) {
  ASSERT_EQ(runtime.devices().size(), 2u);
  EXPECT_EQ(runtime.device(), runtime.devices()[0]);
  EXPECT_EQ(runtime.device(1), runtime.devices()[1]);
  EXPECT_NE(runtime.device(0), runtime.device(1));
  EXPECT_EQ(runtime.device(1).hal().info().uri, "cpu://1?devices=2&workers=1");
}

TEST_F(AsyncRuntime, IsMadeOfDevicesToo) {
  const Runtime other = Runtime::create({runtime.device(1).hal()}).value();
  EXPECT_EQ(other.device().hal(), runtime.device(1).hal());
  EXPECT_THAT(sync_wait(to_host(ones<float>({4})), other), Each(1.0f));
}

TEST_F(AsyncRuntime, NeedsDevices) {
  EXPECT_THAT(Runtime::open("nothing://").status(), refused_with(StatusCode::kNotFound, "nothing"));
  EXPECT_EQ(Runtime::create({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Runtime::create({hal::Device()}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(AsyncRuntime, ADeviceOutOfRangeIsToldWhenItIsUsed) {
  EXPECT_THAT(failure_on(runtime.device(2)),
              refused_with(StatusCode::kOutOfRange, "device 2 of a runtime with 2"));
  EXPECT_FALSE(runtime.device(2).hal());
  // The same for a tree that submits nothing, and for a part of a tree.
  EXPECT_EQ(sync_wait(as_result(value(1) | on(runtime.device(2)))).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(failure(zip(value(1) | on(runtime.device(2)), 2)).code(), StatusCode::kOutOfRange);
  const auto refused = refused_with(StatusCode::kOutOfRange, "device 9 of a runtime with 2");
  EXPECT_THAT(failure(copy_to(ones<float>({4}), runtime.device(9))), refused);
  EXPECT_THAT(failure_on(runtime.device(9)), refused);
  EXPECT_THAT(sync_wait(as_result(join(1, ones<float>({4})) | on(runtime.device(9)))).status(),
              refused);
}

TEST_F(AsyncRuntime, AnEmptyRuntimeIsToldWhenItIsUsed) {
  EXPECT_EQ(failure_on(Device()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(failure_on(Runtime().device()).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Runtime().devices().empty());
  const auto waits = []() -> Task<StatusCode> {
    co_return (co_await as_result(after(std::chrono::minutes(1)))).code();
  };
  EXPECT_EQ(sync_wait(waits(), Runtime()), StatusCode::kInvalidArgument);
}

TEST_F(AsyncRuntime, RunsWhereTheOperationSays) {
  const auto bytes = [&](std::size_t i) {
    return runtime.device(i).hal().memory_statistics().total_allocations;
  };
  const std::uint64_t before[] = {bytes(0), bytes(1)};
  const auto tensor = sync_wait(ones<float>({4}) | on(runtime.device(1)));
  EXPECT_EQ(bytes(0), before[0]);
  EXPECT_GT(bytes(1), before[1]);
}

TEST_F(AsyncRuntime, AKernelReadsTensorsOfItsOwnDevice) {
  auto there = run(ones<float>({4}) | share | on(runtime.device(1)));
  EXPECT_THAT(failure(relu(there)),
              refused_with(StatusCode::kInvalidArgument,
                           "a tensor of another device, " + runtime.device(1).hal().info().uri));
  EXPECT_THAT(sync_wait(to_host(relu(there)) | on(runtime.device(1))), Each(1.0f));
  EXPECT_THAT(elements(there), Each(1.0f)) << "the host can read any device";
}

TEST_F(AsyncRuntime, ATensorIsCopiedFromDeviceToDevice) {
  auto there = run(arange<float>(4) | share | on(runtime.device(1)));
  EXPECT_THAT(elements(relu(there | copy_to(runtime.device()))), ElementsAre(0, 1, 2, 3));
  Tensor<float> back = run(relu(copy_to(there, runtime.device())) | copy_to(runtime.device(1)));
  EXPECT_THAT(sync_wait(to_host(relu(std::move(back))) | on(runtime.device(1))),
              ElementsAre(0, 1, 2, 3));
}

// A tree with parts on two devices, added on the first device, with a single await.
TEST_F(AsyncRuntime, ATreeRunsOnSeveralDevices) {
  auto part = [&](std::size_t i) {
    return mul(full<float>({4}, 2.0f), full<float>({4}, static_cast<float>(i + 1))) |
           on(runtime.device(i));
  };
  EXPECT_THAT(elements(add(part(0), part(1) | copy_to(runtime.device()))), Each(6.0f));
}

TEST_F(AsyncRuntime, ATensorOfAnotherRuntimeIsRefused) {
  const Runtime other = Runtime::open("cpu://").value();
  auto foreign = sync_wait(ones<float>({4}) | share, other);
  EXPECT_THAT(failure(relu(foreign)),
              refused_with(StatusCode::kInvalidArgument, "a tensor of another device"));
}

// Work of a registry cannot wait for another registry's work or copy from its memory.
class AsyncOtherRegistry : public AsyncTest {
 protected:
  ~AsyncOtherRegistry() override {
    other = {};
    EXPECT_TRUE(registry.shutdown(std::chrono::seconds(20)).ok());
  }
  auto there(auto operation) { return sync_wait(std::move(operation), other); }

  hal::DriverRegistry registry;
  Runtime other = [this] {
    check(hal::register_all_drivers(registry));
    return Runtime::create({registry.open("cpu://?workers=1").value()}).value();
  }();
};

TEST_F(AsyncOtherRegistry, HasTensorsThatAreRefusedWhateverUsesThem) {
  const auto x = there(ones<float>({4, 4}) | share);
  const auto mine = run(ones<float>({4, 4}) | share);
  auto recorded = run(
      record([](Shared<Tensor<float>> a) { return copy(a, scratch<float>({4, 4})); }, Shape{4, 4}));
  const auto foreign = [&] { return there(ones<float>({4, 4})); };
  const auto tiles = [&] { return run(ones<float>({4, 4}) | partition(2, 2)); };
  const auto target = [&] { return run(ones<float>({4, 4})); };
  const auto of_another_device = refused_with(StatusCode::kInvalidArgument, "of another device");
  EXPECT_THAT(failure(relu(x)), of_another_device);
  EXPECT_THAT(failure(saxpy(2.0f, x, tiles())), of_another_device);
  EXPECT_THAT(failure(saxpy(2.0f, mine, foreign() | partition(2, 2))), of_another_device);
  EXPECT_THAT(failure(fill(foreign(), 1.0f)), of_another_device);
  EXPECT_THAT(failure(record(fill(foreign(), 1.0f))), of_another_device);
  EXPECT_THAT(failure(recorded.replay(x)), of_another_device);
  const auto unusable = refused_with(StatusCode::kPermissionDenied, "cannot be used by");
  EXPECT_THAT(failure(copy(x, target())), unusable);
  EXPECT_THAT(failure(copy(mine, foreign())), unusable);
  EXPECT_THAT(failure(x | copy_to(runtime.device())), unusable);
  EXPECT_THAT(failure(mine | copy_to(other.device())), unusable);
  EXPECT_THAT(failure(to_host(x)), unusable);
  EXPECT_THAT(failure(record(copy(x, target()))), unusable);
  EXPECT_THAT(elements(relu(mine)), Each(1.0f)) << "the refused operations have changed nothing";
}

TEST_F(AsyncOtherRegistry, GivesWhatASharedOperationGaveThereAndItsTensorIsRefusedHere) {
  const auto number = value(7) | share;
  EXPECT_EQ(there(SharedOperation(number)), 7);
  EXPECT_EQ(run(SharedOperation(number)), 7);
  const auto x = ones<float>({4}) | share;
  const Shared<Tensor<float>> given = there(SharedOperation(x));
  EXPECT_EQ(run(SharedOperation(x)).storage(), given.storage());
  EXPECT_THAT(failure(relu(x)), refused_with(StatusCode::kInvalidArgument, "of another device"));
  EXPECT_THAT(failure(to_host(x)),
              refused_with(StatusCode::kPermissionDenied, "cannot be used by"));
}

TEST_F(AsyncRuntime, HasAsManyQueuesAsWereAskedFor) {
  const Runtime two = Runtime::open("cpu://", {.queues = 2}).value();
  EXPECT_EQ(two.device().queue_count(), 2u);
  EXPECT_THAT(sync_wait(to_host(ones<float>({4})) | on(two.device().queue(1))), Each(1.0f));
  EXPECT_THAT(sync_wait(as_result(ones<float>({4}) | on(two.device().queue(2)))).status(),
              refused_with(StatusCode::kOutOfRange, "queue 2 of a device with 2"));
  EXPECT_EQ(Runtime::open("cpu://", {.queues = 0}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(AsyncRuntime, TensorsKeepTheirDevice) {
  auto other = std::make_unique<Runtime>(Runtime::open("cpu://").value());
  auto tensor = sync_wait(ones<float>({4}) | share, *other);
  const Device device = other->device();
  other.reset();
  EXPECT_THAT(sync_wait(to_host(tensor) | on(device)), Each(1.0f));
}

TEST_F(AsyncRuntime, KernelsAreSearchedInTheFoldersOfTheCallerFirst) {
  const Runtime other =
      Runtime::open("cpu://", {.kernels = {::testing::TempDir() + "no-such-folder"}}).value();
  constexpr Kernel<void(Tensor<float>&)> nowhere{"nowhere"};
  const auto failed =
      sync_wait(as_result(nowhere(ones<float>({4}) | partition(4))), other).status();
  EXPECT_THAT(failed, refused_with(StatusCode::kNotFound,
                                   "no such file in " + ::testing::TempDir() + "no-such-folder, "));
  // This runtime finds the files next to the program instead.
  EXPECT_THAT(sync_wait(to_host(relu(ones<float>({4}))), other), Each(1.0f));
}

// Several threads submit to the same queue at once.
TEST_F(AsyncRuntime, ManyThreadsSubmitToOneQueue) {
  const Shared<Tensor<float>> x = run(ones<float>({64}) | share);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto total = elements(add(mul(x, full<float>({64}, static_cast<float>(t))), x));
        ASSERT_THAT(total, Each(static_cast<float>(t) + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace halyard::async
