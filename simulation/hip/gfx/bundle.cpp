// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/bundle.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__", kCompressedMagic = "CCOB";
// A larger size indicates damage, which would otherwise exhaust memory.
constexpr std::uint64_t kMaxInflated = std::uint64_t{2} << 30;

bool starts_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && text_of(bytes.first(magic.size())) == magic;
}

struct Entry {
  std::uint64_t offset = 0, size = 0;
  std::string_view id;
};

// Reads the entry at `position` and advances `position` past it.
std::optional<Entry> read_entry(Bytes bytes, std::uint64_t& position) {
  const auto offset = read<std::uint64_t>(bytes, position);
  const auto size = read<std::uint64_t>(bytes, position + 8);
  const auto id_size = read<std::uint64_t>(bytes, position + 16);
  if (!offset || !size || !id_size) return std::nullopt;
  const auto id = part(bytes, position + 24, *id_size);
  if (!id) return std::nullopt;
  position += 24 + *id_size;
  return Entry{*offset, *size, text_of(*id)};
}

// The target of "hipv4-amdgcn-amd-amdhsa--gfx1100"; nothing for the host and other devices.
std::optional<TargetId> target_of_entry(std::string_view id) {
  const std::string_view kind = id.substr(0, id.find('-'));
  if (kind != "hip" && kind != "hipv4" && kind != "hcc") return std::nullopt;
  const std::string_view triple = id.substr(kind.size());
  const std::size_t target = triple.find("-gfx");
  if (!triple.starts_with("-amdgcn-") || target == std::string_view::npos) return std::nullopt;
  return TargetId::parse(triple.substr(target + 1));
}

struct CompressedHeader {
  std::uint16_t method = 0;
  std::uint64_t header_size = 0, total_size = 0, inflated_size = 0;  // total 0: absent
};

// clang, lib/Driver/OffloadBundler.cpp: version 1 has no total size, version 3 has 64-bit sizes.
std::optional<CompressedHeader> read_header(Bytes bytes) {
  const auto version = read<std::uint16_t>(bytes, 4);
  const auto method = read<std::uint16_t>(bytes, 6);
  if (!version || !method) return std::nullopt;
  CompressedHeader header;
  header.method = *method;
  switch (*version) {
    case 1: {
      const auto inflated = read<std::uint32_t>(bytes, 8);
      if (!inflated) return std::nullopt;
      header.header_size = 20;
      header.inflated_size = *inflated;
      return header;
    }
    case 2: {
      const auto total = read<std::uint32_t>(bytes, 8);
      const auto inflated = read<std::uint32_t>(bytes, 12);
      if (!total || !inflated) return std::nullopt;
      header.header_size = 24;
      header.total_size = *total;
      header.inflated_size = *inflated;
      return header;
    }
    case 3: {
      const auto total = read<std::uint64_t>(bytes, 8);
      const auto inflated = read<std::uint64_t>(bytes, 16);
      if (!total || !inflated) return std::nullopt;
      header.header_size = 32;
      header.total_size = *total;
      header.inflated_size = *inflated;
      return header;
    }
    default:
      return std::nullopt;
  }
}

// zlib.h and zstd.h; the functions have been the same since their first versions.
using ZlibUncompress = int (*)(unsigned char*, unsigned long*, const unsigned char*, unsigned long);
using ZstdDecompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);

void* find_function(const char* library, const char* name) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return opened == nullptr ? nullptr : dlsym(opened, name);
}

}  // namespace

bool is_bundle(Bytes bytes) { return starts_with(bytes, kMagic); }
bool is_compressed_bundle(Bytes bytes) { return starts_with(bytes, kCompressedMagic); }

