// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileBackend: how parts of files are read and written. Two kinds:
//
//     io_uring    up to kMaxRequests at a time; one system call starts all that are new and waits
//     blocking    one at a time by pread and pwrite, where the kernel allows nothing else
//
// One thread at a time calls start() and reap(); interrupt() comes from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace halyard::inline v0::hal {

struct FileRequest {
  int descriptor = -1;
  bool write = false;
  std::byte* data = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  // Once it has ended: bytes moved, less than `length` perhaps and 0 beyond the end of the file; or
  // a negative errno.
  std::int32_t result = 0;
};

class FileBackend {
 public:
  static constexpr std::size_t kMaxRequests = 64;

  virtual ~FileBackend() = default;
  // How many requests it can have; 1 to kMaxRequests.
  virtual std::size_t capacity() const noexcept = 0;
  // The request and its data stay until reap() gives it back.
  virtual void start(FileRequest& request) noexcept = 0;
  // Those that have ended since, in any order. With `wait`, which needs a request that was started,
  // returns once there is one, after interrupt(), or for no reason.
  virtual std::size_t reap(std::span<FileRequest*, kMaxRequests> ended, bool wait) noexcept = 0;
  // Ends a reap() that waits, or the next that would.
  virtual void interrupt() noexcept = 0;
};

// Null where the kernel has none (before Linux 5.6), forbids it, or has no memory.
std::unique_ptr<FileBackend> make_uring_backend() noexcept;

class BlockingBackend final : public FileBackend {
 public:
  std::size_t capacity() const noexcept override { return 1; }
  void start(FileRequest& request) noexcept override { request_ = &request; }
  std::size_t reap(std::span<FileRequest*, kMaxRequests> ended, bool wait) noexcept override;
  void interrupt() noexcept override {}

 private:
  FileRequest* request_ = nullptr;
};

}  // namespace halyard::inline v0::hal
