// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between devices that do not use each other's memory: what both devices are given, step by
// step, and how such a copy ends.
#include <cstring>

#include "hal/device/device.h"
#include "hal/fake_driver.h"
#include "hal/queue/copy_path.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// By words, and compared by memcmp: sanitizers make loops over bytes slow.
std::vector<std::byte> pattern(std::uint64_t size, std::uint64_t seed) {
  std::vector<std::uint64_t> words(size / 8 + 1);
  std::uint64_t word = seed * 2 + 1;
  for (std::uint64_t& next : words) next = word *= 0x5851f42d4c957f2d;
  std::vector<std::byte> bytes(size);
  if (size != 0) std::memcpy(bytes.data(), words.data(), size);
  return bytes;
}
bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Two devices whose lanes and runtime threads run only when a test steps them. Their compute queues
// are lanes 0 and 2, their copy queues lanes 1 and 3.
class CopyAcross : public ::testing::Test {
 protected:
  explicit CopyAcross(const char* uri = "fake://?devices=2&domain=own") {
    check(registry.add(std::make_unique<testing::FakeDriver>(control)));
    open(uri);
  }
  ~CopyAcross() override {
    drop_devices();
    for (int i = 0; i < 100 && control->open_devices != 0; ++i) run_all();
    EXPECT_EQ(control->open_devices, 0);
    EXPECT_EQ(control->live_memories, 0);
  }

  void open(const char* uri) {
    std::vector<Device> devices = registry.open_all(uri).value();
    here = devices[0];
    there = devices[1];
    queue = here.queue();
    s = here.create_semaphore(0, "the user's").value();
    go = here.create_semaphore(0, "the gate").value();
  }
  void drop_devices() {
    queue = {};
    here = there = {};
    s = go = {};
  }
  testing::FakeLane& lane(std::size_t index) { return *control->lanes.at(index); }
  // Steps the shells until they have nothing to do.
  void step() {
    for (bool ran = true; ran;) {
      ran = false;
      for (const auto shell : {base::Shell::kIssue, base::Shell::kCompletion, base::Shell::kHost,
                               base::Shell::kReclaim}) {
        ran |= registry.step(shell);
      }
    }
  }
  // Steps the lanes too.
  void run_all() {
    for (bool ran = true; ran;) {
      ran = false;
      step();
      for (testing::FakeLane* lane : control->lanes) {
        if (lane != nullptr) ran |= lane->run() != 0;
      }
    }
    step();
  }
  Buffer make(const Device& device, std::uint64_t size,
              MemoryType memory = MemoryType::kDeviceLocal) {
    return device.allocate({.size = size, .memory = memory}).value();
  }
  static std::span<std::byte> bytes(const Buffer& buffer) {
    return {reinterpret_cast<std::byte*>(buffer.device_address()), buffer.size()};
  }
  Buffer with(const Device& device, const std::vector<std::byte>& content,
              MemoryType memory = MemoryType::kDeviceLocal) {
    Buffer buffer = make(device, content.size(), memory);
    if (!content.empty()) std::memcpy(bytes(buffer).data(), content.data(), content.size());
    return buffer;
  }
  bool reached(std::uint64_t value = 1) { return s.query().ok() && s.query().value() >= value; }
  // With the time that a fault may need to be seen.
  Status failure() {
    for (int i = 0; i < 4; ++i) {
      run_all();
      source.clock().ahead += 1'000'000'000;
    }
    run_all();
    return s.query().status();
  }

  std::shared_ptr<testing::Control> control = [] {
    auto made = std::make_shared<testing::Control>();
    made->automatic = false;
    return made;
  }();
  testing::StepSource source;
  DriverRegistry registry{source};
  Device here, there;
  Queue queue;
  Semaphore s, go;
};

// These wait for each other on the device: only their memory is their own.
struct CopyAcrossPeers : CopyAcross {
  CopyAcrossPeers() : CopyAcross("fake://?devices=2&memory=own") {}
};

