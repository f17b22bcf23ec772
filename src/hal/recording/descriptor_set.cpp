// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/recording/descriptor_set.h"

#include <algorithm>
#include <new>

#include "hal/object.h"
#include "hal/validate.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::hal {
namespace {

static_assert(kMaxDescriptors == kernel::kMaxBindings);

Status no_memory_for_set() { return Status(StatusCode::kResourceExhausted, "no memory for it"); }

Status check_layout(const DeviceObject& device, const DescriptorSetLayout& layout) {
  if (!layout) return Status(StatusCode::kInvalidArgument, "empty descriptor set layout");
  if (const DeviceObject& other = layout.object()->device(); &other != &device) {
    return error(StatusCode::kPermissionDenied, "the descriptor set layout is of {}", other.name());
  }
  return {};
}

}  // namespace

// ---- DescriptorSetLayout

Result<DescriptorSetLayout> DescriptorSetLayoutObject::create(DeviceObject& device,
                                                              View<DescriptorBinding> bindings) {
  if (bindings.size() > kMaxDescriptors) {
    return error(StatusCode::kOutOfRange, "{} bindings; a kernel has at most {}", bindings.size(),
                 kMaxDescriptors);
  }
  const auto object =
      Ref<DescriptorSetLayoutObject>::adopt(new (std::nothrow) DescriptorSetLayoutObject(device));
  if (!object || !object->bindings_.grow(bindings.size())) return no_memory_for_set();
  const Array<DescriptorBinding>& sorted = object->bindings_;
  std::ranges::copy(bindings, sorted.begin());
  std::ranges::sort(sorted, {}, &DescriptorBinding::number);
  const auto twice = std::ranges::adjacent_find(sorted, {}, &DescriptorBinding::number);
  if (twice != sorted.end()) {
    return error(StatusCode::kInvalidArgument, "binding {} is there twice", twice->number);
  }
  for (const DescriptorBinding& binding : sorted) {
    if (binding.access > kernel::Access::kReadWrite) {
      return error(StatusCode::kInvalidArgument, "binding {}: access {}", binding.number,
                   static_cast<int>(binding.access));
    }
  }
  return DescriptorSetLayout(object.get());
}

bool DescriptorSetLayoutObject::same_as(const DescriptorSetLayoutObject& other) const noexcept {
  return this == &other ||
         std::ranges::equal(bindings(), other.bindings(),
                            [](const DescriptorBinding& a, const DescriptorBinding& b) {
                              return a.number == b.number && a.access == b.access;
                            });
}

std::size_t DescriptorSetLayout::binding_count() const noexcept {
  return object() ? object()->bindings().size() : 0;
}

// ---- DescriptorSet

Result<DescriptorSet> DescriptorSetObject::create(const DeviceObject& device,
                                                  const DescriptorSetLayout& layout,
                                                  View<Descriptor> descriptors) {
  const std::span<const DescriptorBinding> bindings = layout.object()->bindings();
  std::unique_ptr<Entry[]> entries(new (std::nothrow) Entry[bindings.size()]);
  if (!entries) return no_memory_for_set();
  for (const Descriptor& descriptor : descriptors) {
    const auto binding =
        std::ranges::lower_bound(bindings, descriptor.number, {}, &DescriptorBinding::number);
    if (binding == bindings.end() || binding->number != descriptor.number) {
      return error(StatusCode::kInvalidArgument, "binding {} is not in the layout",
                   descriptor.number);
    }
    Entry& entry = entries[static_cast<std::size_t>(binding - bindings.begin())];
    if (entry.given) {
      return error(StatusCode::kInvalidArgument, "binding {} is given twice", descriptor.number);
    }
    const BindingRef& resource = descriptor.resource;
    BoundRange range;
    const Status status =
        resource.indirect ? check_slot(resource.slot) : resolve(device, resource.range, range);
    if (!status.ok()) return at(status, "binding {}", descriptor.number);
    entry = {resource.indirect ? Buffer() : Buffer(resource.range.buffer), resource, true};
  }
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (!entries[i].given) {
      return error(StatusCode::kInvalidArgument, "binding {} is not given", bindings[i].number);
    }
  }
  const auto object = Ref<DescriptorSetObject>::adopt(
      new (std::nothrow) DescriptorSetObject(layout, std::move(entries)));
  if (!object) return no_memory_for_set();
  return DescriptorSet(object.get());
}

