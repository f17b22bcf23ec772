// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/file.h"
#include "base/native_call.h"
#include "hal/files/file_backend.h"

namespace halyard::inline v0::hal {
namespace {

using base::Failing;
using base::native_call;

HALYARD_CALL_SITE(kSetup, "uring.setup", ENOSYS);
HALYARD_CALL_SITE(kEvent, "uring.event", EMFILE);
HALYARD_CALL_SITE(kMap, "uring.map", ENOMEM, Failing::kMapped);
HALYARD_CALL_SITE(kEnter, "uring.enter", ENOMEM);
HALYARD_CALL_SITE(kCompletion, "uring.completion", EIO, Failing::kNegative);
HALYARD_CALL_SITE(kInterrupt, "uring.interrupt", 0, Failing::kErrno,
                  "write(2) to an eventfd fails when 2^64 - 2 are written and none was read");
HALYARD_CALL_SITE(kQuiet, "uring.quiet", 0, Failing::kErrno,
                  "read(2) from an eventfd fails when nothing was written, which changes nothing");
HALYARD_CALL_SITE(kUnmap, "uring.unmap", 0, Failing::kErrno,
                  "munmap(2) of a whole mapping fails for what is none");

// Two rings in memory shared with the kernel (io_uring(7)): entries to submit, which only we add
// and the kernel takes within io_uring_enter(), and completions, which only the kernel adds. An
// eventfd that is polled through the ring ends a wait.
class UringBackend final : public FileBackend {
 public:
  ~UringBackend() override {
    if (rings_ != MAP_FAILED) native_call(kUnmap, [&] { return munmap(rings_, rings_size_); });
    if (entries_ != MAP_FAILED)
      native_call(kUnmap, [&] { return munmap(entries_, entries_size_); });
  }

  bool open() noexcept {
    io_uring_params params = {};
    ring_ = base::Descriptor(static_cast<int>(
        native_call(kSetup, [&] { return syscall(SYS_io_uring_setup, kEntries, &params); })));
    event_ = base::Descriptor(
        native_call(kEvent, [] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }));
    // The newest of these features came with Linux 5.6, as did reads and writes without an iovec.
    constexpr unsigned kNeeded =
        IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS;
    if (ring_.get() < 0 || event_.get() < 0 || (params.features & kNeeded) != kNeeded) return false;
    rings_size_ =
        std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                              params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    entries_size_ = params.sq_entries * sizeof(io_uring_sqe);
    rings_ = map(rings_size_, IORING_OFF_SQ_RING);
    entries_ = map(entries_size_, IORING_OFF_SQES);
    if (rings_ == MAP_FAILED || entries_ == MAP_FAILED) return false;
    submitted_ = word(params.sq_off.head);
    tail_ = word(params.sq_off.tail);
    mask_ = *word(params.sq_off.ring_mask);
    order_ = word(params.sq_off.array);
    completed_ = word(params.cq_off.head);
    completions_tail_ = word(params.cq_off.tail);
    completions_mask_ = *word(params.cq_off.ring_mask);
    completions_ = reinterpret_cast<io_uring_cqe*>(word(params.cq_off.cqes));
    return true;
  }

  std::size_t capacity() const noexcept override { return kMaxRequests; }

  void start(FileRequest& request) noexcept override {
    io_uring_sqe& entry = add();
    entry.opcode = request.write ? IORING_OP_WRITE : IORING_OP_READ;
    entry.fd = request.descriptor;
    entry.off = request.offset;
    entry.addr = reinterpret_cast<std::uintptr_t>(request.data);
    entry.len = request.length;
    entry.user_data = reinterpret_cast<std::uintptr_t>(&request);
  }

  std::size_t reap(std::span<FileRequest*, kMaxRequests> ended, bool wait) noexcept override {
    if (wait && !polling_) {
      io_uring_sqe& entry = add();
      entry.opcode = IORING_OP_POLL_ADD;
      entry.fd = event_.get();
      entry.poll32_events = POLLIN;
      polling_ = true;
    }
    const unsigned fresh = *tail_ - load(submitted_);
    const bool block = wait && load(completions_tail_) == *completed_;
    int failure = 0;
    if ((fresh != 0 || block) && native_call(kEnter, [&] {
                                   return syscall(SYS_io_uring_enter, ring_.get(), fresh,
                                                  block ? 1 : 0, block ? IORING_ENTER_GETEVENTS : 0,
                                                  nullptr, 0);
                                 }) < 0) {
      failure = errno;
    }
    std::size_t count = take_completions(ended);
    if (failure != 0 && failure != EINTR) count = take_back(ended, count, failure);
    return count;
  }

