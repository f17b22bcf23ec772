// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BuiltinKernels: copies and fills of any offset and size. Metal's blits cannot do these: on macOS
// their offsets and sizes are multiples of 4, and a fill repeats one byte.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "base/mutex.h"
#include "drivers/metal/retained.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::metal {

// The constants of both kernels, [[buffer(2)]]. Buffers are bound at multiples of 4; `target` and
// `source` are the remaining bytes of the offsets.
struct BuiltinConstants {
  std::uint64_t size = 0;
  std::uint32_t target = 0;   // 0 to 3
  std::uint32_t source = 0;   // 0 to 3
  std::uint32_t pattern = 0;  // a whole word: byte i of the target has byte i % 4
  std::uint32_t padding = 0;
};

inline constexpr std::uint32_t kBuiltinGroupItems = 64;
// The number of groups for a target of `size` bytes.
std::uint32_t builtin_groups(std::uint64_t size) noexcept;

class BuiltinKernels {
 public:
  // Compiles the kernels once; later calls do nothing. Errors as Executable::prepare().
  Status prepare(id<MTLDevice> device);
  void reset() noexcept;

  // After prepare(). The target is [[buffer(0)]], the source of a copy [[buffer(1)]].
  id<MTLComputePipelineState> copy() const noexcept { return copy_.get(); }
  id<MTLComputePipelineState> fill() const noexcept { return fill_.get(); }

 private:
  base::Mutex mutex_;  // held by prepare(), which writes them once
  Retained<id<MTLComputePipelineState>> copy_;
  Retained<id<MTLComputePipelineState>> fill_;
};

}  // namespace halyard::inline v0::metal
