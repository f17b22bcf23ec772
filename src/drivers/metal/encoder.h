// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder: writes commands of the HAL into MTLCommandBuffers.
//
//     fill       fillBuffer: for whole words of one byte, else a kernel of the driver's own
//     update     a copy from the host block that holds its bytes
//     copy       copyFromBuffer: for whole words, else such a kernel
//     dispatch   argument block as buffer 0, constants as bytes of buffer 1, each binding declared
//                by useResource:usage:, dispatchThreadgroups or its indirect form
//
// Metal has encoders of two kinds, compute and blit, one open at a time. Each is opened when a
// command needs it, and ended when a command needs the other. Memory is untracked, so that nothing
// but what is written here orders commands:
//
//     between encoders     a fence: each waits for those before it, a wait for writes and reads
//     barrier, compute     memoryBarrierWithScope: of the encoder, which is a concurrent one
//     barrier, blit        the encoder is ended, since blits have no barrier
//     command buffers      events, by the lane
//
// One full barrier stands for each barrier, event and edge, where there was work since the last.
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
  // `fence`: of the queue. Both outlive this.
  Encoder(NativeDevice& device, id<MTLFence> fence) noexcept : device_(device), fence_(fence) {}
  // Ends what is open: an encoder must not be released before.
  ~Encoder() { end(); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // What follows goes into `buffer`, which is ordered after the one before.
  void begin(id<MTLCommandBuffer> buffer) noexcept;
  // Writes one command with its slots from `table`. `block`: the argument block of a dispatch with
  // bindings, encoded; it stays until the device has run the command. kResourceExhausted.
  Status add(const hal::Command& command, const hal::BoundRange* table,
             const hal::ArgumentBlock& block);
  // Copies bytes of a buffer. kResourceExhausted.
  Status copy(const NativeRange& source, const NativeRange& target);
  // Brings the device's copy of managed memory to the host. kResourceExhausted.
  Status synchronize(id<MTLBuffer> buffer);
  // What follows runs after, and sees, everything before.
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
  // Ends the open encoder and has the next one wait for it.
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
  base::Array<Declared> declared_;              // to it
  bool fenced_ = false;   // an earlier encoder of this buffer has updated the fence
  bool worked_ = false;   // there was work since the last barrier
  bool barrier_ = false;  // one is due before the next command
};

}  // namespace halyard::inline v0::metal
