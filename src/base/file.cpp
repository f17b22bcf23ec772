// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>

#include "base/error_name.h"
#include "base/format.h"
#include "base/native_call.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kOpen, "file.open", EMFILE);
HALYARD_CALL_SITE(kStat, "file.stat", EIO);
HALYARD_CALL_SITE(kRead, "file.read", EIO);
HALYARD_CALL_SITE(kWrite, "file.write", ENOSPC);
HALYARD_CALL_SITE(kClose, "file.close", EDQUOT);
HALYARD_CALL_SITE(kDrop, "file.drop", 0, Failing::kErrno,
                  "close(2) releases the descriptor even if it fails, and no caller checks");
HALYARD_CALL_SITE(kOpenFolder, "folder.open", EMFILE);
HALYARD_CALL_SITE(kListFolder, "folder.list", ENOMEM);
HALYARD_CALL_SITE(kNextName, "folder.next", EIO);
HALYARD_CALL_SITE(kCloseFolder, "folder.close", 0, Failing::kErrno,
                  "closedir(3) fails only for an invalid directory");

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

// read(2), repeated if interrupted.
ssize_t read_some(const Descriptor& file, std::span<std::byte> bytes) noexcept {
  for (;;) {
    const ssize_t count =
        native_call(kRead, [&] { return ::read(file.get(), bytes.data(), bytes.size()); });
    if (count >= 0 || errno != EINTR) return count;
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) native_call(kDrop, [&] { return ::close(fd_); });
}

bool Descriptor::close() noexcept {
  const int result = ::close(release());
  return native_call(kClose, [&] { return result; }) == 0;
}

Status system_error(std::string_view path, std::string_view operation) {
  const int number = errno;
  const char* const name = error_name(number);
  if (path.empty()) path = "''";
  return Status(code_of(number), base::format("{}: {}: {}", path, operation, std::strerror(number)),
                name == nullptr ? "" : name);
}

Status check_path(std::string_view path) {
  const std::size_t end = path.find('\0');
  if (end == path.npos) return {};
  return error(StatusCode::kInvalidArgument, "{}: a path of {} bytes with a zero byte",
               path.substr(0, end), path.size());
}

Result<InputFile> open_input(const std::string& path, int folder, int flags) {
  HALYARD_RETURN_IF_ERROR(check_path(path));
  // Non-blocking, since opening a FIFO would block here before its type is known.
  flags |= O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  InputFile file{
      Descriptor(native_call(kOpen, [&] { return ::openat(folder, path.c_str(), flags); })), {}};
  const int fd = file.descriptor.get();
  if (fd < 0) return system_error(path, "open");
  if (native_call(kStat, [&] { return ::fstat(fd, &file.info); }) != 0) {
    return system_error(path, "stat");
  }
  if (!S_ISREG(file.info.st_mode)) {
    return error(StatusCode::kInvalidArgument, "{}: not a regular file", path);
  }
  return file;
}

std::string read_text(const std::string& path) {
  std::string text(kMaxText, '\0');
  const Result<InputFile> file = open_input(path);
  std::size_t size = 0;
  while (file.ok() && size < text.size()) {  // files in /proc have size 0 until they are read
    const ssize_t count =
        read_some(file->descriptor, std::as_writable_bytes(std::span(text).subspan(size)));
    if (count < 0) size = 0;
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

Result<std::vector<std::string>> list_folder(const std::string& path, int folder) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Descriptor opened(
      native_call(kOpenFolder, [&] { return ::openat(folder, path.c_str(), kFlags); }));
  if (opened.get() < 0) return system_error(path, "open");
  DIR* const listed = native_call(kListFolder, [&] { return ::fdopendir(opened.get()); });
  if (listed == nullptr) return system_error(path, "list");
  (void)opened.release();
  std::vector<std::string> names;
  errno = 0;  // reading past the end is not an error
  while (const dirent* const item = native_call(kNextName, [&] { return ::readdir(listed); })) {
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  Status status;
  if (errno != 0) status = system_error(path, "list");
  native_call(kCloseFolder, [&] { return ::closedir(listed); });
  if (!status.ok()) return status;
  return names;
}

Status read_all(const Descriptor& file, std::string_view path, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read_some(file, bytes.subspan(done));
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
    const ssize_t count =
        native_call(kWrite, [&] { return ::write(file.get(), bytes.data(), bytes.size()); });
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace halyard::inline v0::base
