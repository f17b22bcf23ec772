// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KernelInterface: the calls of the operating system that a driver of hardware queues makes: files
// of a kernel driver, its requests, its mappings, and the descriptions of devices in sysfs. A
// driver gets an implementation and makes no such call by other ways. So the same driver runs on
// the system, and on a simulated kernel driver in its process.
//
// All functions may be called by several threads at once. Descriptors belong to the implementation
// that opened them: do not pass them to the system's own functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::hcq {

class KernelInterface {
 public:
  KernelInterface() = default;
  KernelInterface(const KernelInterface&) = delete;
  KernelInterface& operator=(const KernelInterface&) = delete;
  virtual ~KernelInterface() = default;

  // Opens a device file with flags of open(2), and returns a descriptor to be closed with close().
  // Returns kNotFound if there is no such file, kPermissionDenied without access to it,
  // kUnavailable for other errors.
  virtual Result<int> open(const char* path, int flags) = 0;
  // Precondition: nothing uses the descriptor any longer. Mappings that were made through it stay.
  virtual void close(int descriptor) = 0;

  // Makes a request. Its number carries the direction and the size of what `argument` points to, as
  // ioctl(2) has it. Repeats a request that fails with EINTR or EAGAIN. Returns its result, at
  // least 0, or a negated errno.
  [[nodiscard]] virtual int ioctl(int descriptor, unsigned long request, void* argument) = 0;

  // Maps bytes of a device file, or anonymous memory if `descriptor` is -1, with the arguments of
  // mmap(2). `at` is a hint, or with MAP_FIXED the address. Returns kResourceExhausted without
  // memory, kPermissionDenied without access, kInvalidArgument for other errors.
  virtual Result<void*> map(void* at, std::size_t bytes, int protection, int flags, int descriptor,
                            std::int64_t offset) = 0;
  // Ends mappings in a range of whole pages. Returns 0 or a negated errno.
  [[nodiscard]] virtual int unmap(void* at, std::size_t bytes) = 0;

  // Returns the text of a file in sysfs. Returns kNotFound if there is none, kUnavailable if it
  // cannot be read.
  virtual Result<std::string> read_file(const char* path) = 0;
  // Returns the names in a directory, sorted, without "." and "..". Returns kNotFound if there is
  // no such directory.
  virtual Result<std::vector<std::string>> list(const char* directory) = 0;
};

}  // namespace halyard::inline v0::hcq
