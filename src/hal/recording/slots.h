// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots of a recording's native form: where a replay writes the values of its table, and whether
// they differ from the values of the previous replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/recording/command.h"

namespace halyard::inline v0::hal {

// Calls `visit(slot)` for each use of an entry of the table by the command; an entry that is used
// several times is visited each time.
template <class F>
void for_each_slot(const Command& command, F&& visit) {
  const auto range = [&](const CommandRange& at) {
    if (at.memory == nullptr) visit(at.slot);
  };
  switch (command.kind) {
    case CommandKind::kFill:
      return range(command.fill.target);
    case CommandKind::kUpdate:
      return range(command.update.target);
    case CommandKind::kCopy:
      range(command.copy.source);
      return range(command.copy.target);
    case CommandKind::kDispatch: {
      const DispatchCommand& dispatch = command.dispatch;
      for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) range(dispatch.bindings[i]);
      if (dispatch.counts != nullptr) range(*dispatch.counts);
      for (std::uint32_t i = 0; i < dispatch.constant_use_count; ++i) {
        visit(dispatch.constant_uses[i].slot);
      }
      return;
    }
    case CommandKind::kBarrier:
    case CommandKind::kSetEvent:
    case CommandKind::kResetEvent:
    case CommandKind::kWaitEvent:
      return;
  }
}

// A value that a replay writes once a slot is bound, and the place to write it. `Place` is defined
// by the driver: a pointer into an argument block, or an index of an argument encoder.
template <class Place>
struct SlotPatch {
  enum class What : std::uint8_t {
    kRange,      // the range from `offset` to the slot's end
    kRestSize,   // only the length of that range in bytes
    kConstants,  // the first `offset` bytes of the constants that begin at the entry `slot`
  };
  What what;
  std::uint32_t slot;
  Place where;
  std::uint64_t offset;

  // Calls one function of `writer`:
  //   range(where, BoundRange)   rest_size(where, bytes)   constants(where, span of bytes)
  template <class Writer>
  void write(const BoundRange* table, Writer&& writer) const {
    const BoundRange& bound = table[slot];
    switch (what) {
      case What::kRange:
        return writer.range(where,
                            BoundRange{bound.memory, bound.offset + offset, bound.length - offset});
      case What::kRestSize:
        return writer.rest_size(where, bound.length - offset);
      case What::kConstants:
        return writer.constants(where,
                                std::span(reinterpret_cast<const std::byte*>(&bound), offset));
    }
  }
};

// The value of a table entry that was last written to a native form. Memory is compared by serial
// number, because addresses are reused.
struct SlotValue {
  std::uint64_t serial = 0;  // of the root; 0: the entry is a number
  std::uint64_t offset = 0;  // in the root, or the number's bits
  std::uint64_t length = 0;

  // Precondition: the submission with this entry is issued, as pool memory has no root earlier.
  static SlotValue of(const BoundRange& bound) noexcept {
    if (bound.memory == nullptr) return {.offset = bound.offset};
    const BoundRange root = at_root(bound);
    return {root.memory->serial(), root.offset, root.length};
  }
  friend bool operator==(const SlotValue&, const SlotValue&) noexcept = default;
};

}  // namespace halyard::inline v0::hal
