// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "simulation/kfd/abi.h"

namespace halyard::inline v0::sim::kfd {

Backing::Backing(Backing&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_), offset_(other.offset_) {}

Backing& Backing::operator=(Backing&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  std::swap(offset_, other.offset_);
  return *this;
}

Backing::~Backing() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
}

File::File() : descriptor_(::memfd_create("simulated-kfd", MFD_CLOEXEC)) {}

File::~File() { ::close(descriptor_); }

Backing File::allocate(std::uint64_t size) {
  const std::uint64_t offset = end_;
  if (::ftruncate(descriptor_, static_cast<off_t>(offset + size)) != 0) return {};
  void* const bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                             static_cast<off_t>(offset));
  if (bytes == MAP_FAILED) return {};
  end_ = offset + size;
  return {static_cast<std::byte*>(bytes), size, offset};
}

void File::discard(std::uint64_t offset, std::uint64_t size) {
  // A failure only keeps the pages.
  [[maybe_unused]] const int result =
      ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(offset), static_cast<off_t>(size));
}

bool Buffer::is_writable() const { return (flags & abi::kWritable) != 0; }
bool Buffer::is_executable() const { return (flags & abi::kExecutable) != 0; }

bool AddressSpace::add(Buffer& buffer) {
  const auto next = buffers_.lower_bound(buffer.address);
  if (next != buffers_.end() && next->first < buffer.end()) return false;
  if (next != buffers_.begin() && std::prev(next)->second->end() > buffer.address) return false;
  buffers_.emplace(buffer.address, &buffer);
  return true;
}

Buffer* AddressSpace::find(std::uint64_t address) const {
  const auto next = buffers_.upper_bound(address);
  if (next == buffers_.begin()) return nullptr;
  Buffer* const buffer = std::prev(next)->second;
  return address < buffer->end() ? buffer : nullptr;
}

Buffer* AddressSpace::find(std::uint64_t address, std::uint64_t size) const {
  Buffer* const buffer = find(address);
  return buffer != nullptr && size <= buffer->end() - address ? buffer : nullptr;
}

std::byte* AddressSpace::bytes(std::uint64_t address, std::uint64_t size) const {
  Buffer* const buffer = find(address, size);
  return buffer == nullptr ? nullptr : buffer->bytes + (address - buffer->address);
}

namespace {

template <class T>
T load(const std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<T*>(const_cast<std::byte*>(at)))
      .load(std::memory_order_acquire);
}
template <class T>
void store(std::byte* at, T value) {
  std::atomic_ref(*reinterpret_cast<T*>(at)).store(value, std::memory_order_release);
}

}  // namespace

std::uint32_t load32(const std::byte* at) { return load<std::uint32_t>(at); }
std::uint64_t load64(const std::byte* at) { return load<std::uint64_t>(at); }
void store32(std::byte* at, std::uint32_t value) { store(at, value); }
void store64(std::byte* at, std::uint64_t value) { store(at, value); }

}  // namespace halyard::inline v0::sim::kfd
