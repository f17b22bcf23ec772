// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaunchCache: prepared launches. A call of the same kernel on arrays of the same shapes changes
// only the memory and the scalars of its launch; the values that follow from shapes are reused.
//
// Belongs to a TreeTimeline, which one tree at a time owns, so it needs no lock. It keeps no object
// alive, since a launch is a view: kernels live as long as their device, and find() replaces all
// memory before the launch is used.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/array.h"
#include "halyard/async/context.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::async::detail {

struct BoundKernel;
class DeviceState;

class LaunchCache {
 public:
  // Returns a prepared launch with these arguments, or null. Launches of find() and make() are
  // valid until the next call; their grid is that of the tiles.
  hal::Launch* find(const KernelSignature& kernel, hal::View<KernelArray> arrays,
                    hal::View<hal::Constant> scalars);
  // Errors of DeviceState::bind() and BoundKernel::launch(); kResourceExhausted.
  Result<hal::Launch*> make(DeviceState& device, const KernelSignature& kernel,
                            hal::View<KernelArray> arrays, hal::View<hal::Constant> scalars);

 private:
  struct Geometry {
    hal::Extents shape, tile;
  };
  struct Entry {
    // Puts the arguments into the launch. Returns false if it is of another kernel or shape.
    bool try_rebind(const KernelSignature& signature, hal::View<KernelArray> given,
                    hal::View<hal::Constant> scalars);

    const BoundKernel* kernel = nullptr;
    base::Array<Geometry> arrays;
    hal::Launch launch;
  };
  // Enough for the kernels and shapes of a training step. 10 KB if all are used.
  static constexpr std::size_t kEntries = 16;
  std::unique_ptr<Entry>& entry_of(const KernelSignature& kernel,
                                   hal::View<KernelArray> arrays) noexcept;

  std::array<std::unique_ptr<Entry>, kEntries> entries_;
  base::Array<hal::Argument> arguments_;  // a member, so that make() reuses its memory
};

}  // namespace halyard::inline v0::async::detail
