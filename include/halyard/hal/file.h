// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File: what queues read into buffers and write from buffers.
//
//     hal::File file = hal::File::open("weights.bin").value();
//     queue.read(file, 4096, weights, {.signal = {{loaded, 1}}});
//
// Files are no device's: one may be used by the queues of all devices. Transfers touch the bytes of
// the file that they name and no position; those that overlap are ordered by semaphores alone.
#pragma once

#include <cstdint>
#include <string>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::hal {

class FileObject;

enum class FileAccess : std::uint8_t { kRead, kWrite, kReadWrite };

// What File::open does about a file that is not there, or is.
enum class FileCreation : std::uint8_t {
  kNever,      // it must be there
  kIfMissing,  // it may be there, and keeps its contents
  kEmpty,      // it may be there, and is emptied; needs access for writing
};

// A handle; safe from any thread. Submissions keep the file that they use: it may be dropped at any
// time, and is closed when the last of them has ended.
class HALYARD_EXPORT File {
 public:
  // Empty: calls answer kInvalidArgument.
  File() noexcept = default;
  explicit File(FileObject* object) noexcept;

  // A regular file. With the name of the system's error: kNotFound, kPermissionDenied,
  // kResourceExhausted, kInvalidArgument (a directory, a pipe, a device).
  static Result<File> open(const std::string& path, FileAccess access = FileAccess::kRead,
                           FileCreation creation = FileCreation::kNever);

  // Of an open descriptor, which is duplicated and stays the caller's. The access is the
  // descriptor's. kInvalidArgument: not open, of no regular file, or opened with O_APPEND,
  // O_NONBLOCK or O_PATH; kResourceExhausted.
  static Result<File> import_descriptor(int descriptor);

  // Bytes there are now. Errors of the system, as for open.
  Result<std::uint64_t> size() const;
  FileAccess access() const noexcept;  // kRead when empty

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const File& a, const File& b) noexcept = default;
  FileObject* object() const noexcept { return reinterpret_cast<FileObject*>(object_.get()); }

 private:
  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
