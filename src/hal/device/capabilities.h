// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only some devices can do: DescriptorSharing, NativeInterop. A device that can returns the
// interface from the function of DeviceImpl, valid as long as the device. Otherwise the function
// returns null, and the HAL refuses the call with kUnimplemented.
//
// As in DeviceImpl, the HAL validates, and the functions may be called from any thread.
#pragma once

#include <cstdint>

#include "hal/memory/memory.h"
#include "hal/memory/reclaim.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/dlpack.h"
#include "halyard/hal/types.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::hal {

// A native timeline of the device that can be shared by file descriptor. The host uses it; lanes do
// not. Retained by handles; it may outlive its device. Any thread.
class SharedTimelineImpl : public Reclaimed {
 public:
  virtual Result<std::uint64_t> query() = 0;
  // Returns kInvalidArgument if `value` is not greater than the current value.
  virtual Status signal(std::uint64_t value) = 0;
  // Blocks. Returns kDeadlineExceeded when the steady clock reaches `deadline`.
  virtual Status wait(std::uint64_t value, Nanoseconds deadline) = 0;
  // Returns a new descriptor, or kFailedPrecondition if the timeline was imported.
  virtual Result<int> export_descriptor() = 0;
};

// Memory and timelines that other devices, processes and APIs share by file descriptor. The imports
// take ownership of the descriptor if they succeed.
class DescriptorSharing {
 public:
  // Returns memory with Memory::export_descriptor().
  virtual Result<Ref<Memory>> allocate_exportable(std::uint64_t size, MemoryType type) = 0;
  virtual Result<Ref<Memory>> import_descriptor(int descriptor, std::uint64_t size,
                                                MemoryType type) = 0;
  virtual Result<Ref<SharedTimelineImpl>> create_shared_timeline(std::uint64_t initial) = 0;
  virtual Result<Ref<SharedTimelineImpl>> import_timeline(int descriptor) = 0;

 protected:
  ~DescriptorSharing() = default;
};

// Objects that another user of the native library owns (halyard/hal/native.h,
// halyard/hal/dlpack.h). The lanes of the device support the operation NativeEvent.
class NativeInterop {
 public:
  // [address, address + size) of the device's own memory, as kDeviceLocal memory. Returns
  // kInvalidArgument if it is not such memory.
  virtual Result<Ref<Memory>> import_address(std::uint64_t address, std::uint64_t size) = 0;
  // The DLPack device of this device's memory.
  virtual dlpack::Device dlpack_device() const noexcept = 0;
  // import_lane() opens a lane on a stream, after check_stream() has verified that the stream
  // belongs to this device. A lane never uses the stream after its work has ended.
  virtual Status check_stream(void* stream) = 0;
  virtual Result<timeline::NativeQueue*> import_lane(void* stream) = 0;

 protected:
  ~NativeInterop() = default;
};

}  // namespace halyard::inline v0::hal
