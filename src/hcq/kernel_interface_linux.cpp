// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/error_name.h"
#include "hcq/kernel_interface.h"

namespace halyard::inline v0::hcq {
namespace {

Status error_of(StatusCode other, const char* what, int number) {
  const StatusCode code = number == ENOENT || number == ENODEV   ? StatusCode::kNotFound
                          : number == EACCES || number == EPERM  ? StatusCode::kPermissionDenied
                          : number == ENOMEM || number == EMFILE ? StatusCode::kResourceExhausted
                                                                 : other;
  const char* const text = base::error_text(number);
  const char* const name = base::error_name(number);
  return Status(code, std::string(what) + ": " + (text != nullptr ? text : "an unknown error"),
                name != nullptr ? name : "");
}

class SystemKernel final : public KernelInterface {
 public:
  Result<int> open(const char* path, int flags) override {
    const int descriptor = ::open(path, flags | O_CLOEXEC);
    if (descriptor < 0) return error_of(StatusCode::kUnavailable, path, errno);
    return descriptor;
  }

  void close(int descriptor) override { ::close(descriptor); }

  int ioctl(int descriptor, unsigned long request, void* argument) override {
    while (true) {
      const int result = ::ioctl(descriptor, request, argument);
      if (result >= 0) return result;
      if (errno != EINTR && errno != EAGAIN) return -errno;
    }
  }

  Result<void*> map(void* at, std::size_t bytes, int protection, int flags, int descriptor,
                    std::int64_t offset) override {
    void* const mapped = ::mmap(at, bytes, protection, flags, descriptor, offset);
    if (mapped == MAP_FAILED) return error_of(StatusCode::kInvalidArgument, "mmap", errno);
    return mapped;
  }

  int unmap(void* at, std::size_t bytes) override { return ::munmap(at, bytes) == 0 ? 0 : -errno; }

  Result<std::string> read_file(const char* path) override {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return error_of(StatusCode::kUnavailable, path, errno);
    std::string text;
    char part[4096];
    ssize_t bytes = 0;
    while ((bytes = ::read(descriptor, part, sizeof(part))) > 0) {
      text.append(part, static_cast<std::size_t>(bytes));
    }
    const int number = errno;
    ::close(descriptor);
    if (bytes < 0) return error_of(StatusCode::kUnavailable, path, number);
    return text;
  }

  Result<std::vector<std::string>> list(const char* directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(directory), ::closedir);
    if (opened == nullptr) return error_of(StatusCode::kUnavailable, directory, errno);
    std::vector<std::string> names;
    while (const dirent* const entry = ::readdir(opened.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace

KernelInterface& system_kernel() {
  static SystemKernel kernel;
  return kernel;
}

}  // namespace halyard::inline v0::hcq
