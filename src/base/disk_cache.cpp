// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/format.h"
#include "base/native_call.h"
#include "base/program.h"
#include "base/random_number.h"

namespace halyard::inline v0::base {
namespace {

HALYARD_CALL_SITE(kMakeFolder, "cache.make_folder", ENOSPC);
HALYARD_CALL_SITE(kOpenCache, "cache.open_folder", EMFILE);
HALYARD_CALL_SITE(kStatFolder, "cache.stat_folder", EIO);
HALYARD_CALL_SITE(kTouch, "cache.touch", EROFS);
HALYARD_CALL_SITE(kCreate, "cache.create", ENOSPC);
HALYARD_CALL_SITE(kPublish, "cache.publish", EIO);
HALYARD_CALL_SITE(kRemove, "cache.remove", EIO);
HALYARD_CALL_SITE(kStatEntry, "cache.stat_entry", ENOENT);

// In the byte order of the machine: entries of another order have another version.
struct Header {
  char magic[8] = {'H', 'Y', '-', 'c', 'a', 'c', 'h', 'e'};
  std::uint64_t version = 1;
  ContentHash key;
  std::uint64_t size = 0;
  ContentHash checksum;
};
static_assert(sizeof(Header) == 56 && std::has_unique_object_representations_v<Header>);

Header header_of(const ContentHash& key, std::span<const std::byte> bytes) noexcept {
  Header header;
  header.key = key;
  header.size = bytes.size();
  header.checksum = content_hash({text_of(bytes)});
  return header;
}

// ---- Names of files --------------------------------------------------------------------------

constexpr std::size_t kEntryDigits = 32;
constexpr std::size_t kTemporaryDigits = 16;
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::time_t kAbandonedSeconds = 3600;

std::string entry_name(const ContentHash& key) {
  return base::format("{:016x}{:016x}", key.high, key.low);
}

bool is_number(std::string_view text, std::size_t digits) noexcept {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_temporary(std::string_view name) noexcept {
  return name.ends_with(kTemporarySuffix) &&
         is_number(name.substr(0, name.size() - kTemporarySuffix.size()), kTemporaryDigits);
}

// ---- The folder ------------------------------------------------------------------------------

Status make_folders(const std::string& folder) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = folder.find('/', end + 1);
    const std::string path = folder.substr(0, end);
    if (native_call(kMakeFolder, [&] { return ::mkdir(path.c_str(), 0700); }) != 0 &&
        errno != EEXIST) {
      return system_error(path, "mkdir");
    }
  }
  return {};
}

Result<Descriptor> open_folder(const std::string& folder) {
  const auto open = [&] {
    return Descriptor(native_call(
        kOpenCache, [&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  };
  Descriptor opened = open();
  if (opened.get() >= 0) return opened;
  if (errno != ENOENT) return system_error(folder, "open");
  HALYARD_RETURN_IF_ERROR(make_folders(folder));
  Descriptor made = open();
  if (made.get() < 0) return system_error(folder, "open");
  return made;
}

bool others_may_write(const struct stat& info) noexcept {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

}  // namespace

std::string default_cache_folder() {
  const auto absolute = [](const char* path) { return path != nullptr && path[0] == '/'; };
  // Ignored if the program runs with more rights than its caller.
  if (const char* folder = environment("HALYARD_CACHE_DIR"); folder != nullptr && *folder) {
    return folder;
  }
  if (const char* caches = environment("XDG_CACHE_HOME"); absolute(caches)) {
    return base::format("{}/halyard", caches);
  }
  if (const char* home = environment("HOME"); absolute(home)) {
    return base::format("{}/.cache/halyard", home);
  }
  return {};
}

std::optional<std::span<const std::byte>> parse_entry(std::span<const std::byte> file,
                                                      const ContentHash& key) noexcept {
  if (file.size() < sizeof(Header)) return {};
  const auto bytes = file.subspan(sizeof(Header));
  const Header expected = header_of(key, bytes);
  if (std::memcmp(file.data(), &expected, sizeof expected) != 0) return {};
  return bytes;
}

Result<DiskCache> DiskCache::open(const std::string& folder, std::uint64_t max_bytes) {
  HALYARD_ASSIGN_OR_RETURN(Descriptor descriptor, open_folder(folder));
  struct stat info{};
  if (native_call(kStatFolder, [&] { return ::fstat(descriptor.get(), &info); }) != 0) {
    return system_error(folder, "stat");
  }
  if (info.st_uid != ::geteuid()) {
    return error(StatusCode::kPermissionDenied,
                 "cache {}: belongs to user {}; user {} would execute its entries", folder,
                 info.st_uid, ::geteuid());
  }
  if (others_may_write(info)) {
    return error(StatusCode::kPermissionDenied,
                 "cache {}: others may write to it (mode {:04o}), and its entries are executed",
                 folder, info.st_mode & 07777u);
  }
  return DiskCache(folder, std::move(descriptor), max_bytes);
}

DiskCache::Entry DiskCache::find(const ContentHash& key) const {
  const std::string name = entry_name(key);
  const Result<InputFile> file = open_input(name, descriptor_.get(), O_NOFOLLOW);
  // Other users may have had write access to the folder before.
  if (!file.ok() || file->info.st_uid != ::geteuid() || others_may_write(file->info) ||
      file->size() > max_bytes_) {
    return {};
  }
  Entry entry;
  entry.file_.reset(new (std::nothrow) std::byte[file->size()]);
  const std::span<std::byte> whole(entry.file_.get(), file->size());
  if (entry.file_ == nullptr || !read_all(file->descriptor, name, whole).ok()) return {};
  const auto bytes = parse_entry(whole, key);
  if (!bytes) return {};
  entry.bytes_ = *bytes;
  // In a read-only folder entries keep their age; eviction is impossible there too.
  native_call(kTouch, [&] { return ::futimens(file->descriptor.get(), nullptr); });
  return entry;
}

Status DiskCache::write(const std::string& name, const ContentHash& key,
                        std::span<const std::byte> bytes) const {
  const std::string path = folder_ + "/" + name;
  const int folder = descriptor_.get();
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  Descriptor file(
      native_call(kCreate, [&] { return ::openat(folder, name.c_str(), kFlags, 0600); }));
  if (file.get() < 0) return system_error(path, "open for writing");
  const Header header = header_of(key, bytes);
  HALYARD_RETURN_IF_ERROR(write_all(file, path, std::as_bytes(std::span(&header, 1))));
  HALYARD_RETURN_IF_ERROR(write_all(file, path, bytes));
  if (!file.close()) return system_error(path, "close");
  const std::string entry = entry_name(key);
  if (native_call(kPublish,
                  [&] { return ::renameat(folder, name.c_str(), folder, entry.c_str()); }) != 0) {
    return system_error(path, "rename");
  }
  return {};
}

Status DiskCache::put(const ContentHash& key, std::span<const std::byte> bytes) const {
  if (bytes.size() > max_bytes_ || max_bytes_ - bytes.size() < sizeof(Header)) {
    return error(StatusCode::kResourceExhausted, "cache {}: an entry of {} bytes; it keeps {}",
                 folder_, bytes.size(), max_bytes_);
  }
  // Random, so that no two threads or processes, on any machines, write to one file.
  std::uint64_t number = 0;
  if (!random_number(number)) return system_error(folder_, "getrandom");
  const std::string name = base::format("{:0{}x}{}", number, kTemporaryDigits, kTemporarySuffix);
  Status status = write(name, key, bytes);
  if (status.ok()) {
    make_room(entry_name(key));
  } else {
    remove(name);
  }
  return status;
}

void DiskCache::remove(const std::string& name) const {
  native_call(kRemove, [&] { return ::unlinkat(descriptor_.get(), name.c_str(), 0); });
}

void DiskCache::make_room(const std::string& newest) const {
  struct File {
    struct timespec used;
    std::string name;
    std::uint64_t size;
  };
  // A separate descriptor: reading a directory moves its offset.
  const Result<std::vector<std::string>> names = list_folder(".", descriptor_.get());
  if (!names.ok()) return;
  std::vector<File> files;
  std::uint64_t total = 0;
  const std::time_t now = std::time(nullptr);
  for (const std::string& name : *names) {
    const bool temporary = is_temporary(name);
    if (!temporary && !is_number(name, kEntryDigits)) continue;
    struct stat info{};
    if (native_call(kStatEntry, [&] {
          return ::fstatat(descriptor_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW);
        }) != 0) {
      continue;
    }
    if (temporary) {
      if (now - modification_time(info).tv_sec >= kAbandonedSeconds) remove(name);
      continue;
    }
    total += static_cast<std::uint64_t>(info.st_size);
    if (name != newest) {
      files.push_back({modification_time(info), name, static_cast<std::uint64_t>(info.st_size)});
    }
  }
  if (total <= max_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) <
           std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  for (const File& file : files) {
    if (total <= max_bytes_) break;
    // It may be gone already, removed by another process.
    remove(file.name);
    total -= file.size;
  }
}

}  // namespace halyard::inline v0::base
