// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that a program loads: PTX text, a fatbin that holds PTX, or a cubin, which cannot be
// executed.
#include "simulation/cuda/image.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "simulation/cuda/abi.h"
#include "simulation/cuda/code.h"
#include "simulation/cuda/decompress.h"
#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::cuda {
namespace {

// The wrapper that nvcc emits around a fatbin (fatbinary.h of the toolkit).
struct FatbinWrapper {
  std::uint32_t magic, version;
  const void* data;
  void* file_name;
};
constexpr std::uint32_t kWrapperMagic = 0x466243b1;

struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;  // of the entries
};
constexpr std::uint32_t kFatbinMagic = 0xba55ed50;

struct FatbinEntry {
  std::uint16_t kind;  // 1: PTX, 2: cubin
  std::uint16_t unknown;
  std::uint32_t header_size;
  std::uint64_t size;  // with padding
  std::uint32_t compressed_size;
  std::uint32_t unknown2[2];
  std::uint32_t capability;
};
// Follows the entry; as nvcc 11 to 13 write it with each -compress-mode.
struct FatbinEntryTail {
  std::uint32_t name_offset, name_size;
  std::uint64_t flags;
  std::uint64_t unknown;
  std::uint64_t uncompressed_size;
};
constexpr std::uint16_t kPtxEntry = 1;
constexpr std::uint64_t kIsLz4 = 0x2000, kIsZstd = 0x8000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

// The text of an entry; `tail` is zero if the entry has none.
Result read_entry(const FatbinEntry& entry, const FatbinEntryTail& tail, const char* data,
                  std::string& text) {
  if ((tail.flags & (kIsLz4 | kIsZstd)) == 0) {
    text.assign(data, entry.size);
    return kSuccess;
  }
  HALYARD_GPU_REQUIRE(entry.compressed_size <= entry.size &&
                          tail.uncompressed_size <= ptx::ParseOptions{}.max_text_bytes,
                      kInvalidImage);
  const bool is_zstd = (tail.flags & kIsZstd) != 0;
  if (is_zstd && !has_zstd()) {
    std::fprintf(stderr, "simulated CUDA: no libzstd.so.1, which this fatbin needs\n");
    return kNoBinaryForGpu;
  }
  const std::string_view bytes(data, entry.compressed_size);
  std::optional<std::string> plain = is_zstd ? decompress_zstd(bytes, tail.uncompressed_size)
                                             : decompress_lz4(bytes, tail.uncompressed_size);
  HALYARD_GPU_REQUIRE(plain.has_value(), kInvalidImage);
  text = *std::move(plain);
  return kSuccess;
}

// Reads the PTX of the highest capability that the device supports.
Result read_fatbin(const void* image, std::size_t bytes, const ptx::Limits& limits,
                   std::vector<ImageText>& texts) {
  FatbinHeader header;
  HALYARD_GPU_REQUIRE(bytes >= sizeof header, kInvalidImage);
  std::memcpy(&header, image, sizeof header);
  HALYARD_GPU_REQUIRE(header.size <= kMostBytes && header.header_size >= sizeof header &&
                          header.header_size <= bytes && header.size <= bytes - header.header_size,
                      kInvalidImage);
  const auto* const first = static_cast<const char*>(image) + header.header_size;
  const auto most =
      static_cast<std::uint32_t>(options().capability_major * 10 + options().capability_minor);
  FatbinEntry best{};
  FatbinEntryTail best_tail{};
  const char* best_data = nullptr;
  bool has_entry = false;
  for (std::uint64_t at = 0; at + sizeof(FatbinEntry) <= header.size;) {
    FatbinEntry entry;
    std::memcpy(&entry, first + at, sizeof entry);
    HALYARD_GPU_REQUIRE(entry.header_size >= sizeof entry &&
                            entry.header_size <= header.size - at &&
                            entry.size <= header.size - at - entry.header_size,
                        kInvalidImage);
    has_entry = true;
    if (entry.kind == kPtxEntry && entry.capability <= most &&
        entry.capability >= best.capability) {
      best = entry;
      best_tail = {};
      if (entry.header_size >= sizeof entry + sizeof best_tail) {
        std::memcpy(&best_tail, first + at + sizeof entry, sizeof best_tail);
      }
      best_data = first + at + entry.header_size;
    }
    at += entry.header_size + entry.size;
  }
  HALYARD_GPU_REQUIRE(has_entry, kInvalidImage);
  if (best_data == nullptr) return kNoBinaryForGpu;
  std::string text;
  if (const Result result = read_entry(best, best_tail, best_data, text); result != kSuccess) {
    return result;
  }
  texts.push_back({std::move(text), limits});
  return kSuccess;
}

