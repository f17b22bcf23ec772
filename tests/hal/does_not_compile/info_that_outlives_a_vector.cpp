// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: temporary whose address is used as value of member of local variable 'info' will be destroyed
#include "halyard/halyard.h"

halyard::Status execute(const halyard::hal::Queue& queue, const halyard::hal::CommandBuffer& commands,
                        const halyard::hal::Fence& fence) {
  const halyard::hal::ExecuteInfo info{.wait = fence.points()};
  return queue.execute(commands, info);
}
