// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileTrace: a tracer with a thread that writes the records to a file while the program runs. If
// the program is killed, the last moments are missing from the file.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/atomic.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/thread.h"
#include "halyard/base/result.h"
#include "trace/chrome_trace.h"
#include "trace/tracer.h"

namespace halyard::inline v0::trace {

class FileTrace {
 public:
  // The longest time a record stays in memory.
  static constexpr Nanoseconds kInterval = 50'000'000;

  // Replaces the file. "%p" in `path` stands for the process's number. `limit`: ChromeTrace.
  // Errors: kFailedPrecondition if another program is writing the file; otherwise those of the
  // system.
  static Result<std::unique_ptr<FileTrace>> open(std::string path,
                                                 std::uint64_t limit = ChromeTrace::kNoLimit);
  // Calls close().
  ~FileTrace();
  FileTrace(const FileTrace&) = delete;
  FileTrace& operator=(const FileTrace&) = delete;

  Tracer& tracer() noexcept { return tracer_; }
  // Calls `source` before each write from now on, until close() or another set_source(). Null: no
  // source.
  void set_source(Source* source) noexcept { source_.store(source, std::memory_order_release); }
  // Writes everything recorded before the call, and the records that the source adds, to the file.
  // Any thread.
  void flush() noexcept;
  // Writes the remaining records and the end of the file; later records are lost. May be called
  // again. Does nothing in a child of fork(), which shares the file but has no thread.
  void close() noexcept;

 private:
  FileTrace(base::Descriptor file, std::string path, std::uint64_t limit);
  Status start();
  void run() noexcept;
  void write() noexcept;

  base::Descriptor file_;
  const std::string path_;
  const pid_t process_;
  Tracer tracer_;
  std::string text_;
  ChromeTrace events_;
  bool failed_ = false;  // and reported

  base::Atomic<Source*> source_{nullptr};
  base::Parker parker_;
  base::Atomic<bool> ending_{false};
  base::Atomic<std::uint32_t> asked_{0};   // flushes requested
  base::Atomic<std::uint32_t> served_{0};  // flushes completed
  base::Mutex mutex_;                      // guards running_
  bool running_ = false;
  base::Thread thread_;
};

// The tracer that HALYARD_PROFILE requests, with HALYARD_PROFILE_LIMIT in MiB, or 512. Null if
// HALYARD_PROFILE is not set, or if its file cannot be written, which is reported on standard
// error.
std::unique_ptr<FileTrace> from_environment();

}  // namespace halyard::inline v0::trace
