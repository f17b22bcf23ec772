// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "simulation/hip/gfx/bundle.h"
#include "simulation/hip/gfx/code_reader.h"
#include "simulation/hip/gfx/elf.h"
#include "simulation/hip/gfx/gfx.h"
#include "simulation/hip/gfx/metadata.h"
#include "simulation/hip/gfx/target.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

using Program = CodeObject::Program;

constexpr std::uint32_t kNoteMetadata = 32;  // NT_AMDGPU_METADATA
constexpr std::uint64_t kDescriptorSize = 64;
// Larger images indicate damage, because no variable is that large.
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 30;

// LLVM, "User Guide for AMDGPU Backend", Relocation Records: those that remain after linking.
enum RelocationType : std::uint32_t {
  kAbs32Low = 1,
  kAbs32High = 2,
  kAbs64 = 3,
  kAbs32 = 6,
  kRelative64 = 13,
};

class Loader {
 public:
  Loader(Bytes bytes, TargetId device) : bytes_(bytes), device_(std::move(device)) {}

  Loaded load() {
    program_ = std::make_unique<Program>();
    const bool is_loaded = read_header() && read_image() && read_kernels() && read_relocations() &&
                           read_code_of_kernels();
    if (!is_loaded) return {status_, nullptr, std::move(error_)};
    read_variables();
    return {LoadStatus::kOk, std::make_shared<CodeObject>(std::move(program_)), ""};
  }

 private:
  bool fail(LoadStatus status, std::string error) {
    status_ = status;
    error_ = std::move(error);
    return false;
  }
  bool damaged(std::string_view what) {
    return fail(LoadStatus::kDamaged, join("The code object is damaged: ", what, "."));
  }

  bool read_header();
  bool read_image();
  bool read_kernels();
  bool read_descriptor(const KernelMetadata& metadata);
  bool read_relocations();
  bool read_code_of_kernels();
  void read_variables();

  // The offset in the image of an address of the ELF, if `size` bytes from there are in the image.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t size) const {
    if (address < base_) return std::nullopt;
    const std::uint64_t offset = address - base_;
    if (!part(program_->image, offset, size)) return std::nullopt;
    return offset;
  }
  const ElfSymbol* find_symbol(std::string_view name) const {
    const auto found = std::ranges::find_if(elf_.symbols, [&](const ElfSymbol& symbol) {
      return symbol.is_defined && symbol.name == name;
    });
    return found == elf_.symbols.end() ? nullptr : &*found;
  }

  Bytes bytes_;
  TargetId device_;
  Elf elf_;
  std::uint64_t base_ = 0;  // address of the first byte of the image
  std::unique_ptr<Program> program_;
  std::vector<std::string> descriptor_symbols_;
  LoadStatus status_ = LoadStatus::kOk;
  std::string error_;
};

bool Loader::read_header() {
  std::string error;
  auto elf = read_elf(bytes_, error);
  if (!elf) return damaged(error);
  elf_ = std::move(*elf);
  if (elf_.machine != kMachineAmdgpu || elf_.os_abi != kOsAbiHsa) {
    return fail(LoadStatus::kOtherTarget, "The ELF is not for AMD GPUs under HSA.");
  }
  const auto target = target_of_flags(elf_.flags);
  if (!target) {
    return fail(
        LoadStatus::kOtherTarget,
        join("The code object is for a processor without a name: ", elf_.flags & 0xff, "."));
  }
  const Match found = match(target->id, device_);
  // Generic code has a version number, from which later processors can tell its compatibility.
  if (found == Match::kNone || (found == Match::kGeneric && target->generic_version == 0)) {
    return fail(LoadStatus::kOtherTarget,
                join("The code object for ", target->id.processor, " does not fit the device, ",
                     device_.processor, ", and its features."));
  }
  // Versions 4, 5 and 6 of the code object.
  if (elf_.abi_version < 2 || elf_.abi_version > 4) {
    return fail(LoadStatus::kNotExecutable,
                join("Code objects of ABI version ", elf_.abi_version, " are not built."));
  }
  if (!device_.processor.starts_with("gfx11")) {
    return fail(LoadStatus::kNotExecutable,
                join("Code for ", device_.processor, " is not executed: only that for gfx11 is."));
  }
  return true;
}

