// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DiskCache: a folder of results that are expensive to compute, each under the hash of its inputs.
// An entry is one file: a header with the key and a checksum, then the bytes.
//
// Any thread and any number of processes may use one folder. rename(2) creates an entry, whole or
// not at all. Every read verifies it: an entry that is truncated, damaged, of another version or of
// another user counts as missing, and the next put() replaces it. So nothing is ever fsynced: an
// entry torn by a power failure is computed again.
//
// The entries may be machine code, so only this user may write to the folder. Files that do not
// have the name of an entry are not touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/content_hash.h"
#include "base/file.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::base {

// $HALYARD_CACHE_DIR, otherwise halyard in $XDG_CACHE_HOME, otherwise in $HOME/.cache; empty if
// none is set. A relative $XDG_CACHE_HOME is ignored, as the XDG Base Directory Specification
// requires.
HALYARD_EXPORT std::string default_cache_folder();

// The bytes in an entry's file for `key`, or nothing if the file is not a valid entry for it.
HALYARD_EXPORT std::optional<std::span<const std::byte>> parse_entry(
    std::span<const std::byte> file, const ContentHash& key) noexcept;

class HALYARD_EXPORT DiskCache {
 public:
  static constexpr std::uint64_t kDefaultMaxBytes = std::uint64_t{256} << 20;

  // The result of one find(); owns its bytes.
  class Entry {
   public:
    Entry() noexcept = default;
    explicit operator bool() const noexcept { return file_ != nullptr; }
    std::span<const std::byte> bytes() const noexcept { return bytes_; }

   private:
    friend class DiskCache;
    std::unique_ptr<std::byte[]> file_;
    std::span<const std::byte> bytes_;
  };

  // Creates the folder, with mode 0700, if it does not exist. Errors: kPermissionDenied if it
  // belongs to another user or others may write to it; otherwise those of the system.
  static Result<DiskCache> open(const std::string& folder, std::uint64_t max_bytes);

  const std::string& folder() const noexcept { return folder_; }

  // A hit makes the entry the most recently used one.
  Entry find(const ContentHash& key) const;

  // Stores an entry, then removes the least recently used ones while all together exceed max_bytes.
  // Also removes temporary files of writers that died an hour ago or earlier. On an error nothing
  // is stored and an existing entry stays; the caller can use its result all the same. Errors:
  //   kResourceExhausted  the disk is full, or the entry alone is larger than max_bytes
  //   kPermissionDenied   a read-only folder
  //   else those of the system
  Status put(const ContentHash& key, std::span<const std::byte> bytes) const;

 private:
  DiskCache(std::string folder, Descriptor descriptor, std::uint64_t max_bytes) noexcept
      : folder_(std::move(folder)), descriptor_(std::move(descriptor)), max_bytes_(max_bytes) {}

  Status write(const std::string& name, const ContentHash& key,
               std::span<const std::byte> bytes) const;
  void make_room(const std::string& newest) const;
  void remove(const std::string& name) const;

  std::string folder_;
  Descriptor descriptor_;  // of the folder that was checked, even if its name is reused
  std::uint64_t max_bytes_;
};

}  // namespace halyard::inline v0::base
