// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx as functions of this process. Their machine code is trusted:
// a kernel that faults ends the process, so this driver has no fault to report.
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::serial {

class Executable final : public hal::ExecutableImpl {
 public:
  // Loads the best image that this CPU runs. Returns kUnavailable if there is none; the message
  // names the images of the file.
  static Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file);

  kernel::CpuEntry entry(std::uint32_t function) const noexcept { return entries_[function]; }

 private:
  Executable(kernel::Hyx file, Ref<kernel::CpuImage> image,
             base::Array<kernel::CpuEntry> entries) noexcept
      : ExecutableImpl(std::move(file)), image_(std::move(image)), entries_(std::move(entries)) {}

  const Ref<kernel::CpuImage> image_;
  const base::Array<kernel::CpuEntry> entries_;  // in the order of file().kernels()
};

}  // namespace halyard::inline v0::serial
