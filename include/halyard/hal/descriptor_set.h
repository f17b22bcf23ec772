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
#include "halyard/hal/buffer.h"
#include "halyard/hal/handle.h"
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
class HALYARD_EXPORT DescriptorSetLayout : public Handle<DescriptorSetLayoutObject> {
 public:
  using Handle::Handle;

  std::size_t binding_count() const noexcept;  // 0 when empty
};

// The resource of a binding: memory, or a slot that each submission fills. A view.
struct Descriptor {
  std::uint32_t number = 0;
  BindingRef resource{};
};

// A handle; safe from any thread. Immutable. Keeps its device and its buffers, as their own handles
// do. A dispatch refuses a set with a deallocated buffer.
class HALYARD_EXPORT DescriptorSet : public Handle<DescriptorSetObject> {
 public:
  using Handle::Handle;
};

}  // namespace halyard::inline v0::hal
