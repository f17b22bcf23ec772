// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failed kernel and a lost device: which trees fail, and which do not.
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "async/stepped_world.h"
#include "hal/device/device.h"

namespace halyard::async {
namespace {

using testing::await_into;
using ::testing::Each;
using testing::Fill;
using testing::Handmade;
using testing::refused_with;

class AsyncLoss : public testing::SteppedTest {
 protected:
  using Elements = std::optional<Result<std::vector<float>>>;
  using Floats = Shared<Tensor<float>>;

  // Submits `operation` there, and returns the tensor that it will write.
  template <class Operation>
  Floats submitted(Operation&& operation, QueueRef there, std::optional<Result<int>>& out) {
    std::optional<Floats> given;
    awaiting.push_back(await_into(out, std::move(operation) | share | map([&](auto&& shared) {
                                         given = shared;
                                         return 0;
                                       }) | on(std::move(there))));
    return *std::move(given);
  }

  std::vector<Handmade> awaiting;
};

class AsyncKernelFault : public AsyncLoss {
 protected:
  QueueRef queue(std::size_t index) const { return runtime.device().queue(index); }
  static auto failed_so() { return refused_with(StatusCode::kInternal, "on purpose"); }
};

TEST_F(AsyncKernelFault, FailsItsTreeAndWhatDependsOnItAndNoTreeBesideOnTheSameQueue) {
  const Floats kept = tensor(1.0f) | share;
  Elements before, behind, dependent, second_dependent;
  std::optional<Result<int>> failed;
  std::optional<Result<std::tuple<Tensor<float>, std::vector<float>>>> beside;

  const Handmade a = await_into(before, to_host(full<float>({8}, 2.0f)) | on(queue(0)));
  step();  // issues the earlier submissions
  control->fail_dispatch = Status(StatusCode::kInternal, "on purpose");
  {
    const Floats broken = submitted(relu(kept), queue(0), failed);
    const Handmade b = await_into(dependent, to_host(broken) | on(queue(1)));
    const Handmade c = await_into(second_dependent, to_host(add(broken, kept)) | on(queue(0)));
    const Handmade d = await_into(beside, zip(relu(kept), to_host(kept)) | on(queue(0)));
    const Handmade e = await_into(behind, to_host(kept) | on(queue(2)));
    run_all();
  }
  EXPECT_THAT(failed->status(), failed_so());
  EXPECT_THAT(dependent->status(), failed_so());
  EXPECT_THAT(second_dependent->status(), failed_so());
  EXPECT_THAT(before->value(), Each(2.0f));
  EXPECT_THAT(std::get<1>(beside->value()), Each(1.0f));
  EXPECT_THAT(behind->value(), Each(1.0f));
  EXPECT_EQ(control->launches.size(), 1u) << "the kernel of the tree beside";
}

TEST_F(AsyncKernelFault, GivesTheMemoryOfItsTreeBackAndLeavesTheQueueUsable) {
  const Floats kept = tensor(1.0f) | share;
  const std::uint64_t used = used_bytes();
  for (int i = 0; i < 5; ++i) {
    control->fail_dispatch = Status(StatusCode::kInternal, "on purpose");
    std::optional<Result<Tensor<float>>> failed;
    {
      const Handmade tree =
          await_into(failed, add(relu(kept), full<float>({1000}, 1.0f)) | on(queue(0)));
      run_all();
    }
    EXPECT_FALSE(failed->ok());
    control->fail_dispatch = {};
    failed.reset();
    EXPECT_THAT(elements(kept), Each(1.0f));
    for (int turn = 0; turn < 3; ++turn) run_all();
    EXPECT_EQ(used_bytes(), used);
  }
}

// Two devices with two queues each; the first device is lost.
class AsyncLostDevice : public AsyncLoss {
 protected:
  static auto lost_so() { return refused_with(StatusCode::kDeviceLost, "fell off the bus"); }
  void lose() {
    device.object()->timeline().lose(Status(StatusCode::kInternal, "fell off the bus"));
    step();
  }
  QueueRef on_lost(std::size_t index = 0) const { return both.device(0).queue(index); }
  QueueRef on_other(std::size_t index = 0) const { return both.device(1).queue(index); }
  // A tensor with its contents written.
  Floats floats(float element, const QueueRef& there) {
    std::optional<Result<Floats>> out;
    const Handmade coroutine = await_into(out, full<float>({8}, element) | share | on(there));
    run_all();
    return std::move(*out).value();
  }
  ~AsyncLostDevice() override {
    awaiting.clear();
    both = {};
  }

  Runtime both = Runtime::create({device, registry.open("fake://").value()}, {.queues = 2}).value();
};

TEST_F(AsyncLostDevice, FailsAllThatIsOnItWithOneStatusAndWhatDependsOnItElsewhere) {
  const Floats x = floats(1.0f, on_lost()), y = floats(2.0f, on_other());
  Elements first, second, copied, other_before, other_beside;
  std::optional<Result<int>> made;
  Status of_task;

  const Handmade a = await_into(first, to_host(x) | on(on_lost(0)));
  const Handmade b = await_into(second, to_host(x) | on(on_lost(1)));
  const Floats to_be = submitted(full<float>({8}, 3.0f), on_lost(0), made);
  const Handmade c = await_into(other_before, to_host(y) | on(on_other(0)));
  const Handmade d = await_into(copied, to_host(to_be | copy_to(on_other(0))) | on(on_other(0)));
  const Handmade e = await_into(other_beside, to_host(y) | on(on_other(1)));
  std::jthread task([&] {
    sync_wait(
        [](Floats of, QueueRef there, Status& out) -> Task<> {
          const auto result = co_await as_result(to_host(std::move(of)) | on(std::move(there)));
          out = result.status();
        }(x, on_lost(1), of_task),
        both);
  });
  while (on_lost(1).load() != 2) std::this_thread::yield();  // until the Task's tree is submitted
  lose();
  task.join();
  EXPECT_TRUE(a.done() && b.done()) << "though no lane has run";
  run_all();
  for (const Status& status : {first->status(), second->status(), made->status(), of_task}) {
    EXPECT_THAT(status, lost_so());
    EXPECT_EQ(status.message(), first->status().message());
  }
  // The Task's thread may issue the copy while the loss is reported. The copy is then queued after
  // a dead wait and fails with kUnavailable (rule 27).
  EXPECT_THAT(copied->status(), ::testing::AnyOf(lost_so(), refused_with(StatusCode::kUnavailable,
                                                                         "fell off the bus")));
  EXPECT_THAT(other_before->value(), Each(2.0f));
  EXPECT_THAT(other_beside->value(), Each(2.0f));
}

TEST_F(AsyncLostDevice, RefusesLaterTreesAndTheOtherGoesOn) {
  Floats x = floats(1.0f, on_lost()), y = floats(2.0f, on_other());
  lose();
  Elements here, there;
  const Handmade a = await_into(here, to_host(x) | on(on_lost()));
  const Handmade b =
      await_into(there, to_host(Fill{*std::move(y).try_unwrap(), 4.0f}) | on(on_other()));
  EXPECT_TRUE(a.done()) << "it is refused";
  run_all();
  EXPECT_THAT(here->status(), lost_so());
  EXPECT_THAT(there->value(), Each(4.0f));
}

}  // namespace
}  // namespace halyard::async
