// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DescriptorSetLayout: a schema of numbered bindings. DescriptorSet: the resources bound to them,
// created once and bound in any number of recordings, beside other sets of a PipelineLayout
// (pipeline_layout.h):
//
//     DescriptorSetLayout inputs = device.create_descriptor_set_layout(
//         {{.number = 0, .access = kernel::Access::kRead}, {.number = 4}}).value();
//     DescriptorSet set = device.create_descriptor_set(inputs, {{0, x}, {4, slot(0)}}).value();
//
// Sets and layouts are containers: a recorder copies memory and slots from them with each dispatch,
// and a recording does not refer to them. Every descriptor is a storage buffer, as kernels have no
// others. Layouts are compared by content, not by identity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/hal/buffer.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::hal {

class DescriptorSetLayoutObject;
class DescriptorSetObject;

// At most so many descriptors in all sets of a pipeline layout together: the limit of a kernel.
inline constexpr std::uint32_t kMaxDescriptors = 64;

struct DescriptorBinding {
  std::uint32_t number = 0;  // any; gaps are allowed
  // The access that kernels may have. A dispatch of a kernel with more access is refused.
  kernel::Access access = kernel::Access::kReadWrite;
};

// A handle; safe from any thread. Keeps its device open.
class HALYARD_EXPORT DescriptorSetLayout {
 public:
  DescriptorSetLayout() noexcept = default;
  explicit DescriptorSetLayout(DescriptorSetLayoutObject* object) noexcept;

  std::size_t binding_count() const noexcept;  // 0 when empty

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const DescriptorSetLayout& a,
                         const DescriptorSetLayout& b) noexcept = default;
  DescriptorSetLayoutObject* object() const noexcept {
    return reinterpret_cast<DescriptorSetLayoutObject*>(object_.get());
  }

 private:
  HandleRef<RefCounted> object_;
};

// The resource of a binding: memory, or a slot that each submission fills. A view.
struct Descriptor {
  std::uint32_t number = 0;
  BindingRef resource{};
};

// A handle; safe from any thread. Immutable. Keeps its device and its buffers, as their own handles
// do. A dispatch refuses a set with a deallocated buffer.
class HALYARD_EXPORT DescriptorSet {
 public:
  DescriptorSet() noexcept = default;
  explicit DescriptorSet(DescriptorSetObject* object) noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const DescriptorSet& a, const DescriptorSet& b) noexcept = default;
  DescriptorSetObject* object() const noexcept {
    return reinterpret_cast<DescriptorSetObject*>(object_.get());
  }

 private:
  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
