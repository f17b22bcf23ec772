// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/files/file_transfers.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

namespace halyard::inline v0::hal {

FileTransfers::FileTransfers(base::WorkSource& work_source) noexcept : work_source_(work_source) {
  for (Slot& slot : slots_) slot.next_free = std::exchange(free_, &slot);
}

void FileTransfers::set_backend(std::unique_ptr<FileBackend> backend) noexcept {
  assert(backend_ == nullptr);
  made_ = std::move(backend);
  backend_ = made_.get();
}

void FileTransfers::start(FileTransfer& transfer) noexcept {
  bool waiting = false;
  {
    base::LockGuard lock(mutex_);
    inbox_.push_back(transfer);
    waiting = waiting_;
  }
  if (waiting) backend_->interrupt();
  work_source_.wake(base::Shell::kFile);
}

bool FileTransfers::take_inbox() noexcept {
  base::LockGuard lock(mutex_);
  const bool any = !inbox_.empty();
  while (FileTransfer* transfer = inbox_.pop_front()) pending_.push_back(*transfer);
  return any;
}

// Returns the new value: it stays false if the inbox is not empty.
bool FileTransfers::set_waiting(bool waiting) noexcept {
  base::LockGuard lock(mutex_);
  return waiting_ = waiting && inbox_.empty();
}

bool FileTransfers::step() noexcept {
  bool did = take_inbox();
  if (pending_.empty() && slots_used_ == 0) return did;
  if (backend_ == nullptr) {
    made_ = make_uring_backend();
    backend_ = made_ != nullptr ? made_.get() : &blocking_;
  }
  did |= fill();
  if (slots_used_ == 0) return did;
  FileRequest* ended[FileBackend::kMaxRequests];
  const bool wait = set_waiting(true);
  const std::size_t count = backend_->reap(ended, wait);
  set_waiting(false);
  for (std::size_t i = 0; i < count; ++i) end_request(static_cast<Slot&>(*ended[i]));
  return did || count != 0;
}

bool FileTransfers::fill() noexcept {
  bool did = false;
  while (!pending_.empty() && slots_used_ != backend_->capacity()) {
    did = true;
    FileTransfer& transfer = *pending_.pop_front();
    if (transfer.length == 0) {
      transfer.ended(transfer, 0);
      continue;
    }
    Slot& slot = *std::exchange(free_, free_->next_free);
    ++slots_used_;
    slot.transfer = &transfer;
    slot.attempts = 0;
    slot.descriptor = transfer.descriptor;
    slot.write = transfer.write;
    slot.data = transfer.data + transfer.requested;
    slot.offset = transfer.offset + transfer.requested;
    slot.length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kChunk, transfer.length - transfer.requested));
    transfer.requested += slot.length;
    ++transfer.requests;
    if (transfer.requested != transfer.length) pending_.push_back(transfer);
    backend_->start(slot);
  }
  return did;
}

void FileTransfers::end_request(Slot& slot) noexcept {
  FileTransfer& transfer = *slot.transfer;
  const std::int32_t result = slot.result;
  if (result > 0) {
    const auto moved = static_cast<std::uint32_t>(result);
    assert(moved <= slot.length);
    slot.data += moved;
    slot.offset += moved;
    slot.length -= moved;
    slot.attempts = 0;
  }
  const bool idle = result == -EINTR || result == -EAGAIN || (slot.write && result == 0);
  const bool go_on = result > 0 || (idle && ++slot.attempts != kMaxAttempts);
  if (slot.length != 0 && transfer.error == 0) {
    if (go_on) return backend_->start(slot);
    transfer.error = result < 0 ? -result : slot.write ? EIO : FileTransfer::kEndOfFile;
  }
  slot.next_free = std::exchange(free_, &slot);
  --slots_used_;
  --transfer.requests;
  if (transfer.error != 0 && transfer.linked()) pending_.erase(transfer);
  if (transfer.requests == 0 && !transfer.linked()) transfer.ended(transfer, transfer.error);
}

}  // namespace halyard::inline v0::hal
