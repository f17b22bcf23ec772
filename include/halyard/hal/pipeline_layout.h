// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PipelineLayout: the descriptor sets, numbered from 0, and the push constants of kernels that
// share a signature. A dispatch maps them to the kernel's parameters:
//
//   bindings   in the order of the sets' numbers, within a set in the order of the bindings'
//              numbers: the first is the kernel's binding 0, the next its binding 1. There are as
//              many as the kernel has.
//   constants  the first Function::constants_size() bytes, with each constant at its
//              ConstantInfo::offset: the layout of a C struct of the constants in their order.
//
//     struct Arguments { float a; std::uint32_t n; } arguments{2, n};
//     recorder.bind_descriptor_set(layout, 0, inputs).bind_descriptor_set(layout, 1, outputs);
//     recorder.push_constants(layout, 0, std::as_bytes(std::span(&arguments, 1)));
//     recorder.dispatch(saxpy, {.items = n});
#pragma once

#include <cstddef>
#include <cstdint>

#include "halyard/base/export.h"
#include "halyard/hal/handle.h"

namespace halyard::inline v0::hal {

class PipelineLayoutObject;

// Vulkan's least maxBoundDescriptorSets and maxPushConstantsSize (Required Limits), which every
// device has. A kernel with more constants takes them from the other dispatch().
inline constexpr std::uint32_t kMaxDescriptorSets = 4;
inline constexpr std::uint32_t kMaxPushConstants = 128;  // bytes

// A handle; safe from any thread. Immutable. Keeps its device open.
class HALYARD_EXPORT PipelineLayout : public Handle<PipelineLayoutObject> {
 public:
  using Handle::Handle;

  // 0 when empty.
  std::size_t set_count() const noexcept;
  std::size_t binding_count() const noexcept;  // of all sets
  std::size_t push_constants_size() const noexcept;
};

}  // namespace halyard::inline v0::hal
