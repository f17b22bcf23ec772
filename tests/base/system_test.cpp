// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The system calls of base/: all implementations of a function return the same results.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error_name.h"
#include "base/machine.h"
#include "base/pages.h"
#include "base/program.h"
#include "base/random_number.h"
#include "base/thread.h"
#include "base/thread_name.h"
#include "halyard/base/clock.h"

namespace halyard::base {
namespace {

// The C library uses the POSIX names. If a number has two names, both functions choose the same
// one.
TEST(ErrorName, IsThatOfTheCLibraryForEveryErrorThatPosixNames) {
  int named = 0;
  for (int number = 0; number < 200; ++number) {
    const char* const name = error_name(number);
    if (number == 0 || name == nullptr) continue;
    ++named;
    EXPECT_STREQ(name, ::strerrorname_np(number));
    EXPECT_STREQ(error_text(number), std::strerror(number));
  }
  EXPECT_GE(named, 75);
  EXPECT_STREQ(error_name(ENOENT), "ENOENT");
  EXPECT_STREQ(error_name(EAGAIN), "EAGAIN");
  EXPECT_EQ(error_name(100'000), nullptr);
  EXPECT_EQ(error_text(100'000), nullptr);
}

TEST(Program, HasAPathAndAName) {
  const std::filesystem::path expected = std::filesystem::canonical("/proc/self/exe");
  EXPECT_EQ(program_path(), expected.string());
  EXPECT_EQ(program_name(), expected.filename().string());
}

TEST(Program, ReadsItsEnvironment) {
  ::setenv("HALYARD_TEST_OF_THE_ENVIRONMENT", "a value", 1);
  EXPECT_STREQ(environment("HALYARD_TEST_OF_THE_ENVIRONMENT"), "a value");
  ::unsetenv("HALYARD_TEST_OF_THE_ENVIRONMENT");
  EXPECT_EQ(environment("HALYARD_TEST_OF_THE_ENVIRONMENT"), nullptr);
}

TEST(RandomNumber, IsAnotherEachTime) {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    std::uint64_t number = 0;
    ASSERT_TRUE(random_number(number));
    EXPECT_TRUE(numbers.insert(number).second);
  }
}

TEST(Machine, HasMemoryAndProcessors) {
  EXPECT_GT(memory_size(), std::uint64_t{1} << 26);
  EXPECT_GE(processor_count(), 1u);
  EXPECT_LE(processor_count(), static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_CONF)));
}

TEST(Pages, AreMappedAtMultiplesOfTheirSizeAndGivenBack) {
  const std::size_t page = page_size();
  EXPECT_EQ(page & (page - 1), 0u);
  EXPECT_EQ(page % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 0u);
#if defined(HALYARD_POSIX)
  EXPECT_GE(page, 16384u) << "the preset posix stands for a machine with such pages";
#endif
  for (const std::size_t size : {std::size_t{1}, page - 1, page, page + 1, 7 * page + 100}) {
    std::vector<void*> mapped;
    for (int i = 0; i < 8; ++i) {
      void* const pointer = map_pages(size);
      ASSERT_NE(pointer, MAP_FAILED);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % page, 0u);
      EXPECT_EQ(static_cast<const char*>(pointer)[size - 1], 0);
      std::memset(pointer, 1, size);
      mapped.push_back(pointer);
    }
    for (void* const pointer : mapped) {
      EXPECT_EQ(::munmap(pointer, size), 0);
      unsigned char resident;
      EXPECT_EQ(::mincore(pointer, 1, &resident), -1) << "still mapped";
      EXPECT_EQ(errno, ENOMEM);
    }
  }
  EXPECT_EQ(map_pages(PTRDIFF_MAX - 1), MAP_FAILED);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(map_pages(0), MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
}

TEST(Thread, HasItsNameAndANumberOfItsOwn) {
  struct Seen {
    char name[16] = {};
    std::uint64_t number = 0;
  } seen;
  Thread thread;
  const auto body = [](void* argument) {
    auto& its = *static_cast<Seen*>(argument);
    ::pthread_getname_np(::pthread_self(), its.name, sizeof its.name);
    its.number = thread_number();
    EXPECT_EQ(thread_number(), its.number);
  };
  ASSERT_EQ(thread.start("hy-a-thread", body, &seen), 0);
  thread.join();
  EXPECT_FALSE(thread.started());
  EXPECT_STREQ(seen.name, "hy-a-thread");
  EXPECT_NE(seen.number, thread_number());
}

TEST(Thread, IsJoinedByATryOnceItHasEnded) {
  std::atomic<bool> end{false};
  const auto body = [](void* argument) {
    auto& may_end = *static_cast<std::atomic<bool>*>(argument);
    while (!may_end) std::this_thread::yield();
  };
  Thread thread;
  ASSERT_EQ(thread.start("hy-a-thread", body, &end), 0);
  EXPECT_FALSE(thread.try_join());
  EXPECT_TRUE(thread.started());
  end = true;
  while (!thread.try_join()) std::this_thread::yield();
  EXPECT_FALSE(thread.started());
  ASSERT_EQ(thread.start("hy-a-thread", body, &end), 0) << "it may be used again";
  thread.join();
}

// The object may be destroyed before the thread ends, or after it.
TEST(Thread, ThatIsDetachedMayOutliveItsObject) {
  for (int round = 0; round < 200; ++round) {
    static std::atomic<int> begun, ended;
    begun = ended = 0;
    {
      Thread thread;
      const auto body = [](void*) {
        begun = 1;
        ended = 1;
      };
      ASSERT_EQ(thread.start("hy-a-thread", body, nullptr), 0);
      while (begun == 0) std::this_thread::yield();
      if (round % 2 == 0) {
        while (ended == 0) std::this_thread::yield();
      }
      thread.detach();
      EXPECT_FALSE(thread.started());
    }
    while (ended == 0) std::this_thread::yield();
  }
}

#if defined(HALYARD_POSIX)
TEST(Thread, ForProcessorsIsRefusedWhereTheSystemBindsNone) {
  Thread thread;
  const unsigned processors[] = {0};
  EXPECT_EQ(thread.start("hy-a-thread", [](void*) {}, nullptr, processors), ENOTSUP);
  EXPECT_FALSE(thread.started());
}
#endif

}  // namespace
}  // namespace halyard::base
