// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a simulated device does: the commands of an operation, in any order that they leave open.
#pragma once

#include <cstddef>

#include "hal/command.h"

namespace halyard::inline v0::sim {

class CommandBuffer final : public hal::NativeCommands {
 public:
  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept : recording_(recording) {}
  void run(const hal::BoundRange* table) const noexcept;

 private:
  const hal::RecordedCommands recording_;  // what it points to lives as long
};

void run(const hal::Operation& operation) noexcept;

std::byte* address_of(const hal::BoundRange& range) noexcept;

}  // namespace halyard::inline v0::sim
