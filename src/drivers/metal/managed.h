// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory: an MTLBuffer with two copies, one in the device's memory and one in the host's.
// Halyard's memory is coherent, so each submission keeps the copies equal in the ranges that it
// uses:
//
//     before commit    didModifyRange: for each range that the submission reads, and for each range
//                      that its kernels may write in part. Not for bytes that a submission in
//                      flight uses: the device's copy of them is current, or newer
//     after the work   the same command buffer copies each written range back to the host.
//                      synchronizeResource: does so for the whole buffer. It takes no range, and
//                      would overwrite bytes that the host has written beside the range. So a part
//                      of a buffer is copied to a Shared buffer of the same size
//     at completion    the host copies such parts into its copy, before the lane reports the
//                      submission
//
// The difference from coherent memory: if a submission in flight has bound a range for writing, the
// bytes that the host writes into that range are lost, even if no kernel writes them.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "base/array.h"
#include "base/mutex.h"
#include "drivers/metal/retained.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hal {
struct Operation;
}

namespace halyard::inline v0::metal {

class Encoder;

// Bytes of an MTLBuffer.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
};

class ManagedCopies;

// What a submission uses of one buffer.
struct ManagedUse {
  ManagedCopies* copies;
  ByteRange range;
  bool reads;  // it needs what the host has written
  bool writes;
  ManagedUse* next = nullptr;  // of those in flight
};

// The two copies of one buffer. From any thread.
class ManagedCopies {
 public:
  // `memory`: the bytes of it that are of use.
  ManagedCopies(id<MTLDevice> device, id<MTLBuffer> buffer, ByteRange memory) noexcept
      : device_(device), buffer_(buffer), memory_(memory) {}

  // Hands the device what the host may have written.
  void flush(ByteRange range) noexcept;
  // Encodes, behind the work, what brings a written range to the host. kResourceExhausted.
  Status copy_back(ByteRange range, Encoder& encoder);
  // The use is in flight until end(), and stays where it is.
  void begin(ManagedUse& use) noexcept;
  // `done`: what it has written becomes the host's.
  void end(ManagedUse& use, bool done) noexcept;

 private:
  bool is_whole(ByteRange range) const noexcept {
    return range.begin <= memory_.begin && range.end >= memory_.end;
  }
  // Calls `fn(ByteRange)` for the parts of `range` without a use in flight that `counts(use)`.
  template <class Counts, class F>
  void for_each_unused(ByteRange range, Counts&& counts, F&& fn) noexcept;

  const id<MTLDevice> device_;
  const id<MTLBuffer> buffer_;
  const ByteRange memory_;
  base::Mutex mutex_;  // guards the rest
  ManagedUse* in_flight_ = nullptr;
  Retained<id<MTLBuffer>> back_;  // Shared; made when a part is first written
};

// What one submission uses of managed memory. For one thread at a time.
class ManagedUses {
 public:
  // Finds it, and flushes what the device needs. kResourceExhausted.
  Status flush(const hal::Operation& operation);
  // Behind all work of the submission. kResourceExhausted.
  Status copy_back(Encoder& encoder);
  // It is encoded, and will be committed. No other call of this fails the submission from here on:
  // an earlier one leaves to it what both write.
  void begin() noexcept;
  // After begin(): its command buffers have ended, and its memory is still held. `done`: well.
  void end(bool done) noexcept;

 private:
  Status add(const ManagedUse& use);

  base::Array<ManagedUse> uses_;
  bool in_flight_ = false;
};

}  // namespace halyard::inline v0::metal
