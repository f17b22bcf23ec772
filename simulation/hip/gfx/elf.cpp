// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/elf.h"

#include <algorithm>
#include <limits>

#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// System V ABI, chapters 4 and 5.
constexpr std::uint64_t kHeaderSize = 64, kSegmentSize = 56, kSectionSize = 64, kSymbolSize = 24,
                        kRelocationSize = 24, kDynamicSize = 16;
constexpr std::uint32_t kSegmentDynamic = 2, kSegmentNote = 4;
constexpr std::uint32_t kSectionSymbols = 2, kSectionNoBytes = 8;
constexpr std::int64_t kDynamicEnd = 0, kDynamicHash = 4, kDynamicStrings = 5, kDynamicSymbols = 6,
                       kDynamicRela = 7, kDynamicRelaSize = 8, kDynamicStringsSize = 10,
                       kDynamicRel = 17, kDynamicJumpRelocations = 23;

struct Section {
  std::uint32_t type = 0, link = 0;
  std::uint64_t offset = 0, size = 0;
};

struct SymbolTable {
  Bytes symbols, strings;
};

std::optional<Section> read_section(Bytes bytes, std::uint64_t offset) {
  const auto header = part(bytes, offset, kSectionSize);
  if (!header) return std::nullopt;
  return Section{.type = *read<std::uint32_t>(*header, 4),
                 .link = *read<std::uint32_t>(*header, 40),
                 .offset = *read<std::uint64_t>(*header, 24),
                 .size = *read<std::uint64_t>(*header, 32)};
}

bool read_segments(Bytes bytes, Elf& elf) {
  const std::uint64_t table = *read<std::uint64_t>(bytes, 32);
  const std::uint16_t size = *read<std::uint16_t>(bytes, 54);
  const std::uint16_t count = *read<std::uint16_t>(bytes, 56);
  if (count != 0 && size != kSegmentSize) return false;
  const auto headers = part(bytes, table, count * kSegmentSize);
  if (!headers) return false;
  for (std::uint64_t i = 0; i != count; ++i) {
    const Bytes header = headers->subspan(i * kSegmentSize, kSegmentSize);
    const ElfSegment segment = {.type = *read<std::uint32_t>(header, 0),
                                .flags = *read<std::uint32_t>(header, 4),
                                .offset = *read<std::uint64_t>(header, 8),
                                .address = *read<std::uint64_t>(header, 16),
                                .file_size = *read<std::uint64_t>(header, 32),
                                .memory_size = *read<std::uint64_t>(header, 40)};
    const bool has_bytes =
        segment.is_loaded() || segment.type == kSegmentDynamic || segment.type == kSegmentNote;
    if (has_bytes && !part(bytes, segment.offset, segment.file_size)) return false;
    if (segment.is_loaded() && segment.file_size > segment.memory_size) return false;
    elf.segments.push_back(segment);
  }
  return true;
}

// The bytes from an address to the end of its segment.
std::optional<Bytes> bytes_at(Bytes bytes, const Elf& elf, std::uint64_t address) {
  for (const ElfSegment& segment : elf.segments) {
    if (!segment.is_loaded() || address < segment.address ||
        address - segment.address >= segment.file_size) {
      continue;
    }
    const std::uint64_t skip = address - segment.address;
    return part(bytes, segment.offset + skip, segment.file_size - skip);
  }
  return std::nullopt;
}

bool read_symbols(const SymbolTable& table, std::vector<ElfSymbol>& symbols) {
  const std::uint64_t count = table.symbols.size() / kSymbolSize;
  symbols.reserve(count);
  for (std::uint64_t i = 0; i != count; ++i) {
    const Bytes entry = table.symbols.subspan(i * kSymbolSize, kSymbolSize);
    const auto name = read_text(table.strings, *read<std::uint32_t>(entry, 0));
    if (!name) return false;
    const std::uint8_t info = *read<std::uint8_t>(entry, 4);
    const unsigned binding = info >> 4;  // 0 local, 1 global, 2 weak
    symbols.push_back({.name = *name,
                       .address = *read<std::uint64_t>(entry, 8),
                       .size = *read<std::uint64_t>(entry, 16),
                       .type = static_cast<std::uint8_t>(info & 15),
                       .is_defined = *read<std::uint16_t>(entry, 6) != 0,
                       .is_exported = binding != 0,
                       .is_weak = binding == 2});
  }
  return true;
}

