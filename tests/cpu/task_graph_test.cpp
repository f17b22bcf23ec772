// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/task_graph.h"

#include <gtest/gtest.h>
#include <bit>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "ring_test_util.h"

namespace halyard::cpu {
namespace {

// ---- The deque

TEST(WorkStealingDeque, GivesItsOwnerTheNewestAndThievesTheOldest) {
  WorkStealingDeque deque;
  EXPECT_EQ(deque.pop(), WorkStealingDeque::kNone);
  EXPECT_EQ(deque.steal(), WorkStealingDeque::kNone);
  for (std::uint32_t i = 1; i <= 4; ++i) EXPECT_TRUE(deque.push(i));
  EXPECT_EQ(deque.size(), 4);
  EXPECT_EQ(deque.pop(), 4u);
  EXPECT_EQ(deque.steal(), 1u);
  EXPECT_EQ(deque.pop(), 3u);
  EXPECT_EQ(deque.pop(), 2u);
  EXPECT_EQ(deque.pop(), WorkStealingDeque::kNone);
}

TEST(WorkStealingDeque, RefusesAnElementWhenItIsFull) {
  WorkStealingDeque deque;
  for (std::uint32_t i = 0; i < WorkStealingDeque::kCapacity; ++i) EXPECT_TRUE(deque.push(i));
  EXPECT_FALSE(deque.push(0));
  EXPECT_EQ(deque.steal(), 0u);
  EXPECT_TRUE(deque.push(0));
}

TEST(WorkStealingDeque, GivesEachElementToOneThread) {
  constexpr std::uint32_t kElements = 100'000;
  WorkStealingDeque deque;
  std::vector<std::atomic<int>> taken(kElements);
  std::atomic<bool> done{false};
  std::vector<std::jthread> thieves;
  for (int i = 0; i < 2; ++i) {
    thieves.emplace_back([&] {
      while (!done) {
        if (const std::uint32_t element = deque.steal(); element != WorkStealingDeque::kNone) {
          ++taken[element];
        }
      }
    });
  }
  for (std::uint32_t next = 0; next < kElements;) {
    // Bursts, so that the deque is often nearly empty.
    for (std::uint32_t i = 0; i < next % 5 + 1 && next < kElements; ++i) next += deque.push(next);
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::uint32_t element = deque.pop();
      if (element != WorkStealingDeque::kNone) ++taken[element];
    }
  }
  for (std::uint32_t last; (last = deque.pop()) != WorkStealingDeque::kNone;) ++taken[last];
  done = true;
  thieves.clear();
  EXPECT_TRUE(std::ranges::all_of(taken, [](const auto& count) { return count == 1; }));
}

// ---- Graphs

// A graph whose tasks record that they ran, and whether their predecessors had run before.
class Checked {
 public:
  explicit Checked(std::vector<std::vector<std::uint32_t>> after, unsigned threads = 4,
                   Nanoseconds each_task = 0)
      : each(each_task), after_(std::move(after)), runs_(after_.size()) {
    std::vector<Task> tasks(after_.size());
    std::vector<TaskEdge> edges;
    for (std::uint32_t i = 0; i < after_.size(); ++i) {
      tasks[i].argument = this;
      tasks[i].piece = i;
      for (const std::uint32_t before : after_[i]) edges.push_back({before, i});
    }
    graph = TaskGraph::create(tasks, edges, threads, &Checked::run).value();
  }

