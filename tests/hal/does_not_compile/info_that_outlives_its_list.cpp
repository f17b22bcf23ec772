// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// error: array backing initializer list subobject of local variable 'info' will be destroyed
#include "halyard/halyard.h"

halyard::Status submit(const halyard::hal::Queue& queue, const halyard::hal::Semaphore& start) {
  const halyard::hal::SubmitInfo info{.wait = {{start, 1}}};
  return queue.barrier(info);
}