bool read_relocations(Bytes table, Elf& elf) {
  for (std::uint64_t i = 0; i != table.size() / kRelocationSize; ++i) {
    const Bytes entry = table.subspan(i * kRelocationSize, kRelocationSize);
    const std::uint64_t info = *read<std::uint64_t>(entry, 8);
    elf.relocations.push_back({.offset = *read<std::uint64_t>(entry, 0),
                               .type = static_cast<std::uint32_t>(info),
                               .symbol = static_cast<std::uint32_t>(info >> 32),
                               .addend = *read<std::int64_t>(entry, 16)});
  }
  return true;
}

// Reads symbols and relocations by the dynamic segment, as a loader does.
bool read_dynamic(Bytes bytes, Elf& elf, std::string& error) {
  const auto segment = std::ranges::find(elf.segments, kSegmentDynamic, &ElfSegment::type);
  if (segment == elf.segments.end()) return true;
  const Bytes table = *part(bytes, segment->offset, segment->file_size);
  std::optional<std::uint64_t> hash, strings, symbols, relocations;
  std::uint64_t strings_size = 0, relocations_size = 0;
  for (std::uint64_t i = 0; i != table.size() / kDynamicSize; ++i) {
    const std::int64_t tag = *read<std::int64_t>(table, i * kDynamicSize);
    const std::uint64_t value = *read<std::uint64_t>(table, i * kDynamicSize + 8);
    if (tag == kDynamicEnd) break;
    if (tag == kDynamicHash) hash = value;
    if (tag == kDynamicStrings) strings = value;
    if (tag == kDynamicSymbols) symbols = value;
    if (tag == kDynamicRela) relocations = value;
    if (tag == kDynamicRelaSize) relocations_size = value;
    if (tag == kDynamicStringsSize) strings_size = value;
    if (tag == kDynamicRel || tag == kDynamicJumpRelocations) {
      error = "it has dynamic relocations of a kind that is not built";
      return false;
    }
  }
  error = "its dynamic segment refers outside the file";
  if (symbols && strings && hash) {
    // The hash table contains the number of symbols.
    const auto hash_bytes = bytes_at(bytes, elf, *hash);
    const auto count = hash_bytes ? read<std::uint32_t>(*hash_bytes, 4) : std::nullopt;
    const auto symbol_bytes = bytes_at(bytes, elf, *symbols);
    const auto string_bytes = bytes_at(bytes, elf, *strings);
    if (!count || !symbol_bytes || !string_bytes) return false;
    const auto all_symbols = part(*symbol_bytes, 0, *count * kSymbolSize);
    const auto all_strings = part(*string_bytes, 0, strings_size);
    if (!all_symbols || !all_strings || !read_symbols({*all_symbols, *all_strings}, elf.symbols)) {
      return false;
    }
  }
  if (relocations && relocations_size != 0) {
    const auto from = bytes_at(bytes, elf, *relocations);
    const auto all = from ? part(*from, 0, relocations_size) : std::nullopt;
    if (!all || !read_relocations(*all, elf)) return false;
  }
  error.clear();
  return true;
}