TEST(CopyShape, CoversEveryLengthInABoundedNumberOfPieces) {
  for (std::uint64_t length :
       {std::uint64_t{1}, 64 * 1024ul, 64 * 1024 + 1ul, kMiB, kMiB + 1, 16 * kMiB, 16 * kMiB + 1,
        1024 * kMiB, 1024 * kMiB + 1, 100'000 * kMiB + 17, std::uint64_t{1} << 62}) {
    const CopyShape shape = CopyShape::of(length);
    EXPECT_LE(shape.pieces, CopyShape::kMostPieces) << length;
    EXPECT_GE(shape.pieces * shape.piece, length);
    EXPECT_LT((shape.pieces - 1) * shape.piece, length);
    EXPECT_LE(shape.slots, shape.pieces);
    EXPECT_EQ(shape.ring == CopyShape::kOwnRing, length > 1024 * kMiB);
  }
}

TEST_F(CopyAcross, CopiesEveryLengthAndOffsetInBothDirections) {
  const std::uint64_t lengths[] = {0,    1,        63,           4096,     65536,        65537,
                                   kMiB, kMiB + 1, 3 * kMiB + 5, 4 * kMiB, 16 * kMiB + 1};
  std::uint64_t value = 0;
  for (const std::uint64_t length : lengths) {
    for (const bool to_here : {true, false}) {
      for (const bool on_reader : {true, false}) {
        const std::vector<std::byte> content = pattern(length + 100, length);
        const Device& from_device = to_here ? there : here;
        const Device& to_device = to_here ? here : there;
        const Buffer from = with(from_device, content);
        const Buffer to = with(to_device, pattern(length + 100, 1));
        std::vector<std::byte> expected = pattern(length + 100, 1);
        std::copy_n(content.begin() + 17, length, expected.begin() + 60);
        const Queue on = (on_reader ? from_device : to_device).queue();
        ASSERT_TRUE(on.copy({from, 17, length}, {to, 60, length}, {.signal = {{s, ++value}}}).ok());
        run_all();
        ASSERT_TRUE(reached(value)) << length << here.dump_timelines();
        ASSERT_TRUE(same(bytes(to), expected)) << length;
      }
    }
  }
}

TEST_F(CopyAcross, ATargetOfAnotherDeviceIsWrittenByThatDevice) {
  const std::vector<std::byte> content = pattern(1000, 1);
  const Buffer from = with(here, content), to = make(there, 1000);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  EXPECT_EQ(lane(0).pending(), 1u) << "the caller's queue reads";
  EXPECT_EQ(lane(3).pending(), 0u) << "the other waits for that on the host";
  lane(0).run();
  step();
  EXPECT_EQ(lane(3).pending(), 2u) << "the piece, and the end";
  EXPECT_FALSE(reached());
  run_all();
  EXPECT_TRUE(reached());
  EXPECT_TRUE(same(bytes(to), content));
}

TEST_F(CopyAcrossPeers, AllPiecesAreHandedToBothDevicesAtOnce) {
  const std::vector<std::byte> content = pattern(8 * kMiB, 1);
  const Buffer from = with(there, content), to = make(here, 8 * kMiB);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  EXPECT_EQ(lane(3).pending(), 8u);
  EXPECT_EQ(lane(0).pending(), 9u) << "with the end, which has the user's signals";
  EXPECT_EQ(lane(3).run(), 3) << "as many as there are blocks";
  EXPECT_EQ(lane(0).run(), 3);
  EXPECT_EQ(lane(3).run(), 3);
  EXPECT_EQ(lane(0).run(), 3);
  EXPECT_EQ(lane(3).run(), 2);
  EXPECT_EQ(lane(0).run(), 3);
  EXPECT_TRUE(reached()) << "no shell was stepped";
  EXPECT_TRUE(same(bytes(to), content));
}

TEST_F(CopyAcrossPeers, DependentsAreHandedToTheDeviceBehindIt) {
  const Buffer from = make(there, 100), to = make(here, 100);
  ASSERT_TRUE(queue.barrier({.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  ASSERT_TRUE(queue.copy(from, to, {.wait = {{go, 1}}, .signal = {{s, 1}}}).ok());
  EXPECT_EQ(lane(0).pending() + lane(3).pending(), 0u);
  ASSERT_TRUE(go.signal(1).ok());
  EXPECT_EQ(lane(3).pending(), 1u);
  EXPECT_EQ(lane(0).pending(), 3u) << "the piece, the end, and the barrier";
}

TEST_F(CopyAcross, WaitsAreKept) {
  const Buffer from = with(there, pattern(100, 1)), to = make(here, 100);
  ASSERT_TRUE(queue.copy(from, to, {.wait = {{go, 1}}, .signal = {{s, 1}}}).ok());
  run_all();
  EXPECT_FALSE(reached());
  std::ranges::copy(pattern(100, 2), bytes(from).begin());
  ASSERT_TRUE(go.signal(1).ok());
  run_all();
  EXPECT_TRUE(reached());
  EXPECT_TRUE(same(bytes(to), pattern(100, 2))) << "read after the wait";
}

TEST_F(CopyAcross, ManyWaitsAndSignalsAreKept) {
  const Buffer from = make(there, 100), to = make(here, 100);
  std::vector<Semaphore> semaphores;
  std::vector<Point> waits, signals;
  for (int i = 0; i < 40; ++i) semaphores.push_back(here.create_semaphore().value());
  for (int i = 0; i < 20; ++i) waits.emplace_back(semaphores[static_cast<std::size_t>(i)], 1);
  for (int i = 20; i < 40; ++i) signals.emplace_back(semaphores[static_cast<std::size_t>(i)], 7);
  ASSERT_TRUE(queue.copy(from, to, {.wait = waits, .signal = signals}).ok());
  for (int i = 0; i < 20; ++i) {
    run_all();
    EXPECT_EQ(semaphores[39].query().value(), 0u);
    ASSERT_TRUE(semaphores[static_cast<std::size_t>(i)].signal(1).ok());
  }
  run_all();
  for (int i = 20; i < 40; ++i) {
    EXPECT_EQ(semaphores[static_cast<std::size_t>(i)].query().value(), 7u);
  }
}

TEST_F(CopyAcross, AFailedWaitFailsTheSignalsWithItsCause) {
  const int memories = control->live_memories;
  ASSERT_TRUE(queue
                  .copy(make(there, 5 * kMiB), make(here, 5 * kMiB),
                        {.wait = {{go, 1}}, .signal = {{s, 1}}})
                  .ok());
  go.fail(Status(StatusCode::kDataLoss, "a bad sector"));
  EXPECT_ERROR(failure(), StatusCode::kDataLoss, "a bad sector");
  EXPECT_EQ(lane(0).pending() + lane(3).pending(), 0u);
  EXPECT_EQ(control->live_memories, memories + 2) << "only staging memory is kept";
  // The path is as good as before.
  Semaphore later = here.create_semaphore().value();
  const Buffer from = with(there, pattern(100, 3)), to = make(here, 100);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{later, 1}}}).ok());
  run_all();
  EXPECT_EQ(later.query().value(), 1u);
  EXPECT_TRUE(same(bytes(to), pattern(100, 3)));
}

