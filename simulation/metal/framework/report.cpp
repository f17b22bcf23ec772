// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/framework/report.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "simulation/gpu/mutex.h"
#include "simulation/metal/framework/options.h"
#include "simulation/metal/framework/process.h"

namespace halyard::inline v0::sim::metal {
namespace {

constexpr auto kClasses = static_cast<std::size_t>(Class::kCount);

struct Record {
  std::uint64_t count = 0;
  std::string first;
};
struct Counts {
  std::atomic<std::uint64_t> attempts = 0, created = 0, destroyed = 0;
};
struct Reports {
  gpu::Mutex mutex;
  std::map<std::string, Record> misuse, notes;
  std::array<Counts, kClasses> counts;
  std::atomic<std::uint64_t> attempts = 0;  // of all classes
};

// Outlives the framework's threads.
Reports& reports() {
  static Reports* const one = new Reports;
  return *one;
}

void record(bool is_note, const char* rule, const std::string& text) {
  Reports& all = reports();
  bool is_first = false;
  {
    const std::lock_guard lock(all.mutex);
    Record& record = (is_note ? all.notes : all.misuse)[rule];
    is_first = record.count++ == 0;
    if (is_first) record.first = text;
  }
  if (is_first && !is_note && options().prints) {
    std::fprintf(stderr, "simulated Metal: %s: %s\n", rule, text.c_str());
  }
}

std::vector<Misuse> list(const std::map<std::string, Record>& records) {
  std::vector<Misuse> all;
  for (const auto& [rule, record] : records) all.push_back({rule, record.first, record.count});
  return all;
}

}  // namespace

void report(const char* rule, const std::string& text) { record(false, rule, text); }

void report_tolerated(const char* rule, const std::string& text) {
  record(!options().strict, rule, text);
}

void fail_assertion(const char* rule, const std::string& text) {
  record(false, rule, text);
  if (!options().aborts) return;
  if (!options().prints) std::fprintf(stderr, "simulated Metal: %s: %s\n", rule, text.c_str());
  write_report();
  std::abort();
}

const char* name(Class object_class) {
  static constexpr std::array<const char*, kClasses> kNames = {"MTLCommandQueue",
                                                               "MTLCommandBuffer",
                                                               "MTLComputeCommandEncoder",
                                                               "MTLBlitCommandEncoder",
                                                               "MTLBuffer",
                                                               "MTLHeap",
                                                               "MTLEvent",
                                                               "MTLSharedEvent",
                                                               "MTLSharedEventListener",
                                                               "MTLFence",
                                                               "MTLLibrary",
                                                               "MTLFunction",
                                                               "MTLComputePipelineState",
                                                               "MTLArgumentEncoder",
                                                               "MTLIndirectCommandBuffer",
                                                               "MTLResidencySet",
                                                               "MTLBinaryArchive",
                                                               "MTLCounterSampleBuffer",
                                                               "MTLCaptureScope",
                                                               "descriptor"};
  return kNames[static_cast<std::size_t>(object_class)];
}

bool is_nil(Class object_class) {
  Reports& all = reports();
  const std::uint64_t number =
      all.counts[static_cast<std::size_t>(object_class)].attempts.fetch_add(1) + 1;
  const std::uint64_t of_all = all.attempts.fetch_add(1) + 1;
  for (const NilObject& nil : options().nil_objects) {
    if (nil.class_name == "*" ? nil.number == of_all
                              : nil.number == number && nil.class_name == name(object_class)) {
      return true;
    }
  }
  const std::uint64_t limit = options().max_objects;
  if (limit == 0 || (object_class != Class::kBuffer && object_class != Class::kHeap)) return false;
  std::uint64_t live = 0;
  for (const Class counted : {Class::kBuffer, Class::kHeap}) {
    const Counts& counts = all.counts[static_cast<std::size_t>(counted)];
    live += counts.created.load() - counts.destroyed.load();
  }
  return live >= limit;
}

void count_created(Class object_class) {
  reports().counts[static_cast<std::size_t>(object_class)].created.fetch_add(1);
}
void count_destroyed(Class object_class) {
  reports().counts[static_cast<std::size_t>(object_class)].destroyed.fetch_add(1);
}

std::vector<Misuse> misuse() {
  const std::lock_guard lock(reports().mutex);
  return list(reports().misuse);
}
std::vector<Misuse> notes() {
  const std::lock_guard lock(reports().mutex);
  return list(reports().notes);
}

std::string misuse_text() {
  std::string text;
  for (const Misuse& one : misuse()) {
    text.append(one.rule).append(": ").append(one.first).append("\n");
  }
  return text;
}

bool has_misuse(const std::string& rule) {
  const std::lock_guard lock(reports().mutex);
  return reports().misuse.contains(rule);
}

void clear_misuse() {
  const std::lock_guard lock(reports().mutex);
  reports().misuse.clear();
  reports().notes.clear();
}

std::vector<ObjectCount> object_counts() {
  std::vector<ObjectCount> all;
  for (std::size_t i = 0; i < kClasses; ++i) {
    const Counts& counts = reports().counts[i];
    all.push_back({name(static_cast<Class>(i)), counts.created.load(), counts.destroyed.load()});
  }
  return all;
}

std::uint64_t live_objects(const std::string& class_name) {
  std::uint64_t live = 0;
  for (const ObjectCount& count : object_counts()) {
    if (class_name == "*" || class_name == count.class_name)
      live += count.created - count.destroyed;
  }
  return live;
}

std::string leaks_text() {
  std::string text;
  for (const ObjectCount& count : object_counts()) {
    if (count.created == count.destroyed) continue;
    text.append(count.class_name).append(": ").append(std::to_string(count.created));
    text.append(" created, ").append(std::to_string(count.destroyed)).append(" destroyed\n");
  }
  return text;
}

void reset_counts() {
  for (Counts& counts : reports().counts) {
    counts.attempts.store(0);
    counts.created.store(0);
    counts.destroyed.store(0);
  }
  reports().attempts.store(0);
}

void write_report() {
  const std::string& path = options().report;
  if (path.empty()) return;
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    std::fprintf(stderr, "simulated Metal: report: cannot open %s\n", path.c_str());
    return;
  }
  for (const ObjectCount& count : object_counts()) {
    std::fprintf(file, "objects %s %llu %llu\n", count.class_name.c_str(),
                 static_cast<unsigned long long>(count.created),
                 static_cast<unsigned long long>(count.destroyed));
  }
  for (const auto& [kind, records] : {std::pair("misuse", misuse()), std::pair("note", notes())}) {
    for (const Misuse& one : records) {
      std::fprintf(file, "%s %s %llu %s\n", kind, one.rule.c_str(),
                   static_cast<unsigned long long>(one.count), one.first.c_str());
    }
  }
  std::fclose(file);
}

}  // namespace halyard::inline v0::sim::metal
