// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BoundState: the descriptor sets and push constants that a recorder has bound; resolves the
// bindings and constants of a dispatch. Errors name the reason; the recorder adds the name of the
// command.
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
  // For a recorder of `device`. With a null device no other function may be called.
  explicit BoundState(const DeviceObject* device) noexcept : device_(device) {}

  Status bind(const PipelineLayout& layout, std::uint32_t set, const DescriptorSet& descriptors);
  Status push_set(const PipelineLayout& layout, std::uint32_t set, View<Descriptor> descriptors);
  Status push_constants(const PipelineLayout& layout, std::uint32_t offset, Bytes bytes);

  // Fills `bindings`, one entry for each binding of the kernel. Returns an error if a resource or
  // constant of the kernel is not bound.
  Status resolve_for(const kernel::KernelInfo& kernel, std::span<BindingRef> bindings) const;
  // The kernel's constants. Precondition: resolve_for() succeeded.
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