TEST_F(CopyAcross, CancelWithdrawsAParkedCopy) {
  for (const bool to_here : {true, false}) {
    Semaphore end = here.create_semaphore().value();
    Submission submission;
    const Buffer from = make(to_here ? there : here, 3 * kMiB);
    const Buffer to = make(to_here ? here : there, 3 * kMiB);
    ASSERT_TRUE(
        queue.copy(from, to, {.wait = {{go, 1}}, .signal = {{end, 1}}, .submission = &submission})
            .ok());
    EXPECT_TRUE(submission.cancel());
    EXPECT_EQ(end.query().status().code(), StatusCode::kCancelled);
    EXPECT_FALSE(submission.cancel());
    run_all();
    EXPECT_TRUE(queue.wait_idle(kNow).ok());
  }
}

TEST_F(CopyAcross, CancelDoesNotStopACopyThatHasBegun) {
  Submission submission;
  const Buffer from = with(there, pattern(3 * kMiB, 1)), to = make(here, 3 * kMiB);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}, .submission = &submission}).ok());
  EXPECT_FALSE(submission.cancel());
  run_all();
  EXPECT_TRUE(reached());
  EXPECT_TRUE(same(bytes(to), bytes(from)));
}

// The user may use the target again once the signals have failed.
TEST_F(CopyAcross, ItFailsWhenNoPieceIsWrittenAnyMore) {
  const Buffer from = make(there, 5 * kMiB), to = make(here, 5 * kMiB);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  ASSERT_EQ(lane(3).run(), 3);
  step();
  ASSERT_GT(lane(0).pending(), 0u) << "a piece is being written";
  const Semaphore other = here.create_semaphore().value();
  const Registration waiter = other.on_reach(1, [](const Status&) {}).value();
  ASSERT_TRUE(there.queue().barrier({.signal = {{other, 1}}}).ok());
  lane(2).fault(Status(StatusCode::kInternal, "fell off the bus"));
  source.clock().ahead += 1'000'000'000;
  step();
  ASSERT_FALSE(there.status().ok());
  EXPECT_TRUE(s.query().ok()) << "not yet";
  lane(0).run();
  EXPECT_ERROR(failure(), StatusCode::kDeviceLost, "fell off the bus");
  EXPECT_EQ(lane(0).pending(), 0u);
  EXPECT_TRUE(here.status().ok());
}

