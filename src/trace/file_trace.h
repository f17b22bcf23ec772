// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileTrace: a tracer whose records a thread writes to a file while the program runs. A program
// that is killed leaves a file that lacks the last moments.
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
  // How long what happens stays in memory at most.
  static constexpr Nanoseconds kInterval = 50'000'000;

  // Replaces the file. "%p" in `path` stands for the process's number. kFailedPrecondition: another
  // program is writing it; else what the system says.
  static Result<std::unique_ptr<FileTrace>> open(std::string path);
  // close()
  ~FileTrace();
  FileTrace(const FileTrace&) = delete;
  FileTrace& operator=(const FileTrace&) = delete;

  Tracer& tracer() noexcept { return tracer_; }
  // On return what was noted before is in the file. Any thread.
  void flush() noexcept;
  // Writes what is left, and the end; later records are lost. Also more than once; does nothing in
  // a child of fork(), which has the file but no thread.
  void close() noexcept;

 private:
  FileTrace(base::Descriptor file, std::string path);
  Status start();
  void run() noexcept;
  void write() noexcept;

  base::Descriptor file_;
  const std::string path_;
  const pid_t process_;
  Tracer tracer_;
  std::string text_;
  ChromeTrace events_;
  bool failed_ = false;  // somebody was told

  base::Parker parker_;
  base::Atomic<bool> ending_{false};
  base::Atomic<std::uint32_t> asked_{0};   // flushes
  base::Atomic<std::uint32_t> served_{0};  // of these, the first so many are done
  base::Mutex mutex_;                      // guards running_
  bool running_ = false;
  base::Thread thread_;
};

// What HALYARD_PROFILE asks for: null if it is not set, or, having said so on standard error, if
// its file cannot be written.
std::unique_ptr<FileTrace> from_environment();

}  // namespace halyard::inline v0::trace