  // A packet that runs the graph once.
  void push(Ring& ring, std::uint64_t lane_value) {
    ring.push(PacketKind::kCustom, lane_value, word(&Checked::packet), word(this));
  }

  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& count : runs_) sum += count;
    return sum;
  }
  bool all_ran(std::uint32_t times) const {
    return std::ranges::all_of(runs_, [&](const auto& count) { return count == times; });
  }

  bool begin() {
    ++turn_;
    return graph->begin(&turn_);
  }

  std::unique_ptr<TaskGraph> graph;
  std::atomic<int> early{0};                    // tasks that ran before a predecessor
  std::function<void(std::uint32_t)> on_run{};  // called by each task at its end
  std::atomic<Nanoseconds> each;                // duration of a task

 private:
  static Outcome packet(Ring& ring, const std::uint64_t* words, Slice&) {
    auto& self = *reinterpret_cast<Checked*>(words[1]);
    if (ring.cursor()++ != 0) {
      self.graph->end();
      return Outcome::kDone;
    }
    EXPECT_TRUE(self.begin());
    ring.start_tasks(*self.graph);
    return Outcome::kJob;
  }
  static void run(const Task& task, const void* context) {
    auto& self = *static_cast<Checked*>(const_cast<void*>(task.argument));
    EXPECT_EQ(context, &self.turn_);
    for (const std::uint32_t before : self.after_[task.piece]) {
      if (self.runs_[before] != self.turn_) ++self.early;
    }
    if (self.each != 0) {
      for (const Nanoseconds end = Clock::steady().now() + self.each; Clock::steady().now() < end;)
        base::spin_pause();
    }
    ++self.runs_[task.piece];
    if (self.on_run) self.on_run(task.piece);
  }

  const std::vector<std::vector<std::uint32_t>> after_;
  std::vector<std::atomic<std::uint32_t>> runs_;
  std::uint32_t turn_ = 0;
};

using After = std::vector<std::vector<std::uint32_t>>;

After wavefront(std::uint32_t side) {
  After after(side * side);
  for (std::uint32_t i = 0; i < after.size(); ++i) {
    if (i % side != 0) after[i].push_back(i - 1);
    if (i >= side) after[i].push_back(i - side);
  }
  return after;
}
After fan(std::uint32_t leaves) {
  After after(leaves + 2);
  for (std::uint32_t i = 1; i <= leaves; ++i) {
    after[i] = {0};
    after[leaves + 1].push_back(i);
  }
  return after;
}
After random_graph(std::uint32_t size, unsigned seed) {
  std::mt19937 random(seed);
  After after(size);
  for (std::uint32_t i = 1; i < size; ++i) {
    for (std::uint32_t edges = random() % 4; edges != 0; --edges) {
      after[i].push_back(static_cast<std::uint32_t>(i - 1 - random() % std::min(i, 20u)));
    }
  }
  return after;
}

// A group with its own threads, and one ring.
struct ServedRing {
  explicit ServedRing(unsigned workers) : group(workers) {
    ring = Ring::create(group, &sequence, 64).value();
    for (unsigned i = 0; i < workers; ++i) threads.emplace_back([this] { group.serve(); });
  }
  ~ServedRing() { stop(); }
  void stop() {
    group.stop();
    threads.clear();
    ring->close();
  }
  void wait(std::uint64_t value) { ASSERT_TRUE(sequence.wait(value, kForever).ok()); }

  SignalObject sequence{0};
  RingGroup group;
  std::unique_ptr<Ring> ring;
  std::vector<std::jthread> threads;
};

TEST(TaskGraph, OneThreadRunsEveryTaskAfterThoseItFollows) {
  for (const After& after :
       {After(1), After(1000), wavefront(20), fan(2000), random_graph(500, 1)}) {
    SteppedRing r;
    Checked checked(after);
    for (std::uint32_t turn = 1; turn <= 3; ++turn) {
      checked.push(*r.ring, turn);
      drain(r.group);
      EXPECT_EQ(r.sequence.value(), turn);
      EXPECT_TRUE(checked.all_ran(turn));
    }
    EXPECT_EQ(checked.early, 0);
  }
}

TEST(TaskGraph, ManyThreadsRunEveryTaskAfterThoseItFollows) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    ServedRing r(3);
    Checked checked(seed == 0   ? wavefront(30)
                    : seed == 1 ? fan(1000)
                                : random_graph(800, seed),
                    4, seed % 2 == 0 ? 0 : 500);
    for (std::uint32_t turn = 1; turn <= 20; ++turn) {
      checked.push(*r.ring, turn);
      r.group.bell(*r.ring);
      r.wait(turn);
      EXPECT_TRUE(checked.all_ran(turn));
    }
    EXPECT_EQ(checked.early, 0);
  }
}

