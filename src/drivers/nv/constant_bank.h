// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant bank 0: the words that a kernel of nvcc reads there before its parameters.
//
//     windows     the addresses of the shared and the local window, 64 bits each
//     stack       the first stack pointer, an offset in the local window
//     parameters  those of the kernel, at the offsets that its image gives
//
// All other words are zero; among them is the memory descriptor that global accesses use.
// Positions: tinygrad (ops_nv.py) for Ampere, Ada and Blackwell, libcuda-research for Hopper's
// stack and parameters; that Hopper's windows are where Ada's are is deduced. Images give the
// offset of their parameters too (EIATTR_PARAM_CBANK), and are right where they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/nv/qmd.h"

namespace halyard::inline v0::nv {

struct BankLayout {
  std::uint32_t windows;  // offsets in bytes
  std::uint32_t stack;
  std::uint32_t parameters;
};
const BankLayout& bank_layout(QmdVersion version) noexcept;

// Writes the words before the parameters. Refuses a bank that ends before them (kOutOfRange). Any
// thread.
[[nodiscard]] Status write_bank_prefix(std::span<std::byte> bank, QmdVersion version,
                                       std::uint64_t shared_window, std::uint64_t local_window);

}  // namespace halyard::inline v0::nv
