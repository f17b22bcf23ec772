// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx as functions of this process.
//
// The machine code is trusted: a kernel that faults ends the process, as any native code does. A
// fault of a checked kernel (kernel/cpu_checked.h) only loses the device. Floating-point and
// denormal modes are those of the thread that happens to run a kernel; Halyard never changes them.
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"
#include "halyard/hcq/cpu.h"
#include "kernel/cpu_checked.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::cpu {

class Executable final : public hal::ExecutableImpl {
 public:
  // Loads the best image that this CPU runs. Returns kUnavailable if there is none; the message
  // names the images of the file.
  static Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file);

  hcq::Kernel entry(std::uint32_t function) const noexcept { return entries_[function]; }

  // Whether this is a checked build, whose entries are for kernel::run_checked().
  bool checked() const noexcept { return checked_; }
  kernel::FaultRecord& faults() const noexcept { return faults_; }

 private:
  Executable(kernel::Hyx file, Ref<kernel::CpuImage> image,
             base::Array<kernel::CpuEntry> entries) noexcept
      : ExecutableImpl(std::move(file)),
        image_(std::move(image)),
        entries_(std::move(entries)),
        checked_(image_->checked()) {}

  const Ref<kernel::CpuImage> image_;
  const base::Array<kernel::CpuEntry> entries_;  // in the order of file().kernels()
  const bool checked_;
  mutable kernel::FaultRecord faults_;
};

}  // namespace halyard::inline v0::cpu
