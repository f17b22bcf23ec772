// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hyx: one .hyx file in memory, verified before its contents are accessible.
//
// Verification covers the file's checksum, every offset, and every rule of schemas/hyx.fbs. Machine
// code itself is trusted: a checksum finds damage, not malice.
//
// Immutable and safe to read from any thread. Moving a Hyx keeps every view valid. Errors, whose
// message names file and field: kDataLoss if the file is damaged or not a .hyx file,
// kResourceExhausted if it is larger than kMaxHyxBytes or memory is exhausted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "kernel/reflection.h"

namespace halyard::inline v0::kernel {

// Limits of a file. Far above any use, and low enough that a hostile file costs little.
inline constexpr std::size_t kMaxHyxBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxKernels = 4096;
inline constexpr std::size_t kMaxImages = 64;
inline constexpr std::size_t kMaxSources = 64;
inline constexpr std::size_t kMaxBindings = 64;     // per kernel
inline constexpr std::size_t kMaxConstants = 256;   // per kernel
inline constexpr std::size_t kMaxEqualSizes = 256;  // per kernel
inline constexpr std::size_t kMaxConstantsBytes = 4096;
inline constexpr std::size_t kMaxSharedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWorkgroupItems = 1024;
inline constexpr std::size_t kMaxNameLength = 255;

class HALYARD_EXPORT Hyx {
 public:
  // Copies `bytes`; `name` names the file in messages.
  static Result<Hyx> parse(std::span<const std::byte> bytes, std::string_view name);
  // Reads a regular file once, to its end. Further errors: those of the system, such as kNotFound
  // and kPermissionDenied.
  static Result<Hyx> read(const std::string& path);

  std::string_view name() const noexcept { return name_; }
  std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), size_}; }
  std::span<const KernelInfo> kernels() const noexcept { return kernels_; }
  std::span<const ImageInfo> images() const noexcept { return images_; }
  std::span<const SourceInfo> sources() const noexcept { return sources_; }

  // The result lives as long as this Hyx. Errors: kNotFound, naming the existing kernels.
  Result<const KernelInfo*> find(std::string_view kernel) const;
  // The image of this calling convention whose target comes first in `targets`. Errors:
  // kUnavailable, naming the existing images.
  Result<const ImageInfo*> image_for(std::span<const std::string_view> targets,
                                     std::string_view convention) const;

 private:
  class Reader;

  // An array that owns its elements. Empty when memory is exhausted.
  template <class T>
  struct Array {
    std::unique_ptr<T[]> items;
    std::size_t size = 0;
    operator std::span<const T>() const noexcept { return {items.get(), size}; }
  };

  Hyx() = default;
  static Result<Hyx> adopt(std::unique_ptr<std::byte[]> bytes, std::size_t size,
                           std::string_view name);

  std::string name_;
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  Array<KernelInfo> kernels_;
  Array<BindingInfo> bindings_;    // of all kernels, in order
  Array<ConstantInfo> constants_;  // of all kernels, in order
  Array<std::uint32_t> scalars_;   // of all kernels, in order
  Array<EqualSizes> equal_sizes_;  // of all kernels, in order
  Array<ImageInfo> images_;
  Array<SourceInfo> sources_;
};

// Appends the checksum with which a .hyx file ends.
HALYARD_EXPORT void append_checksum(std::vector<std::byte>& buffer);

}  // namespace halyard::inline v0::kernel