// Small successive runs, so that threads come and go while one ends and the next begins; with jobs
// of another kind in between, and a thread that works briefly each time.
TEST(TaskGraph, ARunEndsAndTheNextBeginsWhileThreadsComeAndGo) {
  constexpr std::uint64_t kTurns = 3000;
  ServedRing r(3);
  Checked checked(fan(3));
  std::uint32_t marks[8] = {};
  void* buffers[] = {marks};
  const std::uint32_t one = 1;
  std::jthread helper([&] {
    while (r.sequence.value() < 2 * kTurns) {
      Slice slice(/*chunks=*/1);
      if (!r.ring->step(slice, true)) base::spin_pause();
    }
  });
  for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
    while (!r.ring->has_room(2)) base::spin_pause();
    checked.push(*r.ring, 2 * turn - 1);
    r.ring->push(PacketKind::kExec, 2 * turn, word(&mark_group), word(&buffers), word(&one),
                 std::uint64_t{1} << 32 | 8, std::uint64_t{1});
    r.group.bell(*r.ring);
    if (turn % 3 == 0) r.wait(2 * turn);
  }
  r.wait(2 * kTurns);
  EXPECT_TRUE(checked.all_ran(kTurns));
  EXPECT_EQ(checked.early, 0);
  EXPECT_TRUE(std::ranges::all_of(marks, [](std::uint32_t mark) { return mark == kTurns; }));
}

