// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/context_checks.h"

#include "async/device_state.h"
#include "async/tree_recording.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

// False for a slot.
bool is_memory_of(const DeviceState& device, const Storage* storage) noexcept {
  return storage != nullptr && tracked(storage)->device() == &device &&
         !tracked(storage)->is_slot();
}

Status check_usable(const Context& context, const Storage* storage, const char* user) {
  if (storage == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: a tensor that was moved from", user);
  }
  if (!tracked(storage)->is_slot() ||
      (context.recording() != nullptr && context.recording()->has_slot(storage))) {
    return {};
  }
  return error(StatusCode::kInvalidArgument,
               "{}: an argument of a function that was recorded, outside of that recording", user);
}

}  // namespace

Status check_here(const Context& context, const Storage* storage, const char* user) {
  HALYARD_RETURN_IF_ERROR(context.status());
  const DeviceState* const device = context.queue().device().state();
  if (is_memory_of(*device, storage)) [[likely]]
    return {};
  HALYARD_RETURN_IF_ERROR(check_usable(context, storage, user));
  if (tracked(storage)->device() == device) return {};
  return error(StatusCode::kInvalidArgument,
               "{} on {}: a tensor of another device, {}; copy_to brings it here", user,
               device->device().info().uri, tracked(storage)->device()->device().info().uri);
}

Status check_arrays(const Context& context, const KernelSignature& kernel,
                    hal::View<KernelArray> arrays) {
  HALYARD_RETURN_IF_ERROR(context.status());
  const DeviceState& device = *context.queue().device().state();
  for (const KernelArray& array : arrays) {
    if (is_memory_of(device, array.memory.storage)) [[likely]]
      continue;
    HALYARD_RETURN_IF_ERROR(check_here(context, array.memory.storage, kernel.called()));
  }
  return {};
}

Status check_copied(const Context& context, const StorageRange& source, const StorageRange& target,
                    const char* user) {
  HALYARD_RETURN_IF_ERROR(context.status());
  HALYARD_RETURN_IF_ERROR(check_usable(context, source.storage, user));
  return check_usable(context, target.storage, user);
}

}  // namespace halyard::inline v0::async::detail
