// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/launch_cache.h"

#include <algorithm>
#include <new>

#include "async/device_state.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
namespace {

bool same(const hal::Extents& kept, const hal::Extents* given) noexcept {
  return given != nullptr ? kept == *given : kept.rank() == 0;
}

}  // namespace

bool LaunchCache::Entry::try_rebind(const KernelSignature& signature, hal::View<KernelArray> given,
                                    hal::View<hal::Constant> scalars) {
  if (kernel == nullptr || !(kernel->signature == signature) || given.size() != arrays.size()) {
    return false;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!same(arrays[i].shape, given[i].shape) || !same(arrays[i].tile, given[i].tile) ||
        !launch.rebind(i, given[i].memory.of_buffer())) {
      return false;
    }
  }
  return launch.set_scalars(scalars).ok();
}

std::unique_ptr<LaunchCache::Entry>& LaunchCache::entry_of(const KernelSignature& kernel,
                                                           hal::View<KernelArray> arrays) noexcept {
  std::uintptr_t hash = hash_of(kernel);
  for (const KernelArray& array : arrays) hash = hash * 31 + array.memory.length;
  return entries_[scatter(hash) % kEntries];
}

hal::Launch* LaunchCache::find(const KernelSignature& kernel, hal::View<KernelArray> arrays,
                               hal::View<hal::Constant> scalars) {
  Entry* const entry = entry_of(kernel, arrays).get();
  return entry != nullptr && entry->try_rebind(kernel, arrays, scalars) ? &entry->launch : nullptr;
}

Result<hal::Launch*> LaunchCache::make(DeviceState& device, const KernelSignature& kernel,
                                       hal::View<KernelArray> arrays,
                                       hal::View<hal::Constant> scalars) {
  HALYARD_ASSIGN_OR_RETURN(const BoundKernel* const bound, device.bind(kernel));
  std::unique_ptr<Entry>& entry = entry_of(kernel, arrays);
  if (entry == nullptr) entry.reset(new (std::nothrow) Entry);
  if (entry == nullptr) return no_memory();
  entry->kernel = nullptr;  // empty, if the launch fails
  entry->arrays.shrink(0);
  arguments_.shrink(0);
  for (const KernelArray& array : arrays) {
    const Geometry geometry{array.shape != nullptr ? *array.shape : hal::Extents(),
                            array.tile != nullptr ? *array.tile : hal::Extents()};
    if (!arguments_.push_back(argument_of(array, array.memory.of_buffer())) ||
        !entry->arrays.push_back(geometry)) {
      return no_memory();
    }
  }
  HALYARD_ASSIGN_OR_RETURN(entry->launch,
                           bound->launch({arguments_.data(), arguments_.size()}, scalars));
  entry->kernel = bound;
  return &entry->launch;
}

}  // namespace halyard::inline v0::async::detail