// .symtab also has functions that are not exported.
bool read_symbol_sections(Bytes bytes, Elf& elf) {
  const std::uint64_t table = *read<std::uint64_t>(bytes, 40);
  const std::uint16_t count = *read<std::uint16_t>(bytes, 60);
  if (table == 0 || count == 0) return true;
  if (*read<std::uint16_t>(bytes, 58) != kSectionSize) return false;
  if (!part(bytes, table, count * kSectionSize)) return false;
  for (std::uint64_t i = 0; i != count; ++i) {
    const auto section = read_section(bytes, table + i * kSectionSize);
    if (section->type != kSectionSymbols) continue;
    if (section->link >= count) return false;
    const auto strings = read_section(bytes, table + section->link * kSectionSize);
    const auto symbol_bytes = part(bytes, section->offset, section->size);
    const auto string_bytes = part(bytes, strings->offset, strings->size);
    if (!symbol_bytes || !string_bytes ||
        !read_symbols({*symbol_bytes, *string_bytes}, elf.other_symbols)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_elf(Bytes bytes) {
  return bytes.size() >= 4 && text_of(bytes.first(4)) ==
                                  "\x7f"
                                  "ELF";
}

std::optional<Elf> read_elf(Bytes bytes, std::string& error) {
  if (!is_elf(bytes) || bytes.size() < kHeaderSize) {
    error = "its ELF header is incomplete";
    return std::nullopt;
  }
  if (*read<std::uint8_t>(bytes, 4) != 2 || *read<std::uint8_t>(bytes, 5) != 1) {
    error = "it is no 64-bit little-endian ELF";
    return std::nullopt;
  }
  Elf elf;
  elf.os_abi = *read<std::uint8_t>(bytes, 7);
  elf.abi_version = *read<std::uint8_t>(bytes, 8);
  elf.machine = *read<std::uint16_t>(bytes, 18);
  elf.flags = *read<std::uint32_t>(bytes, 48);
  // The fields read so far suffice for the caller to refuse a file of another machine.
  if (elf.machine != kMachineAmdgpu) return elf;
  if (!read_segments(bytes, elf)) {
    error = "its segments are not within the file";
    return std::nullopt;
  }
  if (!read_dynamic(bytes, elf, error)) return std::nullopt;
  if (!read_symbol_sections(bytes, elf)) {
    error = "its sections are not within the file";
    return std::nullopt;
  }
  return elf;
}

std::optional<Bytes> find_note(Bytes bytes, const Elf& elf, std::string_view name,
                               std::uint32_t type) {
  const auto align = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  for (const ElfSegment& segment : elf.segments) {
    if (segment.type != kSegmentNote) continue;
    const Bytes notes = *part(bytes, segment.offset, segment.file_size);
    std::uint64_t position = 0;
    while (position < notes.size()) {
      const auto name_size = read<std::uint32_t>(notes, position);
      const auto size = read<std::uint32_t>(notes, position + 4);
      const auto note_type = read<std::uint32_t>(notes, position + 8);
      if (!name_size || !size || !note_type) break;
      const std::uint64_t start = position + 12 + align(*name_size);
      const auto note_name = read_text(notes, position + 12);
      const auto content = part(notes, start, *size);
      if (!content) break;
      if (note_name == name && *note_type == type) return content;
      position = start + align(*size);
    }
  }
  return std::nullopt;
}

std::size_t size_of_elf(const std::byte* bytes) {
  if (!is_elf(Bytes(bytes, 4))) return 0;
  const Bytes header(bytes, kHeaderSize);
  std::uint64_t size = kHeaderSize;
  const auto extend = [&](std::uint64_t offset, std::uint64_t count) {
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    size = std::max(size, count > limit - offset ? limit : offset + count);
  };
  const std::uint64_t segments = *read<std::uint64_t>(header, 32);
  const std::uint64_t sections = *read<std::uint64_t>(header, 40);
  const std::uint16_t segment_count = *read<std::uint16_t>(header, 56);
  const std::uint16_t section_count = *read<std::uint16_t>(header, 60);
  if (segment_count != 0 && *read<std::uint16_t>(header, 54) == kSegmentSize) {
    extend(segments, segment_count * kSegmentSize);
    const Bytes table(bytes + segments, segment_count * kSegmentSize);
    for (std::uint64_t i = 0; i != segment_count; ++i) {
      extend(*read<std::uint64_t>(table, i * kSegmentSize + 8),
             *read<std::uint64_t>(table, i * kSegmentSize + 32));
    }
  }
  if (section_count != 0 && *read<std::uint16_t>(header, 58) == kSectionSize) {
    extend(sections, section_count * kSectionSize);
    const Bytes table(bytes + sections, section_count * kSectionSize);
    for (std::uint64_t i = 0; i != section_count; ++i) {
      const auto section = read_section(table, i * kSectionSize);
      if (section->type != kSectionNoBytes) extend(section->offset, section->size);
    }
  }
  return static_cast<std::size_t>(size);
}

}  // namespace halyard::inline v0::sim::gfx
