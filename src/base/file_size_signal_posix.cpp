// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

namespace halyard::inline v0::base {
namespace {

sigset_t file_size_signal() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() noexcept {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  return sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

FileSizeSignalGuard::FileSizeSignalGuard() noexcept {
  const sigset_t ours = file_size_signal();
  pending_ = is_pending();
  ::pthread_sigmask(SIG_BLOCK, &ours, &mask_);
}

// macOS has no sigtimedwait(2). sigwait(3) does not block here: the signal of this guard's writes
// is pending for this thread.
FileSizeSignalGuard::~FileSizeSignalGuard() {
  const sigset_t ours = file_size_signal();
  int taken = 0;
  if (!pending_ && is_pending()) (void)::sigwait(&ours, &taken);
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace halyard::inline v0::base
