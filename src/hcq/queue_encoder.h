// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// QueueEncoder: makes the words of one kind of hardware queue. Only the encoder of a queue knows
// words; it calls nothing of the system.
#pragma once

#include <cstdint>
#include <span>

#include "halyard/base/status.h"
#include "hcq/command_list.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::hcq {

class QueueEncoder {
 public:
  virtual ~QueueEncoder() = default;

  // Appends the words of a command that is not kRaw or kBound. Every number and address that it
  // writes is a field with its role, so that it can be changed; WordList::begin_command() has been
  // called. `address`: of a kExec, where the device reads the arguments; of a kSignal, kWait and
  // kTimestamp, the signal's words, or 0 if they are not known yet. A wait ends its segment, since
  // hardware fetches ahead and the words behind it may still change. kUnimplemented for a command
  // that the queue does not have.
  virtual Status encode(WordList& words, const detail::Command& command, std::uint64_t address) = 0;
  // Appends a command that stores the device's time at `address`, once all earlier ones are done.
  virtual Status encode_time(WordList& words, std::uint64_t address) = 0;

  // Fills `words` with commands that do nothing.
  virtual void fill(std::span<std::uint32_t> words) const noexcept = 0;

  // Where the device reads the arguments of kernels: a multiple of it, in bytes.
  virtual std::uint32_t arguments_alignment() const noexcept { return detail::kArgsBlock; }
};

}  // namespace halyard::inline v0::hcq
