// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small program of a few threads, as simulation/explore/explorer.h runs it in every order and
// simulation/weak/weak_memory.h in many orders of a weak memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::inline v0::sim {

// Ends the run and reports its history. Explorer and weak memory each define it.
[[noreturn]] void fail(std::string_view what);
inline void expect(bool holds, std::string_view what) {
  if (!holds) fail(what);
}

// The number of preemptions that an order may have.
inline constexpr int kUnbounded = -1;

// One run of a program under exploration: threads and the state that they share.
class Program {
 public:
  // Creates an object that the program owns.
  template <class T, class... Args>
  T& keep(Args&&... args) {
    auto object = std::make_shared<T>(static_cast<Args&&>(args)...);
    T& result = *object;
    kept_.push_back(std::move(object));
    return result;
  }
  // Adds a thread. All threads start together once all are added.
  void thread(std::string name, std::function<void()> body) {
    threads_.push_back({std::move(name), std::move(body), false});
  }
  // A thread that need not end: once all other threads have ended, it may sleep forever.
  void shell(std::string name, std::function<void()> body) {
    threads_.push_back({std::move(name), std::move(body), true});
  }
  // Sets a check that runs when all threads have ended.
  void at_end(std::function<void()> check) { check_ = std::move(check); }

  struct Body {
    std::string name;
    std::function<void()> run;
    bool shell;
  };
  const std::vector<Body>& threads() const noexcept { return threads_; }
  void check() const {
    if (check_) check_();
  }

 private:
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<Body> threads_;
  std::function<void()> check_;
};

}  // namespace halyard::inline v0::sim
