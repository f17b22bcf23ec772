// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver of the simulated native library: sim://?devices=N. Its lanes are of one of the two
// kinds that real drivers have: either each submission writes a progress value that the host and
// peers read, or progress and edges are visible only through markers.
#pragma once

#include <memory>
#include <vector>

#include "hal/device/driver.h"
#include "simulation/driver/native.h"

namespace halyard::inline v0::sim {

struct SimDriverOptions {
  bool marks_every_submission = true;
  bool own_domains = false;  // devices neither wait for each other natively nor share memory
  bool one_way = false;      // but devices wait natively for those of lower ordinals
  std::uint32_t max_in_flight = 64;
  std::uint32_t max_backlog = 1u << 20;
  std::uint32_t busy = 0;                         // in 256: issue() takes only a part of its batch
  bool allocations_fail = true;                   // native.failing_call may be an allocation
  NativeOptions native;                           // of each device
  std::uint32_t faulty_device = 0;                // the device of native.failing_call
  std::vector<NativeDevice*>* devices = nullptr;  // gets each device that is opened; may be null
};

// Objects of the driver stay valid until its devices are destroyed.
std::unique_ptr<hal::Driver> make_sim_driver(const SimDriverOptions& options);

}  // namespace halyard::inline v0::sim
