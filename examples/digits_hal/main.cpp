// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"
#include "trainer.h"

namespace digits {
namespace {

Trained train(const Job& job) {
  const Trainer trainer(job);
  const std::uint64_t steps = job.schedule.steps();
  for (std::uint64_t step = 1; step <= steps + kStepsAhead; ++step) {
    if (step <= steps) trainer.submit(step, step == job.corrupt_step);
    if (step <= kStepsAhead) continue;
    trainer.wait(step - kStepsAhead);
    job.on_loss(trainer.loss(step - kStepsAhead));
  }
  return {trainer.parameters(), trainer.logits(job.test_pixels)};
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  return digits::run_program("digits-hal", argc, argv, digits::train);
}
