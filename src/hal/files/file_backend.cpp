// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/files/file_backend.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/native_call.h"

namespace halyard::inline v0::hal {
namespace {

using base::native_call;

HALYARD_CALL_SITE(kRead, "transfer.read", EIO);
HALYARD_CALL_SITE(kWrite, "transfer.write", ENOSPC);

}  // namespace

std::size_t BlockingBackend::reap(std::span<FileRequest*, kMaxRequests> ended, bool) noexcept {
  if (request_ == nullptr) return 0;
  FileRequest& request = *std::exchange(request_, nullptr);
  const auto offset = static_cast<off_t>(request.offset);
  const ssize_t moved =
      request.write
          ? native_call(
                kWrite,
                [&] { return pwrite(request.descriptor, request.data, request.length, offset); })
          : native_call(kRead, [&] {
              return pread(request.descriptor, request.data, request.length, offset);
            });
  request.result = moved < 0 ? -errno : static_cast<std::int32_t>(moved);
  ended[0] = &request;
  return 1;
}

}  // namespace halyard::inline v0::hal
