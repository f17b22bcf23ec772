// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings and single commands as native calls, one for each command that does work. A stream
// runs them in the order of the recording, in which every barrier, event and edge holds by itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/format.h"
#include "drivers/stream/api.h"
#include "drivers/stream/executable.h"
#include "drivers/stream/stamping.h"
#include "hal/command.h"
#include "halyard/base/result.h"
#include "kernel/hyx.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::stream {

// Which commands of a recording are native commands, in their order.
class CommandBuffer final : public hal::NativeCommands {
 public:
  // `recording` outlives the result; `driver` is the name that begins a message.
  // kResourceExhausted.
  static Result<std::unique_ptr<hal::NativeCommands>> create(const hal::RecordedCommands& recording,
                                                             std::string_view driver) {
    std::unique_ptr<CommandBuffer> commands(new (std::nothrow) CommandBuffer(recording));
    bool enough = commands != nullptr;
    for (std::uint32_t i = 0; enough && i < recording.commands.size(); ++i) {
      if (hal::does_work(recording.commands[i].kind)) enough = commands->native_.push_back(i);
    }
    if (enough) return std::unique_ptr<hal::NativeCommands>(std::move(commands));
    return error(StatusCode::kResourceExhausted, "{}: no memory for a recording", driver);
  }

  std::uint32_t depth() const noexcept override {
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(native_.size()));
  }

  const hal::RecordedCommands& recording() const noexcept { return recording_; }
  // Indices into recording().commands, of the native commands in `span`.
  std::span<const std::uint32_t> native(timeline::CommandSpan span) const noexcept {
    const std::span<const std::uint32_t> all(native_.data(), native_.size());
    return all.empty() ? all : all.subspan(span.first, span.count);
  }

 private:
  explicit CommandBuffer(const hal::RecordedCommands& recording) noexcept : recording_(recording) {}

  const hal::RecordedCommands& recording_;
  base::Array<std::uint32_t> native_;
};

// What a lane does with an operation. By its issuer.
template <CommandApi Api>
class StreamCommands {
 public:
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
      case hal::OperationKind::kExecute: {
        const auto& commands = *static_cast<const CommandBuffer*>(operation.native);
        const hal::RecordedCommands& recording = commands.recording();
        for (const std::uint32_t index : commands.native(issue.commands)) {
          HALYARD_RETURN_IF_ERROR(
              put_command(api, stream, recording.commands[index], operation.table));
          started = true;
          if (issue.stamps == nullptr) continue;
          HALYARD_RETURN_IF_ERROR(stamping_.note(api, stream, recording.labels[index]));
        }
        break;
      }
    }
    return stamping_.end(api, stream);
  }

 private:
  // Nothing of the submission runs before its end, so a failure is no start.
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

  static std::uint64_t address_of(const hal::BoundRange& range) noexcept {
    return range.memory->device_address() + range.offset;
  }

  // One native call at most.
  Status put_command(const Api& api, typename Api::Stream stream, const hal::Command& command,
                     const hal::BoundRange* table) noexcept {
    switch (command.kind) {
      case hal::CommandKind::kFill: {
        const hal::BoundRange target = hal::bind(command.fill.target, table);
        if (target.length == 0) break;
        return api.fill(stream, address_of(target), command.fill.pattern, command.fill.pattern_size,
                        target.length);
      }
      case hal::CommandKind::kUpdate: {
        const hal::BoundRange target = hal::bind(command.update.target, table);
        if (target.length == 0) break;
        return api.copy_in(stream, address_of(target), command.update.source, target.length);
      }
      case hal::CommandKind::kCopy: {
        const hal::BoundRange target = hal::bind(command.copy.target, table);
        if (target.length == 0) break;
        return api.copy(stream, address_of(target),
                        address_of(hal::bind(command.copy.source, table)), target.length);
      }
      case hal::CommandKind::kDispatch:
        return dispatch(api, stream, command.dispatch, table);
      case hal::CommandKind::kBarrier:
      case hal::CommandKind::kSetEvent:
      case hal::CommandKind::kResetEvent:
      case hal::CommandKind::kWaitEvent:
        break;
    }
    return {};
  }

  Status dispatch(const Api& api, typename Api::Stream stream, const hal::DispatchCommand& command,
                  const hal::BoundRange* table) noexcept {
    const std::size_t addresses = command.binding_count * sizeof(std::uint64_t);
    for (std::uint32_t i = 0; i < command.binding_count; ++i) {
      const std::uint64_t address = address_of(hal::bind(command.bindings[i], table));
      std::memcpy(arguments_ + i * sizeof address, &address, sizeof address);
    }
    if (command.constants_size != 0) {
      std::memcpy(arguments_ + addresses, command.constants, command.constants_size);
    }
    const std::span<const std::byte> arguments(arguments_, addresses + command.constants_size);
    const auto function =
        static_cast<const Executable<Api>*>(command.executable)->function(command.function);
    if (command.counts != nullptr) {
      return api.launch_indirect(stream, function, address_of(hal::bind(*command.counts, table)),
                                 arguments);
    }
    // A native library takes no empty grid.
    if (command.groups[0] == 0 || command.groups[1] == 0 || command.groups[2] == 0) return {};
    return api.launch(stream, function, command.groups, arguments);
  }

  Stamping<Api> stamping_;
  alignas(8) std::byte
      arguments_[kernel::kMaxBindings * sizeof(std::uint64_t) + kernel::kMaxConstantsBytes];
};

}  // namespace halyard::inline v0::stream
