// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: properties of one HIP device, and the requirements of Halyard that it lacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/hip/functions.h"
#include "drivers/stream/physical_device.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hip {

inline constexpr std::uint32_t kMaxInFlight = 256;  // native commands in a lane

// From HIP 7 on, the fault of one device is a fault of all devices of the process.
inline constexpr int kSharedFaults = 7'00'00000;
// HIP 6 renumbered hipMemoryType.
inline constexpr int kNewMemoryTypes = 6'00'00000;

// Whether graphs work after updates of their nodes (stream/graph_update_test.h).
enum class GraphUpdates : std::uint8_t { kUnknown, kWork, kFail };

// HipApi::prepare_graphs() guards the mutable member.
struct PhysicalDevice : stream::PhysicalDevice {
  std::string address;       // PCI, "0000:03:00.0": cards may have equal UUIDs, or none
  std::string architecture;  // gcnArchName, "gfx942:sramecc+:xnack-"
  std::vector<std::string> target_names;  // what `targets` views
  mutable GraphUpdates graph_updates = GraphUpdates::kUnknown;
};

// The targets of images that a device with this gcnArchName runs, best first: with its features,
// without them, and its generic target if it has one.
std::vector<std::string> image_targets(std::string_view architecture);

// Initializes a library, and lists its devices. Returns kNotFound if there are none, and
// kUnavailable for any other failure of hipInit. After main() has ended, none of its functions is
// called.
Status start(Functions& hip, std::vector<PhysicalDevice>& devices);

// Whether main() has ended.
bool has_ended() noexcept;

}  // namespace halyard::inline v0::hip
