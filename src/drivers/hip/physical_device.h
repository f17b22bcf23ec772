// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: what one device of HIP has, and what it lacks to be a device of Halyard.
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

// HIP 7: the fault of one device is that of all devices of the process.
inline constexpr int kSharedFaults = 7'00'00000;
// HIP 6 renumbered hipMemoryType.
inline constexpr int kNewMemoryTypes = 6'00'00000;

// Of graphs whose nodes are given other parameters (stream/graph_update_test.h).
enum class GraphUpdates : std::uint8_t { kUnknown, kWork, kFail };

// HipApi::prepare_graphs() guards what may change in it.
struct PhysicalDevice : stream::PhysicalDevice {
  std::string address;       // PCI, "0000:03:00.0": cards may have equal UUIDs, or none
  std::string architecture;  // gcnArchName, "gfx942:sramecc+:xnack-"
  std::vector<std::string> target_names;  // what `targets` views
  mutable GraphUpdates graph_updates = GraphUpdates::kUnknown;
};

// The images that a device of this gcnArchName runs, best first: with its features, without them,
// and that of its generic target, if it has one.
std::vector<std::string> image_targets(std::string_view architecture);

// Initializes a library, and lists its devices. kNotFound: there are none; kUnavailable: another
// failure of hipInit. From the end of main() on, no function of it is called any more.
Status start(Functions& hip, std::vector<PhysicalDevice>& devices);

// Whether main() has ended.
bool has_ended() noexcept;

}  // namespace halyard::inline v0::hip