TEST_F(CopyAcross, LossOfTheCallersDeviceFailsIt) {
  const Buffer from = make(there, 5 * kMiB), to = make(here, 5 * kMiB);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  ASSERT_EQ(lane(3).run(), 3);
  step();
  lane(0).fault(Status(StatusCode::kInternal, "fell off the bus"));
  source.clock().ahead += 1'000'000'000;
  EXPECT_ERROR(failure(), StatusCode::kDeviceLost, "fell off the bus");
  EXPECT_TRUE(there.status().ok());
  EXPECT_ERROR(queue.copy(from, to, {}), StatusCode::kDeviceLost, "fell off the bus");
}

TEST_F(CopyAcross, LossOfTheTargetsDeviceFailsIt) {
  const Buffer from = make(here, 5 * kMiB), to = make(there, 5 * kMiB);
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  ASSERT_EQ(lane(0).run(), 3);
  step();
  lane(3).fault(Status(StatusCode::kInternal, "fell off the bus"));
  source.clock().ahead += 1'000'000'000;
  EXPECT_ERROR(failure(), StatusCode::kDeviceLost, "fell off the bus");
  EXPECT_TRUE(here.status().ok());
  EXPECT_ERROR(queue.copy(from, to, {}), StatusCode::kDeviceLost, "fell off the bus");
}

TEST_F(CopyAcrossPeers, LossOfADeviceFailsWhatIsInBothLanes) {
  for (const std::size_t lost : {0u, 3u}) {
    drop_devices();
    run_all();
    std::erase(control->lanes, nullptr);
    open("fake://?devices=2&memory=own");
    const Buffer from = make(there, 5 * kMiB), to = make(here, 5 * kMiB);
    ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
    ASSERT_EQ(lane(3).run(), 3);
    ASSERT_EQ(lane(0).run(), 3);
    const Registration waiter = s.on_reach(1, [](const Status&) {}).value();
    step();
    lane(lost).fault(Status(StatusCode::kInternal, "fell off the bus"));
    for (int i = 0; i < 4; ++i) {
      source.clock().ahead += 1'000'000'000;
      step();
    }
    const Status cause = failure();
    EXPECT_FALSE(cause.ok()) << lost;
    EXPECT_NE(cause.message().find("fell off the bus"), std::string_view::npos);
  }
}

TEST_F(CopyAcross, HostMovesPiecesWhereNeitherDeviceImports) {
  control->fail_import = Status(StatusCode::kUnimplemented, "no import here");
  std::uint64_t value = 0;
  for (const std::uint64_t length : {std::uint64_t{5}, 5 * kMiB + 3}) {
    for (const bool to_here : {true, false}) {
      const Buffer from = with(to_here ? there : here, pattern(length, length));
      const Buffer to = make(to_here ? here : there, length);
      ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, ++value}}}).ok());
      run_all();
      ASSERT_TRUE(reached(value)) << here.dump_timelines();
      EXPECT_TRUE(same(bytes(to), bytes(from)));
    }
  }
  EXPECT_EQ(control->imports, 2) << "each device was asked once";
}

TEST_F(CopyAcross, AnImportThatFailsForAnotherReasonFailsTheCall) {
  control->fail_import = Status(StatusCode::kResourceExhausted, "no pinned memory");
  const Buffer from = make(there, 100), to = make(here, 100);
  EXPECT_ERROR(queue.copy(from, to, {.signal = {{s, 1}}}), StatusCode::kResourceExhausted,
               "no pinned memory");
  control->fail_import = {};
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  run_all();
  EXPECT_TRUE(reached());
}

