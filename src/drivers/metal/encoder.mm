// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/encoder.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "drivers/metal/error.h"
#include "drivers/metal/functions.h"
#include "hal/recording/accesses.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::metal {
namespace {

// The alignment of blits on macOS:
// https://developer.apple.com/documentation/metal/mtlblitcommandencoder
constexpr std::uint64_t kWord = 4;

// The buffers and constants of builtin_kernels.mm.
constexpr NSUInteger kTarget = 0, kSource = 1, kConstants = 2;

constexpr MTLResourceUsage kReads = MTLResourceUsageRead;
constexpr MTLResourceUsage both(MTLResourceUsage a, MTLResourceUsage b) noexcept {
  return static_cast<MTLResourceUsage>(static_cast<NSUInteger>(a) | static_cast<NSUInteger>(b));
}
constexpr MTLResourceUsage kReadsAndWrites = both(MTLResourceUsageRead, MTLResourceUsageWrite);

// The pattern as a whole word.
std::uint32_t word_of(const hal::FillCommand& command) noexcept {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < sizeof word; ++i) {
    word |= (command.pattern >> 8 * (i % command.pattern_size) & 0xff) << 8 * i;
  }
  return word;
}

constexpr bool is_whole(std::uint64_t value) noexcept { return value % kWord == 0; }

}  // namespace

void Encoder::begin(id<MTLCommandBuffer> buffer) noexcept {
  end();
  buffer_ = buffer;
  fenced_ = worked_ = barrier_ = false;
}

void Encoder::end() noexcept {
  [compute_.get() endEncoding];
  [blit_.get() endEncoding];
  compute_.reset();
  blit_.reset();
}

void Encoder::close() noexcept {
  if (!compute_ && !blit_) return;
  [compute_.get() updateFence:fence_];
  [blit_.get() updateFence:fence_];
  fenced_ = true;
  end();
}

Status Encoder::open_compute() {
  if (compute_) {
    if (barrier_) [compute_.get() memoryBarrierWithScope:MTLBarrierScopeBuffers];
  } else {
    close();
    compute_ = new_compute_encoder(buffer_);
    if (!compute_) return failed("computeCommandEncoder", nil);
    if (fenced_) [compute_.get() waitForFence:fence_];
    pipeline_ = nil;
    declared_.shrink(0);
  }
  barrier_ = false;
  worked_ = true;
  return {};
}

Status Encoder::open_blit() {
  if (barrier_ || !blit_) {
    close();
    blit_ = new_blit_encoder(buffer_);
    if (!blit_) return failed("blitCommandEncoder", nil);
    if (fenced_) [blit_.get() waitForFence:fence_];
  }
  barrier_ = false;
  worked_ = true;
  return {};
}

Status Encoder::add(const hal::Command& command, const hal::BoundRange* table,
                    const hal::ArgumentBlock& block) {
  switch (command.kind) {
    case hal::CommandKind::kFill:
      return fill(command.fill, native_range(hal::bind(command.fill.target, table)));
    case hal::CommandKind::kUpdate: {
      const hal::UpdateCommand& update = command.update;
      const hal::BoundRange target = hal::bind(update.target, table);
      if (target.length == 0) return {};
      return copy(native_range({update.source_memory, update.source_offset, target.length}),
                  native_range(target));
    }
    case hal::CommandKind::kCopy:
      return copy(native_range(hal::bind(command.copy.source, table)),
                  native_range(hal::bind(command.copy.target, table)));
    case hal::CommandKind::kDispatch:
      return dispatch(command.dispatch, table, block);
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;  // walk_with_barriers() has their barriers
  }
  return {};
}

void Encoder::declare(id<MTLBuffer> buffer, MTLResourceUsage usage) noexcept {
  Declared* const known = std::ranges::find(declared_, buffer, &Declared::buffer);
  if (known != declared_.end()) {
    if (both(known->usage, usage) == known->usage) return;
    known->usage = both(known->usage, usage);
  } else {
    (void)declared_.push_back({buffer, usage});  // without memory, declared again
  }
  [compute_.get() useResource:buffer usage:usage];
}

void Encoder::set_pipeline(id<MTLComputePipelineState> pipeline) noexcept {
  if (pipeline == pipeline_) return;
  pipeline_ = pipeline;
  [compute_.get() setComputePipelineState:pipeline];
}

