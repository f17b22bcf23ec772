// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files by descriptor, and folders. Blocking; from any thread. Errors name the path and carry
// errno's name: kNotFound, kPermissionDenied, kInvalidArgument (not a regular file),
// kResourceExhausted (memory, descriptors, disk full), kDataLoss (ends early), kUnavailable
// (otherwise).
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::base {

// Closes a descriptor at the end of its scope. Negative: none.
class HALYARD_EXPORT Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }
  // Returns false if close(2) fails: some file systems report a failed write only there.
  bool close() noexcept;

 private:
  int fd_;
};

// While it exists, a write of its thread beyond RLIMIT_FSIZE fails with EFBIG and without SIGXFSZ,
// which would end the process. The system sends that signal to the writing thread.
class HALYARD_EXPORT FileSizeSignalGuard {
 public:
  FileSizeSignalGuard() noexcept;
  ~FileSizeSignalGuard();
  FileSizeSignalGuard(const FileSizeSignalGuard&) = delete;
  FileSizeSignalGuard& operator=(const FileSizeSignalGuard&) = delete;

 private:
  sigset_t mask_;  // of the thread, before
  bool pending_;   // before
};

// The error in errno, after a failed call on `path`.
HALYARD_EXPORT Status system_error(std::string_view path, std::string_view operation);

struct InputFile {
  Descriptor descriptor;
  struct stat info;
  std::size_t size() const noexcept { return static_cast<std::size_t>(info.st_size); }
};

// When the contents of a file last changed. POSIX and Apple name this member differently.
struct timespec modification_time(const struct stat& info) noexcept;

// Opens a regular file, and never waits for the writer of a pipe. A relative path begins in
// `folder`; `flags` are added to open(2)'s.
HALYARD_EXPORT Result<InputFile> open_input(const std::string& path, int folder = AT_FDCWD,
                                            int flags = 0);

// The first kMaxText bytes of a file of the system; empty if it cannot be read.
inline constexpr std::size_t kMaxText = 4096;  // maximum size of a file in /sys
HALYARD_EXPORT std::string read_text(const std::string& path);

// Returns kInvalidArgument for a path with a zero byte, where the system would end the path.
HALYARD_EXPORT Status check_path(std::string_view path);

// The names in `path` without . and .., unordered. A relative path begins in `folder`.
HALYARD_EXPORT Result<std::vector<std::string>> list_folder(const std::string& path,
                                                            int folder = AT_FDCWD);

// Fills `bytes` from the current offset of the file.
HALYARD_EXPORT Status read_all(const Descriptor& file, std::string_view path,
                               std::span<std::byte> bytes);
HALYARD_EXPORT Status write_all(const Descriptor& file, std::string_view path,
                                std::span<const std::byte> bytes);

}  // namespace halyard::inline v0::base
