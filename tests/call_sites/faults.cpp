// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call_sites/faults.h"

#include <sched.h>

#include <cassert>
#include <ranges>

#include "base/format.h"

namespace halyard::testing {

constinit std::atomic<Faults*> Faults::current_{nullptr};

std::string Fault::to_string() const {
  constexpr const char* kReaches[] = {"fails", "and all later ones fail",
                                      "and all calls of its area from then on fail"};
  const std::string what = site != nullptr     ? std::string(site->name)
                           : caller != nullptr ? base::format("the allocation at {}", caller)
                           : slow              ? "every call"
                                               : "nothing";
  if (site == nullptr && caller == nullptr) return what + (slow ? " is slow" : " fails");
  return base::format("call {} of {} {}", call, what, kReaches[static_cast<int>(reach)]);
}

Faults::Faults() {
  assert(base::call_sites().size() <= kMaxSites);
  plan({});
  current_.store(this, std::memory_order_release);
  base::observe_calls(this);
}

Faults::~Faults() {
  base::observe_calls(nullptr);
  current_.store(nullptr, std::memory_order_release);
}

void Faults::plan(const Fault& fault) noexcept {
  for (auto& calls : calls_) calls = 0;
  for (auto& failed : failed_) failed = false;
  caller_calls_ = 0;
  stuck_ = allocation_failed_ = false;
  fault_ = &faults_.emplace_back(fault);
}

std::size_t Faults::index_of(const base::CallSite& site) const noexcept {
  const auto sites = base::call_sites();
  return static_cast<std::size_t>(std::ranges::find(sites, &site) - sites.begin());
}

bool Faults::hit(const Fault& fault, std::uint64_t call) noexcept {
  if (fault.reach == Fault::Reach::kOnce) return call == fault.call;
  if (call >= fault.call) stuck_ = true;
  return call >= fault.call;
}

int Faults::before(const base::CallSite& site) noexcept {
  const Fault& fault = *fault_.load();
  if (fault.slow) {
    for (int i = 0; i < 3; ++i) sched_yield();
  }
  const std::size_t index = index_of(site);
  const std::uint64_t call = calls_[index].fetch_add(1) + 1;
  const bool sticky = fault.reach == Fault::Reach::kSticky && stuck_ && fault.site != nullptr &&
                      site.area() == fault.site->area();
  if (site.error != 0 && ((&site == fault.site && hit(fault, call)) || sticky)) {
    failed_[index] = true;
    return site.error;
  }
  if (site.name.ends_with(".map")) ++mappings_;
  if (site.name.ends_with(".unmap")) --mappings_;
  return 0;
}

bool Faults::allocation_fails(const void* caller) noexcept {
  for (auto& slot : callers_) {
    const void* known = nullptr;
    if (slot.compare_exchange_strong(known, caller) || known == caller) break;
  }
  const Fault& fault = *fault_.load();
  if (caller != fault.caller || !hit(fault, caller_calls_.fetch_add(1) + 1)) return false;
  allocation_failed_ = true;
  return true;
}

std::vector<const base::CallSite*> Faults::take_failed() {
  std::vector<const base::CallSite*> taken;
  const auto sites = base::call_sites();
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (failed_[i].exchange(false)) taken.push_back(sites[i]);
  }
  return taken;
}

std::vector<const void*> Faults::take_callers() {
  std::vector<const void*> taken;
  for (auto& slot : callers_) {
    if (const void* caller = slot.exchange(nullptr)) taken.push_back(caller);
  }
  return taken;
}

}  // namespace halyard::testing