Status Encoder::fill(const hal::FillCommand& command, const NativeRange& target) {
  if (target.length == 0) return {};
  const std::uint32_t word = word_of(command);
  const bool is_one_byte = word == (word & 0xff) * 0x0101'0101u;
  if (is_one_byte && is_whole(target.offset | target.length)) {
    HALYARD_RETURN_IF_ERROR(open_blit());
    [blit_.get() fillBuffer:target.buffer
                      range:NSMakeRange(target.offset, target.length)
                      value:static_cast<std::uint8_t>(word)];
    return {};
  }
  HALYARD_RETURN_IF_ERROR(open_compute());
  const BuiltinConstants constants = {.size = target.length,
                                      .target = static_cast<std::uint32_t>(target.offset % kWord),
                                      .pattern = word};
  set_pipeline(device_.builtins().fill());
  [compute_.get() setBuffer:target.buffer offset:target.offset - constants.target atIndex:kTarget];
  [compute_.get() setBytes:&constants length:sizeof constants atIndex:kConstants];
  [compute_.get() dispatchThreadgroups:MTLSizeMake(builtin_groups(target.length), 1, 1)
                 threadsPerThreadgroup:MTLSizeMake(kBuiltinGroupItems, 1, 1)];
  return {};
}

Status Encoder::copy(const NativeRange& source, const NativeRange& target) {
  if (target.length == 0) return {};
  if (is_whole(source.offset | target.offset | target.length)) {
    HALYARD_RETURN_IF_ERROR(open_blit());
    [blit_.get() copyFromBuffer:source.buffer
                   sourceOffset:source.offset
                       toBuffer:target.buffer
              destinationOffset:target.offset
                           size:target.length];
    return {};
  }
  HALYARD_RETURN_IF_ERROR(open_compute());
  const BuiltinConstants constants = {.size = target.length,
                                      .target = static_cast<std::uint32_t>(target.offset % kWord),
                                      .source = static_cast<std::uint32_t>(source.offset % kWord)};
  set_pipeline(device_.builtins().copy());
  [compute_.get() setBuffer:target.buffer offset:target.offset - constants.target atIndex:kTarget];
  [compute_.get() setBuffer:source.buffer offset:source.offset - constants.source atIndex:kSource];
  [compute_.get() setBytes:&constants length:sizeof constants atIndex:kConstants];
  [compute_.get() dispatchThreadgroups:MTLSizeMake(builtin_groups(target.length), 1, 1)
                 threadsPerThreadgroup:MTLSizeMake(kBuiltinGroupItems, 1, 1)];
  return {};
}

Status Encoder::synchronize(id<MTLBuffer> buffer) {
  HALYARD_RETURN_IF_ERROR(open_blit());
  [blit_.get() synchronizeResource:buffer];
  return {};
}

Status Encoder::dispatch(const hal::DispatchCommand& command, const hal::BoundRange* table,
                         const hal::ArgumentBlock& block) {
  const bool runs = command.counts != nullptr ||
                    (command.groups[0] != 0 && command.groups[1] != 0 && command.groups[2] != 0);
  if (!runs) return {};
  HALYARD_RETURN_IF_ERROR(open_compute());
  const auto& executable = static_cast<const Executable&>(*command.executable);
  set_pipeline(executable.pipeline(command.function));
  if (command.binding_count != 0) {
    const NativeRange at = native_range(block.range(0, 0));
    [compute_.get() setBuffer:at.buffer offset:at.offset atIndex:kernel::kMetalBindingsBuffer];
    const auto& bindings = executable.file().kernels()[command.function].bindings;
    for (std::uint32_t i = 0; i < command.binding_count; ++i) {
      declare(native_range(hal::bind(command.bindings[i], table)).buffer,
              bindings[i].access == kernel::Access::kRead ? kReads : kReadsAndWrites);
    }
  }
  if (command.constants_size != 0) {
    // Metal requires the size of the whole struct, which its alignment rounds up.
    alignas(16) std::byte bytes[kernel::kMaxConstantsBytes] = {};
    std::memcpy(bytes, hal::constants_of(command, table), command.constants_size);
    [compute_.get() setBytes:bytes
                      length:kernel::metal_constants_length(command.constants_size)
                     atIndex:kernel::kMetalConstantsBuffer];
  }
  const MTLSize group = executable.group_size(command.function);
  if (command.counts != nullptr) {
    const NativeRange counts = native_range(hal::bind(*command.counts, table));
    [compute_.get() dispatchThreadgroupsWithIndirectBuffer:counts.buffer
                                      indirectBufferOffset:counts.offset
                                     threadsPerThreadgroup:group];
  } else {
    [compute_.get()
         dispatchThreadgroups:MTLSizeMake(command.groups[0], command.groups[1], command.groups[2])
        threadsPerThreadgroup:group];
  }
  return {};
}

}  // namespace halyard::inline v0::metal
