// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DiskCache: bytes that were expensive to make, in a folder, each under the hash of all they were
// made from. One file each: a header that repeats the key and has a checksum, then the bytes.
//
// Any thread, any number of processes, one folder. An entry appears by rename(2), whole or not at
// all, and is verified whenever it is read: one that is cut off, damaged, of another version or not
// this user's is not there, and the next put replaces it. So nothing is ever fsynced: what a power
// failure tears is made again.
//
// The entries may be machine code, so the folder is one that only this user can write to. Files
// with other names than entries have are left alone.
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

// $HALYARD_CACHE_DIR, else halyard in $XDG_CACHE_HOME, else in $HOME/.cache; empty without any. By
// the XDG Base Directory Specification a relative $XDG_CACHE_HOME does not count.
HALYARD_EXPORT std::string default_cache_folder();

// What an entry's file contains for `key`, or nothing if it is not such a file.
HALYARD_EXPORT std::optional<std::span<const std::byte>> parse_entry(
    std::span<const std::byte> file, const ContentHash& key) noexcept;

class HALYARD_EXPORT DiskCache {
 public:
  static constexpr std::uint64_t kDefaultMaxBytes = std::uint64_t{256} << 20;

  // Of one find(): owns its bytes.
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

  // Makes the folder, with mode 0700, where it is not there. kPermissionDenied: it belongs to
  // another user or others may write to it. Else as the system says.
  static Result<DiskCache> open(const std::string& folder, std::uint64_t max_bytes);

  const std::string& folder() const noexcept { return folder_; }

  // A hit makes the entry the most recently used one.
  Entry find(const ContentHash& key) const;

  // Where all entries together have more than max_bytes then, those least recently used go. Also
  // removes what writers that died an hour ago or more have left. A caller whose result is `bytes`
  // has it all the same: on an error nothing is stored and what was there stays.
  // kResourceExhausted: the disk is full, or one entry would be larger than max_bytes;
  // kPermissionDenied: a read-only folder; else as the system says.
  Status put(const ContentHash& key, std::span<const std::byte> bytes) const;

 private:
  DiskCache(std::string folder, Descriptor descriptor, std::uint64_t max_bytes) noexcept
      : folder_(std::move(folder)), descriptor_(std::move(descriptor)), max_bytes_(max_bytes) {}

  Status write(const std::string& name, const ContentHash& key,
               std::span<const std::byte> bytes) const;
  void make_room(const std::string& newest) const;
  void remove(const std::string& name) const;

  std::string folder_;
  Descriptor descriptor_;  // keeps meaning the folder that was checked, wherever its name leads
  std::uint64_t max_bytes_;
};

}  // namespace halyard::inline v0::base
