// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/task_plan.h"

#include <algorithm>

#include "base/format.h"

namespace halyard::inline v0::cpu {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kMany = 3;  // edges; with this many or more, a join task saves some

class Planner {
 public:
  explicit Planner(const hal::RecordedCommands& recording) : recording_(recording) {}

  // Returns false without memory.
  bool plan(std::span<const Task> work) {
    if (!ends_.grow(recording_.commands.size()) || !marks_.grow(recording_.event_count)) {
      return false;
    }
    std::fill(marks_.begin(), marks_.end(), kNone);
    const hal::CommandEdge* edge = recording_.edges.data();
    const hal::CommandEdge* const edges_end = edge + recording_.edges.size();
    std::uint32_t commands = 0;
    for (std::uint32_t i = 0; i < recording_.commands.size(); ++i) {
      const hal::Command& command = recording_.commands[i];
      if (!hal::does_work(command.kind)) {
        if (!order(command)) return false;
        continue;
      }
      const hal::CommandEdge* const first = edge;
      while (edge != edges_end && edge->after == i) ++edge;
      if (!add_command(i, work[i], {first, edge})) return false;
      ++commands;
    }
    result_.parallel = deepest_ < commands;
    return true;
  }
  TaskPlan take() { return std::move(result_); }

 private:
  bool add_task(const Task& task, std::uint32_t depth) {
    return result_.tasks.push_back(task) && depth_.push_back(depth) && is_last_.push_back(true);
  }
  std::uint32_t newest() const { return static_cast<std::uint32_t>(result_.tasks.size()) - 1; }

  bool add_edge(std::uint32_t before, std::uint32_t after) {
    is_last_[before] = false;
    depth_[after] = std::max(depth_[after], depth_[before]);
    return result_.edges.push_back({before, after});
  }

  bool add_command(std::uint32_t index, const Task& work, std::span<const hal::CommandEdge> edges) {
    const bool whole = work.pieces == 1;
    const bool joins = edges.size() >= kMany && are_as_before(edges);
    if (!joins) join_ = kNone;
    if (joins && join_ == kNone) {
      if (!add_task({}, 0)) return false;
      join_ = newest();
      if (!add_edges(edges, join_)) return false;
    }
    if (!add_task(whole ? work : Task(), 0)) return false;
    const std::uint32_t begin = newest();
    if (!(joins ? add_edge(join_, begin) : add_edges(edges, begin))) return false;
    last_edges_ = edges;
    last_base_ = base_;
    const std::uint32_t depth = depth_[begin] + 1;
    deepest_ = std::max(deepest_, depth);
    if (whole) {
      depth_[begin] = depth;
    } else {
      for (std::uint32_t piece = 0; piece < work.pieces; ++piece) {
        Task part = work;
        part.piece = piece;
        if (!add_task(part, depth) || !add_edge(begin, newest())) return false;
      }
      if (!add_task({}, depth)) return false;
      for (std::uint32_t piece = 1; piece <= work.pieces; ++piece) {
        if (!add_edge(begin + piece, newest())) return false;
      }
    }
    ends_[index] = newest();
    at_ = index + 1;
    return true;
  }

  // Whether the previous command has the same edges. Without a join, a stage of commands that each
  // follow the whole stage before would have an edge for each pair.
  bool are_as_before(std::span<const hal::CommandEdge> edges) const {
    return base_ == last_base_ &&
           std::ranges::equal(edges, last_edges_, {}, &hal::CommandEdge::before,
                              &hal::CommandEdge::before);
  }

  // A command without edges follows only the base. Commands recorded since the base already follow
  // it, and the base follows the commands recorded before it.
  bool add_edges(std::span<const hal::CommandEdge> edges, std::uint32_t to) {
    bool follows_base = base_ == kNone;
    for (const hal::CommandEdge& edge : edges) {
      const std::uint32_t before = ends_[edge.before];
      if (base_ != kNone && before < base_) continue;
      if (edge.before >= base_since_) follows_base = true;
      if (!add_edge(before, to)) return false;
    }
    return follows_base || add_edge(base_, to);
  }

  // Adds the order of barriers and events. Their places follow each other, so a command that
  // follows two places needs an edge only from the later place.
  bool order(const hal::Command& command) {
    switch (command.kind) {
      case hal::CommandKind::kBarrier:
        return add_place() && set_base(place_);
      case hal::CommandKind::kSetEvent:
        if (!add_place()) return false;
        marks_[command.event.event] = place_;
        return true;
      case hal::CommandKind::kResetEvent:
        marks_[command.event.event] = kNone;
        return true;
      case hal::CommandKind::kWaitEvent:
        if (const std::uint32_t mark = marks_[command.event.event];
            mark != kNone && (base_ == kNone || mark > base_)) {
          return set_base(mark);
        }
        return true;
      case hal::CommandKind::kFill:
      case hal::CommandKind::kUpdate:
      case hal::CommandKind::kCopy:
      case hal::CommandKind::kDispatch:
        break;
    }
    return true;
  }

  bool set_base(std::uint32_t place) {
    base_ = place;
    base_since_ = at_;
    return true;
  }

  // Adds a task that follows all tasks so far.
  bool add_place() {
    const std::uint32_t since = place_ == kNone ? 0 : place_;
    const auto end = static_cast<std::uint32_t>(result_.tasks.size());
    if (end == since + 1 && place_ != kNone) return true;  // no command since the last place
    if (end == 0) return true;                             // no command at all
    if (!add_task({}, 0)) return false;
    for (std::uint32_t task = since; task < end; ++task) {
      if (is_last_[task] && !add_edge(task, end)) return false;
    }
    place_ = end;
    return true;
  }

  const hal::RecordedCommands& recording_;
  TaskPlan result_;
  hal::Array<std::uint32_t> depth_;  // of each task: commands on the longest way to its end
  hal::Array<bool> is_last_;         // of each task: nothing follows it yet
  hal::Array<std::uint32_t> ends_;   // of each command: the task that ends it
  hal::Array<std::uint32_t> marks_;  // of each event: the place where it was set
  std::uint32_t base_ = kNone;       // the place that all later commands follow
  std::uint32_t base_since_ = 0;     // commands from here on do
  std::uint32_t place_ = kNone;      // the newest place
  std::uint32_t at_ = 0;             // one more than the latest command
  std::uint32_t deepest_ = 0;
  std::span<const hal::CommandEdge> last_edges_;  // of the latest command
  std::uint32_t last_base_ = kNone;               // and its base
  std::uint32_t join_ = kNone;                    // a task that joins last_edges_
};

}  // namespace

Result<TaskPlan> plan_tasks(const hal::RecordedCommands& recording, std::span<const Task> work) {
  Planner planner(recording);
  if (planner.plan(work)) return planner.take();
  return error(StatusCode::kResourceExhausted, "cpu: no memory to order {} commands",
               recording.commands.size());
}

}  // namespace halyard::inline v0::cpu
