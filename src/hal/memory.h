// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory: one allocation of a driver. Buffers are ranges of it; submissions in flight and
// recordings retain it, so it may outlive its device: a driver's Memory must not need the device to
// be freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halyard/base/ref.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class Memory : public RefCounted {
 public:
  std::uint64_t size() const noexcept { return size_; }
  MemoryType type() const noexcept { return type_; }
  // Where the host sees it, or null.
  std::byte* host_pointer() const noexcept { return host_pointer_; }
  // Where the device sees it.
  std::uint64_t device_address() const noexcept { return device_address_; }
  // Memories of equal domain can be used by each other's devices (one driver's peer group).
  const void* domain() const noexcept { return domain_; }

 protected:
  Memory(std::uint64_t size, MemoryType type, std::byte* host_pointer, std::uint64_t device_address,
         const void* domain) noexcept
      : size_(size),
        type_(type),
        host_pointer_(host_pointer),
        device_address_(device_address),
        domain_(domain) {}

 private:
  std::uint64_t size_;
  MemoryType type_;
  std::byte* host_pointer_;
  std::uint64_t device_address_;
  const void* domain_;
};

}  // namespace halyard::inline v0::hal
