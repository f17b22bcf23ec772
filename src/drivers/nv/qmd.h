// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The QMD (queue meta data): the descriptor of one kernel launch on an NVIDIA GPU.
//
//   Result<Qmd> kernel = make_qmd(QmdVersion::kV4, {.program = code, .registers = 24, ...});
//   Result<QmdBlock> block = append_qmd(list, *kernel, {.grid = ..., .group = ..., .bank = args});
//   launch(list, qmd_address(list, *block));                        // compute.h
//
// Its fields are ranges of bits, at other positions in each version of the QMD. All reads and
// writes use one table of them. A field holds value >> shift. Numbers that do not fit are refused.
//
// A Qmd is the part of a launch that does not change: make it once for each kernel. append_qmd()
// copies it into a block of a WordList and records the places of the fields of the launch. Values
// of symbols are unknown here: the code that binds them ensures the limits of LaunchShape.
//
// The rules and errors of methods.h hold here. Positions: NVIDIA's open-gpu-doc, clc6c0qmd.h
// (V03_00), clcbc0qmd.h (V04_00), clcdc0qmd.h and clcec0qmd.h (V05_00), in classes/compute/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/nv/methods.h"

namespace halyard::inline v0::nv {

enum class QmdVersion : std::uint8_t { kV3, kV4, kV5 };  // Ampere and Ada; Hopper; Blackwell
inline constexpr std::size_t kQmdVersions = 3;
inline constexpr std::size_t kQmdAlignment = 256;
constexpr std::size_t qmd_bytes(QmdVersion version) noexcept {
  return version == QmdVersion::kV3 ? 256 : 384;
}

// In the order of the table in qmd.cpp.
enum class QmdField : std::uint8_t {
  kGroupId,
  kType,
  kSmGlobalCaching,
  kMajorVersion,
  kSassVersion,
  kApiVisibleCallLimit,
  kSamplerIndex,
  kInvalidateTextureHeaders,  // six, in the order of QmdCaches
  kInvalidateTextureSamplers,
  kInvalidateTextureData,
  kInvalidateShaderData,
  kInvalidateInstructions,
  kInvalidateConstants,
  kMembar,
  kProgram,
  kPrefetchAddress,
  kPrefetchSize,  // in 256 bytes
  kRegisters,
  kBarriers,
  kLocalLow,
  kLocalHigh,
  kShared,
  kMinSharedConfig,
  kMaxSharedConfig,
  kTargetSharedConfig,
  kSharedAllocation,
  kGridX,
  kGridY,
  kGridZ,
  kGroupX,
  kGroupY,
  kGroupZ,
  kBankValid,  // arrays of kQmdBanks
  kBankInvalidate,
  kBankAddress,
  kBankSize,
  kDependentEnable,
  kDependentAction,
  kDependentPrefetch,
  kDependentAddress,
  kReleaseEnable,  // arrays of kQmdReleases
  kReleaseStructure,
  kReleasePayload64,
  kReleaseAddress,
  kReleaseValue,
  kCount
};

inline constexpr unsigned kQmdBanks = 8;
inline constexpr unsigned kQmdReleases = 2;  // not the third, whose positions follow no stride

// Bits first + index * stride to that + width - 1, counted from bit 0 of word 0.
struct QmdBits {
  std::uint16_t first = 0;
  std::uint8_t width = 0;  // 0: this version has no such field
  std::uint8_t shift = 0;
  std::uint8_t count = 1;  // elements
  std::uint16_t stride = 0;
};
const QmdBits& qmd_bits(QmdVersion version, QmdField field) noexcept;

// Reads a field from a QMD in memory. Precondition: the version has the field and the element.
std::uint64_t read_qmd(const std::byte* qmd, QmdVersion version, QmdField field,
                       unsigned index = 0) noexcept;

class Qmd {
 public:
  explicit Qmd(QmdVersion version) noexcept : version_(version) {}  // all zero

