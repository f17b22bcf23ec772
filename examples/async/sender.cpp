// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation as a sender, connected to a receiver as a std::execution library does.
#include <halyard/async.h>
#include <halyard/async/sender.h>

#include <cstdio>
#include <future>
#include <vector>

using namespace halyard;
using namespace halyard::async;

// Forwards to a std::promise.
struct Receiver {
  using receiver_concept = execution::receiver_t;
  void set_value(std::vector<float> value) && noexcept { promise->set_value(std::move(value)); }
  void set_error(Status status) && noexcept {
    promise->set_exception(std::make_exception_ptr(Error(std::move(status))));
  }
  void set_error(std::exception_ptr error) && noexcept { promise->set_exception(error); }
  void set_stopped() && noexcept { promise->set_value({}); }
  std::promise<std::vector<float>>* promise;
};

int main() {
  const Runtime runtime = Runtime::open("cpu://").value();
  std::promise<std::vector<float>> promise;
  auto total = to_host(add(ones<float>({16}), ones<float>({16}))) | on(runtime);
  auto operation = as_sender(std::move(total)).connect(Receiver{&promise});
  operation.start();
  std::printf("%g\n", promise.get_future().get()[0]);
}
