// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Senders with a hand-written receiver; with stdexec if the build has found it.
#include "halyard/async/sender.h"

#include <barrier>
#include <future>
#include <list>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

#include "async/async_test_util.h"
#include "async/stepped_world.h"
#include "halyard/async/host_scheduler.h"

namespace halyard::async {
namespace {

using ::testing::Each;
using testing::refused_with;

struct Stopped {};
template <class T>
using Outcome = std::variant<std::monostate, T, Status, std::exception_ptr, Stopped>;

template <class T>
struct Receiver {
  using receiver_concept = execution::receiver_t;
  void set_value(T value) && noexcept { outcome->template emplace<T>(std::move(value)); }
  void set_error(Status status) && noexcept { outcome->template emplace<Status>(status); }
  void set_error(std::exception_ptr error) && noexcept {
    outcome->template emplace<std::exception_ptr>(std::move(error));
  }
  void set_stopped() && noexcept { outcome->template emplace<Stopped>(); }
  testing::StopEnvironment<std::stop_token> get_env() const noexcept { return {stop}; }

  Outcome<T>* outcome;
  std::stop_token stop{};
};

class AsyncSender : public testing::SteppedTest {
 protected:
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  Outcome<std::vector<float>> outcome;
};

TEST_F(AsyncSender, DoesNothingBeforeItIsStartedAndThenGivesTheValue) {
  auto operation =
      as_sender(to_host(x) | on(runtime.device())).connect(Receiver<std::vector<float>>{&outcome});
  EXPECT_EQ(run_queue(0), 0);
  operation.start();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(outcome));
  run_all();
  EXPECT_THAT(std::get<std::vector<float>>(outcome), Each(1.0f));
}

TEST_F(AsyncSender, GivesTheStatusOfAFailure) {
  auto operation = as_sender(to_host(add(x, value(x) | on(runtime.device()))) | on(Device()))
                       .connect(Receiver<std::vector<float>>{&outcome});
  operation.start();
  EXPECT_THAT(std::get<Status>(outcome), refused_with(StatusCode::kInvalidArgument, "empty"));
}

TEST_F(AsyncSender, GivesWhatAFunctionThrows) {
  Outcome<int> thrown;
  auto operation =
      as_sender(value(1) | map([](int) -> int { throw std::runtime_error("on purpose"); }) |
                on(runtime.device()))
          .connect(Receiver<int>{&thrown});
  operation.start();
  EXPECT_THROW(std::rethrow_exception(std::get<std::exception_ptr>(thrown)), std::runtime_error);
}

TEST_F(AsyncSender, AStopRequestOfTheReceiverStopsItWhateverTokenTheFutureHas) {
  std::stop_source stop, other;
  auto operation = as_sender(to_host(x) | on(runtime.device()) | stop_with(other.get_token()))
                       .connect(Receiver<std::vector<float>>{&outcome, stop.get_token()});
  operation.start();
  stop.request_stop();
  EXPECT_TRUE(std::holds_alternative<Stopped>(outcome)) << "before any work has run";
  run_all();
}

template <class T, class Channel>
concept SaysWhereItCompletes = requires(const T& sender) {
  sender.get_env().query(execution::get_completion_scheduler_t<Channel>());
};

TEST_F(AsyncSender, SaysOnWhichQueueItRunsAndThatNoSchedulerIsWhereItCompletes) {
  const auto sender = as_sender(to_host(x) | on(runtime.device().queue(2)));
  EXPECT_EQ(get_queue(sender.get_env()), runtime.device().queue(2));
  static_assert(!SaysWhereItCompletes<decltype(sender), execution::set_value_t>);
}

struct Ran {};
// The receiver of schedule().
struct ScheduleReceiver {
  using receiver_concept = execution::receiver_t;
  void set_value() && noexcept { outcome->emplace<Ran>(); }
  void set_error(Status status) && noexcept { outcome->emplace<Status>(std::move(status)); }
  void set_stopped() && noexcept { outcome->emplace<Stopped>(); }
  testing::StopEnvironment<std::stop_token> get_env() const noexcept { return {stop}; }

  Outcome<Ran>* outcome;
  std::stop_token stop{};
};

class AsyncHostScheduler : public testing::SteppedTest {
 protected:
  const HostScheduler host = HostScheduler(runtime.device());
  Outcome<Ran> outcome;
};

TEST_F(AsyncHostScheduler, RunsWhatFollowsOnTheHostThreadsAloneAndNoQueueRuns) {
  auto operation = host.schedule().connect(ScheduleReceiver{&outcome});
  operation.start();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(outcome)) << "start() runs nothing";
  (void)registry.step(base::Shell::kHost);
  EXPECT_TRUE(std::holds_alternative<Ran>(outcome)) << "though no lane has run";
}

TEST_F(AsyncHostScheduler, AStopThatIsRequestedBeforeItsTurnStopsIt) {
  std::stop_source stop;
  auto operation = host.schedule().connect(ScheduleReceiver{&outcome, stop.get_token()});
  operation.start();
  stop.request_stop();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(outcome)) << "it is stopped when it runs";
  step();
  EXPECT_TRUE(std::holds_alternative<Stopped>(outcome));
}

