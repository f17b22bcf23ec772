// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ctime>

#include "base/file.h"

namespace halyard::inline v0::base {
namespace {

sigset_t file_size_signal() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileSizeSignalGuard::FileSizeSignalGuard() noexcept {
  const sigset_t ours = file_size_signal();
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  pending_ = sigismember(&pending, SIGXFSZ) == 1;
  ::pthread_sigmask(SIG_BLOCK, &ours, &mask_);
}

FileSizeSignalGuard::~FileSizeSignalGuard() {
  const sigset_t ours = file_size_signal();
  const timespec at_once = {};
  if (!pending_) (void)::sigtimedwait(&ours, nullptr, &at_once);  // raised by this guard's writes
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace halyard::inline v0::base
