// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by all programs: two devices that share memory, one of another runtime, kernels, layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "model.h"

namespace halyard::fuzz {

// Aborts with a message if the call must not return `status`.
void expect(const char* call, const Status& status, Codes codes);

struct World {
  World();
  // Layouts and sets of both devices and of the model have the same indices.
  Layout layout(std::size_t index) const;

  std::vector<hal::Device> devices;
  hal::DriverRegistry elsewhere;
  hal::Device foreign;
  hal::Buffer foreign_buffer;
  hal::Semaphore foreign_semaphore;
  std::vector<hal::Function> functions;  // [2 * device + kernel], and an empty one
  std::vector<hal::DescriptorSetLayout> sets[2];
  std::vector<hal::PipelineLayout> layouts[2];
};

// The first call creates it; it is never destroyed.
World& world();

struct LayoutInfo {
  std::vector<std::size_t> sets;
  std::uint32_t push_size;
};
const std::vector<SetLayout>& set_layouts();
const std::vector<LayoutInfo>& layout_infos();

}  // namespace halyard::fuzz
