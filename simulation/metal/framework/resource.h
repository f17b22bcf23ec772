// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resource: the memory of an MTLBuffer or an MTLHeap. A device address is the address of the
// device's copy in this process, so kernels can dereference it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "simulation/gpu/mutex.h"

namespace halyard::inline v0::sim::metal {

struct Device;

// As MTLStorageMode.
enum class Storage : std::uint8_t { kShared = 0, kManaged = 1, kPrivate = 2, kMemoryless = 3 };

// As MTLResourceUsage; sampling is reading.
enum Access : std::uint8_t { kNoAccess = 0, kReadAccess = 1, kWriteAccess = 2, kReadWrite = 3 };

struct Range {
  std::size_t begin = 0, end = 0;
};

class Resource : public std::enable_shared_from_this<Resource> {
 public:
  struct Description {
    Device* device = nullptr;
    std::size_t length = 0;
    Storage storage = Storage::kShared;
    bool is_tracked = true;
    bool is_heap = false;
    std::byte* host_memory = nullptr;  // for newBufferWithBytesNoCopy
    std::shared_ptr<Resource> heap;    // contains the memory at heap_offset
    std::size_t heap_offset = 0;
  };
  // Returns null if there is no memory. The contents are undefined; strict mode fills them with a
  // pattern.
  static std::shared_ptr<Resource> create(const Description& description);
  ~Resource();
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;

  Device& device() const { return *description_.device; }
  std::size_t length() const { return description_.length; }
  Storage storage() const { return description_.storage; }
  bool is_heap() const { return description_.is_heap; }
  bool is_tracked() const { return description_.is_tracked; }
  const std::shared_ptr<Resource>& heap() const { return description_.heap; }
  std::size_t heap_offset() const { return description_.heap_offset; }
  std::uint64_t number() const { return number_; }  // unique in the process, in order of creation
  // "buffer 12", with its label if it has one.
  std::string text() const;
  void set_label(std::string label);

  // The host's copy; null if private.
  std::byte* host() const { return host_; }
  // The device's copy; the same memory as host() where they share it.
  std::byte* gpu() const { return gpu_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(gpu_); }

  // The resource whose hazards Metal tracks: the heap, for a buffer of a tracked heap, otherwise
  // this. Null if untracked.
  const Resource* tracked_root() const;

  // didModifyRange: the next upload() copies the range's present bytes to the device.
  void did_modify(Range range);
  // Called at commit: copies to the device the bytes of did_modify() and, with snapshot_shared, the
  // bytes that the host wrote.
  void upload();
  // synchronizeResource: saves the device's present bytes for download().
  void synchronize(Range range);
  // Called when a command buffer has completed: copies to the host the bytes of synchronize() and,
  // with snapshot_shared, the bytes that the device wrote.
  void download();
  // With snapshot_shared, at a shared event: release() copies the device's writes to the host's
  // copy. acquire() copies from there, where buffers of other devices over the same memory may have
  // written.
  void release();
  void acquire();

  // The number of uncompleted command buffers that use the resource.
  base::Atomic<std::uint32_t> in_flight{0};
  // The program's object is deallocated. A command that still uses the resource is an error.
  base::Atomic<bool> is_freed{false};
  // makeAliasable was called.
  base::Atomic<bool> is_aliasable{false};
  // Called when the program's object is deallocated: reports command buffers in flight that use it,
  // and fills the memory with a pattern.
  void free_object();

 private:
  explicit Resource(const Description& description);
  bool allocate();

  const Description description_;
  const std::uint64_t number_;
  std::byte* host_ = nullptr;
  std::byte* gpu_ = nullptr;
  std::byte* shadow_ = nullptr;  // with snapshot_shared: the last bytes common to both
  std::size_t accounted_ = 0;    // bytes that count as the device's memory
  std::vector<std::byte*> blocks_;
  mutable gpu::Mutex mutex_;  // guards the members below
  std::string label_;
  struct Piece {
    std::size_t begin = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Piece> uploads_, downloads_;
};

// The resource that contains `address`: a heap only if none of its buffers contains it. The text is
// empty if there is none.
struct Place {
  std::uint64_t begin = 0, end = 0;  // device addresses of the resource
  bool is_heap = false;
  std::string text;
};
Place place_of(std::uint64_t address);

// Allocates the offsets of buffers in a heap.
class HeapSpace {
 public:
  explicit HeapSpace(std::size_t size) : size_(size) {}
  // Finds the lowest place that fits; returns false if none does.
  bool allocate(std::size_t length, std::size_t alignment, std::size_t* offset);
  // Frees the place at `offset`.
  void release(std::size_t offset);
  std::size_t used() const;
  // The largest length that allocate() can still place with this alignment.
  std::size_t largest(std::size_t alignment) const;

 private:
  const std::size_t size_;
  std::map<std::size_t, std::size_t> used_;  // begin to end
};

}  // namespace halyard::inline v0::sim::metal