TEST_F(CopyAcross, ARefusedCopyLeavesNothingBehind) {
  const Buffer from = make(there, 5 * kMiB), to = make(here, 5 * kMiB);
  ASSERT_TRUE(s.signal(5).ok());
  Submission submission;
  EXPECT_ERROR(queue.copy(from, to, {.signal = {{s, 5}}, .submission = &submission}),
               StatusCode::kInvalidArgument, "the value is 5 already");
  EXPECT_EQ(submission.object(), nullptr);
  EXPECT_EQ(lane(0).pending() + lane(3).pending(), 0u) << "nothing was handed to a device";
  EXPECT_ERROR(queue.copy(from, to, {.wait = {{s, 7}}, .signal = {{s, 6}}}),
               StatusCode::kInvalidArgument, "waits for 7 and signals 6");
  EXPECT_ERROR(queue.copy(from, to, {.wait = {{Semaphore(), 1}}}), StatusCode::kInvalidArgument,
               "empty semaphore");
  run_all();
  EXPECT_EQ(s.query().value(), 5u);
  EXPECT_TRUE(queue.wait_idle(kNow).ok());
  EXPECT_TRUE(there.queue(QueueKind::kCopy).wait_idle(kNow).ok());
  EXPECT_ERROR(queue.copy(Buffer(), to, {}), StatusCode::kInvalidArgument, "empty buffer");
}

TEST_F(CopyAcross, AFailedAllocationOfStagingMemoryFailsTheCall) {
  const Buffer from = make(there, 100), to = make(here, 100);
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "no memory there");
  EXPECT_ERROR(queue.copy(from, to, {.signal = {{s, 1}}}), StatusCode::kResourceExhausted,
               "no memory there");
  control->fail_allocate = {};
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  run_all();
  EXPECT_TRUE(reached());
}

TEST_F(CopyAcross, ParkedCopiesHoldNoStagingMemory) {
  const Buffer from = with(there, pattern(5 * kMiB, 1));
  std::vector<Buffer> targets;
  std::vector<Semaphore> ends;
  for (int i = 0; i < 100; ++i) targets.push_back(make(here, 5 * kMiB));
  const int memories = control->live_memories;
  for (std::uint64_t i = 0; i < 100; ++i) {
    ends.push_back(here.create_semaphore().value());
    ASSERT_TRUE(
        queue.copy(from, targets[i], {.wait = {{go, i % 2 + 1}}, .signal = {{ends[i], 1}}}).ok());
  }
  EXPECT_EQ(control->live_memories, memories + 2 * 6) << "six rings, seen by two devices";
  ASSERT_TRUE(go.signal(2).ok());
  run_all();
  EXPECT_TRUE(queue.wait_idle(kNow).ok()) << here.dump_timelines();
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(ends[i].query().ok()) << ends[i].query().status().to_string();
    EXPECT_EQ(ends[i].query().value(), 1u);
    EXPECT_TRUE(same(bytes(targets[i]), bytes(from)));
  }
}

// A parked copy keeps none of the rings from those that can go on.
TEST_F(CopyAcross, CopiesThatAreReadyPassParkedOnes) {
  const Buffer from = with(there, pattern(2 * kMiB, 1)), to = make(here, 2 * kMiB);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(queue.copy(from, to, {.wait = {{go, 1}}}).ok());
  ASSERT_TRUE(queue.copy(from, to, {.signal = {{s, 1}}}).ok());
  run_all();
  EXPECT_TRUE(reached());
  EXPECT_ERROR(queue.wait_idle(1ns), StatusCode::kDeadlineExceeded, "the gate");
  ASSERT_TRUE(go.signal(1).ok());
}

TEST_F(CopyAcross, TheDumpNamesThePieces) {
  const Buffer from = make(there, 2 * kMiB), to = make(here, 2 * kMiB);
  ASSERT_TRUE(queue.copy(from, to, {.wait = {{go, 1}}, .signal = {{s, 1}}}).ok());
  const std::string dump = here.dump_timelines();
  EXPECT_NE(dump.find("'the gate' >= 1"), std::string::npos) << dump;
  EXPECT_NE(dump.find("copy between fake://0 and fake://1: pieces read'"), std::string::npos)
      << dump;
  EXPECT_NE(dump.find("copy between fake://0 and fake://1: pieces written'"), std::string::npos);
  ASSERT_TRUE(go.signal(1).ok());
}

