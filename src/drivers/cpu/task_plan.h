// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskPlan: which tasks a recording consists of, and their order.
//
//   commands   A  B  barrier  C            tasks   A ─┐           ┌─ C piece 0 ─┐
//                                                  B ─┴─ no work ─┴─ C piece 1 ─┴─ no work
//
// A command of many workgroups or bytes is cut into pieces. A place in the recording where all that
// is before comes to an end (a barrier, a set event, the ends of a command in pieces) is a task
// without work, so that the edges stay as many as the commands.
#pragma once

#include <cstdint>

#include "hal/command.h"
#include "hal/memory/arena.h"
#include "halyard/base/result.h"
#include "hcq/task_graph.h"

namespace halyard::inline v0::cpu {

struct TaskPlan {
  hal::Array<hcq::Task> tasks;  // an edge leads from an earlier to a later one
  hal::Array<hcq::TaskEdge> edges;
  // Whether any two commands may overlap: else the recording is a chain, and needs no graph.
  bool parallel = false;
};

// `work[i]` is the task of command i, in so many pieces as it says; without work for barriers and
// events, which are not looked at there. kResourceExhausted.
Result<TaskPlan> plan_tasks(const hal::Recording& recording, std::span<const hcq::Task> work);

}  // namespace halyard::inline v0::cpu
