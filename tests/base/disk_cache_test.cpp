// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tools/temporary_directory.h"

namespace halyard::base {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::read_text;
using testing::TemporaryDirectory;

constexpr std::size_t kHeaderSize = 56;
constexpr ContentHash kKey{0x0123'4567'89ab'cdefu, 0xfedc'ba98'7654'3210u};
constexpr const char* kKeyName = "0123456789abcdeffedcba9876543210";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCache open(std::uint64_t max_bytes = 1 << 20) const {
    return DiskCache::open(folder_, max_bytes).value();
  }
  // The entry's text, or "nothing".
  static std::string found(const DiskCache& cache, const ContentHash& key = kKey) {
    const DiskCache::Entry entry = cache.find(key);
    return entry ? std::string(text_of(entry.bytes())) : "nothing";
  }
  std::string entry_path() const { return folder_ + "/" + kKeyName; }
  // Replaces the entry's file, which only its owner can do.
  void overwrite(std::string_view bytes) const {
    directory_.write(std::string("cache/") + kKeyName, bytes);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(folder_)) {
      names.push_back(item.path().filename());
    }
    return names;
  }
  void age(const std::string& path, std::chrono::seconds by) const {
    fs::last_write_time(path, fs::file_time_type::clock::now() - by);
  }

  TemporaryDirectory directory_;
  std::string folder_ = directory_.path("cache");
};

TEST(ContentHash, DependsOnEveryByteAndOnTheEndOfEachPart) {
  EXPECT_EQ(content_hash({"ab", "c"}), content_hash({"ab", "c"}));
  EXPECT_NE(content_hash({"ab", "c"}), content_hash({"a", "bc"}));
  EXPECT_NE(content_hash({"abc"}), content_hash({"abc", ""}));
  EXPECT_NE(content_hash({"abc"}), content_hash({"abd"}));
}

TEST_F(DiskCacheTest, FindsWhatWasPutAlsoAfterOpeningAgain) {
  EXPECT_EQ(found(open()), "nothing");
  check(open().put(kKey, bytes_of("code")));
  EXPECT_EQ(found(open()), "code");
  EXPECT_EQ(found(open(), {kKey.low, kKey.high}), "nothing");
  check(open().put({1, 2}, {}));
  EXPECT_EQ(found(open(), {1, 2}), "");
}

TEST_F(DiskCacheTest, ASecondPutReplacesTheFirst) {
  const DiskCache cache = open();
  check(cache.put(kKey, bytes_of("old")));
  check(cache.put(kKey, bytes_of("new")));
  EXPECT_EQ(found(cache), "new");
  EXPECT_EQ(files(), std::vector<std::string>{kKeyName});
}

TEST_F(DiskCacheTest, AnEntryCutOffAnywhereIsNotThereAndIsReplaced) {
  const DiskCache cache = open();
  check(cache.put(kKey, bytes_of("code")));
  const std::string whole = read_text(entry_path());
  ASSERT_EQ(whole.size(), kHeaderSize + 4);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    overwrite(whole.substr(0, size));
    EXPECT_EQ(found(cache), "nothing") << size << " bytes of it";
  }
  overwrite(whole + "x");
  EXPECT_EQ(found(cache), "nothing");
  check(cache.put(kKey, bytes_of("code")));
  EXPECT_EQ(found(cache), "code");
}

TEST_F(DiskCacheTest, AnEntryWithAnyBitFlippedIsNotThere) {
  const DiskCache cache = open();
  check(cache.put(kKey, bytes_of("code")));
  const std::string whole = read_text(entry_path());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    overwrite(flipped);
    EXPECT_EQ(found(cache), "nothing") << "bit " << bit;
  }
}

TEST_F(DiskCacheTest, AnEntryUnderTheNameOfAnotherIsNotThere) {
  const DiskCache cache = open();
  check(cache.put({7, 7}, bytes_of("other")));
  fs::rename(folder_ + "/00000000000000070000000000000007", entry_path());
  EXPECT_EQ(found(cache), "nothing");
}

TEST_F(DiskCacheTest, AnEntryThatOthersCouldHaveWrittenIsNotThere) {
  const DiskCache cache = open();
  check(cache.put(kKey, bytes_of("code")));
  ::chmod(entry_path().c_str(), 0620);
  EXPECT_EQ(found(cache), "nothing");
  ::chmod(entry_path().c_str(), 0600);
  EXPECT_EQ(found(cache), "code");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(entry_path().c_str(), 65534, 65534), 0);
    EXPECT_EQ(found(cache), "nothing");
  }
}

