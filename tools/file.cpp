// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/file.h"
#include "base/format.h"

namespace halyard::inline v0::tools {
namespace {

Status write_to(const std::string& opened, int flags, const std::string& path,
                std::initializer_list<std::span<const std::byte>> parts) {
  base::Descriptor file(::open(opened.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (file.get() < 0) return base::system_error(path, "open for writing");
  for (const auto part : parts) HALYARD_RETURN_IF_ERROR(base::write_all(file, path, part));
  if (!file.close()) return base::system_error(path, "close");
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const base::InputFile file, base::open_input(path));
  std::vector<std::byte> bytes;
  try {
    bytes.resize(file.size());
  } catch (const std::exception&) {
    return error(StatusCode::kResourceExhausted, "{}: no memory for its {} bytes", path,
                 file.size());
  }
  HALYARD_RETURN_IF_ERROR(base::read_all(file.descriptor, path, bytes));
  return bytes;
}

Status write_file(const std::string& path,
                  std::initializer_list<std::span<const std::byte>> parts) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return write_to(path, O_TRUNC, path, parts);
  }
  const std::string part = fmt::format("{}.{}.part", path, ::getpid());
  Status status = write_to(part, O_EXCL, path, parts);
  if (status.ok() && ::rename(part.c_str(), path.c_str()) != 0) {
    status = base::system_error(path, "rename");
  }
  if (!status.ok()) ::unlink(part.c_str());
  return status;
}

}  // namespace halyard::inline v0::tools
