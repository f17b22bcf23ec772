// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Dump, TellsWhoWaitsForWhomAndWhoIsToSignal) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "queue a");
  auto& b = world.queue(device, "queue b");
  a.native().stopped = true;
  auto x = world.semaphore(0, "x"), y = world.semaphore(3, "y"), z = world.semaphore(0, "z");
  EXPECT_TRUE(world.submit(a, {}, {{x.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {{x.get(), 1}, {z.get(), 2}}, {{y.get(), 4}}).ok());
  EXPECT_TRUE(world.submit(a, {{y.get(), 4}}, {}).ok());
  expect_parts(
      world.engine.dump_timelines(),
      {"queue a", "in flight as 1", "signals semaphore 1 'x' = 1", "queue b", "parked",
       "waits for semaphore 1 'x' >= 1 (is 0), to come from queue a, submission 1 in flight",
       "waits for semaphore 3 'z' >= 2 (is 0), to come from no submission: the host",
       "waits for semaphore 2 'y' >= 4 (is 3), to come from a submission not issued yet on "
       "queue b, signals 4"});
}

TEST(Dump, ShowsACycle) {
  World world;
  auto& queue = world.queue("ring");
  auto x = world.semaphore(0, "x"), y = world.semaphore(0, "y");
  EXPECT_TRUE(world.submit(queue, {{x.get(), 1}}, {{y.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{y.get(), 1}}, {{x.get(), 1}}).ok());
  expect_parts(world.engine.dump_timelines(),
               {"'x' >= 1 (is 0), to come from a submission not issued yet on ring, signals 1",
                "'y' >= 1 (is 0), to come from a submission not issued yet on ring, signals 1"});
}

}  // namespace
}  // namespace halyard::timeline::testing
