// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/nv/qmd.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/format.h"

namespace halyard::inline v0::nv {
namespace {

using hcq::FieldRole;
using hcq::Operand;
using hcq::WordList;

// Bits hi to lo, as the headers write them: MW(hi:lo).
constexpr QmdBits bits(unsigned hi, unsigned lo, unsigned shift = 0) {
  return {static_cast<std::uint16_t>(lo), static_cast<std::uint8_t>(hi - lo + 1),
          static_cast<std::uint8_t>(shift)};
}
constexpr QmdBits bit(unsigned position) { return bits(position, position); }
constexpr QmdBits array(unsigned count, unsigned stride, QmdBits element) {
  element.count = static_cast<std::uint8_t>(count);
  element.stride = static_cast<std::uint16_t>(stride);
  return element;
}
constexpr QmdBits banks(unsigned stride, QmdBits first) { return array(kQmdBanks, stride, first); }
constexpr QmdBits releases(unsigned stride, QmdBits first) {
  return array(kQmdReleases, stride, first);
}
constexpr QmdBits kAbsent{};

struct Row {
  QmdField field;
  const char* name;
  std::array<QmdBits, kQmdVersions> versions;
};

// Neighbouring LOWER and UPPER halves of an address or payload are one field. V03's upper half of
// the prefetch address is elsewhere: code lies below 2^40, where it is 0.
using F = QmdField;
constexpr Row kTable[] = {
    // clang-format off
    {F::kGroupId, "group id", {bits(133, 128), bits(21, 16), bits(149, 144)}},
    {F::kType, "type", {kAbsent, bits(25, 23), bits(153, 151)}},
    {F::kSmGlobalCaching, "SM global caching", {bit(134), kAbsent, kAbsent}},
    {F::kMajorVersion, "major version", {bits(583, 580), bits(583, 580), bits(471, 468)}},
    {F::kSassVersion, "SASS version", {bits(1663, 1656), bits(543, 536), bits(455, 448)}},
    {F::kApiVisibleCallLimit, "call limit", {bit(378), bit(568), bit(456)}},
    {F::kSamplerIndex, "sampler index", {bit(382), bit(569), bit(457)}},
    {F::kInvalidateTextureHeaders, "invalidate texture headers", {bit(186), bit(602), bit(472)}},
    {F::kInvalidateTextureSamplers, "invalidate samplers", {bit(187), bit(603), bit(473)}},
    {F::kInvalidateTextureData, "invalidate texture data", {bit(188), bit(604), bit(474)}},
    {F::kInvalidateShaderData, "invalidate data", {bit(189), bit(605), bit(475)}},
    {F::kInvalidateInstructions, "invalidate instructions", {bit(190), bit(606), bit(476)}},
    {F::kInvalidateConstants, "invalidate constants", {bit(191), bit(607), bit(477)}},
    {F::kMembar, "membar", {bits(369, 368), bits(1137, 1136), bits(625, 624)}},
    {F::kProgram, "program address", {bits(1584, 1536), bits(1272, 1216), bits(1076, 1024, 4)}},
    {F::kPrefetchAddress, "prefetch address",
     {bits(287, 256, 8), bits(1392, 1344, 8), bits(1936, 1888, 8)}},
    {F::kPrefetchSize, "prefetch size", {bits(1649, 1641), bits(1401, 1393), bits(1085, 1077)}},
    {F::kRegisters, "registers", {bits(656, 648), bits(1208, 1200), bits(1136, 1128)}},
    {F::kBarriers, "barriers", {bits(767, 763), bits(1215, 1211), bits(1141, 1137)}},
    {F::kLocalLow, "low local memory", {bits(759, 736), bits(535, 512), bits(1199, 1184, 4)}},
    {F::kLocalHigh, "high local memory", {bits(1623, 1600), bits(567, 544), bits(1215, 1200, 4)}},
    {F::kShared, "shared memory", {bits(561, 544), bits(601, 584), bits(1162, 1152, 7)}},
    {F::kMinSharedConfig, "least shared memory",
     {bits(567, 562), bits(613, 608), bits(1168, 1163)}},
    {F::kMaxSharedConfig, "most shared memory",
     {bits(574, 569), bits(619, 614), bits(1174, 1169)}},
    {F::kTargetSharedConfig, "target shared memory",
     {bits(662, 657), bits(625, 620), bits(1180, 1175)}},
    {F::kSharedAllocation, "shared allocation", {bit(663), bit(626), bit(351)}},
    {F::kGridX, "grid x", {bits(415, 384), bits(1055, 1024), bits(1279, 1248)}},
    {F::kGridY, "grid y", {bits(431, 416), bits(1071, 1056), bits(1295, 1280)}},
    {F::kGridZ, "grid z", {bits(463, 448), bits(1103, 1088), bits(1327, 1312)}},
    {F::kGroupX, "group x", {bits(607, 592), bits(1167, 1152), bits(1103, 1088)}},
    {F::kGroupY, "group y", {bits(623, 608), bits(1183, 1168), bits(1119, 1104)}},
    {F::kGroupZ, "group z", {bits(639, 624), bits(1199, 1184), bits(1127, 1120)}},
    {F::kBankValid, "bank valid", {banks(1, bit(640)), banks(4, bit(416)), banks(4, bit(1856))}},
    {F::kBankInvalidate, "invalidate bank",
     {banks(64, bit(1074)), banks(4, bit(419)), banks(4, bit(1859))}},
    {F::kBankAddress, "bank address",
     {banks(64, bits(1072, 1024)), banks(64, bits(1586, 1536, 6)), banks(64, bits(1394, 1344, 6))}},
    {F::kBankSize, "bank size",
     {banks(64, bits(1087, 1075, 4)), banks(64, bits(1599, 1587, 4)),
      banks(64, bits(1407, 1395, 4))}},
    {F::kDependentEnable, "dependent QMD", {bit(512), bit(368), bit(336)}},
    {F::kDependentAction, "dependent action", {bits(515, 513), bits(371, 369), bits(339, 337)}},
    {F::kDependentPrefetch, "dependent prefetch", {bit(516), bit(372), bit(340)}},
    {F::kDependentAddress, "dependent address",
     {bits(511, 480, 8), bits(479, 448, 8), bits(415, 384, 8)}},
    {F::kReleaseEnable, "release",
     {releases(128, bit(823)), releases(16, bit(320)), releases(16, bit(288))}},
    {F::kReleaseStructure, "release structure",
     {releases(128, bits(831, 830)), releases(16, bits(322, 321)), releases(16, bits(290, 289))}},
    {F::kReleasePayload64, "release of 64 bits",
     {releases(128, bit(829)), releases(16, bit(332)), releases(16, bit(300))}},
    {F::kReleaseAddress, "release address",
     {releases(128, bits(807, 768)), releases(128, bits(696, 640)), releases(288, bits(536, 480))}},
    {F::kReleaseValue, "release value",
     {releases(128, bits(895, 832)), releases(128, bits(767, 704)), releases(288, bits(607, 544))}},
    // clang-format on
};

constexpr bool in_order() {
  std::size_t i = 0;
  for (const Row& row : kTable)
    if (row.field != static_cast<QmdField>(i++)) return false;
  return i == static_cast<std::size_t>(QmdField::kCount);
}
static_assert(in_order());

constexpr const Row& row(QmdField field) { return kTable[static_cast<std::size_t>(field)]; }

constexpr std::uint64_t low_bits(unsigned width) {
  return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

// The 4 or 8 bytes that hold an element, and its bits in them, as FieldPlace has them.
struct Window {
  std::uint32_t offset;
  std::uint8_t bytes;
  std::int8_t shift;
  std::uint64_t mask;
};

constexpr Window window(const QmdBits& bits, unsigned index) {
  const unsigned first = bits.first + index * bits.stride;
  const unsigned in_word = first % 32;
  return {first / 32 * 4, static_cast<std::uint8_t>(in_word + bits.width <= 32 ? 4 : 8),
          static_cast<std::int8_t>(static_cast<int>(in_word) - bits.shift),
          low_bits(bits.width) << in_word};
}
Window window(QmdVersion version, QmdField field, unsigned index) {
  return window(qmd_bits(version, field), index);
}

constexpr std::uint64_t shifted(std::uint64_t value, int shift) {
  return shift < 0 ? value >> -shift : value << shift;
}

// A window of 8 bytes holds every element.
constexpr bool fits_windows() {
  for (const Row& row : kTable)
    for (const QmdBits& bits : row.versions)
      for (unsigned i = 0; i < bits.count; ++i)
        if ((bits.first + i * bits.stride) % 32 + bits.width > 64) return false;
  return true;
}
static_assert(fits_windows());

std::uint64_t load(const std::byte* qmd, const Window& window) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, qmd + window.offset, window.bytes);
  return value;
}

Status check_value(QmdVersion version, QmdField field, std::uint64_t value, unsigned index) {
  const QmdBits& bits = qmd_bits(version, field);
  const char* const name = row(field).name;
  const int number = static_cast<int>(version) + 3;
  if (bits.width == 0 || index >= bits.count)
    return error(StatusCode::kInvalidArgument, "QMD version {}: has no {} {}", number, name, index);
  if ((value & low_bits(bits.shift)) != 0)
    return error(StatusCode::kInvalidArgument, "QMD version {}: {} {:#x} is not a multiple of {}",
                 number, name, value, 1u << bits.shift);
  if (value >> bits.shift > low_bits(bits.width))
    return error(StatusCode::kOutOfRange, "QMD version {}: {} {:#x} does not fit into {} bits",
                 number, name, value, bits.width + bits.shift);
  return {};
}

Status check_operand(QmdVersion version, QmdField field, const Operand& value,
                     std::uint64_t least = 0,
                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  if (value.symbolic()) return {};
  const std::uint64_t number = value.resolve();
  if (number < least || number > most)
    return error(StatusCode::kOutOfRange, "launch: {} is {}, not {} to {}", row(field).name,
                 base::number(number), least, most);
  return check_value(version, field, number, 0);
}

void record(WordList& list, QmdBlock qmd, QmdField field, FieldRole role, const Operand& value,
            unsigned index = 0) {
  const Window at = window(qmd.version, field, index);
  list.block_field(qmd.block, at.offset, at.bytes, {role, value}, at.shift, at.mask);
}

// Precondition: the value fits.
void write(WordList& list, QmdBlock qmd, QmdField field, std::uint64_t value, unsigned index = 0) {
  const Window at = window(qmd.version, field, index);
  list.block_bits(qmd.block, at.offset, at.bytes, shifted(value, at.shift), at.mask);
}

std::uint64_t read(const WordList& list, QmdBlock qmd, QmdField field, unsigned index = 0) {
  return read_qmd(list.block_span(qmd.block).host, qmd.version, field, index);
}

// Shares of the L1 cache that a kernel may have as shared memory, in KiB (CUDA C++ Programming
// Guide, technical specifications for compute capabilities 8.0 to 12.0), from the smallest one that
// public programs use. A field holds KiB / 4 + 1 (tinygrad; 228 KiB by libcuda-research).
constexpr std::uint32_t kSharedKib[] = {32, 64, 100, 132, 164, 196, 228};
constexpr std::uint32_t shared_config(std::uint32_t kib) { return kib / 4 + 1; }

// Calls of Qmd::set() up to the first error.
class Setter {
 public:
  explicit Setter(QmdVersion version) : qmd_(version) {}
  Setter& set(QmdField field, std::uint64_t value, unsigned index = 0) {
    if (status_.ok()) status_ = qmd_.set(field, value, index);
    return *this;
  }
  // Only where the version has the field.
  Setter& set_known(QmdField field, std::uint64_t value) {
    return qmd_bits(qmd_.version(), field).width == 0 ? *this : set(field, value);
  }
  Result<Qmd> finish() && {
    if (!status_.ok()) return std::move(status_);
    return qmd_;
  }

