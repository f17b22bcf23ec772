// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/executable.h"

#include <new>

#include "base/format.h"

namespace halyard::inline v0::cpu {

Result<Ref<hal::ExecutableImpl>> Executable::load(kernel::Hyx file) {
  HALYARD_ASSIGN_OR_RETURN(Ref<kernel::CpuImage> image,
                           kernel::CpuImage::load(file, kernel::CpuImage::Runs::kChecked));
  HALYARD_ASSIGN_OR_RETURN(base::Array<kernel::CpuEntry> entries, image->entries(file));
  auto* executable =
      new (std::nothrow) Executable(std::move(file), std::move(image), std::move(entries));
  if (executable == nullptr) {
    return error(StatusCode::kResourceExhausted, "cpu: no memory for an executable");
  }
  return Ref<hal::ExecutableImpl>(Ref<Executable>::adopt(executable));
}

}  // namespace halyard::inline v0::cpu
