// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/image_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/native_call.h"
#include "base/program.h"

namespace halyard::inline v0::kernel {
namespace {

using base::native_call;

HALYARD_CALL_SITE(kCreate, "image.create", EMFILE);
HALYARD_CALL_SITE(kRemove, "image.remove", EIO);

}  // namespace

const char* const ImageFile::kCreatedBy = "mkostemp";

// In the folder for temporary files, where only this user reads it (mode 0600).
ImageFile ImageFile::create() noexcept {
  const char* const folder = base::environment("TMPDIR");
  ImageFile file;
  file.path = folder != nullptr && folder[0] == '/' ? folder : "/tmp";
  file.path += "/halyard-kernels-XXXXXX";
  file.descriptor = base::Descriptor(
      native_call(kCreate, [&] { return ::mkostemp(file.path.data(), O_CLOEXEC); }));
  if (file.descriptor.get() < 0) file.path.clear();
  return file;
}

// The mapped image keeps the file itself.
void ImageFile::remove_name() noexcept {
  if (path.empty()) return;
  native_call(kRemove, [&] { return ::unlink(path.c_str()); });
  path.clear();
}

}  // namespace halyard::inline v0::kernel
