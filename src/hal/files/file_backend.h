// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileBackend: reads and writes parts of files. Two kinds:
//
//     io_uring    up to kMaxRequests at a time; one system call starts all that are new and waits
//     blocking    one at a time by pread and pwrite, where the kernel allows nothing else
//
// One thread at a time calls start() and reap(); any thread calls interrupt().
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
  // After the end: the number of bytes moved, which may be less than `length` and is 0 beyond the
  // end of the file, or a negative errno.
  std::int32_t result = 0;
};

class FileBackend {
 public:
  static constexpr std::size_t kMaxRequests = 64;

  virtual ~FileBackend() = default;
  // The number of requests it can have in flight; 1 to kMaxRequests.
  virtual std::size_t capacity() const noexcept = 0;
  // The request and its data must stay valid until reap() returns it.
  virtual void start(FileRequest& request) noexcept = 0;
  // Returns the requests that have ended since the last call, in any order. With `wait`, blocks
  // until there is one, until interrupt(), or until a spurious wake-up; requires a request in
  // flight.
  virtual std::size_t reap(std::span<FileRequest*, kMaxRequests> ended, bool wait) noexcept = 0;
  // Ends a reap() that waits, or the next one that would wait.
  virtual void interrupt() noexcept = 0;
};

// Null if the kernel lacks io_uring (before Linux 5.6), forbids it, or is out of memory.
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