TEST_F(CopyAcross, WaitIdleIncludesIt) {
  const Buffer mine = make(here, 100), theirs = make(there, 100);
  for (const bool to_here : {true, false}) {
    const Buffer& from = to_here ? theirs : mine;
    const Buffer& to = to_here ? mine : theirs;
    ASSERT_TRUE(queue.copy(from, to, {}).ok());
    for (const std::size_t index : {to_here ? 3u : 0u, to_here ? 0u : 3u}) {
      EXPECT_FALSE(queue.wait_idle(kNow).ok());
      step();
      lane(index).run();
      step();
    }
    run_all();
    EXPECT_TRUE(queue.wait_idle(kNow).ok());
  }
}

TEST_F(CopyAcross, KeepsItsMemoryAlive) {
  const int before = control->live_memories;
  Buffer from = with(there, pattern(100, 1)), to = make(here, 100);
  const Buffer seen = to;
  ASSERT_TRUE(queue.copy(from, to, {.wait = {{go, 1}}, .signal = {{s, 1}}}).ok());
  from = to = {};
  ASSERT_TRUE(go.signal(1).ok());
  run_all();
  EXPECT_TRUE(reached());
  EXPECT_TRUE(same(bytes(seen), pattern(100, 1)));
  EXPECT_EQ(control->live_memories, before + 3) << "the target, and staging memory seen twice";
}

TEST_F(CopyAcross, ACopyOnItsWayEndsBeforeItsDevicesClose) {
  for (const bool drop_source : {true, false}) {
    drop_devices();
    run_all();
    std::erase(control->lanes, nullptr);
    open("fake://?devices=2&domain=own");
    const Device kept = drop_source ? here : there;
    Semaphore end = kept.create_semaphore().value();
    ASSERT_TRUE(
        queue.copy(make(there, 5 * kMiB), make(here, 5 * kMiB), {.signal = {{end, 1}}}).ok());
    drop_devices();
    lane(3).run();
    step();
    EXPECT_EQ(control->open_devices, 2);
    run_all();
    EXPECT_TRUE(end.query().ok() && end.query().value() == 1);
    EXPECT_EQ(control->open_devices, 1);
  }
}

TEST_F(CopyAcross, AParkedCopyIsCancelledWhenOneOfItsDevicesCloses) {
  for (const bool drop_source : {true, false}) {
    drop_devices();
    run_all();
    std::erase(control->lanes, nullptr);
    open("fake://?devices=2&domain=own");
    Device kept = drop_source ? here : there;
    Semaphore end = kept.create_semaphore().value(), gate = kept.create_semaphore().value();
    ASSERT_TRUE(queue
                    .copy(make(there, 5 * kMiB), make(here, 5 * kMiB),
                          {.wait = {{gate, 1}}, .signal = {{end, 1}}})
                    .ok());
    drop_devices();
    run_all();
    EXPECT_EQ(control->open_devices, 1);
    EXPECT_EQ(end.query().status().code(), StatusCode::kCancelled);
    ASSERT_TRUE(gate.signal(1).ok());
    run_all();
    EXPECT_TRUE(kept.status().ok());
  }
}

TEST_F(CopyAcross, ADeviceThatIsOpenedAgainHasAPathOfItsOwn) {
  const Buffer to = make(here, 100);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(queue.copy(with(there, pattern(100, i)), to, {.signal = {{s, i}}}).ok());
    run_all();
    ASSERT_TRUE(reached(i));
    EXPECT_TRUE(same(bytes(to), pattern(100, i)));
    there = {};
    run_all();
    EXPECT_EQ(control->open_devices, 1);
    there = registry.open_all("fake://?devices=2&domain=own").value()[1];
    run_all();
  }
}

