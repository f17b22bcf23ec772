// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/file_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "base/error_name.h"
#include "base/format.h"
#include "base/futex.h"
#include "base/native_call.h"
#include "base/number.h"
#include "base/program.h"

namespace halyard::inline v0::trace {
namespace {

HALYARD_CALL_SITE(kOpen, "trace.open", EACCES);
HALYARD_CALL_SITE(kLock, "trace.lock", EWOULDBLOCK);
HALYARD_CALL_SITE(kTruncate, "trace.truncate", EIO);

void tell(std::string_view message) {
  std::fputs(base::format("halyard: HALYARD_PROFILE: {}; not tracing\n", message).c_str(), stderr);
}

}  // namespace

Result<std::unique_ptr<FileTrace>> FileTrace::open(std::string path, std::uint64_t limit) {
  for (std::size_t at; (at = path.find("%p")) != std::string::npos;) {
    path.replace(at, 2, std::to_string(::getpid()));
  }
  base::Descriptor file(base::native_call(
      kOpen, [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666); }));
  if (file.get() < 0) return base::system_error(path, "open");
  // Another program may have the file open: a child process inherits HALYARD_PROFILE.
  if (base::native_call(kLock, [&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) != 0 &&
      errno == EWOULDBLOCK) {
    return error(StatusCode::kFailedPrecondition,
                 "{}: another program is writing it; %p in the name stands for the process", path);
  }
  // EINVAL: a pipe or a device, which has no length.
  if (base::native_call(kTruncate, [&] { return ::ftruncate(file.get(), 0); }) != 0 &&
      errno != EINVAL) {
    return base::system_error(path, "truncate");
  }
  std::unique_ptr<FileTrace> trace(new (std::nothrow)
                                       FileTrace(std::move(file), std::move(path), limit));
  if (trace == nullptr) return Status(StatusCode::kResourceExhausted, "no memory for a trace");
  HALYARD_RETURN_IF_ERROR(trace->start());
  return trace;
}

FileTrace::FileTrace(base::Descriptor file, std::string path, std::uint64_t limit)
    : file_(std::move(file)),
      path_(std::move(path)),
      process_(::getpid()),
      tracer_(Clock::steady()),
      events_(tracer_, text_, limit) {
  tracer_.set_notify(&parker_);
}

FileTrace::~FileTrace() { close(); }

Status FileTrace::start() {
  // This thread takes no signal of the program; a write that would raise one only fails.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto body = [](void* self) { static_cast<FileTrace*>(self)->run(); };
  const int code = thread_.start("hy-trace", body, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) {
    return Status(StatusCode::kResourceExhausted, "could not start a thread to write the trace",
                  base::error_name(code));
  }
  running_ = true;
  return {};
}

void FileTrace::run() noexcept {
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();
    const bool last = ending_.load(std::memory_order_acquire);
    const std::uint32_t asked = asked_.load(std::memory_order_acquire);
    if (Source* const source = source_.load(std::memory_order_acquire)) {
      source->note_ended(last || asked != served_.load(std::memory_order_relaxed));
    }
    tracer_.drain(events_, last);
    if (last) events_.close();
    write();
    served_.store(asked, std::memory_order_release);
    base::futex_wake(served_, 1);  // flush() sleeps with the mutex held
    if (last) return;
    parker_.park(epoch, Clock::steady().now() + kInterval);
  }
}

void FileTrace::write() noexcept {
  if (!failed_) {
    const Status status =
        base::write_all(file_, path_, std::as_bytes(std::span(text_.data(), text_.size())));
    if (!status.ok()) {
      failed_ = true;
      tell(status.message());
    }
  }
  text_.clear();
}

void FileTrace::flush() noexcept {
  if (::getpid() != process_) return;
  base::LockGuard lock(mutex_);
  if (!running_) return;
  const std::uint32_t mine = asked_.fetch_add(1, std::memory_order_acq_rel) + 1;
  parker_.wake();
  for (std::uint32_t served; (served = served_.load(std::memory_order_acquire)) < mine;) {
    base::futex_wait(served_, served, Deadline::kForeverTime);
  }
}

void FileTrace::close() noexcept {
  if (::getpid() != process_) return;
  base::LockGuard lock(mutex_);
  if (!std::exchange(running_, false)) return;
  ending_.store(true, std::memory_order_release);
  parker_.wake();
  thread_.join();
}

std::unique_ptr<FileTrace> from_environment() {
  const char* const path = base::environment("HALYARD_PROFILE");
  if (path == nullptr || *path == '\0') return nullptr;
  const char* const limit = base::environment("HALYARD_PROFILE_LIMIT");
  const auto mebibytes = base::parse_number(limit == nullptr ? "512" : limit, 1, 1'000'000);
  if (!mebibytes) {
    tell(base::format("HALYARD_PROFILE_LIMIT={}: expected 1 to 1000000, in MiB", limit));
    return nullptr;
  }
  Result<std::unique_ptr<FileTrace>> trace = FileTrace::open(path, std::uint64_t{*mebibytes} << 20);
  if (trace.ok()) return std::move(*trace);
  tell(trace.status().message());
  return nullptr;
}

}  // namespace halyard::inline v0::trace
