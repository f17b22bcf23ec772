// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/fiber.h"

#include <gtest/gtest.h>

#include <cstring>
#include <latch>
#include <thread>
#include <vector>

namespace halyard::sim {
namespace {

struct Traveller {
  Fiber* home = nullptr;  // of the thread that it is in
  Fiber* self = nullptr;
  std::vector<std::thread::id> threads;
  bool is_over = false;
};

// Touches much of the stack, which AddressSanitizer must know as the fiber's stack.
[[gnu::noinline]] int use_stack(int depth) {
  volatile char bytes[512];
  std::memset(const_cast<char*>(bytes), depth, sizeof bytes);
  return depth == 0 ? bytes[0] : use_stack(depth - 1) + bytes[depth];
}

void travel(void* argument) {
  auto& its = *static_cast<Traveller*>(argument);
  for (int stop = 0; stop < 8; ++stop) {
    its.threads.push_back(std::this_thread::get_id());
    EXPECT_GT(use_stack(100), 0);
    Fiber::switch_to(*its.self, *its.home);
  }
  its.is_over = true;
  Fiber::switch_to(*its.self, *its.home, /*last=*/true);
}

// Each thread ends before the next thread resumes the fiber, and an idle thread takes its place. So
// nothing of the ended thread may be used.
TEST(Fiber, GoesOnInAnotherThread) {
  Traveller its;
  Fiber fiber(&travel, &its);
  its.self = &fiber;
  std::latch end(1);
  std::vector<std::thread> idle;
  while (!its.is_over) {
    std::thread([&] {
      Fiber home;
      its.home = &home;
      Fiber::switch_to(home, fiber);
      EXPECT_GT(use_stack(100), 0);
    }).join();
    idle.emplace_back([&] { end.wait(); });
  }
  end.count_down();
  for (std::thread& one : idle) one.join();
  EXPECT_EQ(its.threads.size(), 8u);
}

}  // namespace
}  // namespace halyard::sim
