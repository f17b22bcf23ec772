// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx file. load() compiles their source text to an MTLLibrary;
// prepare() makes the compute pipeline of a function on first use. Calling convention: hy-metal-2
// (kernel/device_abi.h).
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

// Compiles `source` to a library, with safe mathematics. Returns kDataLoss, with the compiler's
// text, if it does not compile.
Result<Retained<id<MTLLibrary>>> compile(id<MTLDevice> device, std::string_view source);

class Executable final : public hal::ExecutableImpl {
 public:
  // Returns kUnavailable if there is no image for the device, kDataLoss if the text does not
  // compile or misses a kernel, and kResourceExhausted.
  static Result<Ref<hal::ExecutableImpl>> load(Ref<NativeDevice> device, kernel::Hyx file);

  // Returns kUnavailable if the kernel has more items in a group than the pipeline takes, which
  // depends on its registers, or more shared memory.
  Status prepare(std::uint32_t function) override;
  // Returns the shared memory only: Metal reports no other resource.
  Result<hal::FunctionResources> resources(std::uint32_t function) override;

  // Precondition of these three: prepare() accepted the function.
  id<MTLComputePipelineState> pipeline(std::uint32_t function) const noexcept {
    return entries_[function].pipeline.get();
  }
  MTLSize group_size(std::uint32_t function) const noexcept;
  // Bytes of an argument block; 0 if the kernel has no bindings.
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
    base::Mutex arguments_mutex;  // held while `arguments` is used: for one thread at a time
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