TEST_F(DiskCacheTest, ALinkOrAPipeInPlaceOfAnEntryIsNotThere) {
  const DiskCache cache = open();
  check(cache.put({7, 7}, bytes_of("elsewhere")));
  fs::create_symlink("00000000000000070000000000000007", entry_path());
  EXPECT_EQ(found(cache), "nothing");
  fs::remove(entry_path());
  ASSERT_EQ(::mkfifo(entry_path().c_str(), 0600), 0);
  EXPECT_EQ(found(cache), "nothing");
  check(cache.put(kKey, bytes_of("code")));
  EXPECT_EQ(found(cache), "code");
}

// ---- Many writers ----------------------------------------------------------------------------

// Puts and finds the same few keys. True if every entry that is found was put before.
bool write_and_read(const DiskCache& cache, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const ContentHash key{0, static_cast<std::uint64_t>(i % 4)};
    const std::string value(20'000 + 1000 * key.low, static_cast<char>('a' + key.low));
    if (!cache.put(key, bytes_of(value)).ok()) return false;
    const DiskCache::Entry entry = cache.find(key);
    if (!entry || text_of(entry.bytes()) != value) return false;
  }
  return true;
}

TEST_F(DiskCacheTest, ThreadsThatWriteTheSameEntriesReadWholeOnes) {
  const DiskCache cache = open();
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { right += write_and_read(cache, 40); });
    }
  }
  EXPECT_EQ(right, 4);
  EXPECT_EQ(files().size(), 4u) << "a temporary file is left";
}

TEST_F(DiskCacheTest, ProcessesThatWriteTheSameEntriesReadWholeOnes) {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(write_and_read(open(), 100) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(files().size(), 4u) << "a temporary file is left";
}

// ---- Room ------------------------------------------------------------------------------------

TEST_F(DiskCacheTest, TheLeastRecentlyUsedEntriesMakeRoom) {
  const std::string value(1000, 'x');
  const DiskCache cache = open(3 * (value.size() + kHeaderSize));
  std::map<std::uint64_t, std::string> paths;
  for (const std::uint64_t i : {1, 2, 3}) {
    check(cache.put({0, i}, bytes_of(value)));
    paths[i] = folder_ + "/" + std::string(31, '0') + std::to_string(i);
    age(paths[i], std::chrono::seconds(100 - i));
  }
  EXPECT_EQ(found(cache, {0, 1}), value);  // now the most recently used
  check(cache.put({0, 4}, bytes_of(value)));
  EXPECT_EQ(found(cache, {0, 2}), "nothing");
  EXPECT_EQ(found(cache, {0, 1}), value);
  EXPECT_EQ(found(cache, {0, 3}), value);
  EXPECT_EQ(found(cache, {0, 4}), value);
  // A large entry evicts several others, and is itself kept.
  check(cache.put({0, 5}, bytes_of(std::string(2500, 'y'))));
  EXPECT_EQ(files(), std::vector<std::string>{std::string(31, '0') + "5"});
}

TEST_F(DiskCacheTest, AnEntryLargerThanTheLimitIsNotStored) {
  const DiskCache cache = open(kHeaderSize + 4);
  check(cache.put(kKey, bytes_of("code")));
  const Status status = cache.put({1, 1}, bytes_of("codes"));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("5 bytes"));
  EXPECT_EQ(found(cache), "code");
  EXPECT_EQ(open(0).put(kKey, {}).code(), StatusCode::kResourceExhausted);
}

TEST_F(DiskCacheTest, FilesOfDeadWritersGoAndThoseOfOthersStay) {
  const DiskCache cache = open();
  const auto write = [&](std::string_view name) {
    return directory_.write("cache/" + std::string(name), "?");
  };
  age(write("00000000deadbeef.tmp"), std::chrono::hours(2));
  write("0123456789abcdef.tmp");
  age(write("photo.tmp"), std::chrono::hours(2));
  age(write("letter"), std::chrono::hours(2));
  check(cache.put(kKey, bytes_of("code")));
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre("0123456789abcdef.tmp", "photo.tmp",
                                                       "letter", kKeyName));
}

