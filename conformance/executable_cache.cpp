// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable caches: sharing, errors, unusable folders.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace executable_cache {
namespace {

namespace fs = std::filesystem;
using hal::Executable;
using hal::ExecutableCache;
using hal::Function;

// A temporary folder of the case.
class Folder {
 public:
  Folder() {
    path_ = (fs::temp_directory_path() / "halyard-verify-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) {
      check(Status(StatusCode::kUnavailable, "no temporary directory " + path_));
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string write_kernels(std::string_view name) const {
    const auto bytes = built_in_kernels();
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

 private:
  std::string path_;
};

ExecutableCache cache_of(const Context& t, const Folder& folder, std::size_t device = 0) {
  return t.device(device).create_executable_cache({.folder = folder.path("cache")}).value();
}

std::uint32_t incremented(Context& t, const Function& function, std::size_t device = 0) {
  const hal::Buffer x = t.buffer(4, 0, device);
  t.finish([&](const hal::SubmitInfo& info) {
    return t.compute(device).dispatch(function, {.items = {1}}, {x}, {std::uint32_t{1}}, info);
  });
  return x.map().value().as<std::uint32_t>()[0];
}

void same_bytes_are_one_executable(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  const Executable first = cache.load(built_in_kernels(), "one").value();
  const std::vector<std::byte> copy(built_in_kernels().begin(), built_in_kernels().end());
  VERIFY(cache.load(copy, "two").value() == first);
  VERIFY_EQ(cache.statistics().prepared, 1u);
  VERIFY_EQ(cache.statistics().shared, 1u);
}

void same_content_is_one_executable_whatever_the_file(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  const Executable first = cache.load(folder.write_kernels("a.hyx")).value();
  VERIFY(cache.load(folder.write_kernels("b.hyx")).value() == first);
  VERIFY(cache.load(built_in_kernels(), "memory").value() == first);
}

void file_that_changed_is_another_executable(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  const std::string path = folder.write_kernels("a.hyx");
  const Executable first = cache.load(path).value();
  // A byte after the contents belongs to the file, whether or not the file is still valid with it.
  std::ofstream(path, std::ios::binary | std::ios::app).put('\0');
  const Result<Executable> second = cache.load(path);
  VERIFY(!second.ok() || !(*second == first));
}

void caches_and_devices_share_nothing(Context& t) {
  const Folder folder;
  const ExecutableCache one = cache_of(t, folder);
  const ExecutableCache two = cache_of(t, folder);
  const ExecutableCache far = cache_of(t, folder, 1);
  const Executable first = one.load(built_in_kernels(), "k").value();
  VERIFY(!(two.load(built_in_kernels(), "k").value() == first));
  VERIFY(!(t.device().load(built_in_kernels(), "k").value() == first));
  const Executable there = far.load(built_in_kernels(), "k").value();
  VERIFY(!(there == first));
  VERIFY_EQ(incremented(t, there.function("increment").value(), 1), 1u);
}

void cached_kernels_run(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  // Prepared, shared, and prepared again.
  Executable held = cache.load(built_in_kernels(), "k").value();
  VERIFY_EQ(incremented(t, held.function("increment").value()), 1u);
  VERIFY_EQ(
      incremented(t, cache.load(built_in_kernels(), "k").value().function("increment").value()),
      1u);
  held = {};
  VERIFY_EQ(
      incremented(t, cache.load(built_in_kernels(), "k").value().function("increment").value()),
      1u);
}

void nothing_is_kept_when_the_last_handle_goes(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  Executable executable = cache.load(built_in_kernels(), "k").value();
  Function function = executable.function("increment").value();
  executable = {};
  VERIFY(cache.load(built_in_kernels(), "k").value().function("increment").value() == function);
  VERIFY_EQ(cache.statistics().prepared, 1u);
  function = {};
  VERIFY_OK(cache.load(built_in_kernels(), "k"));
  VERIFY_EQ(cache.statistics().prepared, 2u);
}

void executable_outlives_its_cache_and_its_folder(Context& t) {
  Executable executable;
  {
    const Folder folder;
    executable = cache_of(t, folder).load(built_in_kernels(), "k").value();
  }
  VERIFY_EQ(incremented(t, executable.function("increment").value()), 1u);
}

void threads_that_load_at_once_prepare_once(Context& t) {
  constexpr int kThreads = 6;
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  std::vector<Executable> loaded(kThreads);
  Threads threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.start([&, i] { loaded[i] = cache.load(built_in_kernels(), "k").value(); });
  }
  threads.join();
  VERIFY(std::ranges::all_of(loaded, [&](const Executable& each) { return each == loaded[0]; }));
  VERIFY_EQ(cache.statistics().prepared, 1u);
}

void errors_are_those_of_load_and_are_not_remembered(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  const std::string path = folder.path("late.hyx");
  const Result<Executable> missing = cache.load(path);
  VERIFY_CODE(missing, StatusCode::kNotFound);
  VERIFY_EQ(missing.status().message(), t.device().load(path).status().message());
  VERIFY_CODE(cache.load(built_in_kernels().first(100), "cut"), StatusCode::kDataLoss);
  VERIFY_OK(cache.load(folder.write_kernels("late.hyx")));
}

void folder_is_made_for_this_user_alone(Context& t) {
  const Folder folder;
  const std::string deep = folder.path("not/yet/there");
  const auto cache = t.device().create_executable_cache({.folder = deep});
  VERIFY_OK(cache);
  VERIFY_EQ(cache->folder(), deep);
  struct stat info{};
  VERIFY_EQ(::stat(deep.c_str(), &info), 0);
  VERIFY_EQ(info.st_mode & 07777u, 0700u);
}

void folder_that_others_may_write_is_refused(Context& t) {
  const Folder folder;
  const std::string path = folder.path("open");
  fs::create_directory(path);
  for (const auto mode : {fs::perms::group_all, fs::perms::others_write}) {
    fs::permissions(path, fs::perms::owner_all | mode);
    const auto cache = t.device().create_executable_cache({.folder = path});
    VERIFY_CODE(cache, StatusCode::kPermissionDenied);
    VERIFY(cache.status().message().find(path) != std::string_view::npos);
  }
}

void file_in_place_of_the_folder_is_an_error(Context& t) {
  const Folder folder;
  const std::string path = folder.write_kernels("a.hyx");
  const auto cache = t.device().create_executable_cache({.folder = path});
  VERIFY(!cache.ok());
  VERIFY(cache.status().message().find(path) != std::string_view::npos);
}

void removed_folder_fails_no_load(Context& t) {
  const Folder folder;
  const ExecutableCache cache = cache_of(t, folder);
  fs::remove_all(folder.path("cache"));
  VERIFY_EQ(
      incremented(t, cache.load(built_in_kernels(), "k").value().function("increment").value()),
      1u);
}

void empty_handle_is_refused(Context& t) {
  VERIFY_CODE(ExecutableCache().load(built_in_kernels(), "k"), StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Device().create_executable_cache(), StatusCode::kInvalidArgument);
  VERIFY_EQ(ExecutableCache().folder(), "");
}

#define CASE(name) {"executable_cache", #name, name}
constexpr Case kCases[] = {
    CASE(same_bytes_are_one_executable),
    CASE(same_content_is_one_executable_whatever_the_file),
    CASE(file_that_changed_is_another_executable),
    CASE(caches_and_devices_share_nothing),
    CASE(cached_kernels_run),
    CASE(nothing_is_kept_when_the_last_handle_goes),
    CASE(executable_outlives_its_cache_and_its_folder),
    CASE(threads_that_load_at_once_prepare_once),
    CASE(errors_are_those_of_load_and_are_not_remembered),
    CASE(folder_is_made_for_this_user_alone),
    CASE(folder_that_others_may_write_is_refused),
    CASE(file_in_place_of_the_folder_is_an_error),
    CASE(removed_folder_fails_no_load),
    CASE(empty_handle_is_refused),
};
#undef CASE

}  // namespace
}  // namespace executable_cache

std::span<const Case> executable_cache_cases() noexcept { return executable_cache::kCases; }

}  // namespace halyard::inline v0::conformance
