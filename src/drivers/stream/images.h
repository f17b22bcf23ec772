// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images: the kernel files of one device as modules of a native library.
//
//     machine code     loaded as it is; the library takes images that fit its device
//     source           cache entry for this source and compiler ────> loaded
//                      no entry, or it is refused: compile() ───────> loaded, stored
//
// Cache entries lie in base::default_cache_folder() (base/disk_cache.h), or in the folder of an
// ExecutableCache. A missing entry or folder is never an error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/disk_cache.h"
#include "base/format.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/executable.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"
#include "kernel/device_abi.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

template <DeviceApi Api>
class Images final : public hal::ImageBuilder {
 public:
  Images(const Api& api, Ref<timeline::EntryGuard> guard) : api_(api), guard_(std::move(guard)) {
    if constexpr (CompilerApi<Api>) name_ = api.compiler();
  }

  // Loads the best image that the device runs. `keep`: caches compiled images on disk. Called
  // within the guard. Returns the errors of load_image(), and kUnavailable if the file has no image
  // for the device.
  Result<Ref<hal::ExecutableImpl>> open(kernel::Hyx file, bool keep) {
    Module module{};
    const auto load = [&](const kernel::ImageInfo& image) {
      if (keep && is_source(image)) return load_kept(file, image, module);
      return api_.load_image(file, image.target, image.bytes, module);
    };
    HALYARD_RETURN_IF_ERROR(with_best_image(file, load));
    return Executable<Api>::adopt(api_, guard_, std::move(file), module);
  }

  // The same in two steps, for caches of the HAL.
  std::string_view name() const noexcept override { return name_; }
  // Machine code of a file is also an image, once the library has taken it.
  Result<std::vector<std::byte>> build(const kernel::Hyx& file) override {
    std::vector<std::byte> built;
    const auto make = [&](const kernel::ImageInfo& image) -> Status {
      if constexpr (CompilerApi<Api>) {
        if (is_source(image)) {
          HALYARD_ASSIGN_OR_RETURN(built, api_.compile(file, image));
          return {};
        }
      }
      Module module{};
      HALYARD_RETURN_IF_ERROR(api_.load_image(file, image.target, image.bytes, module));
      api_.unload(module);
      built.assign(image.bytes.begin(), image.bytes.end());
      return {};
    };
    HALYARD_RETURN_IF_ERROR(with_best_image(file, make));
    return built;
  }
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx&& file,
                                        std::span<const std::byte> image) override {
    Module module{};
    const Status status = api_.load_image(file, "that was compiled", image, module);
    if (status.ok()) return Executable<Api>::adopt(api_, guard_, std::move(file), module);
    if (is_of_the_device(status)) return status;
    return Status(StatusCode::kDataLoss, status.message(), status.native_error());
  }

 private:
  using Module = typename Api::Module;

  static bool is_source(const kernel::ImageInfo& image) {
    if constexpr (CompilerApi<Api>) return Api::is_source(image.target);
    return false;
  }
  // Whether the error concerns the device, not the image.
  static bool is_of_the_device(const Status& status) noexcept {
    return status.code() == StatusCode::kResourceExhausted ||
           status.code() == StatusCode::kDeviceLost;
  }

  // Calls use(image) with the images of `file` that the device may run, best first, until an image
  // is not refused as foreign.
  template <class F>
  Status with_best_image(const kernel::Hyx& file, F&& use) {
    Status status;
    for (const std::string_view target : api_.device->targets) {
      const auto is_it = [&](const kernel::ImageInfo& image) {
        return image.target == target && image.convention == kernel::kKernargConvention;
      };
      const auto image = std::ranges::find_if(file.images(), is_it);
      if (image == file.images().end()) continue;
      status = use(*image);
      if (!Api::is_foreign(status)) return status;
    }
    if (!status.ok()) return status;
    return file.image_for(api_.device->targets, kernel::kKernargConvention).status();
  }

  Status load_kept(const kernel::Hyx& file, const kernel::ImageInfo& image, Module& module) const {
    if constexpr (CompilerApi<Api>) {
      const std::string folder = base::default_cache_folder();
      Result<base::DiskCache> disk = Status(StatusCode::kNotFound, "no folder for caches");
      if (!folder.empty()) disk = base::DiskCache::open(folder, base::DiskCache::kDefaultMaxBytes);
      // Without a folder the library compiles as it loads, and may have a cache of its own.
      if (!disk.ok()) return api_.load_image(file, image.target, image.bytes, module);
      const base::ContentHash key = base::content_hash(
          {base::format("{} image", Api::kDriver), name_, base::text_of(image.bytes)});
      if (const base::DiskCache::Entry entry = disk->find(key)) {
        const Status status = api_.load_image(file, image.target, entry.bytes(), module);
        if (status.ok() || is_of_the_device(status)) return status;
      }
      HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> code, api_.compile(file, image));
      HALYARD_RETURN_IF_ERROR(api_.load_image(file, image.target, code, module));
      (void)disk->put(key, code);  // the next process compiles again
    }
    return {};
  }

  const Api api_;
  const Ref<timeline::EntryGuard> guard_;
  std::string name_;
};

}  // namespace halyard::inline v0::stream
