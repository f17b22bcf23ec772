// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx as an MTLLibrary, compiled from source text when it is
// loaded, and compute pipelines, each made when its function is first asked for. Calling
// convention: hy-metal-2 (kernel/device_abi.h).
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "drivers/metal/native_device.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::metal {

// A library of that text, with safe mathematics. kDataLoss with the compiler's text.
Result<Retained<id<MTLLibrary>>> compile(id<MTLDevice> device, std::string_view source);

class Executable final : public hal::ExecutableImpl {
 public:
  // kUnavailable: no image for the device; kDataLoss: a text that does not compile, or a kernel
  // that is not in it; kResourceExhausted.
  static Result<Ref<hal::ExecutableImpl>> load(Ref<NativeDevice> device, kernel::Hyx file);

  // kUnavailable: the pipeline takes fewer items in a group than the kernel has, which depends on
  // its registers, or less shared memory.
  Status prepare(std::uint32_t function) override;
  // How much shared memory; Metal does not say more.
  Result<hal::FunctionResources> resources(std::uint32_t function) override;

  // Of functions that prepare() accepted:
  id<MTLComputePipelineState> pipeline(std::uint32_t function) const noexcept {
    return entries_[function].pipeline.get();
  }
  MTLSize group_size(std::uint32_t function) const noexcept;
  // Bytes of an argument block; 0: the kernel has no bindings.
  std::uint64_t argument_bytes(std::uint32_t function) const noexcept {
    return entries_[function].argument_bytes;
  }

 private:
  friend class ArgumentWriter;
  struct Entry {
    Retained<id<MTLFunction>> function;
    Retained<id<MTLComputePipelineState>> pipeline;
    Retained<id<MTLArgumentEncoder>> arguments;  // nil without bindings
    std::uint64_t argument_bytes = 0;
    base::Mutex arguments_mutex;  // held while `arguments` is used: it writes one block at a time
  };

  Executable(Ref<NativeDevice> device, kernel::Hyx file) noexcept
      : ExecutableImpl(std::move(file)), device_(std::move(device)) {}
  ~Executable() override;
  Status create();
  Status create_pipeline(const kernel::KernelInfo& kernel, Entry& entry);

  const Ref<NativeDevice> device_;
  base::Mutex mutex_;                 // held by prepare(), which writes an entry once
  std::unique_ptr<Entry[]> entries_;  // in the order of file().kernels()
};

}  // namespace halyard::inline v0::metal
