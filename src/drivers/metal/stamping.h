// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stamping: the times of one traced submission and its commands. Metal reports when a command
// buffer ran, so a traced submission has one buffer for each command, or for a few commands if
// there are many. Counter sample buffers would be finer, but not all devices and systems support
// them.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "drivers/metal/submission.h"
#include "halyard/base/status.h"
#include "trace/tracer.h"

namespace halyard::inline v0::metal {

// Belongs to one slot of a lane. The issuer calls begin() and command(). The thread that sees the
// submission end calls collect(), before the lane reports it.
class Stamping {
 public:
  // Returns kResourceExhausted without memory; then nothing is stamped.
  Status begin(trace::Stamps& stamps, std::uint32_t commands);
  // Adds the next command, which is in the submission's buffer number `buffer`.
  void command(std::uint32_t buffer, const trace::Label& label) noexcept;
  // Does nothing for a submission that is not traced.
  void collect(std::span<const Submission> buffers) noexcept;
  void forget() noexcept { stamps_ = nullptr; }

 private:
  struct Command {
    std::uint32_t buffer;
    trace::Label label;
  };
  trace::Stamps* stamps_ = nullptr;
  base::Array<Command> commands_;
};

}  // namespace halyard::inline v0::metal
