// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StreamCommands: operations as native calls of a stream.
//
//     barrier      none
//     command      one, or none if it has no work
//     recording    one launch of its graph (graph.h), or one call for each command that does work
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/format.h"
#include "drivers/stream/api.h"
#include "drivers/stream/graph.h"
#include "drivers/stream/native_command.h"
#include "drivers/stream/recording.h"
#include "drivers/stream/stamping.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::stream {

// Issues the operations of a lane. Used by its issuer.
template <CommandApi Api>
class StreamCommands {
 public:
  StreamCommands() noexcept = default;
  // `lane`: the index among the live lanes of its device, below kMaxLanes and unique.
  explicit StreamCommands(std::uint32_t lane) noexcept : lane_(lane) {}

  static bool is_empty(const timeline::Issue& issue) noexcept {
    const auto& operation = *static_cast<const hal::Operation*>(issue.operation);
    return operation.kind == hal::OperationKind::kBarrier &&
           operation.event.use == hal::NativeEvent::Use::kNone && issue.stamps == nullptr;
  }

  Status put(const Api& api, typename Api::Stream stream, const timeline::Issue& issue,
             bool& started) noexcept {
    const auto& operation = *static_cast<const hal::Operation*>(issue.operation);
    HALYARD_RETURN_IF_ERROR(stamping_.begin(api, stream, issue.stamps, issue.commands.count));
    if (issue.stamps != nullptr) started = true;
    switch (operation.kind) {
      case hal::OperationKind::kBarrier:
        HALYARD_RETURN_IF_ERROR(put_event(api, stream, operation.event));
        break;
      case hal::OperationKind::kCommand:
        HALYARD_RETURN_IF_ERROR(put_command(api, stream, operation.command, nullptr));
        started = true;
        if (issue.stamps == nullptr) break;
        HALYARD_RETURN_IF_ERROR(
            stamping_.note(api, stream, {.name = hal::name_of(operation.command)}));
        break;
      case hal::OperationKind::kExecute:
        HALYARD_RETURN_IF_ERROR(execute(api, stream, operation, issue, started));
        break;
    }
    return stamping_.end(api, stream);
  }

 private:
  // The event is the whole submission, so nothing has started if the call fails.
  static Status put_event(const Api& api, typename Api::Stream stream,
                          const hal::NativeEvent& event) noexcept {
    switch (event.use) {
      case hal::NativeEvent::Use::kNone:
        break;
      case hal::NativeEvent::Use::kWait:
        return api.wait(stream, static_cast<typename Api::Event>(event.handle));
      case hal::NativeEvent::Use::kRecord:
        return api.record(static_cast<typename Api::Event>(event.handle), stream);
    }
    return {};
  }

  Status execute(const Api& api, typename Api::Stream stream, const hal::Operation& operation,
                 const timeline::Issue& issue, bool& started) noexcept {
    const auto& commands = *static_cast<const CommandBuffer*>(operation.native);
    if constexpr (GraphApi<Api>) {
      if (commands.has_graphs()) {
        const auto& graphs = static_cast<const GraphCommandBuffer<Api>&>(commands);
        HALYARD_ASSIGN_OR_RETURN(const bool launched,
                                 graphs.launch(stream, lane_, operation.table, arguments_));
        if (launched) return started = true, Status();
      }
    }
    // A recording with graphs is never issued in parts.
    const std::span<const std::uint32_t> native =
        commands.has_graphs() ? commands.native() : commands.native(issue.commands);
    const hal::RecordedCommands& recording = commands.recording();
    for (const std::uint32_t index : native) {
      HALYARD_RETURN_IF_ERROR(put_command(api, stream, recording.commands[index], operation.table));
      started = true;
      if (issue.stamps == nullptr) continue;
      HALYARD_RETURN_IF_ERROR(stamping_.note(api, stream, recording.labels[index]));
    }
    return {};
  }

  struct Calls {
    const Api& api;
    typename Api::Stream stream;

    Status nothing() noexcept { return {}; }
    Status fill(std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                std::uint64_t size) noexcept {
      return api.fill(stream, target, pattern, pattern_size, size);
    }
    Status copy(std::uint64_t target, std::uint64_t source, std::uint64_t size) noexcept {
      return api.copy(stream, target, source, size);
    }
    Status copy_in(std::uint64_t target, const std::byte* source, std::uint64_t size) noexcept {
      return api.copy_in(stream, target, source, size);
    }
    Status launch(const typename Api::Function& function, const std::uint32_t (&groups)[3],
                  std::span<const std::byte> arguments) noexcept {
      return api.launch(stream, function, groups, arguments);
    }
    Status launch_indirect(const typename Api::Function& function, std::uint64_t counts,
                           std::span<const std::byte> arguments) noexcept {
      if constexpr (requires { api.launch_indirect(stream, function, counts, arguments); }) {
        return api.launch_indirect(stream, function, counts, arguments);
      } else {
        return error(StatusCode::kUnimplemented,
                     "{}: no call of a stream reads the counts of a dispatch from memory",
                     Api::kDriver);
      }
    }
  };

  // Makes at most one native call.
  Status put_command(const Api& api, typename Api::Stream stream, const hal::Command& command,
                     const hal::BoundRange* table) noexcept {
    return put_native<Api>(command, table, arguments_, Calls{api, stream});
  }

  std::uint32_t lane_ = 0;
  Stamping<Api> stamping_;
  Arguments arguments_;
};

}  // namespace halyard::inline v0::stream
