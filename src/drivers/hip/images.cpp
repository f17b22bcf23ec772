// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code objects for HIP. HIP takes no size and trusts the sizes in the headers, so they are checked
// first: https://llvm.org/docs/AMDGPUUsage.html#elf-code-object,
// https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-binary-file-layout
#include <elf.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/hip/api.h"
#include "drivers/hip/error.h"

namespace halyard::inline v0::hip {
namespace {

constexpr Elf64_Half kMachine = 224;  // EM_AMDGPU
constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__", kCompressed = "CCOB";

// Loading modules on several threads has deadlocked in ROCr (ROCm/ROCm#6577).
constinit base::Mutex loader_mutex;

bool fits(std::uint64_t offset, std::uint64_t length, std::size_t size) noexcept {
  return offset <= size && length <= size - offset;
}

template <class T>
bool read(std::span<const std::byte> bytes, std::uint64_t offset, T& value) noexcept {
  if (!fits(offset, sizeof value, bytes.size())) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

bool is_whole_elf(std::span<const std::byte> bytes) noexcept {
  Elf64_Ehdr header;
  if (!read(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) return false;
  if (header.e_shoff != 0 && header.e_shentsize != sizeof(Elf64_Shdr)) return false;
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(bytes, header.e_phoff + i * sizeof segment, segment)) return false;
    if (!fits(segment.p_offset, segment.p_filesz, bytes.size())) return false;
  }
  for (std::uint64_t i = 0; header.e_shoff != 0 && i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read(bytes, header.e_shoff + i * sizeof section, section)) return false;
    if (section.sh_type == SHT_NOBITS) continue;
    if (!fits(section.sh_offset, section.sh_size, bytes.size())) return false;
  }
  return true;
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) noexcept {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}
bool is_bundle(std::span<const std::byte> bytes) noexcept {
  return starts_with(bytes, kBundle) || starts_with(bytes, kCompressed);
}
// Version 1 does not contain its length, so HIP could read beyond its end.
bool is_whole_compressed(std::span<const std::byte> bytes) noexcept {
  std::uint16_t version = 0;
  if (!read(bytes, kCompressed.size(), version)) return false;
  std::uint32_t size = 0;
  std::uint64_t long_size = 0;
  if (version == 2 && read(bytes, 8, size)) return size >= 24 && size <= bytes.size();
  if (version == 3 && read(bytes, 8, long_size))
    return long_size >= 32 && long_size <= bytes.size();
  return false;
}
bool is_whole_bundle(std::span<const std::byte> bytes) noexcept {
  if (starts_with(bytes, kCompressed)) return is_whole_compressed(bytes);
  std::uint64_t count = 0, at = kBundle.size();
  if (!starts_with(bytes, kBundle) || !read(bytes, at, count)) return false;
  at += sizeof count;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t entry[3];  // offset, size, length of the name that follows
    if (!read(bytes, at, entry) || !fits(entry[0], entry[1], bytes.size())) return false;
    at += sizeof entry;
    if (!fits(at, entry[2], bytes.size())) return false;
    at += entry[2];
  }
  return true;
}

}  // namespace

Status HipApi::load_image(const kernel::Hyx& file, std::string_view target,
                          std::span<const std::byte> bytes, Module& module) const {
  if (!is_whole_elf(bytes) && !is_whole_bundle(bytes)) {
    return error(StatusCode::kDataLoss,
                 "hip: {}: the image {} is no code object of AMD, no bundle of them, or cut off",
                 file.name(), target);
  }
  std::unique_ptr<std::byte[]> image(new (std::nothrow) std::byte[bytes.size()]);
  if (image == nullptr) {
    return error(StatusCode::kResourceExhausted, "hip: {}: no memory for the image {}", file.name(),
                 target);
  }
  std::memcpy(image.get(), bytes.data(), bytes.size());
  HALYARD_RETURN_IF_ERROR(check_device());
  hipError_t result = hipSuccess;
  {
    base::LockGuard lock(loader_mutex);
    result =
        call(&Functions::hipModuleLoadData, &module.handle, static_cast<const void*>(image.get()));
  }
  if (result == hipSuccess) {
    module.image = image.release();
    return {};
  }
  // HIP also returns hipErrorInvalidImage for a bundle without a code object for the device.
  const bool is_foreign =
      result == hipErrorNoBinaryForGpu || (result == hipErrorInvalidImage && is_bundle(bytes));
  return Status(is_foreign ? StatusCode::kUnavailable : status_code(result),
                base::format("hip: {}: the image {} cannot be loaded on {}", file.name(), target,
                             device->architecture),
                native_name(result));
}

void HipApi::unload(Module module) const noexcept {
  {
    base::LockGuard lock(loader_mutex);
    (void)call(&Functions::hipModuleUnload, module.handle);
  }
  delete[] module.image;
}

}  // namespace halyard::inline v0::hip