 private:
  Qmd qmd_;
  Status status_;
};

constexpr std::uint64_t kGridCta = 2;         // QMD_TYPE
constexpr std::uint64_t kScheduleAction = 1;  // DEPENDENT_QMD_ACTION_QMD_SCHEDULE
constexpr std::uint64_t kFourWords = 0;       // RELEASE_STRUCTURE_SIZE: value and time
constexpr std::uint64_t kMaxPrefetch = 0x1ff;

}  // namespace

const QmdBits& qmd_bits(QmdVersion version, QmdField field) noexcept {
  return row(field).versions[static_cast<std::size_t>(version)];
}

std::uint64_t read_qmd(const std::byte* qmd, QmdVersion version, QmdField field,
                       unsigned index) noexcept {
  const Window at = window(version, field, index);
  return shifted(load(qmd, at) & at.mask, -at.shift);
}

Status Qmd::set(QmdField field, std::uint64_t value, unsigned index) {
  HALYARD_RETURN_IF_ERROR(check_value(version_, field, value, index));
  const Window at = window(version_, field, index);
  auto* const qmd = reinterpret_cast<std::byte*>(words_.data());
  const std::uint64_t merged = (load(qmd, at) & ~at.mask) | shifted(value, at.shift);
  std::memcpy(qmd + at.offset, &merged, at.bytes);
  return {};
}

