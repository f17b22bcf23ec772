// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExecutableCache: executables by their content, prepared once for a device.
//
// In the process: while a handle of an executable or of its functions lives, loads of the same
// bytes return that executable, whatever the file or name. Threads that load the same bytes at once
// prepare them once. The cache itself keeps no executable alive.
//
// Between processes: if a driver has to build machine code from a file, the cache keeps the result
// in a folder, by the file's content, the device's kind and the driver's version. It verifies an
// image that it reads and builds a damaged one again. Processes may share the folder. Files for cpu
// devices contain the code as it runs: nothing is built and nothing is kept.
//
// The images in the folder are executed: the folder must belong to this user, and only this user
// may have the permission to write to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class ExecutableCacheObject;

struct ExecutableCacheInfo {
  // The folder, created with its parents if it is missing. It is an error if it cannot be used.
  // Empty: $HALYARD_CACHE_DIR, else $XDG_CACHE_HOME/halyard, else $HOME/.cache/halyard, if the
  // device's driver builds; if that folder cannot be used, the cache keeps nothing on disk.
  std::string folder{};
  // Bytes that the folder holds at most; the least recently used entries are removed first.
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
};

struct ExecutableCacheStatistics {
  std::uint64_t shared = 0;      // loads that returned an executable in use
  std::uint64_t prepared = 0;    // loads that prepared an executable
  std::uint64_t from_disk = 0;   // of these, with an image read from the folder
  std::uint64_t built = 0;       // of these, with an image built by the driver
  std::uint64_t not_stored = 0;  // of these, images that could not be written: disk full, read-only
};

// A handle; safe from any thread. Keeps its device open, as each executable does.
class HALYARD_EXPORT ExecutableCache : public Handle<ExecutableCacheObject> {
 public:
  using Handle::Handle;

  // Load as Device::load does, with its errors; a failed load is not remembered. The name in an
  // executable's messages is that of its first load. The state of the folder never fails a load.
  // May block for another thread's load of the same bytes.
  Result<Executable> load(const std::string& path) const;
  Result<Executable> load(Bytes image, std::string_view name) const;

  // The folder of built images, or "" without a folder. Valid while a handle lives.
  std::string_view folder() const noexcept;
  ExecutableCacheStatistics statistics() const noexcept;
};

}  // namespace halyard::inline v0::hal
