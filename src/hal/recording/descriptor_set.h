// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects of the handles DescriptorSetLayout, DescriptorSet and PipelineLayout. Only handles
// own them: recordings and submissions refer to the buffers in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "hal/device/device.h"
#include "hal/memory/arena.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/descriptor_set.h"
#include "halyard/hal/pipeline_layout.h"

namespace halyard::inline v0::hal {

class DescriptorSetLayoutObject final : public RefCounted {
 public:
  static Result<DescriptorSetLayout> create(DeviceObject& device, View<DescriptorBinding> bindings);

  DeviceObject& device() const noexcept { return *device_.get(); }
  // Sorted by number, without duplicates.
  std::span<const DescriptorBinding> bindings() const noexcept {
    return {bindings_.data(), bindings_.size()};
  }
  // Whether the layouts are compatible: a set of either can be bound for the other.
  bool same_as(const DescriptorSetLayoutObject& other) const noexcept;

 private:
  explicit DescriptorSetLayoutObject(DeviceObject& device) noexcept : device_(&device) {}

  HandleRef<DeviceObject> device_;
  Array<DescriptorBinding> bindings_;
};

class DescriptorSetObject final : public RefCounted {
 public:
  // Precondition: `layout` belongs to `device`.
  static Result<DescriptorSet> create(const DeviceObject& device, const DescriptorSetLayout& layout,
                                      View<Descriptor> descriptors);

  const DescriptorSetLayoutObject& layout() const noexcept { return *layout_.object(); }
  // The resource of the layout's binding at this index.
  const BindingRef& resource(std::size_t index) const noexcept { return entries_[index].resource; }

 private:
  struct Entry {
    Buffer buffer;  // keeps a direct resource alive
    BindingRef resource;
    bool given = false;
  };
  DescriptorSetObject(DescriptorSetLayout layout, std::unique_ptr<Entry[]> entries) noexcept
      : layout_(std::move(layout)), entries_(std::move(entries)) {}

  DescriptorSetLayout layout_;
  std::unique_ptr<Entry[]> entries_;
};

class PipelineLayoutObject final : public RefCounted {
 public:
  static Result<PipelineLayout> create(DeviceObject& device, View<DescriptorSetLayout> sets,
                                       std::uint32_t push_constants_size);

  DeviceObject& device() const noexcept { return *device_.get(); }
  std::size_t set_count() const noexcept { return set_count_; }
  const DescriptorSetLayout& set(std::size_t index) const noexcept { return sets_[index]; }
  std::size_t binding_count() const noexcept { return binding_count_; }
  std::uint32_t push_constants_size() const noexcept { return push_constants_size_; }
  // The number of leading sets that have the same layout in both.
  std::size_t common_sets(const PipelineLayoutObject& other) const noexcept;

 private:
  explicit PipelineLayoutObject(DeviceObject& device) noexcept : device_(&device) {}

  HandleRef<DeviceObject> device_;
  DescriptorSetLayout sets_[kMaxDescriptorSets];
  std::size_t set_count_ = 0;
  std::size_t binding_count_ = 0;
  std::uint32_t push_constants_size_ = 0;
};

}  // namespace halyard::inline v0::hal
