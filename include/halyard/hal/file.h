// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File: a file that queues read into buffers and write from buffers.
//
//     hal::File file = hal::File::open("weights.bin").value();
//     queue.read(file, 4096, weights, {.signal = {{loaded, 1}}});
//
// A file belongs to no device: the queues of all devices may use it. A transfer reads or writes the
// bytes that it names and moves no file position. Only semaphores order transfers that overlap.
#pragma once

#include <cstdint>
#include <string>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/handle.h"

namespace halyard::inline v0::hal {

class FileObject;

enum class FileAccess : std::uint8_t { kRead, kWrite, kReadWrite };

// Whether File::open creates or empties the file.
enum class FileCreation : std::uint8_t {
  kNever,      // the file must exist
  kIfMissing,  // creates a missing file; an existing one keeps its contents
  kEmpty,      // creates a missing file, empties an existing one; needs access for writing
};

// A handle; safe from any thread. May be dropped at any time: submissions keep the file that they
// use, and it is closed when the last of them has ended.
class HALYARD_EXPORT File : public Handle<FileObject> {
 public:
  using Handle::Handle;

  // Opens a regular file. Errors, with the name of the system's error: kNotFound,
  // kPermissionDenied, kResourceExhausted, kInvalidArgument (a directory, a pipe, a device).
  static Result<File> open(const std::string& path, FileAccess access = FileAccess::kRead,
                           FileCreation creation = FileCreation::kNever);

  // Duplicates an open descriptor, which stays the caller's, and uses its access mode. Errors:
  //   kInvalidArgument  not open, not a regular file, or opened with O_APPEND, O_NONBLOCK or O_PATH
  //   kResourceExhausted
  static Result<File> import_descriptor(int descriptor);

  // The file's present size in bytes. Errors of the system, as for open.
  Result<std::uint64_t> size() const;
  FileAccess access() const noexcept;  // kRead when empty
};

}  // namespace halyard::inline v0::hal
