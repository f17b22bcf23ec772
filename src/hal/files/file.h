// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileObject: a descriptor of a regular file. Handles and submissions in flight own it; the last
// of them closes it.
#pragma once

#include <string>
#include <utility>

#include "base/file.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/file.h"

namespace halyard::inline v0::hal {

class FileObject final : public RefCounted {
 public:
  static constexpr std::string_view kTypeName = "file";

  // Returns kInvalidArgument unless `descriptor` refers to a regular file.
  static Result<File> create(base::Descriptor descriptor, std::string name, FileAccess access);

  int descriptor() const noexcept { return descriptor_.get(); }
  const std::string& name() const noexcept { return name_; }
  FileAccess access() const noexcept { return access_; }
  Result<std::uint64_t> size() const;

 private:
  FileObject(base::Descriptor descriptor, std::string name, FileAccess access) noexcept
      : descriptor_(std::move(descriptor)), name_(std::move(name)), access_(access) {}
  int stat(struct stat& about) const noexcept;

  const base::Descriptor descriptor_;
  const std::string name_;
  const FileAccess access_;
};

// The status of an errno: "file <name>: <what>: No space left on device", with the errno's name.
Status file_error(int error, std::string_view name, std::string_view what);

}  // namespace halyard::inline v0::hal
