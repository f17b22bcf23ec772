// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new(std::nothrow) of this program. Calls that do not fail use the throwing operator new,
// so that every operator delete matches.
#include <new>

#include "call_sites/faults.h"

namespace {

// Symbols of the linker: the bounds of this program's code.
extern "C" const char __executable_start, etext;

// `caller` identifies the place in the code. Mesa and LLVM allocate here as well, and are not
// Halyard's.
bool fails(const void* caller) noexcept {
  const auto* const at = static_cast<const char*>(caller);
  if (at < &__executable_start || at >= &etext) return false;
  auto* const faults = halyard::testing::Faults::current();
  return faults != nullptr && faults->allocation_fails(caller);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : operator new(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : operator new[](size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : operator new(size, alignment);
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t alignment,
                                       const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : operator new[](size, alignment);
}
