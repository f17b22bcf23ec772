// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/files/file_backend.h"

namespace halyard::inline v0::hal {

// io_uring is Linux's. BlockingBackend needs no wake-up: it never waits for anything but a
// transfer.
std::unique_ptr<FileBackend> make_uring_backend() noexcept { return nullptr; }

}  // namespace halyard::inline v0::hal
