// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileTransfers: all transfers between files and memory of a runtime, split into requests to a
// FileBackend. A state machine: any thread calls start(), the file shell calls step().
//
//     start ── inbox ──> pending ── a chunk each, in turn ──> requests ──> ended
//                           └─ large ones come back ─┘          └─ short, interrupted: again
//
// A transfer ends when all of its requests have ended; after an error it makes no more requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/intrusive_list.h"
#include "base/mutex.h"
#include "base/work_source.h"
#include "hal/files/file_backend.h"

namespace halyard::inline v0::hal {

struct FileTransferTag {};
struct FileTransfer : base::ListHook<FileTransferTag> {
  static constexpr int kEndOfFile = -1;

  int descriptor = -1;
  bool write = false;
  std::byte* data = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  // The file shell calls it when the transfer has ended and does not touch the transfer afterwards.
  // `error`: 0, an errno, or kEndOfFile.
  void (*ended)(FileTransfer& transfer, int error) noexcept = nullptr;

  // Used by the file shell only.
  std::uint64_t requested = 0;  // bytes that requests have been made for
  std::uint32_t requests = 0;   // in flight
  int error = 0;
};

class FileTransfers {
 public:
  // Maximum bytes of a request, so that a long transfer does not delay the others.
  static constexpr std::uint32_t kChunk = 2u << 20;
  // A request fails after this many attempts in a row that move no bytes and report no error.
  static constexpr unsigned kMaxAttempts = 64;

  explicit FileTransfers(base::WorkSource& work_source) noexcept;

  // Replaces the kernel's backend. Call it before the first transfer.
  void set_backend(std::unique_ptr<FileBackend> backend) noexcept;

  // Never blocks. Any thread.
  void start(FileTransfer& transfer) noexcept;

  // True if it made progress. Waits in the backend if requests are in flight and there is nothing
  // else to do. One thread at a time calls step() and in_flight().
  bool step() noexcept;
  bool in_flight() const noexcept { return slots_used_ != 0; }

 private:
  struct Slot : FileRequest {
    FileTransfer* transfer = nullptr;
    Slot* next_free = nullptr;
    unsigned attempts = 0;
  };
  bool take_inbox() noexcept;
  bool fill() noexcept;
  void end_request(Slot& slot) noexcept;
  bool set_waiting(bool waiting) noexcept;

  base::WorkSource& work_source_;
  BlockingBackend blocking_;
  std::unique_ptr<FileBackend> made_;
  FileBackend* backend_ = nullptr;  // null until the first transfer

  base::IntrusiveList<FileTransfer, FileTransferTag> pending_;
  Slot slots_[FileBackend::kMaxRequests];
  Slot* free_ = nullptr;
  std::size_t slots_used_ = 0;

  base::Mutex mutex_;  // guards the rest
  base::IntrusiveList<FileTransfer, FileTransferTag> inbox_;
  bool waiting_ = false;  // the file shell is in the backend, or about to be
};

}  // namespace halyard::inline v0::hal
