// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error_name.h"
#include "base/format.h"
#include "base/native_call.h"
#include "hal/object.h"

namespace halyard::inline v0::hal {
namespace {

HALYARD_CALL_SITE(kOpen, "queue_file.open", EMFILE);
HALYARD_CALL_SITE(kBlock, "queue_file.block", EBADF);
HALYARD_CALL_SITE(kFlags, "queue_file.flags", EBADF);
HALYARD_CALL_SITE(kDuplicate, "queue_file.duplicate", EMFILE);
HALYARD_CALL_SITE(kStat, "queue_file.stat", EIO);

StatusCode code_of(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case EBADF:
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:  // a pipe without readers, a socket
      return StatusCode::kInvalidArgument;
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
      return StatusCode::kResourceExhausted;
    case EIO:
      return StatusCode::kDataLoss;
    default:
      return StatusCode::kUnavailable;
  }
}

}  // namespace

Status file_error(int error, std::string_view name, std::string_view what) {
  const char* const native = base::error_name(error);
  const char* const text = base::error_text(error);
  return Status(code_of(error),
                base::format("file {}: {}: {}", name, what, text != nullptr ? text : "unknown"),
                native != nullptr ? native : "");
}

Result<File> FileObject::create(base::Descriptor descriptor, std::string name, FileAccess access) {
  auto* const object =
      new (std::nothrow) FileObject(std::move(descriptor), std::move(name), access);
  if (object == nullptr) {
    return Status(StatusCode::kResourceExhausted, "file: no memory for its object");
  }
  const Ref<FileObject> file = Ref<FileObject>::adopt(object);
  struct stat about = {};
  if (file->stat(about) != 0) return file_error(errno, file->name(), "open");
  if (!S_ISREG(about.st_mode)) {
    return error(StatusCode::kInvalidArgument, "file {}: open: it is {}, not a regular file",
                 file->name(),
                 S_ISDIR(about.st_mode)    ? "a directory"
                 : S_ISFIFO(about.st_mode) ? "a pipe"
                                           : "a device or socket");
  }
  return File(file.get());
}

int FileObject::stat(struct stat& about) const noexcept {
  return base::native_call(kStat, [&] { return fstat(descriptor(), &about); });
}

Result<std::uint64_t> FileObject::size() const {
  struct stat about = {};
  if (stat(about) != 0) return file_error(errno, name_, "size");
  return static_cast<std::uint64_t>(about.st_size);
}

Result<File> File::open(const std::string& path, FileAccess access, FileCreation creation) {
  if (Status status = base::check_path(path); !status.ok()) return at(status, "file: open");
  if (access > FileAccess::kReadWrite || creation > FileCreation::kEmpty) {
    return error(StatusCode::kInvalidArgument, "file {}: open: access {}, creation {}", path,
                 static_cast<int>(access), static_cast<int>(creation));
  }
  if (creation == FileCreation::kEmpty && access == FileAccess::kRead) {
    return error(StatusCode::kInvalidArgument,
                 "file {}: open: kEmpty empties the file, and kRead cannot write", path);
  }
  constexpr int kAccess[] = {O_RDONLY, O_WRONLY, O_RDWR};
  constexpr int kCreation[] = {0, O_CREAT, O_CREAT | O_TRUNC};
  // O_NONBLOCK: if the path is a pipe, open() does not wait for its other end.
  const int flags = kAccess[static_cast<int>(access)] | kCreation[static_cast<int>(creation)] |
                    O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  base::Descriptor opened(
      base::native_call(kOpen, [&] { return ::open(path.c_str(), flags, 0666); }));
  const int descriptor = opened.get();
  if (descriptor < 0) return file_error(errno, path, "open");
  HALYARD_ASSIGN_OR_RETURN(File file, FileObject::create(std::move(opened), path, access));
  if (base::native_call(kBlock, [&] { return fcntl(descriptor, F_SETFL, 0); }) != 0) {
    return file_error(errno, path, "open");
  }
  return file;
}

Result<File> File::import_descriptor(int descriptor) {
  const std::string name = base::format("descriptor {}", descriptor);
  const int flags = base::native_call(kFlags, [&] { return fcntl(descriptor, F_GETFL); });
  if (flags < 0) return file_error(errno, name, "import_descriptor");
  // O_APPEND ignores the offset of a write; O_NONBLOCK fails where a transfer should wait.
  if ((flags & (O_APPEND | O_NONBLOCK | O_PATH)) != 0) {
    return error(StatusCode::kInvalidArgument, "file {}: import_descriptor: it has {}", name,
                 (flags & O_APPEND) != 0     ? "O_APPEND"
                 : (flags & O_NONBLOCK) != 0 ? "O_NONBLOCK"
                                             : "O_PATH");
  }
  base::Descriptor own(
      base::native_call(kDuplicate, [&] { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }));
  if (own.get() < 0) return file_error(errno, name, "import_descriptor");
  const int access = flags & O_ACCMODE;
  return FileObject::create(std::move(own), name,
                            access == O_RDONLY   ? FileAccess::kRead
                            : access == O_WRONLY ? FileAccess::kWrite
                                                 : FileAccess::kReadWrite);
}

Result<std::uint64_t> File::size() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "size"));
  return object()->size();
}

FileAccess File::access() const noexcept {
  return object() ? object()->access() : FileAccess::kRead;
}

}  // namespace halyard::inline v0::hal