// The header of the linker's container. The texts follow it, each after a LinkedText.
struct LinkedHeader {
  std::uint32_t magic, count;
};
struct LinkedText {
  std::uint64_t size;
  std::uint32_t registers, threads, max_threads, min_blocks, overrides, unused;
};
constexpr std::uint32_t kLinkedMagic = 0x4b4c5948;  // "HYLK"

Result read_linked(const char* at, std::size_t left, std::vector<ImageText>& texts) {
  LinkedHeader header;
  HALYARD_GPU_REQUIRE(left >= sizeof header, kInvalidImage);
  std::memcpy(&header, at, sizeof header);
  at += sizeof header;
  left -= sizeof header;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    LinkedText text{};
    HALYARD_GPU_REQUIRE(left >= sizeof text, kInvalidImage);
    std::memcpy(&text, at, sizeof text);
    at += sizeof text;
    left -= sizeof text;
    HALYARD_GPU_REQUIRE(text.size <= left, kInvalidImage);
    texts.push_back(
        {std::string(at, text.size),
         {text.registers, text.threads, text.max_threads, text.min_blocks, text.overrides != 0}});
    at += text.size;
    left -= text.size;
  }
  return kSuccess;
}

// CUjit_option
constexpr int kMaxRegisters = 0, kThreadsPerBlock = 1, kWallTime = 2, kInfoLog = 3, kInfoBytes = 4,
              kErrorLog = 5, kErrorBytes = 6, kGlobalSymbolCount = 19, kMinBlocks = 31,
              kMaxThreadsPerBlock = 32, kOverrideDirectives = 33;

Result result_of(ptx::ParseStatus status) {
  switch (status) {
    case ptx::ParseStatus::kOk:
      return kSuccess;
    case ptx::ParseStatus::kInvalid:
      return kInvalidPtx;
    case ptx::ParseStatus::kUnsupportedVersion:
      return kUnsupportedPtxVersion;
    case ptx::ParseStatus::kNotForThisDevice:
      return kNoBinaryForGpu;
    case ptx::ParseStatus::kUndefinedSymbol:
      return kSymbolNotFound;
  }
  return kUnknown;
}

}  // namespace

Result read_jit_options(unsigned count, const int* list, void** values, JitOptions& options) {
  if (list == nullptr || values == nullptr) return kSuccess;
  bool has_global_symbols = false;
  for (unsigned i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(values[i]));
    switch (list[i]) {
      case kInfoLog:
        options.info_log = static_cast<char*>(values[i]);
        break;
      case kInfoBytes:
        options.info_bytes = number;
        options.info_used = &values[i];
        break;
      case kErrorLog:
        options.error_log = static_cast<char*>(values[i]);
        break;
      case kErrorBytes:
        options.error_bytes = number;
        options.error_used = &values[i];
        break;
      case kMaxRegisters:
        options.limits.registers = number;
        break;
      case kThreadsPerBlock:  // "OUT: Returns the number of threads the compiler actually targeted"
        options.limits.threads = number;
        break;
      case kWallTime:
        options.wall_time = &values[i];
        break;
      case kGlobalSymbolCount:
        has_global_symbols = number != 0;
        break;
      case kMinBlocks:
        options.limits.min_blocks = number;
        break;
      case kMaxThreadsPerBlock:
        options.limits.max_threads = number;
        break;
      case kOverrideDirectives:
        options.limits.overrides = number != 0;
        break;
      default:
        break;
    }
  }
  if (options.info_log != nullptr && options.info_bytes != 0) options.info_log[0] = '\0';
  if (options.info_used != nullptr) *options.info_used = nullptr;
  if (has_global_symbols) {
    write_error_log(options, "CU_JIT_GLOBAL_SYMBOL_ADDRESSES: the simulated libcuda cannot put "
                             "variables of modules at addresses of the host\n");
    return kNotSupported;
  }
  write_error_log(options, {});
  return kSuccess;
}