Result<Qmd> make_qmd(QmdVersion version, const QmdKernel& kernel) {
  if (kernel.program == 0 || kernel.program >= kCommandAddressLimit)
    return error(StatusCode::kOutOfRange, "kernel at {:#x}: 0, or more than 40 bits",
                 kernel.program);
  Setter setter(version);
  setter.set(F::kMajorVersion, static_cast<std::uint64_t>(version) + 3)
      .set_known(F::kType, kGridCta)
      .set_known(F::kSmGlobalCaching, 1)
      .set(F::kApiVisibleCallLimit, 1)  // NO_CHECK
      .set(F::kGroupId, kernel.group_id)
      .set(F::kSassVersion, kernel.sass_version)
      .set(F::kSamplerIndex, kernel.sampler_via_header ? 1 : 0)
      .set(F::kMembar, static_cast<std::uint64_t>(kernel.membar))
      .set(F::kProgram, kernel.program)
      .set(F::kRegisters, kernel.registers)
      .set(F::kBarriers, kernel.barriers)
      .set(F::kLocalLow, kernel.local_low)
      .set(F::kLocalHigh, kernel.local_high)
      .set(F::kShared, kernel.shared_bytes)
      .set(F::kSharedAllocation, kernel.shared_allocation ? 1 : 0);
  for (unsigned i = 0; i < 6; ++i)
    setter.set(static_cast<QmdField>(static_cast<unsigned>(F::kInvalidateTextureHeaders) + i),
               kernel.invalidate >> i & 1);
  if (kernel.prefetch_bytes != 0)
    setter.set(F::kPrefetchAddress, kernel.program / 256 * 256)
        .set(F::kPrefetchSize, std::min<std::uint64_t>(kernel.prefetch_bytes / 256, kMaxPrefetch));
  if (kernel.shared_bytes != 0) {
    const auto* const share = std::ranges::find_if(
        kSharedKib, [&](std::uint32_t kib) { return kib * 1024 >= kernel.shared_bytes; });
    if (share == std::end(kSharedKib) || *share > kernel.largest_shared_kib)
      return error(StatusCode::kOutOfRange,
                   "kernel with {} bytes of shared memory: an SM has {} KiB", kernel.shared_bytes,
                   kernel.largest_shared_kib);
    setter.set(F::kMinSharedConfig, shared_config(*share))
        .set(F::kTargetSharedConfig, shared_config(*share))
        .set(F::kMaxSharedConfig, shared_config(kernel.largest_shared_kib));
  }
  for (unsigned i = 0; i < kQmdBanks; ++i) {
    const ConstantBank& bank = kernel.banks[i];
    if (bank.bytes == 0) continue;
    setter.set(F::kBankValid, 1, i)
        .set(F::kBankAddress, bank.address, i)
        .set(F::kBankSize, bank.bytes, i)
        .set(F::kBankInvalidate, bank.invalidate ? 1 : 0, i);
  }
  return std::move(setter).finish();
}

