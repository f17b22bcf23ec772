// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/nv/constant_bank.h"

#include <cstring>

#include "base/format.h"

namespace halyard::inline v0::nv {
namespace {

constexpr BankLayout kLayouts[kQmdVersions] = {
    {0x018, 0x028, 0x160}, {0x018, 0x028, 0x210}, {0x2f0, 0x37c, 0x380}};

// 16 MiB, the local memory that a thread can address, less the 0x240 bytes that the system
// reserves.
constexpr std::uint32_t kStack = 0xfffdc0;

}  // namespace

const BankLayout& bank_layout(QmdVersion version) noexcept {
  return kLayouts[static_cast<std::size_t>(version)];
}

Status write_bank_prefix(std::span<std::byte> bank, QmdVersion version, std::uint64_t shared_window,
                         std::uint64_t local_window) {
  const BankLayout& layout = bank_layout(version);
  if (bank.size() < layout.parameters)
    return error(StatusCode::kOutOfRange, "constant bank 0 of {} bytes: parameters begin at {}",
                 bank.size(), layout.parameters);
  std::memset(bank.data(), 0, layout.parameters);
  std::memcpy(bank.data() + layout.windows, &shared_window, 8);
  std::memcpy(bank.data() + layout.windows + 8, &local_window, 8);
  std::memcpy(bank.data() + layout.stack, &kStack, 4);
  return {};
}

}  // namespace halyard::inline v0::nv
