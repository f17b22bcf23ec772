// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <cerrno>
#include <cstring>

#include "base/format.h"

namespace halyard::inline v0::base {
namespace {

StatusCode code_of(int number) noexcept {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case EISDIR:
      return StatusCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kUnavailable;
  }
}

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
  if (!pending_) (void)::sigtimedwait(&ours, nullptr, &at_once);  // what our writes raised
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

Status system_error(std::string_view path, std::string_view operation) {
  const int number = errno;
  const char* const name = ::strerrorname_np(number);
  return Status(code_of(number), base::format("{}: {}: {}", path, operation, std::strerror(number)),
                name == nullptr ? "" : name);
}

Result<InputFile> open_input(const std::string& path, int folder, int flags) {
  // Non-blocking, or a FIFO would hold us here before we can see that it is one.
  InputFile file{
      Descriptor(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)), {}};
  if (file.descriptor.get() < 0) return system_error(path, "open");
  if (::fstat(file.descriptor.get(), &file.info) != 0) return system_error(path, "stat");
  if (!S_ISREG(file.info.st_mode)) {
    return error(StatusCode::kInvalidArgument, "{}: not a regular file", path);
  }
  return file;
}

Status read_all(const Descriptor& file, std::string_view path, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "read");
    if (count == 0) {
      return error(StatusCode::kDataLoss, "{}: ends after {} of {} bytes", path, done,
                   bytes.size());
    }
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Status write_all(const Descriptor& file, std::string_view path, std::span<const std::byte> bytes) {
  const FileSizeSignalGuard guard;
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace halyard::inline v0::base
