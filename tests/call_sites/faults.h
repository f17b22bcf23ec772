// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults: an observer of native calls, and of operator new(std::nothrow). It counts them, delays
// them, and makes those of a Fault fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/native_call.h"

namespace halyard::testing {

struct Fault {
  enum class Reach : std::uint8_t { kOnce, kFromThenOn, kSticky };

  const base::CallSite* site = nullptr;  // null, and `caller` null: no fault
  const void* caller = nullptr;          // of operator new(std::nothrow)
  std::uint64_t call = 1;                // its n-th
  Reach reach = Reach::kOnce;            // kSticky: then all calls of the site's area fail
  bool slow = false;                     // delays every call a little

  std::string to_string() const;
};

class Faults final : public base::CallObserver {
 public:
  Faults();
  ~Faults();

  void plan(const Fault& fault) noexcept;
  // Calls of a site since plan().
  std::uint64_t calls(std::size_t site) const noexcept { return calls_[site].load(); }
  // The sites that failed since the previous call.
  std::vector<const base::CallSite*> take_failed();
  bool take_failed_allocation() noexcept { return allocation_failed_.exchange(false); }
  // Mappings that were created and not released.
  std::int64_t mappings() const noexcept { return mappings_.load(); }

  int before(const base::CallSite& site) noexcept override;
  bool allocation_fails(const void* caller) noexcept;
  // The places that have allocated since the previous call, each once.
  std::vector<const void*> take_callers();

  // The current object, or null.
  static Faults* current() noexcept { return current_.load(std::memory_order_acquire); }

 private:
  static constexpr std::size_t kMaxSites = 1024;
  static constexpr std::size_t kMaxCallers = 1024;
  std::size_t index_of(const base::CallSite& site) const noexcept;
  bool hit(const Fault& fault, std::uint64_t call) noexcept;

  static constinit std::atomic<Faults*> current_;
  std::deque<Fault> faults_;  // with earlier ones, which a thread may still read
  std::atomic<const Fault*> fault_{nullptr};
  std::atomic<bool> stuck_{false};
  std::atomic<std::uint64_t> calls_[kMaxSites]{};
  std::atomic<bool> failed_[kMaxSites]{};
  std::atomic<std::int64_t> mappings_{0};
  std::atomic<const void*> callers_[kMaxCallers]{};
  std::atomic<std::uint64_t> caller_calls_{0};
  std::atomic<bool> allocation_failed_{false};
};

}  // namespace halyard::testing
