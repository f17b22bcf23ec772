// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No source of the library makes a native call outside base::native_call (base/native_call.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/native_call.h"

namespace halyard::testing {
namespace {

namespace fs = std::filesystem;

// Calls that can fail or block: of the system, the C library's allocator, the dynamic linker,
// threads.
constexpr std::string_view kCalls[] = {
    "CPU_ALLOC",
    "aligned_alloc",
    "calloc",
    "closedir",
    "dlclose",
    "dlopen",
    "dlsym",
    "dup",
    "dup2",
    "eventfd",
    "eventfd_read",
    "eventfd_write",
    "fcntl",
    "fdopendir",
    "flock",
    "fopen",
    "fork",
    "fstat",
    "fstatat",
    "fsync",
    "ftruncate",
    "futimens",
    "getrandom",
    "ioctl",
    "lseek",
    "lstat",
    "madvise",
    "malloc",
    "memfd_create",
    "mkostemp",
    "mkdirat",
    "mmap",
    "mprotect",
    "munmap",
    "nanosleep",
    "openat",
    "opendir",
    "pipe",
    "pipe2",
    "posix_memalign",
    "pread",
    "preadv",
    "pthread_attr_init",
    "pthread_create",
    "pthread_attr_setaffinity_np",
    "pthread_join",
    "pwrite",
    "pwritev",
    "pthread_tryjoin_np",
    "readdir",
    "readv",
    "realloc",
    "renameat",
    "sched_getaffinity",
    "sched_setaffinity",
    "socket",
    "syscall",
    "sysconf",
    "sysctlbyname",
    "unlinkat",
    "usleep",
    "waitpid",
    "writev",
};
// Unqualified these are functions of Halyard, unless their argument is a descriptor.
constexpr std::string_view kCommon[] = {"close",  "mkdir", "open",   "poll", "read",
                                        "rename", "stat",  "unlink", "write"};
// Types that make native calls invisibly.
constexpr std::string_view kHidden[] = {"condition_variable",
                                        "directory_iterator",
                                        "filesystem",
                                        "fstream",
                                        "ifstream",
                                        "jthread",
                                        "mutex",
                                        "ofstream",
                                        "thread"};

struct Exception {
  std::string_view file;
  std::string_view call;
  std::string_view why;
};
constexpr Exception kExceptions[] = {
    {"src/async/runtime.cpp", "filesystem",
     "where the program lies; without it a folder less is searched"},
    {"src/base/file.cpp", "close",
     "what it answers passes the seam: the descriptor is gone anyway"},
    {"src/base/machine.cpp", "sysconf", "the size of a page, which is no call"},
    {"src/base/machine_posix.cpp", "sysconf", "the same"},
    {"src/base/pages.cpp", "mmap", "its callers pass the seam"},
    {"src/base/pages.cpp", "sysconf", "the size of a page, which is no call"},
    {"src/base/pages_posix.cpp", "mmap", "its callers pass the seam"},
    {"src/base/pages_posix.cpp", "munmap", "a part of a mapping that was just made"},
    {"src/base/pages_posix.cpp", "sysconf", "the size of a page, which is no call"},
    {"src/base/processor_count.cpp", "sched_getaffinity",
     "once for the process, which may do without"},
    {"src/base/processor_count_posix.cpp", "sysconf", "the same"},
    {"src/base/program.cpp", "filesystem",
     "where the program lies; without it a folder less is searched"},
    {"src/base/program_apple.cpp", "filesystem", "the same"},
    {"src/base/program_posix.cpp", "filesystem", "the same"},
    {"src/base/thread.cpp", "pthread_attr_init",
     "allocates nothing and cannot fail in this C library"},
    {"src/hcq/kernel_interface.h", "close", "declares the seam of hardware queues"},
    {"src/hcq/kernel_interface.h", "ioctl", "the same"},
    {"simulation/stream/fake_library.cpp", "aligned_alloc",
     "the native library itself: calls to it pass the seam"},
    {"simulation/stream/fake_library.cpp", "mmap", "the same"},
    {"simulation/stream/fake_library.cpp", "munmap", "the same"},
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The text with comments and literals blanked, at the same length.
std::string code_of(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char first = text[at];
    const bool comment = text.compare(at, 2, "//") == 0;
    if (!comment && first != '"' && (first != '\'' || (at != 0 && is_word(text[at - 1])))) continue;
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != (comment ? '\n' : first)) {
      end += !comment && text[end] == '\\' ? 2 : 1;
    }
    end = std::min(end + (comment ? 0 : 1), text.size());
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
              text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end - 1;
  }
  return text;
}

std::size_t closing(const std::string& code, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < code.size(); ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    if (depth == 0) return at;
  }
  return code.size();
}

bool gets_a_descriptor(std::string_view arguments) {
  const std::string_view first = arguments.substr(0, arguments.find_first_of(",)"));
  return first.ends_with("fd") || first.ends_with("fd_") || first.ends_with("descriptor") ||
         first.ends_with("descriptor_") || first.ends_with(".get(");
}

