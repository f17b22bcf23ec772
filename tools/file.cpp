// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/format.h"

namespace halyard::inline v0::tools {
namespace {

Status system_error(const std::string& path, const char* operation) {
  const int number = errno;
  StatusCode code = StatusCode::kUnavailable;
  if (number == ENOENT || number == ENOTDIR) code = StatusCode::kNotFound;
  if (number == EACCES || number == EPERM || number == EROFS) code = StatusCode::kPermissionDenied;
  if (number == EISDIR) code = StatusCode::kInvalidArgument;
  if (number == ENOSPC || number == EDQUOT || number == EFBIG || number == ENOMEM) {
    code = StatusCode::kResourceExhausted;
  }
  const char* const name = ::strerrorname_np(number);
  return Status(code, fmt::format("{}: {}: {}", path, operation, std::strerror(number)),
                name == nullptr ? "" : name);
}

// A descriptor, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  // Some file systems report a failed write only here.
  bool close() noexcept { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Status write_all(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status write_to(const std::string& opened, int flags, const std::string& path,
                std::initializer_list<std::span<const std::byte>> parts) {
  Descriptor file(::open(opened.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (file.get() < 0) return system_error(path, "open for writing");
  for (const auto part : parts) HALYARD_RETURN_IF_ERROR(write_all(file.get(), path, part));
  if (!file.close()) return system_error(path, "close");
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  // Non-blocking, or a FIFO would hold us here before we can see that it is one.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error(path, "open");
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return system_error(path, "stat");
  if (!S_ISREG(info.st_mode)) {
    return error(StatusCode::kInvalidArgument, "{}: not a regular file", path);
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  std::vector<std::byte> bytes;
  try {
    bytes.resize(size);
  } catch (const std::exception&) {
    return error(StatusCode::kResourceExhausted, "{}: no memory for its {} bytes", path, size);
  }
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(file.get(), bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "read");
    if (count == 0) {
      return error(StatusCode::kDataLoss, "{}: ends after {} of {} bytes", path, done, size);
    }
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

Status write_file(const std::string& path,
                  std::initializer_list<std::span<const std::byte>> parts) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return write_to(path, O_TRUNC, path, parts);
  }
  const std::string part = fmt::format("{}.{}.part", path, ::getpid());
  Status status = write_to(part, O_EXCL, path, parts);
  if (status.ok() && ::rename(part.c_str(), path.c_str()) != 0) {
    status = system_error(path, "rename");
  }
  if (!status.ok()) ::unlink(part.c_str());
  return status;
}

}  // namespace halyard::inline v0::tools
