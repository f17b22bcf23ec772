// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses of lists that live long enough: no compiler warns of them. See does_not_compile.
#include <array>
#include <span>
#include <vector>

#include "halyard/halyard.h"

using namespace halyard;

Status submit(const hal::Queue& queue, const hal::Semaphore& s, const hal::Buffer& x,
              const hal::CommandBuffer& commands, const hal::Fence& fence,
              const std::vector<hal::BufferRange>& table) {
  check(queue.fill(x, 0, 4, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  check(queue.execute(commands, {.bindings = {x}, .constants = {1.0f}, .wait = fence.points()}));

  const hal::Point waits[] = {{s, 1}}, signals[] = {{s, 2}};
  const hal::SubmitInfo info{.wait = waits, .signal = signals};
  check(queue.fill(x, 0, 4, info));
  const hal::ExecuteInfo execute{.bindings = table, .wait = info.wait, .signal = {&signals[0], 1}};
  check(queue.execute(commands, execute));

  const std::array<hal::Point, 2> both = {{{s, 1}, {s, 2}}};
  const hal::Points some = std::span(both).subspan(1);  // a view of an array that lives longer
  return hal::wait_all(some);
}
