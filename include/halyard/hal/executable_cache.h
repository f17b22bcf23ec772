// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExecutableCache: executables by their content, prepared once for a device.
//
// In the process: while any handle of an executable or of its functions lives, the same bytes give
// that executable, from whichever file or under whichever name they come. Threads that load the
// same bytes at once prepare them once. A cache keeps nothing itself.
//
// Between processes: where a driver has to build machine code from a file, the result is kept in a
// folder, by the content of the file, the device's kind and the driver's version. It is verified
// when it is read and built again if it is damaged. Processes may share the folder. Where the files
// have the code as it runs, as for cpu devices, nothing is built and nothing is kept.
//
// What is in the folder is run: it must belong to this user, and only this user may write to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class ExecutableCacheObject;

struct ExecutableCacheInfo {
  // Made, with its parents, where it is not there; one that cannot be used is an error. Empty:
  // $HALYARD_CACHE_DIR, else $XDG_CACHE_HOME/halyard, else $HOME/.cache/halyard, if the device's
  // driver builds; where that cannot be used, the cache goes without.
  std::string folder{};
  // What the folder holds at most; the least recently used entries go first.
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
};

struct ExecutableCacheStatistics {
  std::uint64_t shared = 0;      // loads that were given an executable that was there
  std::uint64_t prepared = 0;    // loads that made one
  std::uint64_t from_disk = 0;   // of these, with a built image out of the folder
  std::uint64_t built = 0;       // of these, with an image built for it
  std::uint64_t not_stored = 0;  // of these, images that could not be written: disk full, read-only
};

// A handle; safe from any thread. Keeps its device open, as each executable does.
class HALYARD_EXPORT ExecutableCache {
 public:
  ExecutableCache() noexcept = default;
  explicit ExecutableCache(ExecutableCacheObject* object) noexcept;

  // As Device::load, with its errors; they are not remembered. The name in an executable's messages
  // is the one it was first loaded under. The state of the folder never fails a load. May block for
  // another thread's load of the same bytes.
  Result<Executable> load(const std::string& path) const;
  Result<Executable> load(Bytes image, std::string_view name) const;

  // Where built images are kept, or empty: nowhere. Valid while a handle lives.
  std::string_view folder() const noexcept;
  ExecutableCacheStatistics statistics() const noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const ExecutableCache&, const ExecutableCache&) noexcept = default;
  ExecutableCacheObject* object() const noexcept {
    return reinterpret_cast<ExecutableCacheObject*>(object_.get());
  }

 private:
  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
