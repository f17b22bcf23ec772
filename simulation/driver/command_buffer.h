// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the commands of an operation on a simulated device, in any order that their dependencies
// permit, or in the recorded order if the operation is issued in parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "hal/recording/command.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::sim {

class CommandBuffer final : public hal::NativeCommands {
 public:
  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept
      : hal::NativeCommands(recording), recording_(recording) {}
  std::uint32_t depth() const noexcept override {
    return std::max<std::uint32_t>(static_cast<std::uint32_t>(recording_.commands.size()), 1);
  }
  void run(const hal::BoundRange* table) const noexcept;
  void run_part(timeline::CommandSpan part, const hal::BoundRange* table) const noexcept;

 private:
  const hal::RecordedCommands recording_;  // its pointers stay valid as long
};

// The function that a stream runs for `issue`. Valid while the operation lives.
std::function<void()> work_of(const timeline::Issue& issue);

std::byte* address_of(const hal::BoundRange& range) noexcept;

}  // namespace halyard::inline v0::sim