Result<QmdBlock> append_qmd(WordList& list, const Qmd& kernel, const LaunchShape& shape) {
  struct Dimension {
    QmdField field;
    FieldRole role;
    const Operand& value;
    std::uint64_t most;
  };
  const Dimension dimensions[] = {{F::kGridX, FieldRole::kGridX, shape.grid[0], 0x7fff'ffff},
                                  {F::kGridY, FieldRole::kGridY, shape.grid[1], 65535},
                                  {F::kGridZ, FieldRole::kGridZ, shape.grid[2], 65535},
                                  {F::kGroupX, FieldRole::kLocalX, shape.group[0], 1024},
                                  {F::kGroupY, FieldRole::kLocalY, shape.group[1], 1024},
                                  {F::kGroupZ, FieldRole::kLocalZ, shape.group[2], 64}};
  const QmdVersion version = kernel.version();
  for (const Dimension& d : dimensions)
    HALYARD_RETURN_IF_ERROR(check_operand(version, d.field, d.value, 1, d.most));
  std::uint64_t threads = 1;  // of the dimensions that are known
  for (const Operand& dimension : shape.group)
    if (!dimension.symbolic()) threads *= dimension.resolve();
  if (threads > 1024)
    return error(StatusCode::kOutOfRange, "launch: {} work-items in a workgroup, not 1 to 1024",
                 threads);
  HALYARD_RETURN_IF_ERROR(check_operand(version, F::kBankAddress, shape.bank));

  HALYARD_ASSIGN_OR_RETURN(const std::uint32_t block,
                           list.block(qmd_bytes(version), kQmdAlignment));
  const hcq::DeviceSpan& span = list.block_span(block);
  if (span.address % kQmdAlignment != 0 || span.address >= kCommandAddressLimit)
    return error(StatusCode::kFailedPrecondition,
                 "launch: the memory of a QMD at {:#x} is not aligned to 256 "
                 "or has more than 40 bits",
                 span.address);
  std::memcpy(span.host, kernel.bytes().data(), kernel.bytes().size());
  const QmdBlock qmd{block, version};
  for (const Dimension& d : dimensions) record(list, qmd, d.field, d.role, d.value);
  record(list, qmd, F::kBankAddress, FieldRole::kArguments, shape.bank);
  return qmd;
}

Status chain_qmd(WordList& list, QmdBlock qmd, QmdBlock next) {
  if (read(list, qmd, F::kDependentEnable) != 0)
    return error(StatusCode::kFailedPrecondition, "QMD at {:#x}: has a successor already",
                 qmd_address(list, qmd));
  write(list, qmd, F::kDependentAddress, qmd_address(list, next));
  write(list, qmd, F::kDependentAction, kScheduleAction);
  write(list, qmd, F::kDependentPrefetch, 1);
  write(list, qmd, F::kDependentEnable, 1);
  return {};
}

Status release_semaphore_by_qmd(WordList& list, QmdBlock qmd, std::uint64_t address,
                                const Operand& value, PayloadBits bits) {
  HALYARD_RETURN_IF_ERROR(check_semaphore(address));
  HALYARD_RETURN_IF_ERROR(check_payload(value, bits));
  unsigned slot = 0;
  while (slot < kQmdReleases && read(list, qmd, F::kReleaseEnable, slot) != 0) ++slot;
  if (slot == kQmdReleases)
    return error(StatusCode::kResourceExhausted, "QMD at {:#x}: releases {} semaphores already",
                 qmd_address(list, qmd), kQmdReleases);
  write(list, qmd, F::kReleaseEnable, 1, slot);
  write(list, qmd, F::kReleaseStructure, kFourWords, slot);
  write(list, qmd, F::kReleasePayload64, bits == PayloadBits::k64 ? 1 : 0, slot);
  write(list, qmd, F::kReleaseAddress, address, slot);
  record(list, qmd, F::kReleaseValue, FieldRole::kSignal, value, slot);
  return {};
}

}  // namespace halyard::inline v0::nv