// ---- PipelineLayout

Result<PipelineLayout> PipelineLayoutObject::create(DeviceObject& device,
                                                    View<DescriptorSetLayout> sets,
                                                    std::uint32_t push_constants_size) {
  if (sets.size() > kMaxDescriptorSets) {
    return error(StatusCode::kOutOfRange, "{} sets; there are at most {}", sets.size(),
                 kMaxDescriptorSets);
  }
  if (push_constants_size % 4 != 0) {
    return error(StatusCode::kInvalidArgument, "{} of push constants, no multiple of 4",
                 base::counted(push_constants_size, "byte"));
  }
  if (push_constants_size > kMaxPushConstants) {
    return error(StatusCode::kOutOfRange, "{} bytes of push constants; there are at most {}",
                 push_constants_size, kMaxPushConstants);
  }
  const auto object =
      Ref<PipelineLayoutObject>::adopt(new (std::nothrow) PipelineLayoutObject(device));
  if (!object) return no_memory_for_set();
  for (const DescriptorSetLayout& set : sets) {
    if (Status status = check_layout(device, set); !status.ok()) {
      return at(status, "set {}", object->set_count_);
    }
    object->binding_count_ += set.binding_count();
    object->sets_[object->set_count_++] = set;
  }
  if (object->binding_count_ > kMaxDescriptors) {
    return error(StatusCode::kOutOfRange, "{} bindings in {}; a kernel has at most {}",
                 object->binding_count_, base::counted(sets.size(), "set"), kMaxDescriptors);
  }
  object->push_constants_size_ = push_constants_size;
  return PipelineLayout(object.get());
}

std::size_t PipelineLayoutObject::common_sets(const PipelineLayoutObject& other) const noexcept {
  const std::size_t end = std::min(set_count_, other.set_count_);
  std::size_t count = 0;
  while (count != end && sets_[count].object()->same_as(*other.sets_[count].object())) ++count;
  return count;
}

std::size_t PipelineLayout::set_count() const noexcept {
  return object() ? object()->set_count() : 0;
}

std::size_t PipelineLayout::binding_count() const noexcept {
  return object() ? object()->binding_count() : 0;
}

std::size_t PipelineLayout::push_constants_size() const noexcept {
  return object() ? object()->push_constants_size() : 0;
}

// ---- Device

Result<DescriptorSetLayout> Device::create_descriptor_set_layout(
    View<DescriptorBinding> bindings) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_descriptor_set_layout"));
  Result<DescriptorSetLayout> layout = DescriptorSetLayoutObject::create(*object(), bindings);
  if (layout.ok()) return layout;
  return at(layout.status(), "device {}: create_descriptor_set_layout", object()->name());
}

Result<DescriptorSet> Device::create_descriptor_set(const DescriptorSetLayout& layout,
                                                    View<Descriptor> descriptors) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_descriptor_set"));
  Status status = check_layout(*object(), layout);
  if (status.ok()) {
    Result<DescriptorSet> set = DescriptorSetObject::create(*object(), layout, descriptors);
    if (set.ok()) return set;
    status = set.status();
  }
  return at(status, "device {}: create_descriptor_set", object()->name());
}

Result<PipelineLayout> Device::create_pipeline_layout(View<DescriptorSetLayout> sets,
                                                      std::uint32_t push_constants_size) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "create_pipeline_layout"));
  Result<PipelineLayout> layout =
      PipelineLayoutObject::create(*object(), sets, push_constants_size);
  if (layout.ok()) return layout;
  return at(layout.status(), "device {}: create_pipeline_layout", object()->name());
}

}  // namespace halyard::inline v0::hal
