// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images: the kernel files of one device as modules of CUDA.
//
//     cubin, fatbin    loaded as they are; the driver takes what fits its GPU
//     PTX              entry for this PTX, GPU and driver ──────> loaded
//                      none, or one that is refused: cuLink ──> loaded, stored
//
// Entries lie in base::default_cache_folder() (base/disk_cache.h), or in the folder of an
// ExecutableCache. Nothing fails for want of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/api.h"
#include "hal/driver.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::cuda {

class Images final : public hal::ImageBuilder {
 public:
  Images(const CudaApi& api, Ref<timeline::EntryGuard> guard);

  // The best image that the device runs; `keep`: results of the compiler are kept on disk. Within
  // the guard. Errors: as CudaApi::load.
  Result<Ref<hal::ExecutableImpl>> open(kernel::Hyx file, bool keep);

  // The same in two steps, for caches of the HAL.
  std::string_view name() const noexcept override { return name_; }
  Result<std::vector<std::byte>> build(const kernel::Hyx& file) override;
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx&& file,
                                        std::span<const std::byte> image) override;

 private:
  Status load_kept(const kernel::Hyx& file, const kernel::ImageInfo& image, CUmodule& module) const;

  const CudaApi api_;
  const Ref<timeline::EntryGuard> guard_;
  const std::string name_;
};

}  // namespace halyard::inline v0::cuda
