// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No source of the library makes a native call outside base::native_call (base/native_call.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/native_call.h"

namespace halyard::testing {
namespace {

namespace fs = std::filesystem;

// Of the system, the C library's allocator, the dynamic linker, threads: what can fail or block.
constexpr const char* kCalls =
    R"((?:^|[^\w.>:~"])((?:::|std::)?(?:)"
    "openat|pread|pwrite|readv|writev|fstat|lstat|fstatat|lseek|fcntl|ioctl|ftruncate|fsync|"
    "renameat|unlinkat|mkdirat|opendir|fdopendir|readdir|closedir|futimens|flock|mmap|munmap|"
    "mprotect|madvise|syscall|memfd_create|eventfd|eventfd_read|eventfd_write|pipe2?|socket|dup2?|"
    "dlopen|dlsym|dlclose|malloc|calloc|realloc|aligned_alloc|posix_memalign|pthread_create|"
    "pthread_join|pthread_tryjoin_np|pthread_attr_init|pthread_attr_setaffinity_np|CPU_ALLOC|"
    "sched_getaffinity|sched_setaffinity|sysconf|getrandom|fopen|nanosleep|usleep|fork|"
    R"(waitpid)\b)\s*\(|(?:^|[^\w>)])(::(?:open|close|read|write|stat|rename|unlink|mkdir|poll)\b)\s*\()"
    // Unqualified these are functions of our own, unless they get a descriptor.
    R"(|\b((?:close|read|write))\((?=\w*(?:fd|descriptor)_?\b|\w+\.get\(\)))"
    // What makes native calls that nobody sees.
    R"(|\b(std::j?thread\b|std::[io]?fstream\b|std::filesystem\b|std::mutex\b|std::condition_variable))";

struct Exception {
  std::string_view file;
  std::string_view call;
  std::string_view why;
};
constexpr Exception kExceptions[] = {
    {"base/file.cpp", "::close", "what it answers passes the seam: the descriptor is gone anyway"},
    {"base/machine.cpp", "sysconf", "the size of a page, which is no call"},
    {"base/thread.cpp", "pthread_attr_init", "allocates nothing and cannot fail in this C library"},
    {"hcq/ring_group.cpp", "sched_getaffinity", "once for the process, which may do without"},
};

// As long as before, without what is in comments and literals.
std::string code_of(std::string text) {
  const std::regex other(R"(//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')");
  for (std::sregex_iterator at(text.begin(), text.end(), other), end; at != end; ++at) {
    std::fill_n(text.begin() + at->position(), at->length(), ' ');
  }
  return text;
}

// The calls outside native_call(...).
std::vector<std::string> bare_calls(const std::string& code) {
  std::vector<bool> within(code.size() + 1);
  for (std::size_t at = 0; (at = code.find("native_call(", at)) != code.npos; ++at) {
    std::size_t end = code.find('(', at);
    for (int depth = 0; end < code.size(); ++end) {
      depth += code[end] == '(' ? 1 : code[end] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    std::fill(within.begin() + static_cast<std::ptrdiff_t>(at),
              within.begin() + static_cast<std::ptrdiff_t>(std::min(end, code.size())), true);
  }
  std::vector<std::string> found;
  static const std::regex calls(kCalls);
  for (std::sregex_iterator at(code.begin(), code.end(), calls), end; at != end; ++at) {
    for (std::size_t group = 1; group < at->size(); ++group) {
      if (!(*at)[group].matched || within[static_cast<std::size_t>(at->position(group))]) continue;
      found.push_back((*at)[group]);
    }
  }
  return found;
}

TEST(CallSeam, IsMissedByACallOutside) {
  using Calls = std::vector<std::string>;
  EXPECT_EQ(bare_calls("int fd = ::open(path, 0);"), Calls{"::open"});
  EXPECT_EQ(bare_calls("if (close(fd_) != 0) return;"), Calls{"close"});
  EXPECT_EQ(bare_calls("void* p = std::malloc(n);"), Calls{"std::malloc"});
  EXPECT_EQ(bare_calls("x = a.f(mmap(nullptr));"), Calls{"mmap"});
  EXPECT_EQ(bare_calls("std::thread t;"), Calls{"std::thread"});
  EXPECT_EQ(bare_calls("native_call(kA, [] { return f(::dup(1)); }), ::dup(2)"), Calls{"::dup"});
  EXPECT_EQ(bare_calls("native_call(kA, [&] { return ::open(path, 0); })"), Calls{});
  EXPECT_EQ(bare_calls("DiskCache::open(a); file.read(b); lane->close(c); void close();"), Calls{});
  EXPECT_EQ(bare_calls(code_of("// as open(2), mmap(2)\nf(\"mmap(\");")), Calls{});
}

TEST(CallSeam, HasEveryNativeCallOfTheLibrary) {
  const fs::path root = fs::path(HALYARD_SOURCE_DIR) / "src";
  std::vector<bool> used(std::size(kExceptions));
  std::size_t files = 0, sites = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = fs::relative(entry.path(), root).string();
    // Programs' parts, and what stands in for the system.
    if (name.starts_with("sim") || name.starts_with("compiler") || name.starts_with("conformance"))
      continue;
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    const std::string code = code_of(std::string(std::istreambuf_iterator<char>(file), {}));
    for (std::size_t at = 0; (at = code.find("\nHALYARD_CALL_SITE(", at)) != code.npos; ++at)
      ++sites;
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
