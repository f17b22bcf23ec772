// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of a .hyx on a simulated device, which runs their code for this
// processor, one workgroup at a time, in any order.
#pragma once

#include <utility>

#include "base/array.h"
#include "hal/device/driver.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::sim {

class Executable final : public hal::ExecutableImpl {
 public:
  // Loads the best image that this processor supports. Returns kUnavailable if there is no such
  // image.
  static Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file);

  // Runs the groups in random order. `command` is a dispatch of this executable.
  void run(const hal::DispatchCommand& command, const hal::BoundRange* table) const;

 private:
  Executable(kernel::Hyx file, Ref<kernel::CpuImage> image,
             base::Array<kernel::CpuEntry> entries) noexcept
      : ExecutableImpl(std::move(file)), image_(std::move(image)), entries_(std::move(entries)) {}

  const Ref<kernel::CpuImage> image_;
  const base::Array<kernel::CpuEntry> entries_;  // in the order of file().kernels()
};

}  // namespace halyard::inline v0::sim
