// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of an ELF file that a loader of AMD code objects needs (System V ABI; LLVM, "User Guide
// for AMDGPU Backend", ELF Code Object).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/hip/gfx/byte_reader.h"

namespace halyard::inline v0::sim::gfx {

inline constexpr std::uint16_t kMachineAmdgpu = 224;
inline constexpr std::uint8_t kOsAbiHsa = 64;

struct ElfSegment {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
  bool is_loaded() const { return type == 1; }
  bool is_executable() const { return (flags & 1) != 0; }
};

struct ElfSymbol {
  std::string_view name;
  std::uint64_t address = 0, size = 0;
  std::uint8_t type = 0;  // 1 object, 2 function, 10 AMDGPU kernel of code object version 2
  bool is_defined = false, is_exported = false, is_weak = false;
};

struct ElfRelocation {
  std::uint64_t offset = 0;
  std::uint32_t type = 0, symbol = 0;
  std::int64_t addend = 0;
};

struct Elf {
  std::uint16_t machine = 0;
  std::uint8_t os_abi = 0, abi_version = 0;
  std::uint32_t flags = 0;
  std::vector<ElfSegment> segments;
  std::vector<ElfSymbol> symbols;          // the dynamic ones: by their index
  std::vector<ElfSymbol> other_symbols;    // of .symtab, if it is there
  std::vector<ElfRelocation> relocations;  // the dynamic ones
};

bool is_elf(Bytes bytes);
// Returns nothing, with the reason in `error`, if the file is not a 64-bit little-endian ELF or
// refers to bytes outside itself. The result refers to `bytes`.
std::optional<Elf> read_elf(Bytes bytes, std::string& error);
// The note of segments of type PT_NOTE with that name and type, or nothing.
std::optional<Bytes> find_note(Bytes bytes, const Elf& elf, std::string_view name,
                               std::uint32_t type);
// The size of an ELF at `bytes`: the end of all data that its headers refer to; 0 if it is not an
// ELF. Reads the headers without a bound.
std::size_t size_of_elf(const std::byte* bytes);

}  // namespace halyard::inline v0::sim::gfx
