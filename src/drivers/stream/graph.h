// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphCommandBuffer: a recording that is replayed as one launch of a graph, or command by command.
// The mode decides for each replay:
//
//     graph    every replay is a launch
//     auto     the first kStreamReplays are replayed command by command, since building a graph
//              costs as much as several replays. After a graph was refused, or was built again
//              kMostRebuilds times in a row, the next kPause replays are also command by command;
//              then graphs are tried again. A recording with more commands than an empty lane takes
//              at once is always a graph, without pause
//     stream   no GraphCommandBuffer is made
//
// If the graph is not available, the replay is command by command, and counted as refused.
//
// Each lane that replays a recording has an instance of its own, built when it is first needed: two
// launches of one instance would run in sequence, even in different streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "base/atomic.h"
#include "drivers/stream/api.h"
#include "drivers/stream/graph_instance.h"
#include "drivers/stream/recording.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

// Counts of the replays of one recording.
struct GraphCounts {
  std::uint64_t launches = 0;
  std::uint64_t builds = 0;         // of instances, the first of each included
  std::uint64_t updated_nodes = 0;  // for slots that changed
  std::uint64_t refused = 0;        // replayed command by command since no graph could be had
};

template <GraphApi Api>
class GraphCommandBuffer final : public CommandBuffer {
 public:
  static constexpr std::uint32_t kStreamReplays = 2;
  static constexpr std::uint32_t kMostRebuilds = 2;
  static constexpr std::uint32_t kPause = 64;

  // Whether a recording is replayed as a graph. False if a trace shows its commands one by one, or
  // if groups are read from memory. In automatic mode also false if it is used once or has one
  // command.
  static bool suits(const hal::RecordedCommands& recording, CommandBufferMode mode) noexcept {
    const auto works = [](const hal::Command& command) { return hal::does_work(command.kind); };
    const auto commands = std::ranges::count_if(recording.commands, works);
    const bool is_indirect = std::ranges::any_of(recording.commands, [](const hal::Command& each) {
      return each.kind == hal::CommandKind::kDispatch && each.dispatch.counts != nullptr;
    });
    if (mode == CommandBufferMode::kStream || commands == 0 || is_indirect) return false;
    if (!recording.labels.empty()) return false;
    return mode == CommandBufferMode::kGraph ||
           (recording.use == hal::RecordingUse::kOften && commands > 1);
  }

  // `recording` outlives the result; `max_in_flight` is the limit of its lanes. Returns
  // kResourceExhausted without memory. Precondition: suits(recording, mode).
  static Result<std::unique_ptr<hal::NativeCommands>> create(const Api& api,
                                                             const hal::RecordedCommands& recording,
                                                             CommandBufferMode mode,
                                                             std::uint32_t max_in_flight) {
    std::unique_ptr<GraphCommandBuffer> commands(new (std::nothrow)
                                                     GraphCommandBuffer(api, recording));
    if (commands == nullptr || !commands->open() || !commands->shape_.plan.build(recording) ||
        !commands->shape_.uses.build(recording, commands->shape_.plan)) {
      return no_memory(Api::kDriver);
    }
    // The engine asks for the depth before it issues: a recording that it divides stays divided.
    if (mode == CommandBufferMode::kGraph || commands->command_count() > max_in_flight) {
      commands->is_one_command_ = true;
    } else {
      commands->pause_.store(kStreamReplays, std::memory_order_relaxed);
    }
    return std::unique_ptr<hal::NativeCommands>(std::move(commands));
  }
  // Called within the guard of its context. Precondition: no submission uses it any more.
  ~GraphCommandBuffer() override {
    for (const std::unique_ptr<GraphInstance<Api>>& instance : instances_) {
      if (instance != nullptr) instance->destroy(api_);
    }
  }

  std::uint32_t depth() const noexcept override {
    return is_one_command_ || pause_.load(std::memory_order_relaxed) == 0 ? 1 : command_count();
  }

  // Launches the graph of `lane` with this table. Returns false if nothing was issued to the
  // stream; then the caller replays the commands one by one. An error is device loss. Called by the
  // lane's issuer.
  Result<bool> launch(typename Api::Stream stream, std::uint32_t lane, const hal::BoundRange* table,
                      Arguments& arguments) const noexcept {
    if (const std::uint32_t left = pause_.load(std::memory_order_relaxed); left != 0) {
      // Two lanes may count one replay; that is exact enough.
      pause_.store(left - 1, std::memory_order_relaxed);
      return false;
    }
    Status status = make_ready(lane, table, arguments);
    if (status.ok()) status = api_.launch(stream, instances_[lane]->executable());
    if (status.ok()) {
      add(launches_, 1);
      return true;
    }
    if (status.code() == StatusCode::kDeviceLost) return status;
    add(refused_, 1);
    pause();
    return false;
  }

  GraphCounts counts() const noexcept {
    const auto read = [](const auto& count) { return count.load(std::memory_order_relaxed); };
    return {read(launches_), read(builds_), read(updated_nodes_), read(refused_)};
  }

 private:
  GraphCommandBuffer(const Api& api, const hal::RecordedCommands& recording) noexcept
      : CommandBuffer(recording, true), api_(api), shape_{recording, {}, {}} {}

  Status make_ready(std::uint32_t lane, const hal::BoundRange* table,
                    Arguments& arguments) const noexcept {
    if (instances_[lane] == nullptr) {
      instances_[lane].reset(new (std::nothrow) GraphInstance<Api>);
      if (instances_[lane] == nullptr) return no_memory(Api::kDriver);
    }
    GraphInstance<Api>& graph = *instances_[lane];
    const bool was_built = graph.is_built();
    if (was_built) {
      using Update = typename GraphInstance<Api>::Update;
      std::uint32_t updated = 0;
      HALYARD_ASSIGN_OR_RETURN(const Update update,
                               graph.update(api_, shape_, table, arguments, updated));
      if (updated != 0) add(updated_nodes_, updated);
      if (update == Update::kDone) {
        if (rebuilds_.load(std::memory_order_relaxed) != 0) {
          rebuilds_.store(0, std::memory_order_relaxed);
        }
        return {};
      }
    }
    HALYARD_RETURN_IF_ERROR(graph.build(api_, shape_, table, arguments));
    add(builds_, 1);
    if (!was_built) return {};
    const std::uint32_t rebuilds = rebuilds_.load(std::memory_order_relaxed) + 1;
    rebuilds_.store(rebuilds, std::memory_order_relaxed);
    if (rebuilds >= kMostRebuilds) pause();
    return {};
  }

  void pause() const noexcept {
    rebuilds_.store(0, std::memory_order_relaxed);
    if (!is_one_command_) pause_.store(kPause, std::memory_order_relaxed);
  }
  using Count = base::Atomic<std::uint64_t>;
  static void add(Count& count, std::uint64_t more) noexcept {
    count.fetch_add(more, std::memory_order_relaxed);
  }

  const Api api_;
  bool is_one_command_ = false;  // lanes always take it as one command, never in parts
  GraphShape shape_;
  mutable std::unique_ptr<GraphInstance<Api>> instances_[kMaxLanes];  // each by its lane's issuer
  mutable base::Atomic<std::uint32_t> pause_{0};     // replays until the next graph
  mutable base::Atomic<std::uint32_t> rebuilds_{0};  // in a row
  mutable Count launches_{0}, builds_{0}, updated_nodes_{0}, refused_{0};
};

}  // namespace halyard::inline v0::stream
