// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/arguments.h"

namespace halyard::inline v0::metal {

std::uint64_t argument_bytes(const hal::Command& command) noexcept {
  if (command.kind != hal::CommandKind::kDispatch) return 0;
  const auto& executable = static_cast<const Executable&>(*command.dispatch.executable);
  return Arguments::aligned(executable.argument_bytes(command.dispatch.function));
}

ArgumentWriter::ArgumentWriter(const hal::DispatchCommand& command, const hal::ArgumentBlock& block)
    : entry_(static_cast<const Executable&>(*command.executable).entries_[command.function]),
      lock_(entry_.arguments_mutex) {
  const NativeRange at = native_range(block.range(0, entry_.argument_bytes));
  [entry_.arguments.get() setArgumentBuffer:at.buffer offset:at.offset];
}

void ArgumentWriter::set(std::uint32_t binding, const hal::BoundRange& range) {
  const NativeRange at = native_range(range);
  [entry_.arguments.get() setBuffer:at.buffer offset:at.offset atIndex:binding];
}

void ArgumentWriter::set_all(const hal::DispatchCommand& command, const hal::BoundRange* table) {
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    set(i, hal::bind(command.bindings[i], table));
  }
}

}  // namespace halyard::inline v0::metal
