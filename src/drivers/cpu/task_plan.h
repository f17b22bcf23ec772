// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskPlan: the tasks of a recording, and their order.
//
//   commands   A  B  barrier  C            tasks   A ─┐           ┌─ C piece 0 ─┐
//                                                  B ─┴─ no work ─┴─ C piece 1 ─┴─ no work
//
// A command of many workgroups or bytes is cut into pieces. Places where everything before has
// ended become tasks without work: a barrier, a set event, the end of a command in pieces. If
// several successive commands have the same dependencies, these also get a task without work. So
// there are only as many edges as commands.
#pragma once

#include <cstdint>

#include "drivers/cpu/task_graph.h"
#include "hal/memory/arena.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::cpu {

struct TaskPlan {
  hal::Array<Task> tasks;  // an edge leads from an earlier to a later one
  hal::Array<TaskEdge> edges;
  // Whether any two commands may overlap. If not, the recording is a chain and needs no graph.
  bool parallel = false;
};

// `work[i]` is the task of command i, with its number of pieces. Entries of barriers and events are
// ignored, since their tasks have no work. Returns kResourceExhausted.
Result<TaskPlan> plan_tasks(const hal::RecordedCommands& recording, std::span<const Task> work);

}  // namespace halyard::inline v0::cpu