bool Loader::read_image() {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (const ElfSegment& segment : elf_.segments) {
    if (!segment.is_loaded()) continue;
    if (segment.memory_size > kMaxImage || segment.address > ~std::uint64_t{0} - kMaxImage) {
      return damaged("a segment is too large");
    }
    // The ABI requires ascending order.
    if (segment.address < end) return damaged("its segments overlap");
    begin = std::min(begin, segment.address);
    end = segment.address + segment.memory_size;
  }
  if (end <= begin) return damaged("nothing of it is loaded");
  base_ = begin / kPage * kPage;
  if (end - base_ > kMaxImage) return damaged("its segments are too far from each other");
  Program& program = *program_;
  program.image.resize(end - base_);
  for (const ElfSegment& segment : elf_.segments) {
    if (!segment.is_loaded() || segment.file_size == 0) continue;
    const Bytes from = *part(bytes_, segment.offset, segment.file_size);
    std::ranges::copy(from, program.image.data() + (segment.address - base_));
    if (!segment.is_executable()) continue;
    if (program.code_end != 0) {
      return fail(LoadStatus::kNotExecutable, "The code object has several segments of code.");
    }
    if (segment.address % 4 != 0) return damaged("its code is not aligned");
    program.code_begin = segment.address - base_;
    program.code_end = program.code_begin + segment.file_size / 4 * 4;
  }
  return true;
}

bool Loader::read_kernels() {
  const auto note = find_note(bytes_, elf_, "AMDGPU", kNoteMetadata);
  if (!note) return damaged("it has no metadata");
  std::string error;
  auto kernels = read_metadata(*note, error);
  if (!kernels) return fail(LoadStatus::kDamaged, std::move(error));
  for (KernelMetadata& kernel : *kernels) {
    if (!read_descriptor(kernel)) return false;
    descriptor_symbols_.push_back(std::move(kernel.descriptor_symbol));
    program_->kernels.push_back(std::move(kernel.kernel));
  }
  return true;
}

bool Loader::read_descriptor(const KernelMetadata& metadata) {
  const std::string& name = metadata.kernel.name;
  const ElfSymbol* const symbol = find_symbol(metadata.descriptor_symbol);
  const auto offset =
      symbol == nullptr ? std::nullopt : offset_of(symbol->address, kDescriptorSize);
  if (!offset) return damaged(join("the kernel descriptor of ", name, " is not in it"));
  const Bytes bytes = *part(program_->image, *offset, kDescriptorSize);
  Program::KernelCode code;
  code.descriptor = {.group_segment_bytes = *read<std::uint32_t>(bytes, 0),
                     .private_segment_bytes = *read<std::uint32_t>(bytes, 4),
                     .kernarg_bytes = *read<std::uint32_t>(bytes, 8),
                     .rsrc1 = *read<std::uint32_t>(bytes, 48),
                     .rsrc2 = *read<std::uint32_t>(bytes, 52),
                     .rsrc3 = *read<std::uint32_t>(bytes, 44),
                     .properties = *read<std::uint16_t>(bytes, 56),
                     .kernarg_preload = *read<std::uint16_t>(bytes, 58)};
  const std::uint64_t entry = *offset + static_cast<std::uint64_t>(*read<std::int64_t>(bytes, 16));
  if (entry < program_->code_begin || entry >= program_->code_end || entry % 4 != 0) {
    return damaged(join("the entry of ", name, " is outside its code"));
  }
  code.entry_offset = entry;
  if (!code.descriptor.is_wave32() || metadata.kernel.wave_size != 32) {
    return fail(LoadStatus::kNotExecutable,
                join(name, " is for waves of 64, which are not built."));
  }
  program_->code.push_back(code);
  return true;
}

