// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/base/ref.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace halyard {
namespace {

struct Traced : RefCounted {
  explicit Traced(std::string& text) : log(text) {}
  ~Traced() override { log += "destroyed "; }
  void on_last_handle() noexcept override { log += "unreachable "; }
  std::string& log;
};

TEST(RefCounted, HandlesEndBeforeMemoryDoes) {
  std::string log;
  Ref<Traced> memory = Ref<Traced>::adopt(new Traced(log));
  {
    HandleRef<Traced> handle(memory.get());
    HandleRef<Traced> copy = handle;
    handle = {};
    EXPECT_EQ(log, "");
  }
  EXPECT_EQ(log, "unreachable ");
  memory = nullptr;
  EXPECT_EQ(log, "unreachable destroyed ");
}

TEST(RefCounted, LastHandleFreesWhenNothingElseRefers) {
  std::string log;
  HandleRef<Traced> handle;
  {
    Ref<Traced> memory = Ref<Traced>::adopt(new Traced(log));
    handle = HandleRef<Traced>(memory.get());
  }
  EXPECT_EQ(log, "");
  handle = {};
  EXPECT_EQ(log, "unreachable destroyed ");
}

TEST(RefCounted, ManyThreadsDropExactlyOnce) {
  std::string log;
  Ref<Traced> memory = Ref<Traced>::adopt(new Traced(log));
  {
    HandleRef<Traced> handle(memory.get());
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([handle] {
        for (int k = 0; k < 10'000; ++k) HandleRef<Traced> copy = handle;
      });
    }
  }
  EXPECT_EQ(log, "unreachable ");
}

}  // namespace
}  // namespace halyard
