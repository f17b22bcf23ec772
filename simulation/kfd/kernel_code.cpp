// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/kernel_code.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "simulation/hip/gfx/code_reader.h"
#include "simulation/hip/gfx/program.h"

namespace halyard::inline v0::sim::kfd {
namespace {

// Code that a kernel may reach: functions before its first instruction, and all that follows it.
constexpr std::uint64_t kReachBefore = 64 * 1024, kReachAfter = 1024 * 1024;
constexpr std::uint64_t kAlignment = 256;  // of kernels: the bytes that belong to one of them
constexpr std::uint16_t kWave32Property = 1 << 10;  // ENABLE_WAVEFRONT_SIZE32

KernelCode read(const KernelRegisters& registers, std::span<const std::byte> bytes,
                std::uint64_t begin) {
  auto program = std::make_unique<gfx::CodeObject::Program>();
  gfx::Kernel kernel;
  kernel.name = "the dispatched kernel";
  kernel.static_lds_bytes = registers.lds_bytes;
  kernel.scratch_bytes = registers.scratch_bytes;
  kernel.wave_size = registers.is_wave32 ? 32 : 64;
  program->kernels.push_back(std::move(kernel));
  program->code.push_back(
      {.descriptor = {.group_segment_bytes = registers.lds_bytes,
                      .private_segment_bytes = registers.scratch_bytes,
                      .rsrc1 = registers.rsrc1,
                      .rsrc2 = registers.rsrc2,
                      .rsrc3 = registers.rsrc3,
                      .properties = registers.is_wave32 ? kWave32Property : std::uint16_t{0}},
       .entry_offset = registers.code - begin});
  program->image.assign(bytes.begin(), bytes.end());
  program->code_end = bytes.size() / 4 * 4;
  KernelCode code{.image_address = begin};
  if (gfx::read_code(*program, {}, code.error) != gfx::LoadStatus::kOk) return code;
  code.object = std::make_shared<gfx::CodeObject>(std::move(program));
  return code;
}

}  // namespace

const KernelCode& KernelCodeCache::find(const KernelRegisters& registers, const Buffer& buffer,
                                        bool& is_stale) {
  const std::uint64_t begin =
      std::max(buffer.address, registers.code - std::min(registers.code, kReachBefore));
  const std::uint64_t end = std::min(buffer.end(), registers.code + kReachAfter);
  const std::span<const std::byte> bytes{buffer.bytes + (begin - buffer.address), end - begin};
  const auto head =
      bytes.subspan(registers.code - begin, std::min(kAlignment, end - registers.code));
  std::vector<std::byte>& executed = executed_[registers.code];
  is_stale = !executed.empty() && !std::ranges::equal(executed, head);
  executed.assign(head.begin(), head.end());
  Entry& entry = entries_[registers.code];
  const bool is_same = entry.registers == registers && entry.code.image_address == begin &&
                       std::ranges::equal(entry.bytes, bytes);
  if (!is_same) {
    entry = {registers, {bytes.begin(), bytes.end()}, read(registers, bytes, begin)};
  }
  return entry.code;
}

}  // namespace halyard::inline v0::sim::kfd
