// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_queue.h"
#include "timeline/registration.h"

namespace halyard::timeline::testing {
namespace {

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Dump, NamesWaitersAndTheirSignallers) {
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

// The thread that passes the failure on owns the signals of such a submission, and holds no role of
// the lane meanwhile. Their semaphores may be destroyed with the last signal.
TEST(Dump, ShowsWhatAQuarantinedLaneHoldsWithoutItsSignals) {
  World world;
  auto& lost = world.device("lost");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(world.device("fine"), "b");
  a.native().stopped = true;
  auto edge = world.semaphore(0, "edge"), dead = world.semaphore(0, "dead");
  EXPECT_TRUE(world.submit(a, {}, {{edge.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {{edge.get(), 1}}, {{dead.get(), 1}}).ok());
  dead = {};
  // The callback runs between the sweep of b's lane and the effects of the failures in it.
  struct Look {
    World& world;
    std::string text;
  } look{world, {}};
  const auto dump = [](void* at, const Status&) {
    static_cast<Look*>(at)->text = static_cast<Look*>(at)->world.engine.dump_timelines();
  };
  auto* const registration =
      Registration::create(*edge.get(), 1, {&look, dump, [](void*) {}}).value();
  lost.lose(Status(StatusCode::kInternal, "gone"));
  world.settle();
  expect_parts(look.text, {"quarantined lane", "failed, and held as 1", "'edge' >= 1"});
  EXPECT_EQ(look.text.find("signals"), std::string::npos) << look.text;
  registration->drop();
}

TEST(Dump, LeavesOutWaitsThatAreReached) {
  World world;
  auto& queue = world.queue();
  auto reached = world.semaphore(5, "reached"), missing = world.semaphore(0, "missing");
  EXPECT_TRUE(world.submit(queue, {{reached.get(), 5}, {missing.get(), 1}}, {}).ok());
  const std::string text = world.engine.dump_timelines();
  expect_parts(text, {"waits for semaphore 2 'missing' >= 1"});
  EXPECT_EQ(text.find("'reached'"), std::string::npos) << text;
}

TEST(Dump, HasQueuesWhoseWorkIsNotIssuedFirst) {
  World world;
  auto& device = world.device();
  auto& running = world.queue(device, "running");
  auto& parked = world.queue(device, "parked queue");
  running.native().stopped = true;
  auto gate = world.semaphore(0, "gate");
  EXPECT_TRUE(world.submit(running, {}, {}).ok());
  EXPECT_TRUE(world.submit(parked, {{gate.get(), 1}}, {}).ok());
  const std::string text = world.engine.dump_timelines();
  EXPECT_LT(text.find("parked queue"), text.find("running")) << text;
}

TEST(Dump, AWaitNamesTheSubmissionWhicheverOfItsSignalsIsWaitedFor) {
  World world;
  auto& queue = world.queue("late");
  auto gate = world.semaphore(0, "gate"), x = world.semaphore(0, "x"), y = world.semaphore(0, "y");
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 1}}, {{x.get(), 1}, {y.get(), 1}}).ok());
  for (const auto& each : {x.get(), y.get()}) {
    expect_parts(std::string(each->wait(1, kPast).message()),
                 {"to come from a submission on late that is not issued, waits for "
                  "semaphore 1 'gate' >= 1 (is 0)"});
  }
}

TEST(Dump, IsCutInAMessageAfterAWholeLine) {
  World world;
  auto& queue = world.queue(std::string(1000, 'q').c_str());
  auto gate = world.semaphore(0, "gate");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(world.submit(queue, {{gate.get(), 1}}, {}).ok());
  const Status status = gate->wait(1, kPast);
  EXPECT_EQ(code(status), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(std::string(status.message()),
            "semaphore 1 'gate' waited for 1, is 0, to come from no submission: the host\n  " +
                std::string(1000, 'q') + "\n  ... 130 lines more in dump_timelines()");
}

}  // namespace
}  // namespace halyard::timeline::testing
