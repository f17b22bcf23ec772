// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the simulated devices. A device's addresses are those of the process. All contents are
// in one anonymous file, so that a buffer has two mappings: the program's, where it wants it, and
// the simulation's own, which stays while the buffer lives. So devices reach memory that the CPU
// has not mapped, and only such that is mapped for them.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace halyard::inline v0::sim::kfd {

// A range of the file with the simulation's mapping of it. Movable.
class Backing {
 public:
  Backing() = default;
  Backing(std::byte* bytes, std::uint64_t size, std::uint64_t offset)
      : bytes_(bytes), size_(size), offset_(offset) {}
  Backing(Backing&& other) noexcept;
  Backing& operator=(Backing&& other) noexcept;
  ~Backing();

  std::byte* bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t offset() const { return offset_; }  // in the file

 private:
  std::byte* bytes_ = nullptr;
  std::uint64_t size_ = 0, offset_ = 0;
};

class File {
 public:
  File();
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Zeroed memory. `size` is a multiple of the page size. No bytes on failure.
  [[nodiscard]] Backing allocate(std::uint64_t size);
  // Makes the pages of a range zero, and gives them back to the system.
  void discard(std::uint64_t offset, std::uint64_t size);
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  std::uint64_t end_ = 0;  // ranges are not reused: the file is sparse
};

// A buffer object.
struct Buffer {
  std::uint64_t handle = 0, address = 0, size = 0;
  std::uint32_t flags = 0;
  unsigned device = 0;
  Backing backing;             // empty for USERPTR, whose memory is the program's
  std::byte* bytes = nullptr;  // of the backing, or the program's
  struct Mapping {
    bool is_mapped = false;
    unsigned queues = 0;  // those that were created with the mapping, and forbid its end
  };
  std::vector<Mapping> mappings;  // by device

  std::uint64_t end() const { return address + size; }
  bool is_writable() const;
  bool is_executable() const;
};

// The buffers that a device can access, by address.
class AddressSpace {
 public:
  // Returns false if the range overlaps another buffer's.
  bool add(Buffer& buffer);
  void remove(Buffer& buffer) { buffers_.erase(buffer.address); }
  // The buffer that holds an address, or null.
  Buffer* find(std::uint64_t address) const;
  // The buffer that holds all the bytes, or null.
  Buffer* find(std::uint64_t address, std::uint64_t size) const;
  // The bytes, or null unless one buffer holds all of them.
  std::byte* bytes(std::uint64_t address, std::uint64_t size) const;

 private:
  std::map<std::uint64_t, Buffer*> buffers_;
};

// Accesses that the program may see while they happen.
std::uint32_t load32(const std::byte* at);
std::uint64_t load64(const std::byte* at);
void store32(std::byte* at, std::uint32_t value);
void store64(std::byte* at, std::uint64_t value);

}  // namespace halyard::inline v0::sim::kfd