  // Refuses a field or element that the version does not have, a value with bits below the field's
  // shift and one that is too large.
  [[nodiscard]] Status set(QmdField field, std::uint64_t value, unsigned index = 0);
  std::uint64_t get(QmdField field, unsigned index = 0) const noexcept {
    return read_qmd(bytes().data(), version_, field, index);
  }
  QmdVersion version() const noexcept { return version_; }
  std::span<const std::byte> bytes() const noexcept {
    return std::as_bytes(std::span(words_)).first(qmd_bytes(version_));
  }

 private:
  QmdVersion version_;
  std::array<std::uint32_t, 96> words_{};
};

// Caches that a launch invalidates before it starts; to be combined with |.
enum QmdCaches : std::uint8_t {
  kQmdTextureHeaders = 1,
  kQmdTextureSamplers = 2,
  kQmdTextureData = 4,
  kQmdShaderData = 8,
  kQmdInstructions = 16,
  kQmdConstants = 32,
};
// The readers that see the writes of a launch once it has completed (CWD_MEMBAR_TYPE).
enum class QmdMembar : std::uint8_t { kNone = 0, kSystem = 1, kDevice = 3 };

struct ConstantBank {
  std::uint64_t address = 0;  // a multiple of 64; that of bank 0 comes with the launch
  std::uint32_t bytes = 0;    // a multiple of 16; 0: no such bank
  bool invalidate = false;    // drops what the constant cache has of it
};

struct QmdKernel {
  std::uint64_t program = 0;         // address of the first instruction
  std::uint32_t prefetch_bytes = 0;  // code to fetch at the launch, from `program` on
  std::uint32_t registers = 0;       // of a thread
  std::uint32_t barriers = 1;
  std::uint32_t local_low = 0;  // bytes of local memory of a thread; nvcc's kernels use `high`
  std::uint32_t local_high = 0;
  // Bytes of shared memory, including those that the system reserves (1 KiB from sm_80 on). The SM
  // gets the smallest share of its L1 cache that has room for them, up to `largest_shared_kib`.
  std::uint32_t shared_bytes = 0;
  std::uint32_t largest_shared_kib = 100;
  bool shared_allocation = false;  // SHARED_ALLOCATION_ENABLE
  std::uint8_t sass_version = 0;   // such as 0x89
  std::uint8_t group_id = 0;
  bool sampler_via_header = false;
  std::uint8_t invalidate = 0;  // QmdCaches
  QmdMembar membar = QmdMembar::kSystem;
  std::array<ConstantBank, kQmdBanks> banks{};
};
[[nodiscard]] Result<Qmd> make_qmd(QmdVersion version, const QmdKernel& kernel);

// Fields kGridX to kGridZ (at most 2^31 - 1, 65535 and 65535 workgroups), kLocalX to kLocalZ (1024,
// 1024 and 64 work-items, 1024 in all) and kArguments, the address of constant bank 0.
struct LaunchShape {
  std::array<hcq::Operand, 3> grid;
  std::array<hcq::Operand, 3> group;
  hcq::Operand bank;
};

struct QmdBlock {
  std::uint32_t block;  // of the WordList
  QmdVersion version;
};
// Appends a launch. Other errors: those of WordList::block(), and kFailedPrecondition if the list's
// memory for blocks is not aligned or not below kCommandAddressLimit.
[[nodiscard]] Result<QmdBlock> append_qmd(hcq::WordList& list, const Qmd& kernel,
                                          const LaunchShape& shape);
inline std::uint64_t qmd_address(const hcq::WordList& list, QmdBlock qmd) noexcept {
  return list.block_span(qmd.block).address;
}

// Makes the GPU schedule `next` when `qmd` completes; launch() only the first QMD of a chain. The
// GPU may read `next` as soon as `qmd` runs. Returns kFailedPrecondition if `qmd` has a successor.
[[nodiscard]] Status chain_qmd(hcq::WordList& list, QmdBlock qmd, QmdBlock next);

// Makes the GPU write the value and the time of a semaphore when `qmd` has completed and its writes
// are visible (QmdKernel::membar). Returns kResourceExhausted after kQmdReleases calls.
[[nodiscard]] Status release_semaphore_by_qmd(hcq::WordList& list, QmdBlock qmd,
                                              std::uint64_t address, const hcq::Operand& value,
                                              PayloadBits bits);

}  // namespace halyard::inline v0::nv
