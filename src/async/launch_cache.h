// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaunchCache: launches to be made again. A call of the same kernel on arrays of the same shapes
// differs from the one before in memory and scalars alone, so these are put into its launch, and
// what follows from shapes is neither checked nor computed twice.
//
// One tree at a time: it is a timeline's, so it needs no lock, and trees that run at once have one
// each. It keeps nothing alive, since a launch is a view, and reads nothing of an old launch that
// may be gone: kernels stay as long as their device, and memory is replaced before it is looked at.
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
  // One that was made before; null: to be made. Both stay until the next call; the grid is the
  // caller's to set where it is not that of tiles.
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
    // Whether the launch is one of these now, too.
    bool take(const KernelSignature& signature, hal::View<KernelArray> given,
              hal::View<hal::Constant> scalars);

    const BoundKernel* kernel = nullptr;
    base::Array<Geometry> arrays;
    hal::Launch launch;
  };
  // The kernels of a training step and their shapes; one place for each. 10 KB if all are used.
  static constexpr std::size_t kEntries = 16;
  std::unique_ptr<Entry>& place_of(const KernelSignature& kernel,
                                   hal::View<KernelArray> arrays) noexcept;

  std::array<std::unique_ptr<Entry>, kEntries> entries_;
  base::Array<hal::Argument> arguments_;  // of one call; kept for its memory
};

}  // namespace halyard::inline v0::async::detail
