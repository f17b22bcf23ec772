// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/image_file.h"

#include <sys/mman.h>

#include <iterator>

#include "base/format.h"
#include "base/native_call.h"

namespace halyard::inline v0::kernel {
namespace {

using base::native_call;

HALYARD_CALL_SITE(kCreate, "image.create", EMFILE);

}  // namespace

const char* const ImageFile::kCreatedBy = "memfd_create";

ImageFile ImageFile::create() noexcept {
  ImageFile file;
  file.descriptor = base::Descriptor(
      native_call(kCreate, [] { return ::memfd_create("halyard-kernels", MFD_CLOEXEC); }));
  if (file.descriptor.get() >= 0) {
    const int fd = file.descriptor.get();
    *base::write_packed(file.path, std::end(file.path) - 1, "/proc/self/fd/{}",
                        fmt::make_format_args(fd)) = 0;
  }
  return file;
}

void ImageFile::remove_name() noexcept {}  // the name is the descriptor's

}  // namespace halyard::inline v0::kernel
