// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

std::string_view to_string(QueueKind kind) noexcept {
  switch (kind) {
    case QueueKind::kCompute:
      return "compute";
    case QueueKind::kCopy:
      return "copy";
  }
  return "unknown";
}

std::string_view to_string(MemoryType type) noexcept {
  switch (type) {
    case MemoryType::kDeviceLocal:
      return "device-local";
    case MemoryType::kHostVisible:
      return "host-visible";
    case MemoryType::kHostLocal:
      return "host-local";
  }
  return "unknown";
}

}  // namespace halyard::inline v0::hal