TEST_F(AsyncHostScheduler, OfNoDeviceFailsWithTheDevicesStatus) {
  auto operation = HostScheduler(runtime.device(1)).schedule().connect(ScheduleReceiver{&outcome});
  operation.start();
  EXPECT_THAT(std::get<Status>(outcome),
              refused_with(StatusCode::kOutOfRange, "device 1 of a runtime with 1 device"));
}

TEST_F(AsyncHostScheduler, AHostCallThatGetsNoThreadFails) {
  auto operation = HostScheduler(runtime.device(), hal::HostCallMode::kMayBlock)
                       .schedule()
                       .connect(ScheduleReceiver{&outcome});
  operation.start();
  step();  // runs the host call, since a stepped world has no threads
  EXPECT_THAT(std::get<Status>(outcome), refused_with(StatusCode::kResourceExhausted, "schedule"));
}

TEST_F(AsyncHostScheduler, OfALostDeviceFails) {
  device.object()->timeline().lose(Status(StatusCode::kInternal, "fell off the bus"));
  auto operation = host.schedule().connect(ScheduleReceiver{&outcome});
  operation.start();
  step();
  EXPECT_THAT(std::get<Status>(outcome), refused_with(StatusCode::kDeviceLost, "bus"));
}

TEST_F(AsyncHostScheduler, SaysThatItsSendersCompleteOnIt) {
  const auto env = host.schedule().get_env();
  EXPECT_EQ(env.query(execution::get_completion_scheduler_t<execution::set_value_t>()), host);
  EXPECT_EQ(env.query(execution::get_completion_scheduler_t<execution::set_stopped_t>()), host);
  static_assert(!SaysWhereItCompletes<HostScheduler::Sender, execution::set_error_t>);
  EXPECT_EQ(host.query(execution::get_forward_progress_guarantee_t()),
            execution::forward_progress_guarantee::parallel);
  EXPECT_EQ(HostScheduler(runtime.device()), host);
  EXPECT_NE(HostScheduler(runtime.device(), hal::HostCallMode::kMayBlock), host);
}

// Three host calls wait for each other, which two threads could not serve.
struct Meet {
  using receiver_concept = execution::receiver_t;
  void set_value() && noexcept {
    std::promise<std::thread::id> own = std::move(done);  // setting it may destroy this
    barrier->arrive_and_wait();
    own.set_value(std::this_thread::get_id());
  }
  void set_error(Status) && noexcept { std::terminate(); }
  void set_stopped() && noexcept { std::terminate(); }

  std::barrier<>* barrier;
  std::promise<std::thread::id> done{};
};

TEST(AsyncHostSchedulerThreads, ThoseThatMayBlockMayWaitForOneAnother) {
  const Runtime runtime = Runtime::open("cpu://").value();
  std::barrier<> barrier(3);
  std::list<detail::HostSchedule<Meet>> operations;
  std::vector<std::future<std::thread::id>> threads;
  for (int i = 0; i < 3; ++i) {
    Meet meet{&barrier};
    threads.push_back(meet.done.get_future());
    operations.emplace_back(runtime.device(), hal::HostCallMode::kMayBlock, std::move(meet));
    operations.back().start();
  }
  for (auto& thread : threads) EXPECT_NE(thread.get(), std::this_thread::get_id());
}

#if defined(HALYARD_HAS_STDEXEC)
static_assert(stdexec::scheduler<HostScheduler>);
static_assert(stdexec::sender<HostScheduler::Sender>);

TEST(AsyncStdexec, SendersComposeWithStdexec) {
  const Runtime runtime = Runtime::open("cpu://").value();
  auto part = [&](float element) {
    return as_sender(to_host(full<float>({4}, element)) | on(runtime)) |
           stdexec::then([](std::vector<float> elements) { return elements[0]; });
  };
  auto [sum] = stdexec::sync_wait(stdexec::when_all(part(1.0f), part(2.0f)) |
                                  stdexec::then([](float a, float b) { return a + b; }))
                   .value();
  EXPECT_EQ(sum, 3.0f);
}

TEST(AsyncStdexec, WorkStartsAndContinuesOnTheHostScheduler) {
  const Runtime runtime = Runtime::open("cpu://").value();
  const HostScheduler host(runtime.device());
  const auto elsewhere = [main = std::this_thread::get_id()] {
    return std::this_thread::get_id() != main;
  };
  auto [started] =
      stdexec::sync_wait(stdexec::starts_on(host, stdexec::just() | stdexec::then(elsewhere)))
          .value();
  EXPECT_TRUE(started);
  auto work = as_sender(to_host(ones<float>({4})) | on(runtime)) | stdexec::continues_on(host);
  EXPECT_EQ(stdexec::get_completion_scheduler<stdexec::set_value_t>(stdexec::get_env(work),
                                                                    stdexec::env<>()),
            host);
  auto [continued, sum] =
      stdexec::sync_wait(std::move(work) | stdexec::then([&](std::vector<float> elements) {
                           return std::tuple(elsewhere(), elements[0]);
                         }) |
                         stdexec::let_value([](auto& both) {
                           return stdexec::just(std::get<0>(both), std::get<1>(both));
                         }))
          .value();
  EXPECT_TRUE(continued);
  EXPECT_EQ(sum, 1.0f);
}
#endif

}  // namespace
}  // namespace halyard::async
