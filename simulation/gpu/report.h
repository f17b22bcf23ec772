// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of calls, misuse of the API and leaks, written to the file that the variable
// REPORT names.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace halyard::inline v0::sim::gpu {

// An exported function. Only static objects, because the registry keeps a pointer forever. They are
// initialized when the program is loaded: the guard of a static object that is initialized at its
// first use would stay locked in a child of fork(2) if another thread was initializing it.
class Entry {
 public:
  constexpr Entry(const char* name, bool is_built) : name_(name), is_built_(is_built) {}

  // True once any function was called.
  static bool is_any_known();

  const char* name() const { return name_; }
  bool is_built() const { return is_built_; }
  // Counts a call and returns its number, from 1.
  std::uint64_t count() {
    if (!is_known_.load(std::memory_order_acquire)) [[unlikely]]
      make_known();
    return calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  // The same, but cheaper. A lock must order all counts of this function.
  std::uint64_t count_locked() {
    if (!is_known_.load(std::memory_order_acquire)) [[unlikely]]
      make_known();
    const std::uint64_t number = calls() + 1;
    calls_.store(number, std::memory_order_relaxed);
    return number;
  }
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  // True if the variable FAIL names this function, with or without its version. Precondition: a
  // call was counted.
  bool may_fail() const { return may_fail_.load(std::memory_order_relaxed); }
  // Resets the count to 0 and reads the faults again, for a new process.
  void reset();
  // The result of the fault for this call, or 0.
  int fault(std::uint64_t call) const;
  Entry* next() const { return next_; }

 private:
  // Reads the faults and adds the function to the registry. Threads may call it concurrently.
  void make_known();
  void read_faults();

  const char* const name_;
  const bool is_built_;
  std::atomic<bool> is_known_ = false, is_listed_ = false;
  std::atomic<bool> may_fail_ = false;
  std::atomic<std::uint64_t> calls_ = 0;  // orders no other memory
  Entry* next_ = nullptr;
};

// Records an act of the program that the documentation forbids or leaves undefined. `rule` is a
// short name, the key of the report; `text` is one sentence. Printed at once in strict mode. Any
// thread.
void report_misuse(const char* rule, const std::string& text);

// Records that an object was not released; `where` names the event at which the leak was detected.
void report_leak(const char* where, const char* kind, std::uint64_t count, std::uint64_t bytes);

// Passes each misuse, or each leak, as a line without a newline.
void for_each_misuse(const std::function<void(const std::string& rule, const std::string& first)>&);
void for_each_leak(const std::function<void(const std::string& line)>&);
// Called around fork(2), so that no other thread changes the report during the fork.
void lock_report();
void unlock_report();
// Clears all calls, misuse and leaks.
void reset_report();

// Writes the file, if REPORT is set. Called at exit; a later call writes it again.
void write_report();

}  // namespace halyard::inline v0::sim::gpu
