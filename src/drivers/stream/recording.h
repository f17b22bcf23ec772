// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings as native calls, one for each command that does work. A stream runs them in the order
// of the recording, which satisfies every barrier, event and edge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/format.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::stream {

// Lanes of a device. Each costs two streams, or one stream and a thread.
inline constexpr unsigned kMaxLanes = 64;

// How recordings are replayed (graph.h).
enum class CommandBufferMode : std::uint8_t { kAuto, kGraph, kStream };

// The commands of a recording that are native commands, in order.
class CommandBuffer : public hal::NativeCommands {
 public:
  // `recording` outlives the result; messages begin with the name `driver`. Returns
  // kResourceExhausted without memory.
  static Result<std::unique_ptr<hal::NativeCommands>> create(const hal::RecordedCommands& recording,
                                                             std::string_view driver) {
    std::unique_ptr<CommandBuffer> commands(new (std::nothrow) CommandBuffer(recording, false));
    if (commands != nullptr && commands->open()) {
      return std::unique_ptr<hal::NativeCommands>(std::move(commands));
    }
    return no_memory(driver);
  }

  std::uint32_t depth() const noexcept override { return command_count(); }

  // Indices of the native commands in recording().commands.
  std::span<const std::uint32_t> native() const noexcept {
    return {native_.data(), native_.size()};
  }
  std::span<const std::uint32_t> native(timeline::CommandSpan span) const noexcept {
    return native_.empty() ? native() : native().subspan(span.first, span.count);
  }
  // Whether this is a GraphCommandBuffer of its lane's Api (graph.h).
  bool has_graphs() const noexcept { return has_graphs_; }

 protected:
  CommandBuffer(const hal::RecordedCommands& recording, bool has_graphs) noexcept
      : hal::NativeCommands(recording), has_graphs_(has_graphs) {}
  // Called once. Returns false without memory.
  [[nodiscard]] bool open() noexcept {
    for (std::uint32_t i = 0; i < recording().commands.size(); ++i) {
      if (hal::does_work(recording().commands[i].kind) && !native_.push_back(i)) return false;
    }
    return true;
  }
  std::uint32_t command_count() const noexcept {
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(native_.size()));
  }
  static Status no_memory(std::string_view driver) {
    return error(StatusCode::kResourceExhausted, "{}: no memory for a recording", driver);
  }

 private:
  const bool has_graphs_;
  base::Array<std::uint32_t> native_;
};

}  // namespace halyard::inline v0::stream
