// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/report.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "simulation/gpu/mutex.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {
namespace {

struct Misuse {
  std::uint64_t count = 0;
  std::string first;
};

struct Reports {
  Mutex mutex;
  // The first call of a function adds to it. It has no lock, because that would be a schedule point
  // in the first run of a simulation only.
  std::atomic<Entry*> entries = nullptr;
  std::map<std::string, Misuse> misuse;
  std::map<std::string, std::string> leaks;
};

// Outlives the threads of streams, which run until the process has ended.
Reports& reports() {
  static Reports* const one = new Reports;
  return *one;
}

// "cuMemAlloc" of "cuMemAlloc_v2".
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  return at == std::string_view::npos ? name : name.substr(0, at);
}

}  // namespace

namespace {

constinit std::atomic<bool> has_begun = false;

}  // namespace

bool Entry::is_any_known() { return has_begun.load(); }

void Entry::make_known() {
  has_begun.store(true);
  read_faults();
  if (!is_listed_.exchange(true)) {
    std::atomic<Entry*>& list = reports().entries;
    next_ = list.load();
    while (!list.compare_exchange_weak(next_, this)) {
    }
  }
  is_known_.store(true, std::memory_order_release);
}

void Entry::read_faults() {
  const auto& faults = options().faults;
  may_fail_.store(
      faults.contains(std::string_view(name_)) || faults.contains(without_version(name_)),
      std::memory_order_relaxed);
}

void Entry::reset() {
  calls_.store(0, std::memory_order_relaxed);
  read_faults();
}

int Entry::fault(std::uint64_t call) const {
  const auto& faults = options().faults;
  for (const std::string_view key : {std::string_view(name_), without_version(name_)}) {
    for (auto [at, end] = faults.equal_range(key); at != end; ++at) {
      if (at->second.call == 0 || at->second.call == call) return at->second.result;
    }
  }
  return 0;
}

void report_misuse(const char* rule, const std::string& text) {
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  Misuse& misuse = all.misuse[rule];
  if (misuse.count++ == 0) misuse.first = text;
  if (options().strict) {
    std::fprintf(stderr, "simulated %s: %s: %s\n", rules().product, rule, text.c_str());
  }
}

void report_leak(const char* where, const char* kind, std::uint64_t count, std::uint64_t bytes) {
  if (count == 0) return;
  std::string line = std::to_string(count);
  if (bytes != 0) line += " (" + std::to_string(bytes) + " bytes)";
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  all.leaks[std::string(where) + ": " + kind] = line;
  if (options().strict) {
    std::fprintf(stderr, "simulated %s: leak at %s: %s: %s\n", rules().product, where, kind,
                 line.c_str());
  }
}

void for_each_misuse(
    const std::function<void(const std::string& rule, const std::string& first)>& visit) {
  const std::lock_guard lock(reports().mutex);
  for (const auto& [rule, misuse] : reports().misuse) visit(rule, misuse.first);
}

void for_each_leak(const std::function<void(const std::string& line)>& visit) {
  const std::lock_guard lock(reports().mutex);
  for (const auto& [what, count] : reports().leaks) visit(what + " " + count);
}

void lock_report() { reports().mutex.lock(); }
void unlock_report() { reports().mutex.unlock(); }

void reset_report() {
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  for (Entry* entry = all.entries.load(); entry != nullptr; entry = entry->next()) entry->reset();
  all.misuse.clear();
  all.leaks.clear();
}

void write_report() {
  if (options().report.empty()) return;
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  std::FILE* const file = std::fopen(options().report.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "simulated %s: cannot write %s: %s\n", rules().product,
                 options().report.c_str(), std::strerror(errno));
    return;
  }
  std::map<std::string_view, std::uint64_t> calls, unsupported;
  for (const Entry* entry = all.entries.load(); entry != nullptr; entry = entry->next()) {
    if (entry->calls() != 0) {
      (entry->is_built() ? calls : unsupported)[entry->name()] += entry->calls();
    }
  }
  std::fprintf(file, "seed %llu\n", static_cast<unsigned long long>(options().seed));
  for (const auto& [name, count] : calls) {
    std::fprintf(file, "calls %.*s %llu\n", static_cast<int>(name.size()), name.data(),
                 static_cast<unsigned long long>(count));
  }
  for (const auto& [name, count] : unsupported) {
    std::fprintf(file, "unsupported %.*s %llu\n", static_cast<int>(name.size()), name.data(),
                 static_cast<unsigned long long>(count));
  }
  for (const auto& [rule, misuse] : all.misuse) {
    std::fprintf(file, "misuse %s %llu: %s\n", rule.c_str(),
                 static_cast<unsigned long long>(misuse.count), misuse.first.c_str());
  }
  for (const auto& [what, line] : all.leaks) {
    std::fprintf(file, "leak %s %s\n", what.c_str(), line.c_str());
  }
  std::fclose(file);
}

}  // namespace halyard::inline v0::sim::gpu
