// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/recording/bound_state.h"

#include <cstring>

#include "hal/recording/descriptor_set.h"
#include "hal/object.h"
#include "hal/validate.h"

namespace halyard::inline v0::hal {
namespace {

constexpr std::size_t kWord = 4;  // bytes; the granularity of pushes

// The words of a range, one bit for each. Precondition: size > 0, the end <= kMaxPushConstants.
constexpr std::uint32_t words(std::size_t offset, std::size_t size) {
  return ~std::uint32_t{0} >> (32 - size / kWord) << offset / kWord;
}
static_assert(words(0, kMaxPushConstants) == ~std::uint32_t{0});

constexpr bool reads(kernel::Access access) { return access != kernel::Access::kWrite; }
constexpr bool writes(kernel::Access access) { return access != kernel::Access::kRead; }

}  // namespace

Status BoundState::check(const PipelineLayout& layout) const {
  if (!layout) return Status(StatusCode::kInvalidArgument, "empty pipeline layout");
  if (const DeviceObject& device = layout.object()->device(); &device != device_) {
    return error(StatusCode::kPermissionDenied, "the pipeline layout is of {}", device.name());
  }
  return {};
}

Status BoundState::check(const PipelineLayout& layout, std::uint32_t set) const {
  HALYARD_RETURN_IF_ERROR(check(layout));
  if (set < layout.set_count()) return {};
  return error(StatusCode::kOutOfRange, "set {} of a pipeline layout with {}", set,
               base::counted(layout.set_count(), "set"));
}

// A set with an equal layout stays bound only if all sets before it do, because these determine
// where its bindings begin.
void BoundState::use(const PipelineLayout& layout) noexcept {
  if (layout_ == layout) return;
  if (layout_) {
    const PipelineLayoutObject& before = *layout_.object();
    for (std::size_t i = before.common_sets(*layout.object()); i < before.set_count(); ++i) {
      sets_[i] = {};
    }
    if (before.push_constants_size() != layout.push_constants_size()) pushed_ = 0;
  }
  layout_ = layout;
}

Status BoundState::bind(const PipelineLayout& layout, std::uint32_t set,
                        const DescriptorSet& descriptors) {
  HALYARD_RETURN_IF_ERROR(check(layout, set));
  if (!descriptors) return Status(StatusCode::kInvalidArgument, "empty descriptor set");
  const DescriptorSetLayoutObject& given = descriptors.object()->layout();
  if (const DeviceObject& device = given.device(); &device != device_) {
    return error(StatusCode::kPermissionDenied, "the descriptor set is of {}", device.name());
  }
  if (!given.same_as(*layout.object()->set(set).object())) {
    return error(StatusCode::kInvalidArgument,
                 "the descriptor set's layout is not that of set {} in the pipeline layout", set);
  }
  use(layout);
  sets_[set] = descriptors;
  return {};
}

Status BoundState::push_set(const PipelineLayout& layout, std::uint32_t set,
                            View<Descriptor> descriptors) {
  HALYARD_RETURN_IF_ERROR(check(layout, set));
  HALYARD_ASSIGN_OR_RETURN(
      DescriptorSet made,
      DescriptorSetObject::create(*device_, layout.object()->set(set), descriptors));
  use(layout);
  sets_[set] = std::move(made);
  return {};
}

Status BoundState::push_constants(const PipelineLayout& layout, std::uint32_t offset, Bytes bytes) {
  HALYARD_RETURN_IF_ERROR(check(layout));
  if (offset % kWord != 0 || bytes.size() % kWord != 0) {
    return error(StatusCode::kInvalidArgument, "{} at offset {}; both are multiples of {}",
                 base::counted(bytes.size(), "byte"), offset, kWord);
  }
  const std::size_t size = layout.push_constants_size();
  if (offset > size || bytes.size() > size - offset) {
    return error(StatusCode::kOutOfRange, "{} bytes at offset {} of {} push constant bytes",
                 bytes.size(), offset, size);
  }
  use(layout);
  if (bytes.empty()) return {};
  std::memcpy(constants_ + offset, bytes.data(), bytes.size());
  pushed_ |= words(offset, bytes.size());
  return {};
}

Status BoundState::resolve_for(const kernel::KernelInfo& kernel,
                               std::span<BindingRef> bindings) const {
  if (!layout_) return Status(StatusCode::kFailedPrecondition, "nothing is bound");
  const PipelineLayoutObject& layout = *layout_.object();
  HALYARD_RETURN_IF_ERROR(check_binding_count(kernel, layout.binding_count()));
  std::size_t next = 0;
  for (std::size_t set = 0; set < layout.set_count(); ++set) {
    const auto in_set = layout.set(set).object()->bindings();
    if (!in_set.empty() && !sets_[set]) {
      return error(StatusCode::kFailedPrecondition, "set {} is not bound", set);
    }
    for (std::size_t i = 0; i < in_set.size(); ++i, ++next) {
      const kernel::BindingInfo& info = kernel.bindings[next];
      if (kValidation && ((reads(info.access) && !reads(in_set[i].access)) ||
                          (writes(info.access) && !writes(in_set[i].access)))) {
        return error(StatusCode::kPermissionDenied,
                     "binding {} ({}) is for {}, set {} binding {} for {}", next, info.name,
                     to_string(info.access), set, in_set[i].number, to_string(in_set[i].access));
      }
      bindings[next] = sets_[set].object()->resource(i);
    }
  }
  return check_constants(kernel);
}

Status BoundState::check_constants(const kernel::KernelInfo& kernel) const {
  if (kernel.constants_bytes > layout_.push_constants_size()) {
    return error(StatusCode::kInvalidArgument,
                 "{} bytes of constants, the pipeline layout has {} bytes of push constants",
                 kernel.constants_bytes, layout_.push_constants_size());
  }
  for (const kernel::ConstantInfo& info : kernel.constants) {
    const std::uint32_t wanted = words(info.offset, info.size);
    if ((pushed_ & wanted) != wanted) {
      return error(StatusCode::kFailedPrecondition, "constant {} (offset {}) is not pushed",
                   info.name, info.offset);
    }
  }
  return {};
}

}  // namespace halyard::inline v0::hal