  void interrupt() noexcept override {
    native_call(kInterrupt, [&] { return eventfd_write(event_.get(), 1); });
  }

 private:
  // Room for all requests and the poll; the kernel makes twice as many places for completions, so
  // these never overflow.
  static constexpr unsigned kEntries = 2 * kMaxRequests;

  void* map(std::size_t size, std::uint64_t what) const noexcept {
    return native_call(kMap, [&] {
      return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_.get(),
                  static_cast<off_t>(what));
    });
  }
  unsigned* word(unsigned offset) const noexcept {
    return reinterpret_cast<unsigned*>(static_cast<std::byte*>(rings_) + offset);
  }
  static unsigned load(unsigned* shared) noexcept {
    return std::atomic_ref(*shared).load(std::memory_order_acquire);
  }
  static void store(unsigned* shared, unsigned value) noexcept {
    std::atomic_ref(*shared).store(value, std::memory_order_release);
  }
  io_uring_sqe& entry_at(unsigned index) const noexcept {
    return static_cast<io_uring_sqe*>(entries_)[index & mask_];
  }

  // Adds a cleared entry, which the next io_uring_enter() submits.
  io_uring_sqe& add() noexcept {
    const unsigned tail = *tail_;
    io_uring_sqe& entry = entry_at(tail);
    std::memset(&entry, 0, sizeof entry);
    order_[tail & mask_] = tail & mask_;
    store(tail_, tail + 1);
    return entry;
  }

  std::size_t take_completions(std::span<FileRequest*, kMaxRequests> ended) noexcept {
    std::size_t count = 0;
    unsigned head = *completed_;
    for (const unsigned tail = load(completions_tail_); head != tail; ++head) {
      const io_uring_cqe& completion = completions_[head & completions_mask_];
      if (completion.user_data == 0) {  // the poll
        eventfd_t interrupts = 0;
        native_call(kQuiet, [&] { return eventfd_read(event_.get(), &interrupts); });
        polling_ = false;
        continue;
      }
      auto* const request = reinterpret_cast<FileRequest*>(completion.user_data);
      request->result = native_call(kCompletion, [&] { return completion.res; });
      ended[count++] = request;
    }
    store(completed_, head);
    return count;
  }

  // Takes back, as failed, the entries that the kernel did not accept.
  std::size_t take_back(std::span<FileRequest*, kMaxRequests> ended, std::size_t count,
                        int failure) noexcept {
    const unsigned first = load(submitted_);
    for (unsigned at = first; at != *tail_; ++at) {
      auto* const request = reinterpret_cast<FileRequest*>(entry_at(at).user_data);
      if (request == nullptr) {
        polling_ = false;
        continue;
      }
      request->result = -failure;
      ended[count++] = request;
    }
    store(tail_, first);  // the kernel reads it within io_uring_enter() only
    return count;
  }

  base::Descriptor ring_{-1};
  base::Descriptor event_{-1};
  void* rings_ = MAP_FAILED;
  void* entries_ = MAP_FAILED;
  std::size_t rings_size_ = 0;
  std::size_t entries_size_ = 0;
  unsigned* submitted_ = nullptr;  // the kernel's
  unsigned* tail_ = nullptr;
  unsigned* order_ = nullptr;
  unsigned* completed_ = nullptr;
  unsigned* completions_tail_ = nullptr;  // the kernel's
  io_uring_cqe* completions_ = nullptr;
  unsigned mask_ = 0;
  unsigned completions_mask_ = 0;
  bool polling_ = false;
};

}  // namespace

std::unique_ptr<FileBackend> make_uring_backend() noexcept {
  std::unique_ptr<UringBackend> backend(new (std::nothrow) UringBackend);
  if (backend == nullptr || !backend->open()) return nullptr;
  return backend;
}

}  // namespace halyard::inline v0::hal
