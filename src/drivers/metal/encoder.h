// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder: writes HAL commands into MTLCommandBuffers.
//
//     fill       fillBuffer: for whole words of one repeated byte, otherwise a kernel of the driver
//                (builtin_kernels.h)
//     update     a copy from the host block that holds its bytes
//     copy       copyFromBuffer: for whole words, otherwise a kernel of the driver
//     dispatch   argument block as buffer 0, constants as bytes of buffer 1, each binding declared
//                by useResource:usage:, then dispatchThreadgroups or its indirect form
//
// Metal has two kinds of encoders, compute and blit, and one can be open at a time. An encoder is
// opened when a command needs it, and ended when a command needs the other kind. Memory is
// untracked, so only the encoder and the lane order commands:
//
//     between encoders     a fence: each encoder waits for the earlier ones, with all its reads and
//                          writes
//     barrier, compute     memoryBarrierWithScope: the encoder runs its commands concurrently
//     barrier, blit        the encoder is ended, since blit encoders have no barrier
//     command buffers      events, which the lane encodes
//
// Every barrier, event and edge becomes one full barrier, or none if there was no work since the
// last barrier.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "base/array.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/executable.h"
#include "hal/recording/arguments.h"
#include "hal/recording/command.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::metal {

class Encoder {
 public:
  // `fence` belongs to the queue. Both arguments outlive the encoder.
  Encoder(NativeDevice& device, id<MTLFence> fence) noexcept : device_(device), fence_(fence) {}
  // Ends the open encoder: Metal does not allow its release before.
  ~Encoder() { end(); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Later commands go into `buffer`, which runs after the previous buffer.
  void begin(id<MTLCommandBuffer> buffer) noexcept;
  // Writes one command, with its slots from `table`. `block`: the encoded argument block of a
  // dispatch with bindings; it must live until the device has run the command. Returns
  // kResourceExhausted if Metal makes no encoder.
  Status add(const hal::Command& command, const hal::BoundRange* table,
             const hal::ArgumentBlock& block);
  // Copies bytes between buffers. Errors as add().
  Status copy(const NativeRange& source, const NativeRange& target);
  // Copies the device's copy of managed memory to the host's. Errors as add().
  Status synchronize(id<MTLBuffer> buffer);
  // Later commands run after all earlier ones and see their writes.
  void barrier() noexcept { barrier_ = worked_; }
  // Ends the open encoder, if there is one.
  void end() noexcept;

 private:
  struct Declared {
    id<MTLBuffer> buffer;
    MTLResourceUsage usage;
  };

  Status open_compute();
  Status open_blit();
  // Ends the open encoder; the next one waits for it.
  void close() noexcept;
  void declare(id<MTLBuffer> buffer, MTLResourceUsage usage) noexcept;
  void set_pipeline(id<MTLComputePipelineState> pipeline) noexcept;
  Status fill(const hal::FillCommand& command, const NativeRange& target);
  Status dispatch(const hal::DispatchCommand& command, const hal::BoundRange* table,
                  const hal::ArgumentBlock& block);

  NativeDevice& device_;
  const id<MTLFence> fence_;
  id<MTLCommandBuffer> buffer_ = nil;
  Retained<id<MTLComputeCommandEncoder>> compute_;
  Retained<id<MTLBlitCommandEncoder>> blit_;
  id<MTLComputePipelineState> pipeline_ = nil;  // of the open compute encoder
  base::Array<Declared> declared_;              // to the open compute encoder
  bool fenced_ = false;   // an earlier encoder of this buffer has updated the fence
  bool worked_ = false;   // there was work since the last barrier
  bool barrier_ = false;  // encode a barrier before the next command
};

}  // namespace halyard::inline v0::metal
