// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BoundState: the descriptor sets and push constants that a recorder has bound, and what a dispatch
// takes out of them. Errors name what is wrong; the recorder puts the command in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/device/device.h"
#include "halyard/base/status.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/pipeline_layout.h"
#include "kernel/reflection.h"

namespace halyard::inline v0::hal {

class BoundState {
 public:
  // Of a recorder for `device`; nothing is called if that is null.
  explicit BoundState(const DeviceObject* device) noexcept : device_(device) {}

  Status bind(const PipelineLayout& layout, std::uint32_t set, const DescriptorSet& descriptors);
  Status push_set(const PipelineLayout& layout, std::uint32_t set, View<Descriptor> descriptors);
  Status push_constants(const PipelineLayout& layout, std::uint32_t offset, Bytes bytes);

  // Fills `bindings`, which has one for each of the kernel's, if everything that the kernel takes
  // is bound.
  Status resolve_for(const kernel::KernelInfo& kernel, std::span<BindingRef> bindings) const;
  // After that: the kernel's constants.
  const std::byte* constants() const noexcept { return constants_; }

 private:
  Status check(const PipelineLayout& layout) const;
  Status check(const PipelineLayout& layout, std::uint32_t set) const;
  Status check_constants(const kernel::KernelInfo& kernel) const;
  void use(const PipelineLayout& layout) noexcept;

  const DeviceObject* const device_;
  PipelineLayout layout_;  // of the latest call
  DescriptorSet sets_[kMaxDescriptorSets];
  std::uint32_t pushed_ = 0;  // bit i: the bytes [4 i, 4 i + 4)
  alignas(8) std::byte constants_[kMaxPushConstants] = {};
};

}  // namespace halyard::inline v0::hal
