// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Description of this machine, and placement of threads on it.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace halyard::bench {

struct Machine {
  std::vector<std::pair<std::string, std::string>> facts;  // name, value; in order
};
Machine describe_machine();

// The work of two threads relative to one thread in the same time: 2 on a quiet machine. Takes 20
// ms.
double two_thread_scaling();

// The first `count` cores this process may use. Throws Unavailable if it has fewer.
std::vector<int> cores(int count);

// Pins the calling thread to one core.
class Pin {
 public:
  explicit Pin(int core);
  ~Pin();
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  cpu_set_t before_;
};

// The threads of this process with this name, and moving one of them.
std::vector<pid_t> threads_named(const std::string& name);
void pin_thread(pid_t thread, int core);

}  // namespace halyard::bench
