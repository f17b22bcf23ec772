// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a command to one native command: resolves its slots, converts ranges to addresses, and
// packs bindings and constants. Streams and graphs use the same native commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "drivers/stream/api.h"
#include "drivers/stream/executable.h"
#include "hal/recording/command.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::stream {

// Room for the arguments of one dispatch.
struct Arguments {
  alignas(
      8) std::byte bytes[kernel::kMaxBindings * sizeof(std::uint64_t) + kernel::kMaxConstantsBytes];
};

inline std::uint64_t address_of(const hal::BoundRange& range) noexcept {
  return range.memory->device_address() + range.offset;
}

// Calls one function of `native`, with the parameters of CommandApi after the stream, and returns
// its result:
//
//   nothing()   a command of no bytes, an empty grid, a command that only synchronizes: a native
//               library takes none of them
//   fill, copy, copy_in, launch, launch_indirect
template <CommandApi Api, class Native>
Status put_native(const hal::Command& command, const hal::BoundRange* table, Arguments& arguments,
                  Native&& native) noexcept {
  switch (command.kind) {
    case hal::CommandKind::kFill: {
      const hal::BoundRange target = hal::bind(command.fill.target, table);
      if (target.length == 0) break;
      return native.fill(address_of(target), command.fill.pattern, command.fill.pattern_size,
                         target.length);
    }
    case hal::CommandKind::kUpdate: {
      const hal::BoundRange target = hal::bind(command.update.target, table);
      if (target.length == 0) break;
      return native.copy_in(address_of(target), command.update.source, target.length);
    }
    case hal::CommandKind::kCopy: {
      const hal::BoundRange target = hal::bind(command.copy.target, table);
      const hal::BoundRange source = hal::bind(command.copy.source, table);
      if (target.length == 0) break;
      return native.copy(address_of(target), address_of(source), target.length);
    }
    case hal::CommandKind::kDispatch: {
      const hal::DispatchCommand& dispatch = command.dispatch;
      const std::size_t addresses = dispatch.binding_count * sizeof(std::uint64_t);
      for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) {
        const std::uint64_t address = address_of(hal::bind(dispatch.bindings[i], table));
        std::memcpy(arguments.bytes + i * sizeof address, &address, sizeof address);
      }
      if (dispatch.constants_size != 0) {
        std::memcpy(arguments.bytes + addresses, hal::constants_of(dispatch, table),
                    dispatch.constants_size);
      }
      const std::span<const std::byte> packed(arguments.bytes, addresses + dispatch.constants_size);
      const auto function =
          static_cast<const Executable<Api>*>(dispatch.executable)->function(dispatch.function);
      if (dispatch.counts != nullptr) {
        return native.launch_indirect(function, address_of(hal::bind(*dispatch.counts, table)),
                                      packed);
      }
      if (dispatch.groups[0] == 0 || dispatch.groups[1] == 0 || dispatch.groups[2] == 0) break;
      return native.launch(function, dispatch.groups, packed);
    }
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;
  }
  return native.nothing();
}

}  // namespace halyard::inline v0::stream
