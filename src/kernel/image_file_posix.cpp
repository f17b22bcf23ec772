// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/image_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>

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
  constexpr char kName[] = "/halyard-kernels-XXXXXX";
  ImageFile file;
  const char* folder = base::environment("TMPDIR");
  if (folder == nullptr || folder[0] != '/' ||
      std::strlen(folder) + sizeof kName > sizeof file.path) {
    folder = "/tmp";
  }
  std::strcpy(file.path, folder);
  std::strcat(file.path, kName);
  file.descriptor =
      base::Descriptor(native_call(kCreate, [&] { return ::mkostemp(file.path, O_CLOEXEC); }));
  if (file.descriptor.get() < 0) file.path[0] = 0;
  return file;
}

// The mapped image keeps the file alive.
void ImageFile::remove_name() noexcept {
  if (path[0] == 0) return;
  native_call(kRemove, [&] { return ::unlink(path); });
  path[0] = 0;
}

}  // namespace halyard::inline v0::kernel