// ---- Failures of the file system -------------------------------------------------------------

TEST_F(DiskCacheTest, AFullDiskStoresNothingAndLeavesNothing) {
  const DiskCache cache = open();
  check(cache.put(kKey, bytes_of("old")));
  struct rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit limit = before;
  limit.rlim_cur = 4096;
  auto* const handler = ::signal(SIGXFSZ, SIG_DFL);  // ends the process
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const Status status = cache.put(kKey, bytes_of(std::string(10'000, 'n')));
  ::setrlimit(RLIMIT_FSIZE, &before);
  sigset_t blocked, pending;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  ::sigpending(&pending);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(sigismember(&blocked, SIGXFSZ)) << "as it was";
  EXPECT_FALSE(sigismember(&pending, SIGXFSZ)) << "none is left";
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.native_error(), "EFBIG");
  EXPECT_EQ(found(cache), "old");
  EXPECT_EQ(files(), std::vector<std::string>{kKeyName});
}

TEST_F(DiskCacheTest, AReadOnlyFolderIsReadAndStoresNothing) {
  const DiskCache cache = open();
  check(cache.put(kKey, bytes_of("code")));
  ::chmod(folder_.c_str(), 0500);
  EXPECT_EQ(found(open()), "code");
  const uid_t self = ::setfsuid(65534);  // root may write anywhere: use another user
  if (self != 0) ::setfsuid(self);
  const Status status = cache.put({1, 1}, bytes_of("more"));
  ::setfsuid(self);
  ::chmod(folder_.c_str(), 0700);
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status.to_string();
  EXPECT_EQ(files(), std::vector<std::string>{kKeyName});
}

TEST_F(DiskCacheTest, TheFolderIsMadeWithItsParentsForThisUserAlone) {
  const std::string deep = directory_.path("a/b/c");
  check(DiskCache::open(deep, 1 << 20).value().put(kKey, bytes_of("code")));
  struct stat info{};
  ASSERT_EQ(::stat(deep.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0700u);
  ASSERT_EQ(::stat((deep + "/" + kKeyName).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0600u);
}

TEST_F(DiskCacheTest, AFolderThatOthersMayWriteIsRefused) {
  (void)open();
  for (const unsigned mode : {0770u, 0702u, 01777u}) {
    ::chmod(folder_.c_str(), mode);
    const Status status = DiskCache::open(folder_, 1 << 20).status();
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ + ": others may write"));
  }
  ::chmod(folder_.c_str(), 0755);
  check(DiskCache::open(folder_, 1 << 20).status());
}

TEST_F(DiskCacheTest, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  (void)open();
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  const Status status = DiskCache::open(folder_, 1 << 20).status();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to user 65534"));
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  const std::string file = directory_.write("file", "");
  for (const std::string& path : {file, file + "/cache", std::string("/proc/cache")}) {
    const Status status = DiskCache::open(path, 1 << 20).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

TEST_F(DiskCacheTest, AFolderThatWasReplacedIsNotWrittenTo) {
  const DiskCache cache = open();
  fs::rename(folder_, directory_.path("moved"));
  fs::create_directory(folder_);
  check(cache.put(kKey, bytes_of("code")));
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(found(cache), "code");
}

TEST(DefaultCacheFolder, IsTheMostSpecificOneThatIsSet) {
  const std::map<std::string, const char*> before = {
      {"HALYARD_CACHE_DIR", std::getenv("HALYARD_CACHE_DIR")},
      {"XDG_CACHE_HOME", std::getenv("XDG_CACHE_HOME")},
      {"HOME", std::getenv("HOME")}};
  std::map<std::string, std::string> saved;
  for (const auto& [name, value] : before) {
    if (value != nullptr) saved[name] = value;
  }
  ::setenv("HALYARD_CACHE_DIR", "here", 1);
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  ::setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(default_cache_folder(), "here");
  ::setenv("HALYARD_CACHE_DIR", "", 1);
  EXPECT_EQ(default_cache_folder(), "/caches/halyard");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_folder(), "/home/someone/.cache/halyard");
  ::unsetenv("HOME");
  EXPECT_EQ(default_cache_folder(), "");
  for (const auto& [name, value] : before) {
    value != nullptr ? ::setenv(name.c_str(), saved[name].c_str(), 1) : ::unsetenv(name.c_str());
  }
}

}  // namespace
}  // namespace halyard::base
