// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/executable.h"

#include <new>

#include "base/format.h"

namespace halyard::inline v0::cpu {

Result<Ref<kernel::CpuImage>> load_image(const kernel::Hyx& file) {
  auto image = kernel::CpuImage::load(file);
  if (!image.ok() && image.status().code() == StatusCode::kNotFound) {
    return Status(StatusCode::kUnavailable, image.status().message());
  }
  return image;
}

Result<Ref<hal::ExecutableImpl>> Executable::load(kernel::Hyx file) {
  HALYARD_ASSIGN_OR_RETURN(Ref<kernel::CpuImage> image, load_image(file));
  const auto exhausted = [&] {
    return error(StatusCode::kResourceExhausted, "{}: no memory for {} kernels", file.name(),
                 file.kernels().size());
  };
  std::unique_ptr<hcq::Kernel[]> entries(new (std::nothrow) hcq::Kernel[file.kernels().size()]);
  if (entries == nullptr) return exhausted();
  for (std::size_t i = 0; i < file.kernels().size(); ++i) {
    const Result<kernel::CpuEntry> entry = image->entry(file.kernels()[i].name);
    // The file promises a kernel that its image does not have.
    if (!entry.ok()) return Status(StatusCode::kDataLoss, entry.status().message());
    entries[i] = to_hcq(*entry);
  }
  auto* executable =
      new (std::nothrow) Executable(std::move(file), std::move(image), std::move(entries));
  if (executable == nullptr) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for an executable");
  }
  return Ref<hal::ExecutableImpl>(Ref<Executable>::adopt(executable));
}

}  // namespace halyard::inline v0::cpu
