// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explorer: schedules as text, and the report of a failed run.
#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "simulation/explore/explored_thread.h"
#include "simulation/explore/explorer.h"

namespace halyard::inline v0::sim {
namespace {

// The function around `where`, by addr2line(1) of binutils; the bare address without it.
std::string function_at(const void* where) {
  static std::map<const void*, std::string> known;
  if (where == nullptr) return {};
  const auto [entry, added] = known.try_emplace(where);
  std::string& name = entry->second;
  if (!added) return name;
  name = fmt::format("{}", where);
  Dl_info info{};
  if (::dladdr(where, &info) == 0) return name;
  const auto offset = static_cast<const char*>(where) - static_cast<const char*>(info.dli_fbase);
  std::FILE* const pipe = ::popen(
      fmt::format("addr2line -Cfe /proc/{}/exe {:#x} 2>&1", ::getpid(), offset - 1).c_str(), "r");
  if (pipe == nullptr) return name;
  char line[512] = {};
  if (std::fgets(line, sizeof line, pipe) != nullptr) name = line;
  (void)::pclose(pipe);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  // The scope and the arguments do not help readers.
  if (const auto arguments = name.find('('); arguments != 0 && arguments != std::string::npos) {
    name.erase(arguments);
  }
  constexpr std::string_view kScope = "halyard::v0::";
  for (auto at = name.find(kScope); at != std::string::npos; at = name.find(kScope)) {
    name.erase(at, kScope.size());
  }
  return name;
}

// Addresses differ between runs, but not the order of their first accesses.
std::size_t number_of(const void* address) {
  static std::map<const void*, std::size_t> numbers;
  return numbers.try_emplace(address, numbers.size() + 1).first->second;
}

}  // namespace

std::string Schedule::text() const {
  std::string text;
  for (std::uint32_t i = 0; i < length;) {
    std::uint32_t end = i;
    while (end < length && threads[end] == threads[i]) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", threads[i]);
    if (end - i > 1) text += fmt::format("x{}", end - i);
    i = end;
  }
  return text;
}

bool Schedule::parse(std::string_view text) {
  length = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint32_t thread = 0, count = 1;
    auto parsed = std::from_chars(at, end, thread);
    if (parsed.ec != std::errc() || thread >= Explorer::kMostThreads) return false;
    at = parsed.ptr;
    if (at != end && *at == 'x') {
      parsed = std::from_chars(at + 1, end, count);
      if (parsed.ec != std::errc() || count > kMostSteps - length) return false;
      at = parsed.ptr;
    }
    if (length + count > kMostSteps) return false;
    for (; count > 0; --count) threads[length++] = static_cast<std::uint8_t>(thread);
    if (at != end && (*at++ != ',' || at == end)) return false;
  }
  return true;
}

void Explorer::print_step(const Thread& self) {
  constexpr const char* kKinds[] = {"reads", "writes", "sleeps on", "wakes", "times out on"};
  fmt::print("{:5}  {:<14} {:<12} {:<5} {}\n", steps_ + 1, self.body->name,
             kKinds[static_cast<int>(self.next.kind)],
             fmt::format("a{}", number_of(self.next.address)), function_at(self.next.where));
  std::fflush(stdout);
}

std::string (*Explorer::describe)() = nullptr;

void fail(std::string_view what) {
  std::fflush(stdout);
  fmt::print(stderr, "  {}\n", what);
  if (Explorer* const explorer = Explorer::current(); explorer != nullptr) {
    for (std::size_t i = 0; i < explorer->thread_count_; ++i) {
      constexpr const char* kStates[] = {"can run or waits for a lock", "sleeps", "has been woken",
                                         "has ended"};
      const Explorer::Thread& thread = *explorer->threads_[i];
      fmt::print(stderr, "  {} {}{}\n", thread.body->name, kStates[static_cast<int>(thread.state)],
                 thread.paused ? ", spinning" : "");
    }
  }
  if (Explorer::describe != nullptr) fmt::print(stderr, "{}", Explorer::describe());
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace halyard::inline v0::sim
