// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/recording/accesses.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "hal/device/driver.h"

namespace halyard::inline v0::hal {

using timeline::Access;
using timeline::AccessKind;

const kernel::KernelInfo& kernel_of(const DispatchCommand& dispatch) noexcept {
  return dispatch.executable->file().kernels()[dispatch.function];
}

std::string describe(const Command& command, std::uint32_t binding) {
  switch (command.kind) {
    case CommandKind::kFill:
      return "fill";
    case CommandKind::kUpdate:
      return "update";
    case CommandKind::kCopy:
      return "copy";
    case CommandKind::kDispatch: {
      const kernel::KernelInfo& kernel = kernel_of(command.dispatch);
      if (binding == CommandAccess::kCounts) return base::format("{}: group counts", kernel.name);
      return base::format("{}: binding {} ({})", kernel.name, binding,
                          kernel.bindings[binding].name);
    }
    case CommandKind::kBarrier:
    case CommandKind::kSetEvent:
    case CommandKind::kResetEvent:
    case CommandKind::kWaitEvent:
      break;
  }
  return "barrier";
}

Status check_bindings_apart(const kernel::KernelInfo& kernel, const Access* bindings,
                            std::size_t count) {
  if (kernel.may_overlap) return {};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (!conflict(bindings[i], bindings[k])) continue;
      return error(StatusCode::kInvalidArgument,
                   "{}: bindings {} ({}) and {} ({}) overlap in bytes {} to {} of an allocation, and "
                   "one of them is written; give them separate memory, or declare the kernel with "
                   "HY_MAY_OVERLAP",
                   kernel.name, k, kernel.bindings[k].name, i, kernel.bindings[i].name,
                   std::max(bindings[i].begin, bindings[k].begin),
                   std::min(bindings[i].end, bindings[k].end));
    }
  }
  return {};
}

void declare(timeline::Submission& submission, const BoundRange& range, AccessKind kind,
             std::string what) {
  submission.declare().accesses.push_back(
      {range.memory->serial(), range.offset, range.offset + range.length, kind,
       std::make_shared<const std::string>(std::move(what))});
}

Status declare(timeline::Submission& submission, const Command& command) {
  for_each_access(command, [&](const CommandAccess& access) {
    declare(submission, {access.range.memory, access.range.offset, access.range.length},
            access.kind, describe(command, access.binding));
  });
  if (command.kind != CommandKind::kDispatch) return {};
  const std::vector<Access>& accesses = submission.declare().accesses;
  return check_bindings_apart(kernel_of(command.dispatch), accesses.data(),
                              std::min<std::size_t>(accesses.size(), command.dispatch.binding_count));
}

}  // namespace halyard::inline v0::hal
