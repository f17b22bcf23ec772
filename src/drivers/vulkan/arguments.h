// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument blocks (hal/recording/arguments.h) in Vulkan's memory:
//
//     block of a dispatch, hy-vulkan-2    address of binding 0, 1 ...; constants
//     block of a fill                     its pattern, twice, for bytes at the ends
#pragma once

#include <cstdint>

#include "drivers/vulkan/allocator.h"
#include "hal/recording/arguments.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

struct ArgumentTraits {
  using Device = NativeDevice;
  static constexpr const char* kDriver = "vulkan";
  static Result<Ref<hal::Memory>> allocate(const Ref<NativeDevice>& device, std::uint64_t bytes);
};

using ArgumentHeap = hal::ArgumentHeap<ArgumentTraits>;
using Arguments = hal::Arguments<16>;
using hal::ArgumentBlock;

}  // namespace halyard::inline v0::vulkan
