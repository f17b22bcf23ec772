// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BuiltinKernels: copies and fills that Metal's blits do not do. On macOS a blit has offsets and
// sizes that are multiples of 4, and a fill repeats one byte. For any offset and size.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "base/mutex.h"
#include "drivers/metal/retained.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::metal {

// The constants of both kernels, [[buffer(2)]]. Buffers are bound at multiples of 4, and the bytes
// begin so many later.
struct BuiltinConstants {
  std::uint64_t size = 0;
  std::uint32_t target = 0;   // 0 to 3
  std::uint32_t source = 0;   // 0 to 3
  std::uint32_t pattern = 0;  // a whole word: byte i of the target has byte i % 4
  std::uint32_t padding = 0;
};

inline constexpr std::uint32_t kBuiltinGroupItems = 64;
// The groups for a target of that size.
std::uint32_t builtin_groups(std::uint64_t size) noexcept;

class BuiltinKernels {
 public:
  // Compiles the kernels, once; later calls do nothing. Errors as Executable::prepare.
  Status prepare(id<MTLDevice> device);
  void reset() noexcept;

  // After prepare(). Target [[buffer(0)]], source of a copy [[buffer(1)]].
  id<MTLComputePipelineState> copy() const noexcept { return copy_.get(); }
  id<MTLComputePipelineState> fill() const noexcept { return fill_.get(); }

 private:
  base::Mutex mutex_;  // held by prepare(), which writes each once
  Retained<id<MTLComputePipelineState>> copy_;
  Retained<id<MTLComputePipelineState>> fill_;
};

}  // namespace halyard::inline v0::metal
