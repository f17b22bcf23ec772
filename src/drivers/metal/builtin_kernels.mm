// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/builtin_kernels.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "drivers/metal/error.h"
#include "drivers/metal/executable.h"
#include "drivers/metal/functions.h"

namespace halyard::inline v0::metal {
namespace {

constexpr std::uint64_t kItemBytes = 16;

// Each item handles 16 bytes, then steps on by the size of the grid.
constexpr std::string_view kSource = R"(#include <metal_stdlib>
using namespace metal;

struct Constants {
  ulong size;
  uint target;
  uint source;
  uint pattern;
  uint padding;
};

kernel void halyard_copy(device uchar* target [[buffer(0)]],
                         device const uchar* source [[buffer(1)]],
                         constant Constants& constants [[buffer(2)]],
                         uint item [[thread_position_in_grid]],
                         uint items [[threads_per_grid]]) {
  for (ulong begin = ulong(item) * 16; begin < constants.size; begin += ulong(items) * 16) {
    const ulong end = min(begin + 16, constants.size);
    for (ulong i = begin; i < end; ++i) {
      target[constants.target + i] = source[constants.source + i];
    }
  }
}

kernel void halyard_fill(device uchar* target [[buffer(0)]],
                         constant Constants& constants [[buffer(2)]],
                         uint item [[thread_position_in_grid]],
                         uint items [[threads_per_grid]]) {
  for (ulong begin = ulong(item) * 16; begin < constants.size; begin += ulong(items) * 16) {
    const ulong end = min(begin + 16, constants.size);
    for (ulong i = begin; i < end; ++i) {
      target[constants.target + i] = uchar(constants.pattern >> (8 * uint(i & 3)));
    }
  }
}
)";

Status make(id<MTLDevice> device, id<MTLLibrary> library, std::string_view name,
            Retained<id<MTLComputePipelineState>>& pipeline) {
  const Retained<NSString*> text = make_string(name);
  const Retained<id<MTLFunction>> function =
      text ? new_function(library, text.get()) : Retained<id<MTLFunction>>();
  if (!function) return failed("newFunctionWithName", nil);
  NSError* error = nil;
  pipeline = new_pipeline(device, function.get(), &error);
  return pipeline ? Status() : failed("newComputePipelineStateWithFunction", error);
}

}  // namespace

std::uint32_t builtin_groups(std::uint64_t size) noexcept {
  constexpr std::uint64_t kBytes = kBuiltinGroupItems * kItemBytes;
  // Enough groups to fill a device. Their items loop over larger targets.
  constexpr std::uint64_t kMost = 8192;
  return size == 0 ? 0 : static_cast<std::uint32_t>(std::min((size - 1) / kBytes + 1, kMost));
}

Status BuiltinKernels::prepare(id<MTLDevice> device) {
  base::LockGuard lock(mutex_);
  if (copy_ && fill_) return {};
  HALYARD_ASSIGN_OR_RETURN(const Retained<id<MTLLibrary>> library, compile(device, kSource));
  HALYARD_RETURN_IF_ERROR(make(device, library.get(), "halyard_copy", copy_));
  return make(device, library.get(), "halyard_fill", fill_);
}

void BuiltinKernels::reset() noexcept {
  copy_.reset();
  fill_.reset();
}

}  // namespace halyard::inline v0::metal