// The calls outside native_call(...).
std::vector<std::string> bare_calls(const std::string& code) {
  std::vector<std::string> found;
  for (std::size_t at = 0, end = 0; at < code.size(); at = end) {
    for (end = at; end < code.size() && is_word(code[end]);) ++end;
    if (end == at) {
      ++end;
      continue;
    }
    const std::string word = code.substr(at, end - at);
    const std::string_view before = std::string_view(code).substr(0, at);
    const bool of_std = before.ends_with("std::");
    const bool global = before.ends_with("::") && (at < 3 || !is_word(code[at - 3]));
    const bool bare = !before.ends_with("::") && !before.ends_with('.') &&
                      !before.ends_with("->") && !before.ends_with('~');
    if (of_std && std::ranges::find(kHidden, word) != std::end(kHidden)) found.push_back(word);
    if (code[end] != '(') continue;
    if (word == "native_call") {
      end = closing(code, end);
      continue;
    }
    const bool always = std::ranges::find(kCalls, word) != std::end(kCalls);
    const bool common = std::ranges::find(kCommon, word) != std::end(kCommon);
    const bool descriptor = gets_a_descriptor(std::string_view(code).substr(end + 1));
    if ((always && (of_std || global || bare)) || (common && (global || (bare && descriptor)))) {
      found.push_back(word);
    }
  }
  return found;
}

TEST(CallSeam, IsMissedByACallOutside) {
  using Calls = std::vector<std::string>;
  EXPECT_EQ(bare_calls("int fd = ::open(path, 0);"), Calls{"open"});
  EXPECT_EQ(bare_calls("if (close(fd_) != 0) return;"), Calls{"close"});
  EXPECT_EQ(bare_calls("read(file.get(), bytes);"), Calls{"read"});
  EXPECT_EQ(bare_calls("void* p = std::malloc(n);"), Calls{"malloc"});
  EXPECT_EQ(bare_calls("x = a.f(mmap(nullptr));"), Calls{"mmap"});
  EXPECT_EQ(bare_calls("std::thread t; std::filesystem::path p;"), (Calls{"thread", "filesystem"}));
  EXPECT_EQ(bare_calls("native_call(kA, [] { return f(::dup(1)); }), ::dup2(2)"), Calls{"dup2"});
  EXPECT_EQ(bare_calls("native_call(kA, [&] { return ::open(path, 0); })"), Calls{});
  EXPECT_EQ(bare_calls("DiskCache::open(a); file.read(b); lane->close(c); void close();"), Calls{});
  EXPECT_EQ(bare_calls(code_of("// as mmap(2)\nf(\"mmap(\\\"\", 'x', 1'000); dup(1)")),
            Calls{"dup"});
}

// Whether this build has the source: a few have one file for each form (cmake/HalyardSystem.cmake).
bool is_built(const fs::path& path) {
  const std::string stem = path.stem().string();
#if defined(HALYARD_HAS_METAL)
  if (path.extension() == ".mm") return true;
#else
  if (path.extension() == ".mm") return false;
#endif
  if (path.extension() != ".cpp" || stem.ends_with("_apple")) return !stem.ends_with("_apple");
#if defined(HALYARD_POSIX)
  return !fs::exists(path.parent_path() / (stem + "_posix.cpp"));
#else
  return !stem.ends_with("_posix");
#endif
}

TEST(CallSeam, HasEveryNativeCallOfTheLibrary) {
  const fs::path root = HALYARD_SOURCE_DIR;
  std::vector<bool> used(std::size(kExceptions));
  std::size_t files = 0, sites = 0;
  std::vector<fs::path> sources;
  for (const char* const folder : {"src", "simulation/stream"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      sources.push_back(entry.path());
    }
  }
  for (const fs::path& path : sources) {
    const std::string name = fs::relative(path, root).string();
    if (name.starts_with("src/compiler/")) continue;  // a part of programs
    if (path.extension() != ".cpp" && path.extension() != ".h" && path.extension() != ".mm") continue;
    std::ifstream file(path);
    const std::string code = code_of(std::string(std::istreambuf_iterator<char>(file), {}));
    for (std::size_t at = 0; (at = code.find("\nHALYARD_CALL_SITE(", at)) != code.npos; ++at) {
      if (is_built(path)) ++sites;
    }
    // The list in drivers/vulkan/functions.h, of which functions that can fail have their error.
    for (std::size_t at = 0; (at = code.find(" X(vk", at)) != code.npos; ++at) {
      const std::string_view row = std::string_view(code).substr(at, code.find(')', at) - at);
      if (row.find(',') != row.npos) ++sites;
    }
    // The lists in drivers/cuda/functions.h and drivers/hip/functions.h.
    for (const char* const row : {" X(cu", " X(hip"}) {
      if (!name.ends_with("functions.h")) break;
      for (std::size_t at = 0; (at = code.find(row, at)) != code.npos; ++at) ++sites;
    }
    for (const std::string& call : bare_calls(code)) {
      const auto* const known = std::ranges::find_if(kExceptions, [&](const Exception& exception) {
        return exception.file == name && exception.call == call;
      });
      EXPECT_NE(known, std::end(kExceptions)) << name << ": " << call << " outside native_call()";
      if (known != std::end(kExceptions)) used[known - std::begin(kExceptions)] = true;
    }
    ++files;
  }
  EXPECT_GE(files, 100u);
  EXPECT_EQ(sites, base::call_sites().size()) << "sites that are defined, and that are listed";
  for (std::size_t i = 0; i < used.size(); ++i) {
    EXPECT_TRUE(used[i]) << kExceptions[i].file << " does not call " << kExceptions[i].call;
  }
}

}  // namespace
}  // namespace halyard::testing