TEST_F(CopyAcross, PoolMemoryIsCopied) {
  const std::uint64_t size = 2 * kMiB;
  const Semaphore t = here.create_semaphore().value();
  const Pool pools[] = {there.default_pool(), here.default_pool()};
  const Buffer from =
      there.queue().allocate(pools[0], {.size = size}, {.signal = {{s, 1}}}).value();
  ASSERT_TRUE(there.queue().fill(from, 0x5a5a5a5a, 4, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  const Buffer to = queue.allocate(pools[1], {.size = size}, {.signal = {{t, 1}}}).value();
  ASSERT_TRUE(queue.copy(from, to, {.wait = {{s, 2}, {t, 1}}, .signal = {{t, 2}}}).ok());
  ASSERT_TRUE(there.queue().deallocate(from, {.wait = {{t, 2}}, .signal = {{s, 3}}}).ok());
  run_all();
  EXPECT_EQ(t.query().value(), 2u) << here.dump_timelines();
  EXPECT_EQ(s.query().value(), 3u) << here.dump_timelines();
  EXPECT_TRUE(
      std::ranges::all_of(bytes(to), [](std::byte byte) { return byte == std::byte{0x5a}; }));
  EXPECT_ERROR(queue.copy(from, to, {}), StatusCode::kFailedPrecondition, "deallocated");
  // A use that does not wait for the allocation.
  const Buffer early =
      queue.allocate(pools[1], {.size = size}, {.wait = {{go, 1}}, .signal = {{t, 3}}}).value();
  const Semaphore failed = here.create_semaphore().value();
  ASSERT_TRUE(queue.copy(make(there, size), early, {.signal = {{failed, 1}}}).ok());
  run_all();
  EXPECT_EQ(failed.query().status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(go.signal(1).ok());
}

TEST_F(CopyAcross, WhereNeitherSideIsOfTheQueuesDeviceItIsRefused) {
  const Device third = registry.open_all("fake://?devices=3&domain=own").value()[2];
  const Buffer a = make(here, 16), b = make(there, 16), c = make(third, 16);
  EXPECT_ERROR(third.queue().copy(a, b, {}), StatusCode::kPermissionDenied,
               "memory of fake://0 and memory of fake://1 cannot be used by fake://2");
  EXPECT_TRUE(third.queue().copy(a, c, {.signal = {{s, 1}}}).ok());
  EXPECT_ERROR(queue.fill(b, 0, 4, {}), StatusCode::kPermissionDenied, "only Queue::copy");
  EXPECT_ERROR(Recorder(here).copy(BufferRange(a), BufferRange(b)).finish().status(),
               StatusCode::kPermissionDenied, "only Queue::copy");
  EXPECT_ERROR(queue.copy(a, {b, 0, 8}, {}), StatusCode::kInvalidArgument, "to a target of 8");
  EXPECT_ERROR(queue.copy(a, {b, 8, 16}, {}), StatusCode::kOutOfRange, "copy: target");
  run_all();
}

TEST_F(CopyAcross, ADeviceThatWorksInHostMemoryCopiesHostMemoryDirectly) {
  drop_devices();
  run_all();
  std::erase(control->lanes, nullptr);
  control->works_in_host_memory = true;
  open("fake://?devices=2&domain=own");
  const int before = control->live_memories;
  std::uint64_t value = 0;
  for (const MemoryType memory :
       {MemoryType::kDeviceLocal, MemoryType::kHostVisible, MemoryType::kHostLocal}) {
    for (const bool to_here : {true, false}) {
      const Buffer theirs = with(there, pattern(1000, value), memory);
      const Buffer mine = with(here, pattern(1000, value + 100));
      const Buffer& from = to_here ? theirs : mine;
      const Buffer& to = to_here ? mine : theirs;
      const int imports = control->imports;
      ASSERT_TRUE(queue.copy({from, 3, 500}, {to, 7, 500}, {.signal = {{s, ++value}}}).ok());
      const bool direct =
          memory == MemoryType::kHostLocal || (memory == MemoryType::kHostVisible && !to_here);
      EXPECT_EQ(lane(0).pending(), direct || !to_here ? 1u : 0u);
      EXPECT_EQ(lane(3).pending(), direct || !to_here ? 0u : 1u);
      if (direct) {
        EXPECT_EQ(control->imports, imports + 1);
      }
      run_all();
      ASSERT_TRUE(reached(value));
      EXPECT_TRUE(same(bytes(from).subspan(3, 500), bytes(to).subspan(7, 500)));
    }
  }
  run_all();
  EXPECT_LE(control->live_memories, before + 4) << "rings; no import is left";
}

}  // namespace
}  // namespace halyard::hal
