// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The core of the simulated Metal framework without Objective-C: order, events, failures, copies.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "simulation/metal/framework/process.h"
#include "simulation/metal/framework/queue.h"

namespace halyard::inline v0::sim::metal {
namespace {

class Engine : public ::testing::Test {
 protected:
  void begin(Options options = {}) {
    options.prints = false;
    begin_process(options);
    device_ = all_devices().at(0);
    queue_ = Queue::create(*device_, 64);
  }
  void TearDown() override {
    if (queue_ == nullptr) return;
    queue_->close();
    queue_.reset();
    (void)end_process();
  }
  ResourcePointer buffer(std::size_t length, Storage storage = Storage::kShared,
                         bool is_tracked = true) {
    return Resource::create({.device = device_,
                             .length = length,
                             .storage = storage,
                             .is_tracked = is_tracked,
                             .heap = nullptr});
  }
  static Pass& add_pass(CommandBuffer& to, Command command) {
    auto pass = std::make_unique<Pass>();
    pass->commands.push_back(std::move(command));
    pass->end();
    Pass& added = *pass;
    to.items.push_back({std::move(pass), false});
    return added;
  }
  static std::shared_ptr<Event> event() { return std::make_shared<Event>(); }

  Device* device_ = nullptr;
  std::shared_ptr<Queue> queue_;
};

TEST_F(Engine, EmptyCommandBuffer_Completes) {
  begin();
  const auto commands = queue_->make_command_buffer(true);
  commands->commit();
  commands->wait_until_completed();
  EXPECT_EQ(commands->current_status(), Status::kCompleted);
  EXPECT_GT(commands->gpu_start, 0.0);
  EXPECT_GE(commands->gpu_end, commands->gpu_start);
}

TEST_F(Engine, FillThenCopy_MovesBytes) {
  begin();
  const auto source = buffer(64), target = buffer(64);
  const auto commands = queue_->make_command_buffer(true);
  add_pass(*commands, Fill{source, 0, 64, 7});
  add_pass(*commands, Copy{source, 0, target, 4, 16});
  commands->commit();
  commands->wait_until_completed();
  EXPECT_EQ(target->host()[4], std::byte{7});
  EXPECT_EQ(target->host()[19], std::byte{7});
  EXPECT_NE(target->host()[20], std::byte{7});
}

TEST_F(Engine, Wait_HoldsBackUntilTheHostStores) {
  begin();
  const auto gate = event(), done = event();
  const auto commands = queue_->make_command_buffer(true);
  commands->items.push_back({EventWait{gate, 1}, false});
  commands->items.push_back({EventSignal{done, 5}, false});
  commands->commit();
  commands->wait_until_scheduled();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(commands->current_status(), Status::kScheduled);
  EXPECT_EQ(event_value(*done), 0U);
  store_event(*gate, 1);
  commands->wait_until_completed();
  EXPECT_EQ(event_value(*done), 5U);
}

TEST_F(Engine, WaitForNothing_TimesOut) {
  Options options;
  options.wait_timeout = 20'000'000;
  begin(options);
  const auto commands = queue_->make_command_buffer(true);
  commands->items.push_back({EventWait{event(), 1}, false});
  commands->commit();
  commands->wait_until_completed();
  EXPECT_EQ(commands->current_status(), Status::kError);
  EXPECT_EQ(commands->error.code, ErrorCode::kTimeout);
}

TEST_F(Engine, Capacity_BlocksUntilABufferCompletes) {
  begin();
  const auto small = Queue::create(*device_, 1);
  const auto gate = event();
  const auto first = small->make_command_buffer(true);
  first->items.push_back({EventWait{gate, 1}, false});
  first->commit();
  std::atomic<bool> has_second = false;
  std::thread maker([&] {
    const auto second = small->make_command_buffer(true);
    has_second = true;
    second->discard();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_second);
  store_event(*gate, 1);
  maker.join();
  EXPECT_TRUE(has_second);
  small->close();
}

TEST_F(Engine, OutOfOrder_CompletesInAnotherOrder) {
  Options options;
  options.adversities.out_of_order = true;
  begin(options);
  bool was_reordered = false;
  for (int round = 0; round < 50 && !was_reordered; ++round) {
    std::vector<std::shared_ptr<CommandBuffer>> all;
    std::atomic<int> ended = 0;
    std::vector<int> order(8);
    const auto blocker = queue_->make_command_buffer(true);
    blocker->enqueue();  // the others wait until all are committed
    for (int i = 0; i < 7; ++i) {
      all.push_back(queue_->make_command_buffer(true));
      add_pass(*all.back(), Fill{buffer(64), 0, 64, 1});
      all.back()->completed_handlers.emplace_back(
          [&order, &ended, i] { order[static_cast<std::size_t>(ended++)] = i; });
      all.back()->commit();
    }
    blocker->commit();
    blocker->wait_until_completed();
    for (const auto& one : all) one->wait_until_completed();
    for (int i = 0; i < 7; ++i) was_reordered |= order[static_cast<std::size_t>(i)] != i;
  }
  EXPECT_TRUE(was_reordered);
}

TEST_F(Engine, TrackedHazard_OrdersEvenOutOfOrder) {
  Options options;
  options.adversities = Adversities::all();
  options.adversities.victims = false;
  begin(options);
  for (int round = 0; round < 50; ++round) {
    const auto shared = buffer(64);
    std::vector<std::shared_ptr<CommandBuffer>> all;
    for (int i = 0; i < 6; ++i) {
      all.push_back(queue_->make_command_buffer(true));
      add_pass(*all.back(), Fill{shared, 0, 64, static_cast<std::uint8_t>(i + 1)});
      all.back()->commit();
    }
    for (const auto& one : all) one->wait_until_completed();
    EXPECT_EQ(shared->host()[5], std::byte{6});
  }
}

TEST_F(Engine, UntrackedHazard_IsNotOrdered) {
  Options options;
  options.adversities.out_of_order = options.adversities.reorder_encoders = true;
  begin(options);
  bool was_reordered = false;
  for (int round = 0; round < 100 && !was_reordered; ++round) {
    const auto shared = buffer(64, Storage::kShared, false);
    const auto commands = queue_->make_command_buffer(true);
    add_pass(*commands, Fill{shared, 0, 64, 1});
    add_pass(*commands, Fill{shared, 0, 64, 2});
    commands->commit();
    commands->wait_until_completed();
    was_reordered = shared->host()[0] == std::byte{1};
  }
  EXPECT_TRUE(was_reordered);
}

TEST_F(Engine, Fence_OrdersUntrackedPasses) {
  Options options;
  options.adversities.reorder_encoders = true;
  begin(options);
  for (int round = 0; round < 100; ++round) {
    const auto shared = buffer(64, Storage::kShared, false);
    const auto fence = std::make_shared<Fence>();
    const auto commands = queue_->make_command_buffer(true);
    add_pass(*commands, Fill{shared, 0, 64, 1}).updates.push_back(fence);
    add_pass(*commands, Fill{shared, 0, 64, 2}).waits.push_back(fence);
    commands->commit();
    commands->wait_until_completed();
    EXPECT_EQ(shared->host()[0], std::byte{2});
  }
}

TEST_F(Engine, Managed_IsTwoCopies) {
  begin();
  const auto managed = buffer(64, Storage::kManaged), result = buffer(64);
  std::memset(managed->host(), 3, 64);
  managed->did_modify({0, 8});
  const auto commands = queue_->make_command_buffer(true);
  add_pass(*commands, Copy{managed, 0, result, 0, 64});
  add_pass(*commands, Fill{managed, 32, 4, 9});
  add_pass(*commands, Synchronize{managed});
  EXPECT_NE(managed->host()[32], std::byte{9});
  commands->commit();
  commands->wait_until_completed();
  EXPECT_EQ(result->host()[7], std::byte{3});
  EXPECT_NE(result->host()[8], std::byte{3});  // without didModifyRange:
  EXPECT_EQ(managed->host()[32], std::byte{9});
}

TEST_F(Engine, FailedBuffer_DoesNotSignal) {
  Options options;
  options.failed_buffers = {{1, 3}};
  begin(options);
  const auto done = event();
  const auto commands = queue_->make_command_buffer(true);
  commands->items.push_back({EventSignal{done, 1}, false});
  commands->commit();
  commands->wait_until_completed();
  EXPECT_EQ(commands->error.code, ErrorCode::kPageFault);
  EXPECT_EQ(event_value(*done), 0U);
}

TEST_F(Engine, ManyFaults_RevokeTheProcess) {
  Options options;
  options.failed_buffers = {{1, 3}, {2, 3}};
  options.faults_until_revoked = 2;
  begin(options);
  ErrorCode last = ErrorCode::kNone;
  for (int i = 0; i < 3; ++i) {
    const auto commands = queue_->make_command_buffer(true);
    commands->commit();
    commands->wait_until_completed();
    last = commands->error.code;
  }
  EXPECT_EQ(last, ErrorCode::kAccessRevoked);
}

TEST_F(Engine, RemovedDevice_FailsWhatWaits) {
  begin();
  const auto commands = queue_->make_command_buffer(true);
  commands->items.push_back({EventWait{event(), 1}, false});
  commands->commit();
  remove_device(0);
  commands->wait_until_completed();
  EXPECT_EQ(commands->error.code, ErrorCode::kDeviceRemoved);
}

TEST_F(Engine, FreedInFlight_IsReported) {
  begin();
  const auto gate = event();
  const auto freed = buffer(64);
  const auto commands = queue_->make_command_buffer(false);
  commands->items.push_back({EventWait{gate, 1}, false});
  add_pass(*commands, Fill{freed, 0, 64, 1});
  commands->commit();
  freed->free_object();
  EXPECT_TRUE(has_misuse("freed-in-flight"));
  store_event(*gate, 1);
  commands->wait_until_completed();
  EXPECT_EQ(commands->error.code, ErrorCode::kInvalidResource);
}

TEST_F(Engine, SnapshotShared_ShowsWritesAtBoundaries) {
  Options options;
  options.adversities.snapshot_shared = true;
  begin(options);
  const auto gate = event();
  const auto source = buffer(64), target = buffer(64);
  std::memset(source->host(), 1, 64);
  const auto commands = queue_->make_command_buffer(true);
  commands->items.push_back({EventWait{gate, 1}, false});
  add_pass(*commands, Copy{source, 0, target, 0, 64});
  commands->commit();
  std::memset(source->host(), 2, 64);  // too late
  store_event(*gate, 1);
  commands->wait_until_completed();
  EXPECT_EQ(target->host()[0], std::byte{1});
}

// Two buffers over the program's memory, as of two devices.
TEST_F(Engine, SnapshotShared_ShowsWhatADeviceWroteBehindItsSignal) {
  Options options;
  options.adversities.snapshot_shared = true;
  begin(options);
  alignas(64) std::byte memory[64] = {};
  const auto over = [&] {
    return Resource::create({.device = device_, .length = 64, .host_memory = memory});
  };
  const auto written = over(), read = over(), target = buffer(64);
  const auto ready = event(), gate = event();
  ready->is_shared = gate->is_shared = true;
  const auto other = Queue::create(*device_, 4);
  const auto reader = other->make_command_buffer(true);
  reader->items.push_back({EventWait{ready, 1}, false});
  add_pass(*reader, Copy{read, 0, target, 0, 64});
  reader->commit();
  const auto writer = queue_->make_command_buffer(true);
  add_pass(*writer, Fill{written, 0, 64, 5});
  writer->items.push_back({EventSignal{ready, 1}, false});
  writer->items.push_back({EventWait{gate, 1}, false});
  writer->commit();
  reader->wait_until_completed();
  EXPECT_LT(writer->current_status(), Status::kCompleted);
  EXPECT_EQ(target->host()[0], std::byte{5});
  EXPECT_EQ(memory[0], std::byte{5});
  store_event(*gate, 1);
  writer->wait_until_completed();
}

TEST_F(Engine, FailedBuffer_SignalsNothingBehindAWait) {
  Options options;
  options.failed_signals = FailedSignals::kAlways;
  options.failed_buffers = {{2, static_cast<int>(ErrorCode::kInternal)}};
  begin(options);
  const auto gate = event(), order = event();
  const auto first = queue_->make_command_buffer(true);
  first->items.push_back({EventWait{gate, 1}, false});
  first->items.push_back({EventSignal{order, 1}, false});
  first->commit();
  const auto second = queue_->make_command_buffer(true);
  second->items.push_back({EventWait{order, 1}, false});
  second->items.push_back({EventSignal{order, 2}, false});
  second->commit();
  second->wait_until_completed();
  EXPECT_EQ(second->current_status(), Status::kError);
  EXPECT_EQ(event_value(*order), 0U);
  store_event(*gate, 1);
  first->wait_until_completed();
  EXPECT_EQ(event_value(*order), 1U);
}

TEST_F(Engine, EmptySubmissions_CostLittle) {
  begin();
  constexpr int kCount = 2000;
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<CommandBuffer> last;
  for (int i = 0; i < kCount; ++i) {
    last = queue_->make_command_buffer(true);
    last->commit();
  }
  last->wait_until_completed();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds_each", std::to_string(took.count() / kCount));
  EXPECT_LT(took.count() / kCount, 500.0);  // a bound for sanitizers and busy machines
}

}  // namespace
}  // namespace halyard::inline v0::sim::metal
