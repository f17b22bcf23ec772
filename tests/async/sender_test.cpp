// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Senders with a receiver written by hand; with stdexec where the build has found it.
#include "halyard/async/sender.h"

#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <variant>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using ::testing::Each;
using testing::refused_with;

struct Stopped {};
template <class T>
using Outcome = std::variant<std::monostate, T, Status, std::exception_ptr, Stopped>;

struct Environment {
#if defined(HALYARD_HAS_STDEXEC)
  std::stop_token query(stdexec::get_stop_token_t) const noexcept { return stop; }
#else
  std::stop_token query(get_stop_token_t) const noexcept { return stop; }
#endif
  std::stop_token stop;
};

template <class T>
struct Receiver {
#if defined(HALYARD_HAS_STDEXEC)
  using receiver_concept = stdexec::receiver_t;
#endif
  void set_value(T value) && noexcept { outcome->template emplace<T>(std::move(value)); }
  void set_error(Status status) && noexcept { outcome->template emplace<Status>(status); }
  void set_error(std::exception_ptr error) && noexcept {
    outcome->template emplace<std::exception_ptr>(std::move(error));
  }
  void set_stopped() && noexcept { outcome->template emplace<Stopped>(); }
  Environment get_env() const noexcept { return {stop}; }

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

TEST_F(AsyncSender, AStopRequestOfTheReceiverStopsIt) {
  std::stop_source stop;
  auto operation = as_sender(to_host(x) | on(runtime.device()))
                       .connect(Receiver<std::vector<float>>{&outcome, stop.get_token()});
  operation.start();
  stop.request_stop();
  EXPECT_TRUE(std::holds_alternative<Stopped>(outcome)) << "and nothing has run yet";
  run_all();
}

#if defined(HALYARD_HAS_STDEXEC)
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
#endif

}  // namespace
}  // namespace halyard::async