bool Loader::read_relocations() {
  for (const ElfRelocation& from : elf_.relocations) {
    Program::Relocation relocation;
    switch (from.type) {
      case kRelative64:
      case kAbs64:
        relocation.bytes = 8;
        break;
      case kAbs32:
      case kAbs32Low:
        relocation.bytes = 4;
        break;
      case kAbs32High:
        relocation.bytes = 4;
        relocation.high = true;
        break;
      case 0:
        continue;  // R_AMDGPU_NONE
      default:
        return fail(LoadStatus::kNotExecutable,
                    join("Relocations of type ", from.type, " are not built."));
    }
    const auto offset = offset_of(from.offset, relocation.bytes);
    if (!offset) return damaged("a relocation is outside the image");
    if (*offset + relocation.bytes > program_->code_begin && *offset < program_->code_end) {
      return fail(LoadStatus::kNotExecutable, "Relocations of code are not built.");
    }
    relocation.offset = *offset;
    relocation.addend = from.addend;
    if (from.type != kRelative64) {
      if (from.symbol >= elf_.symbols.size()) return damaged("a relocation is of no symbol");
      const ElfSymbol& symbol = elf_.symbols[from.symbol];
      if (!symbol.is_defined && !symbol.is_weak) {
        return damaged(join("it refers to ", symbol.name, ", which it does not define"));
      }
      // An undefined weak symbol has address 0.
      if (!symbol.is_defined) continue;
      relocation.addend =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(from.addend) + symbol.address);
    }
    relocation.addend =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(relocation.addend) - base_);
    program_->relocations.push_back(relocation);
  }
  return true;
}

bool Loader::read_code_of_kernels() {
  std::vector<std::uint64_t> functions;
  for (const auto* symbols : {&elf_.symbols, &elf_.other_symbols}) {
    for (const ElfSymbol& symbol : *symbols) {
      if (symbol.type == 2 && symbol.is_defined && symbol.address >= base_) {
        functions.push_back(symbol.address - base_);
      }
    }
  }
  std::string error;
  const LoadStatus status = read_code(*program_, functions, error);
  return status == LoadStatus::kOk || fail(status, std::move(error));
}

void Loader::read_variables() {
  for (const ElfSymbol& symbol : elf_.symbols) {
    if (symbol.type != 1 || !symbol.is_defined || !symbol.is_exported || symbol.size == 0) continue;
    if (std::ranges::find(descriptor_symbols_, symbol.name) != descriptor_symbols_.end()) continue;
    if (const auto offset = offset_of(symbol.address, symbol.size)) {
      program_->variables.push_back({std::string(symbol.name), *offset, symbol.size});
    }
  }
}

}  // namespace

CodeObject::CodeObject(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
CodeObject::~CodeObject() = default;

Loaded CodeObject::load(std::span<const std::byte> bytes, std::string_view target) {
  auto device = TargetId::parse(target);
  if (!device) return {LoadStatus::kOtherTarget, nullptr, join(target, " is no target.")};
  std::string error;
  std::optional<std::vector<std::byte>> inflated;
  if (is_compressed_bundle(bytes)) {
    inflated = decompress_bundle(bytes, error);
    if (!inflated) return {LoadStatus::kDamaged, nullptr, std::move(error)};
    bytes = *inflated;
  }
  if (is_bundle(bytes)) {
    const auto entry = find_entry(bytes, *device, error);
    if (!entry && !error.empty()) return {LoadStatus::kDamaged, nullptr, std::move(error)};
    if (!entry) {
      return {LoadStatus::kNoImageInBundle, nullptr,
              join("The bundle has no image for ", target, ".")};
    }
    bytes = *entry;
  }
  if (!is_elf(bytes)) {
    return {LoadStatus::kNotAnImage, nullptr, "The image is neither an ELF nor a bundle."};
  }
  return Loader(bytes, std::move(*device)).load();
}

std::size_t CodeObject::size_of(const std::byte* bytes) {
  const std::size_t size = size_of_elf(bytes);
  return size != 0 ? size : size_of_bundle(bytes);
}

std::span<const Kernel> CodeObject::kernels() const { return program_->kernels; }

std::optional<std::size_t> CodeObject::find_kernel(std::string_view name) const {
  const auto found = std::ranges::find(program_->kernels, name, &Kernel::name);
  if (found == program_->kernels.end()) return std::nullopt;
  return static_cast<std::size_t>(found - program_->kernels.begin());
}

std::span<const Variable> CodeObject::variables() const { return program_->variables; }

std::span<const std::byte> CodeObject::image() const { return program_->image; }

void CodeObject::relocate(std::span<std::byte> image, std::uint64_t address) const {
  for (const Program::Relocation& relocation : program_->relocations) {
    std::uint64_t value = address + static_cast<std::uint64_t>(relocation.addend);
    if (relocation.high) value >>= 32;
    std::memcpy(image.data() + relocation.offset, &value, relocation.bytes);
  }
}

}  // namespace halyard::inline v0::sim::gfx