void write_error_log(const JitOptions& options, std::string_view text) {
  // cuda.h, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: "OUT: Amount of log buffer filled with messages"
  std::size_t used = 0;
  if (options.error_log != nullptr && options.error_bytes != 0) {
    used = std::min(text.size(), options.error_bytes - 1);
    text.copy(options.error_log, used);
    options.error_log[used] = '\0';
  }
  if (options.error_used != nullptr) {
    *options.error_used = reinterpret_cast<void*>(used != 0 ? used + 1 : 0);
  }
}

std::string pack_texts(const std::vector<ImageText>& texts) {
  if (texts.size() == 1 && texts.front().limits == ptx::Limits{}) return texts.front().text;
  std::string packed;
  const auto add = [&](const auto& value) {
    packed.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(LinkedHeader{kLinkedMagic, static_cast<std::uint32_t>(texts.size())});
  for (const auto& [text, limits] : texts) {
    add(LinkedText{text.size(), limits.registers, limits.threads, limits.max_threads,
                   limits.min_blocks, limits.overrides ? 1U : 0U, 0});
    packed += text;
  }
  return packed;
}

Result find_texts(const void* image, std::size_t size, const ptx::Limits& limits,
                  std::vector<ImageText>& texts) {
  std::uint32_t magic = 0;
  // Text, with its zero, may be shorter than the four bytes of a magic number.
  const auto* const bytes = static_cast<const char*>(image);
  for (std::size_t i = 0; i < 4; ++i) {
    std::memcpy(reinterpret_cast<char*>(&magic) + i, bytes + i, 1);
    if (bytes[i] == '\0') break;
  }
  if (magic == kWrapperMagic) {
    // A wrapper points to memory, so a file cannot be a wrapper.
    HALYARD_GPU_REQUIRE(size == kUnknownSize, kInvalidImage);
    FatbinWrapper wrapper;
    std::memcpy(&wrapper, image, sizeof wrapper);
    HALYARD_GPU_REQUIRE(wrapper.data != nullptr, kInvalidImage);
    std::memcpy(&magic, wrapper.data, sizeof magic);
    HALYARD_GPU_REQUIRE(magic == kFatbinMagic, kInvalidImage);
    return read_fatbin(wrapper.data, kUnknownSize, limits, texts);
  }
  if (magic == kFatbinMagic) return read_fatbin(image, size, limits, texts);
  if (magic == kLinkedMagic) return read_linked(bytes, size, texts);
  if (std::memcmp(&magic,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return kNoBinaryForGpu;
  const std::string_view text(bytes);
  HALYARD_GPU_REQUIRE(text.find(".version") != std::string_view::npos, kInvalidImage);
  texts.push_back({std::string(text), limits});
  return kSuccess;
}

Result parse_image(const void* image, std::size_t size, const JitOptions& jit,
                   std::shared_ptr<const Code>& code) {
  HALYARD_GPU_REQUIRE(image != nullptr, kInvalidValue);
  const Nanoseconds start = now();
  std::vector<ImageText> texts;
  if (const Result result = find_texts(image, size, jit.limits, texts); result != kSuccess) {
    return result;
  }
  ptx::ParseOptions how;
  how.compute_capability =
      static_cast<std::uint32_t>(options().capability_major * 10 + options().capability_minor);
  std::vector<std::string_view> views;
  std::vector<ptx::Limits> limits;
  for (const ImageText& each : texts) {
    views.emplace_back(each.text);
    limits.push_back(each.limits);
  }
  how.limits = limits;
  const ptx::Parsed parsed = ptx::Module::parse(views, how);
  if (parsed.module != nullptr) code = make_code(parsed.module);
  if (jit.wall_time != nullptr) {
    const auto milliseconds = static_cast<float>(static_cast<double>(now() - start) * 1e-6);
    std::memcpy(jit.wall_time, &milliseconds, sizeof milliseconds);
  }
  if (parsed.status != ptx::ParseStatus::kOk) {
    write_error_log(jit, parsed.log);
    if (options().strict) std::fprintf(stderr, "simulated CUDA: %s\n", parsed.log.c_str());
  }
  return result_of(parsed.status);
}

Result read_file(const char* path, std::string& bytes) {
  HALYARD_GPU_REQUIRE(path != nullptr, kInvalidValue);
  std::FILE* const file = std::fopen(path, "rb");
  HALYARD_GPU_REQUIRE(file != nullptr, kFileNotFound);
  char block[4096];
  for (std::size_t size = 0; (size = std::fread(block, 1, sizeof block, file)) != 0;) {
    bytes.append(block, size);
  }
  std::fclose(file);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
