// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges that commands access, for the checking mode (timeline/access_checker.h): a fill or
// update writes its target, a copy reads its source and writes its target, a dispatch accesses the
// whole range of each binding as its kernel declares it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hal/recording/command.h"
#include "halyard/base/status.h"
#include "kernel/reflection.h"
#include "timeline/access_checker.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {

// A range that a command accesses. `binding` is the index of a binding of the kernel, or kSource,
// kTarget or kCounts.
struct CommandAccess {
  static constexpr std::uint32_t kSource = ~std::uint32_t{0};
  static constexpr std::uint32_t kTarget = kSource - 1;
  static constexpr std::uint32_t kCounts = kSource - 2;  // of an indirect dispatch
  const CommandRange& range;
  timeline::AccessKind kind;
  std::uint32_t binding;
};

const kernel::KernelInfo& kernel_of(const DispatchCommand& dispatch) noexcept;

// Calls `fn(const CommandAccess&)` for each range.
template <class F>
void for_each_access(const Command& command, F&& fn) {
  using timeline::AccessKind;
  switch (command.kind) {
    case CommandKind::kFill:
      return fn(CommandAccess{command.fill.target, AccessKind::kWrite, CommandAccess::kTarget});
    case CommandKind::kUpdate:
      return fn(CommandAccess{command.update.target, AccessKind::kWrite, CommandAccess::kTarget});
    case CommandKind::kCopy:
      fn(CommandAccess{command.copy.source, AccessKind::kRead, CommandAccess::kSource});
      return fn(CommandAccess{command.copy.target, AccessKind::kWrite, CommandAccess::kTarget});
    case CommandKind::kDispatch: {
      const DispatchCommand& dispatch = command.dispatch;
      const kernel::KernelInfo& kernel = kernel_of(dispatch);
      for (std::uint32_t i = 0; i < dispatch.binding_count; ++i) {
        const bool reads = kernel.bindings[i].access == kernel::Access::kRead;
        fn(CommandAccess{dispatch.bindings[i], reads ? AccessKind::kRead : AccessKind::kWrite, i});
      }
      if (dispatch.counts != nullptr) {
        fn(CommandAccess{*dispatch.counts, AccessKind::kRead, CommandAccess::kCounts});
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

// Calls `fn(const BoundRange&, timeline::AccessKind)` for each range of memory that the command
// reads or writes on the device, resolved with this table to memory of a driver (at_root). Ranges
// may share memory. Allocates nothing. Precondition: the command is issued (bind).
template <class F>
void for_each_memory(const Command& command, const BoundRange* table, F&& fn) {
  for_each_access(command, [&](const CommandAccess& access) {
    fn(at_root(bind(access.range, table)), access.kind);
  });
  if (command.kind == CommandKind::kUpdate && command.update.source_memory != nullptr) {
    const UpdateCommand& update = command.update;
    fn(at_root({update.source_memory, update.source_offset, update.target.length}),
       timeline::AccessKind::kRead);
  }
}

// The same for all commands of a submission: the memory that must be resident while it runs, except
// memory that the driver allocated for its native form.
template <class F>
void for_each_memory(const Operation& operation, F&& fn) {
  switch (operation.kind) {
    case OperationKind::kBarrier:
      return;
    case OperationKind::kCommand:
      return for_each_memory(operation.command, nullptr, fn);
    case OperationKind::kExecute:
      for (const Command& command : operation.native->recording().commands) {
        for_each_memory(command, operation.table, fn);
      }
      return;
  }
}

// "fill", "copy", "saxpy: binding 1 (y)"
std::string describe(const Command& command, std::uint32_t binding);

// Returns kInvalidArgument if two of these resolved bindings overlap, one of them is written, and
// the kernel does not allow it.
Status check_bindings_apart(const kernel::KernelInfo& kernel, const timeline::Access* bindings,
                            std::size_t count);

// Declares an access of `submission`.
void declare(timeline::Submission& submission, const BoundRange& range, timeline::AccessKind kind,
             std::string what);
// Declares all accesses of a command without slots. Returns the errors of check_bindings_apart().
Status declare(timeline::Submission& submission, const Command& command);

}  // namespace halyard::inline v0::hal
