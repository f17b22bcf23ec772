// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory: an MTLBuffer with two copies, one in the device's memory and one in the host's.
// Halyard's memory is coherent, so each submission keeps the copies equal in the ranges that it
// uses:
//
//     before commit    didModifyRange: for each range that the submission reads, and for each range
//                      that its kernels may write in part. Bytes that a submission in flight uses
//                      are left out: the device's copy of them is current, or newer
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

// The range of one buffer that a submission uses.
struct ManagedUse {
  ManagedCopies* copies;
  ByteRange range;
  bool reads;  // needs the bytes that the host has written
  bool writes;
  ManagedUse* next = nullptr;  // the list of uses in flight
};

// The two copies of one buffer. Any thread may call any function.
class ManagedCopies {
 public:
  // `memory`: the range of the buffer that Halyard uses.
  ManagedCopies(id<MTLDevice> device, id<MTLBuffer> buffer, ByteRange memory) noexcept
      : device_(device), buffer_(buffer), memory_(memory) {}

  // Makes bytes that the host may have written visible to the device.
  void flush(ByteRange range) noexcept;
  // Encodes, after the work, the copy of a written range to the host. Returns kResourceExhausted if
  // the Shared buffer or an encoder cannot be made.
  Status copy_back(ByteRange range, Encoder& encoder);
  // Adds a use in flight. It must not move before end().
  void begin(ManagedUse& use) noexcept;
  // Removes the use. If `done`, copies the written bytes to the host's copy.
  void end(ManagedUse& use, bool done) noexcept;

 private:
  bool is_whole(ByteRange range) const noexcept {
    return range.begin <= memory_.begin && range.end >= memory_.end;
  }
  // Calls `fn(ByteRange)` for each part of `range` that no use in flight with `counts(use)` covers.
  template <class Counts, class F>
  void for_each_unused(ByteRange range, Counts&& counts, F&& fn) noexcept;

  const id<MTLDevice> device_;
  const id<MTLBuffer> buffer_;
  const ByteRange memory_;
  base::Mutex mutex_;  // guards the rest
  ManagedUse* in_flight_ = nullptr;
  Retained<id<MTLBuffer>> back_;  // Shared; made when a part is first written
};

// The managed memory that one submission uses. One thread at a time.
class ManagedUses {
 public:
  // Finds the used ranges, and flushes those that the device needs. Returns kResourceExhausted if
  // there is no memory for the list.
  Status flush(const hal::Operation& operation);
  // Encodes the copies to the host, after all work of the submission. Errors as
  // ManagedCopies::copy_back().
  Status copy_back(Encoder& encoder);
  // Called when the submission is encoded and will certainly be committed: earlier submissions
  // leave to this one the bytes that both write.
  void begin() noexcept;
  // Called when the command buffers have ended, while their memory is still held. Does nothing
  // before begin(). `done`: they have completed without an error.
  void end(bool done) noexcept;

 private:
  Status add(const ManagedUse& use);

  base::Array<ManagedUse> uses_;
  bool in_flight_ = false;
};

}  // namespace halyard::inline v0::metal
