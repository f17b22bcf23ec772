// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stamping: the times of one traced submission and its commands. Metal says when a command buffer
// ran, so that a traced submission has one for each command, or for a few where it has many.
// Counter sample buffers would say more, on devices and systems where they say anything at all.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "drivers/metal/submission.h"
#include "halyard/base/status.h"
#include "trace/tracer.h"

namespace halyard::inline v0::metal {

// Of one slot of a lane. begin() and command() by the issuer; collect() by the thread that has seen
// the submission end, before the lane says so.
class Stamping {
 public:
  // kResourceExhausted: then nothing is stamped.
  Status begin(trace::Stamps& stamps, std::uint32_t commands);
  // The next command; it is in buffer `buffer`.
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