TEST(TaskGraph, ABriefVisitRunsOneLongTaskAndLeavesTheOthers) {
  SteppedRing r;
  Checked checked(fan(3), 4, 25'000);
  checked.push(*r.ring, 1);
  for (std::uint64_t visit = 1; visit <= 5; ++visit) {
    EXPECT_EQ(r.sequence.value(), 0u);
    Slice slice(/*chunks=*/1);
    EXPECT_TRUE(r.ring->step(slice, false));
    EXPECT_EQ(checked.total(), visit);
  }
  drain(r.group);
  EXPECT_EQ(r.sequence.value(), 1u);
}

// More tasks become ready at once than a deque holds.
TEST(TaskGraph, BriefVisitsRunEveryTaskThatOverflowedTheDeque) {
  SteppedRing r;
  Checked checked(fan(2000), 4, 100);
  checked.push(*r.ring, 1);
  int visits = 0;
  for (; r.sequence.value() == 0; ++visits) {
    Slice slice(/*chunks=*/1);
    ASSERT_TRUE(r.ring->step(slice, false));
  }
  EXPECT_GT(visits, 1);
  EXPECT_TRUE(checked.all_ran(1));
}

TEST(TaskGraph, IsRunByOneRingAtATime) {
  Checked checked(After(4));
  EXPECT_TRUE(checked.graph->begin(nullptr));
  EXPECT_FALSE(checked.graph->begin(nullptr));
  checked.graph->end();
  EXPECT_TRUE(checked.graph->begin(nullptr));
}

TEST(TaskGraph, MakesWayForARingOfHigherPriority) {
  SteppedRing r;
  SignalObject sequence(0);
  const auto urgent = Ring::create(r.group, &sequence, 16, nullptr, RingPriority::kHigh).value();
  Checked checked(fan(10), 4, 25'000);
  checked.on_run = [&](std::uint32_t task) {
    if (task == 4) urgent->push(PacketKind::kNop, 1);
  };
  checked.push(*r.ring, 1);
  Slice slice;
  EXPECT_TRUE(r.ring->step(slice, false));
  EXPECT_LT(checked.total(), 12u);
  EXPECT_EQ(r.sequence.value(), 0u);
  drain(r.group);
  EXPECT_EQ(sequence.value(), 1u);
  EXPECT_EQ(r.sequence.value(), 1u);
  urgent->close();
}

// A thread leaves a seat with more tasks than the deque holds, while another thread continues.
TEST(TaskGraph, TasksLeftInASeatAreFoundByTheNextThread) {
  After after(2002);
  for (std::uint32_t i = 2; i < after.size(); ++i) after[i] = {1};
  SteppedRing r;
  Checked checked(after, 2, 25'000);
  int exits[2] = {};
  checked.on_run = [&](std::uint32_t task) {
    if (task == 0)
      exits[static_cast<int>(checked.graph->work(*r.ring, true) == TaskGraph::Exit::kSpent)]++;
    if (task == 1) checked.each = 0;
  };
  EXPECT_TRUE(checked.begin());
  EXPECT_EQ(checked.graph->work(*r.ring, false), TaskGraph::Exit::kIdle);
  EXPECT_EQ(exits[1], 1) << "the second thread left after one task";
  EXPECT_LT(checked.total(), after.size());
  EXPECT_EQ(checked.graph->work(*r.ring, false), TaskGraph::Exit::kComplete);
  EXPECT_TRUE(checked.all_ran(1));
}

TEST(TaskGraph, MayBeTimedInOrderWhileNoRingRunsIt) {
  Checked checked(After(4));
  EXPECT_TRUE(checked.graph->begin_in_order());
  EXPECT_FALSE(checked.graph->begin_in_order());
  EXPECT_FALSE(checked.begin());
  checked.graph->end_in_order();
  EXPECT_TRUE(checked.begin());
}

TEST(TaskGraph, ARingThatClosesLeavesTheRestOfItsTasks) {
  for (int i = 0; i < 5; ++i) {
    ServedRing r(2);
    Checked checked(fan(1000));
    checked.on_run = [&](std::uint32_t) {
      while (checked.total() >= 10 && !r.ring->closing()) base::spin_pause();
    };
    checked.push(*r.ring, 1);
    r.group.bell(*r.ring);
    while (checked.total() < 10) base::spin_pause();
    r.ring->close();
    const std::uint64_t ran = checked.total();
    EXPECT_LT(ran, 1002u);
    r.stop();
    EXPECT_EQ(checked.total(), ran) << "tasks ran after close() had returned";
    EXPECT_EQ(checked.early, 0);
  }
}

// ---- The choice between shared and in order

// After three runs, of tasks that took 100 ns.
struct Chosen : RunChoice {
  Chosen(Nanoseconds shared, Nanoseconds in_order) {
    EXPECT_EQ(next(), How::kShared);
    ran_shared(9 * shared, 100);  // cold caches
    EXPECT_EQ(next(), How::kInOrderTimed);
    ran_in_order(in_order);
    EXPECT_EQ(next(), How::kShared);
    ran_shared(shared, 100);
  }
};

TEST(RunChoice, TakesWhatWasFasterAndTriesBothAgain) {
  for (const auto how : {RunChoice::How::kShared, RunChoice::How::kInOrder}) {
    const bool shared = how == RunChoice::How::kShared;
    Chosen choice(shared ? 1000 : 1500, shared ? 1500 : 1000);
    for (unsigned run = 3; run < 64; ++run) {
      EXPECT_EQ(choice.next(), std::has_single_bit(run) ? RunChoice::How::kShared : how) << run;
    }
    EXPECT_EQ(choice.next(), RunChoice::How::kShared);
    EXPECT_EQ(choice.next(), RunChoice::How::kInOrderTimed);
    EXPECT_EQ(choice.next(), how);
  }
}

TEST(RunChoice, OneRunThatWasHeldUpChangesNothing) {
  Chosen shared(1000, 1500);
  shared.ran_shared(50'000, 100);
  EXPECT_EQ(shared.next(), RunChoice::How::kShared);
  Chosen in_order(1500, 1000);
  in_order.ran_in_order(50'000);
  EXPECT_EQ(in_order.next(), RunChoice::How::kInOrder);
}

TEST(RunChoice, SharingThatWasHeldUpAtFirstIsTriedAgainSoon) {
  Chosen choice(5000, 1500);
  EXPECT_EQ(choice.next(), RunChoice::How::kInOrder);
  EXPECT_EQ(choice.next(), RunChoice::How::kShared);  // the fifth run
  choice.ran_shared(1000, 100);
  EXPECT_EQ(choice.next(), RunChoice::How::kShared);
}

TEST(RunChoice, ManyRunsThatWereSlowerChangeIt) {
  Chosen shared(1000, 1500);
  for (int run = 0; run < 10; ++run) shared.ran_shared(50'000, 100);
  EXPECT_EQ(shared.next(), RunChoice::How::kInOrder);
}

TEST(RunChoice, SharesLongTasksWithoutATrial) {
  RunChoice slow;
  for (int run = 0; run < 200; ++run) {
    EXPECT_EQ(slow.next(), RunChoice::How::kShared);
    slow.ran_shared(1'000'000, 10'000);
  }
}

// ---- A graph on its ring

}  // namespace
}  // namespace halyard::cpu