std::optional<Bytes> find_entry(Bytes bundle, const TargetId& device, std::string& error) {
  const auto count = read<std::uint64_t>(bundle, kMagic.size());
  std::uint64_t position = kMagic.size() + 8;
  std::optional<Entry> best;
  Match best_match = Match::kNone;
  bool is_damaged = !count;
  for (std::uint64_t i = 0; !is_damaged && i != *count; ++i) {
    const auto entry = read_entry(bundle, position);
    if (!entry) {
      is_damaged = true;
      break;
    }
    const auto target = target_of_entry(entry->id);
    const Match found = target ? match(*target, device) : Match::kNone;
    if (found > best_match) {
      best_match = found;
      best = entry;
    }
  }
  if (!is_damaged && !best) return std::nullopt;
  const auto bytes = is_damaged ? std::nullopt : part(bundle, best->offset, best->size);
  if (!bytes) error = "The bundle's entries are not within it.";
  return bytes;
}

std::optional<std::vector<std::byte>> decompress_bundle(Bytes bytes, std::string& error) {
  const auto header = read_header(bytes);
  if (!header || header->header_size > bytes.size()) {
    error = "The compressed bundle's header is damaged.";
    return std::nullopt;
  }
  std::uint64_t end = bytes.size();
  if (header->total_size != 0) end = std::min(end, header->total_size);
  if (end < header->header_size || header->inflated_size > kMaxInflated) {
    error = "The compressed bundle's sizes contradict each other.";
    return std::nullopt;
  }
  const Bytes content = bytes.subspan(header->header_size, end - header->header_size);
  // deflate expands by a factor of at most 1032; zstd can exceed that, but not with kernels.
  if (header->inflated_size / 65536 > content.size()) {
    error = "The compressed bundle's sizes contradict each other.";
    return std::nullopt;
  }
  std::vector<std::byte> inflated(header->inflated_size);
  bool is_whole = false;
  if (header->method == 0) {
    static const auto uncompress =
        reinterpret_cast<ZlibUncompress>(find_function("libz.so.1", "uncompress"));
    if (uncompress == nullptr) {
      error = "The bundle is compressed by zlib, and this system has no libz.so.1.";
      return std::nullopt;
    }
    unsigned long size = inflated.size();
    is_whole =
        uncompress(reinterpret_cast<unsigned char*>(inflated.data()), &size,
                   reinterpret_cast<const unsigned char*>(content.data()), content.size()) == 0 &&
        size == inflated.size();
  } else if (header->method == 1) {
    static const auto decompress =
        reinterpret_cast<ZstdDecompress>(find_function("libzstd.so.1", "ZSTD_decompress"));
    if (decompress == nullptr) {
      error = "The bundle is compressed by Zstandard, and this system has no libzstd.so.1.";
      return std::nullopt;
    }
    is_whole = decompress(inflated.data(), inflated.size(), content.data(), content.size()) ==
               inflated.size();
  } else {
    error = join("The bundle is compressed by method ", header->method, ", which is not known.");
    return std::nullopt;
  }
  if (!is_whole) {
    error = "The compressed bundle does not decompress to the size that it states.";
    return std::nullopt;
  }
  return inflated;
}

std::size_t size_of_bundle(const std::byte* bytes) {
  if (is_compressed_bundle(Bytes(bytes, kCompressedMagic.size()))) {
    const auto header = read_header(Bytes(bytes, 24));
    return header ? static_cast<std::size_t>(header->total_size) : 0;
  }
  // The comparison ends at the first different byte, because the bytes may end there.
  if (std::strncmp(reinterpret_cast<const char*>(bytes), kMagic.data(), kMagic.size()) != 0)
    return 0;
  // The header of each entry starts where the previous header and its name end.
  std::uint64_t position = kMagic.size() + 8, end = position;
  const std::uint64_t count = *read<std::uint64_t>(Bytes(bytes, position), kMagic.size());
  for (std::uint64_t i = 0; i != count; ++i) {
    const Bytes header(bytes + position, 24);
    const std::uint64_t id_size = *read<std::uint64_t>(header, 16);
    const std::uint64_t entry_end =
        *read<std::uint64_t>(header, 0) + *read<std::uint64_t>(header, 8);
    // Names beyond a page and entries beyond a terabyte are damage.
    if (id_size > 4096 || entry_end > std::uint64_t{1} << 40 || count > 4096) return 0;
    position += 24 + id_size;
    end = std::max({end, position, entry_end});
  }
  return static_cast<std::size_t>(end);
}

}  // namespace halyard::inline v0::sim::gfx
