// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only source that includes Relacy. Also replaces base/clock.cpp, base/futex.cpp,
// base/parker.cpp and base/thread.cpp.
//
// Relacy replaces operator new: memory that is allocated within a run must be freed within it, or
// it counts as a leak. Objects here that outlive a run are static, or come from malloc through
// rl::ostringstream.
#include "simulation/weak/weak_memory.h"

// Not relacy.hpp: it makes macros of new, delete, assert and the names of the memory orders.
// The order of the headers matters:
// clang-format off
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/stdlib/event.hpp>
// clang-format on

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/futex.h"
#include "base/parker.h"
#include "base/thread.h"
#include "halyard/base/clock.h"
#include "timeline/effects.h"

namespace halyard::inline v0::sim {
namespace {

// Relacy's operators are inline; this makes the whole program use them.
[[gnu::used]] void (*const operator_delete)(void*) noexcept = &::operator delete;

constexpr int kMostThreads = 4;
constexpr unsigned kMostSteps = 20'000;  // a sound run takes a tenth of them

void (*build_program)(Program&) = nullptr;
const WeakOptions* options = nullptr;
std::size_t thread_count = 0;

// Objects that normally exist once per process, and here once per run.
struct Run {
  Run() { now.fill(1'000'000'000); }
  ~Run() {
    while (parkers != nullptr) delete &base::ParkerPool::acquire();
  }
  bool is_shell() const { return program.threads()[rl::thread_index()].shell; }

  base::Mutex parkers_mutex;
  base::Parker* parkers = nullptr;
  // In half of the runs, waits for futexes may end spuriously.
  const bool spurious = rl::rand(2) != 0;
  std::array<const void*, kMostThreads> asleep_on{};
  std::array<Nanoseconds, kMostThreads> now;
  int others = 0;   // threads other than shells that have not ended
  Program program;  // destroyed first
};
Run* run = nullptr;
std::uint64_t run_number = 0;
// Static words that this run has accessed.
std::array<rl::atomic<std::uint64_t>*, 8> statics;
std::size_t static_count = 0;

// --- accesses: their addresses, sites and orders ------------------------------------------------

std::vector<OrderedSite, rl::raw_allocator<OrderedSite>> sites;
std::array<std::uint16_t, 1 << 12> site_table{};  // index + 1, by a hash

rl::debug_info info_of(const base::Site& site) {
  return {site.function_name(), site.file_name(), site.line()};
}

OrderedSite& find_site(const base::Site& site, const char* access) {
  const auto file = reinterpret_cast<std::uintptr_t>(site.file_name());
  for (std::size_t slot = site.line() * 61 + site.column() + file / 8;; ++slot) {
    std::uint16_t& at = site_table[slot % site_table.size()];
    if (at == 0) {
      sites.push_back({site.file_name(), site.function_name(), site.line(), access, 0, 0});
      at = static_cast<std::uint16_t>(sites.size());
    }
    OrderedSite& found = sites[at - 1];
    if (found.line == site.line() && found.file == site.file_name() && found.access == access) {
      return found;
    }
  }
}

// The memory order of the access.
rl::memory_order model(std::memory_order order, const base::Site& site, const char* access) {
  if (order == std::memory_order_relaxed) return rl::mo_relaxed;
  OrderedSite& here = find_site(site, access);
  if (std::exchange(here.last_run, run_number) != run_number) ++here.runs;
  if (options->relaxed && options->relaxed(here)) return rl::mo_relaxed;
  switch (order) {
    case std::memory_order_relaxed:
      return rl::mo_relaxed;
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return rl::mo_acquire;
    case std::memory_order_release:
      return rl::mo_release;
    case std::memory_order_acq_rel:
      return rl::mo_acq_rel;
    case std::memory_order_seq_cst:
      return rl::mo_seq_cst;
  }
  return rl::mo_seq_cst;
}

// Relacy may switch to another thread in every access, but the list of effects belongs to the
// thread.
class KeepEffects {
 public:
  KeepEffects() = default;
  ~KeepEffects() { timeline::active_list = mine_; }
  KeepEffects(const KeepEffects&) = delete;
  KeepEffects& operator=(const KeepEffects&) = delete;

 private:
  timeline::WorkList* const mine_ = timeline::active_list;
};

// --- a run
// ----------------------------------------------------------------------------------------

void wake_up(int thread) {
  run->asleep_on[static_cast<std::size_t>(thread)] = nullptr;
  rl::ctx().unpark_thread(thread, false, RL_INFO);
}

template <int kThreads>
struct Suite : rl::test_suite<Suite<kThreads>, kThreads> {
  void before() {
    ++run_number;
    timeline::active_list = nullptr;
    run = nullptr;  // a failed run is not destroyed
    static_count = 0;
    run = new Run;
    build_program(run->program);
    thread_count = run->program.threads().size();
    for (const auto& thread : run->program.threads()) run->others += !thread.shell;
  }
  void thread(unsigned index) {
    if (thread_count != kThreads) return;  // this run only counts
    timeline::active_list = nullptr;       // another thread's
    run->program.threads()[index].run();
    if (run->is_shell() || --run->others != 0) return;
    // End the shells.
    for (int i = 0; i < kThreads; ++i) {
      if (run->asleep_on[static_cast<std::size_t>(i)] != nullptr) wake_up(i);
    }
  }
  void after() {
    timeline::active_list = nullptr;
    if (thread_count == kThreads) run->program.check();
    delete run;
    run = nullptr;
    while (static_count != 0) std::destroy_at(statics[--static_count]);
  }
};

template <int kThreads>
WeakResult simulate(std::uint64_t runs) {
  rl::ostringstream told;
  std::ostream nowhere(nullptr);
  rl::test_params params;
  params.iteration_count = runs;
  params.output_stream = &told;
  params.progress_stream = &nowhere;
  params.execution_depth_limit = kMostSteps;
  const bool fine = rl::simulate<Suite<kThreads>>(params);
  WeakResult result;
  result.runs = params.stop_iteration;
  if (fine) return result;
  result.failure = told.str().c_str();
  // The whole history is followed by the history of each thread, which is cut off here.
  result.failure.erase(std::min(result.failure.find("thread 0:\n"), result.failure.size()));
  return result;
}

}  // namespace

void fail(std::string_view what) {
  rl::ctx().fail_test(what.data(), rl::test_result_user_assert_failed, RL_INFO);
  __builtin_unreachable();  // fail_test switches to the main fiber and never returns
}

WeakResult run_on_weak_memory(void (*build)(Program&), const WeakOptions& how) {
  build_program = build;
  options = &how;
  thread_count = 0;
  (void)simulate<kMostThreads>(1);  // to count its threads
  switch (thread_count) {
    case 2:
      return simulate<2>(how.runs);
    case 3:
      return simulate<3>(how.runs);
    default:
      return simulate<kMostThreads>(how.runs);
  }
}

std::span<const OrderedSite> ordered_sites() { return sites; }

}  // namespace halyard::inline v0::sim

namespace halyard::inline v0 {
namespace {

class ModelClock final : public Clock {
 public:
  Nanoseconds now() noexcept override { return sim::run->now[rl::thread_index()]; }
};

}  // namespace

Clock& Clock::steady() noexcept {
  static ModelClock clock;
  return clock;
}

namespace base {

// --- simulation/weak/relacy_atomic.h
// -------------------------------------------------------------------------

using Model = rl::atomic<std::uint64_t>;
using ModelVar = rl::var<int>;

struct ModelAccess {
  static Model& of(ModelWord& word) noexcept {
    static_assert(sizeof(Model) <= ModelWord::kSize && alignof(Model) <= 8);
    if (word.is_static_ && word.run_ != sim::run_number) {
      word.run_ = sim::run_number;
      word.construct(0);
      rl::ctx().rl_global_fence();  // it existed before the threads
      sim::statics.at(sim::static_count++) = reinterpret_cast<Model*>(word.storage_);
    }
    return *reinterpret_cast<Model*>(word.storage_);
  }
};

void ModelWord::construct(std::uint64_t value) noexcept {
  // No other thread can access it yet, so no other thread needs to run here.
  const rl::preemption_disabler alone(rl::ctx());
  ::new (storage_) Model(value);
}

ModelWord::~ModelWord() {
  if (!is_static_) ModelAccess::of(*this).~Model();
}

std::uint64_t ModelWord::load(std::memory_order order, const Site& site) noexcept {
  sim::KeepEffects keep;
  return ModelAccess::of(*this).load(sim::model(order, site, "load"), sim::info_of(site));
}
void ModelWord::store(std::uint64_t value, std::memory_order order, const Site& site) noexcept {
  sim::KeepEffects keep;
  ModelAccess::of(*this).store(value, sim::model(order, site, "store"), sim::info_of(site));
}
std::uint64_t ModelWord::exchange(std::uint64_t value, std::memory_order order,
                                  const Site& site) noexcept {
  sim::KeepEffects keep;
  return ModelAccess::of(*this).exchange(value, sim::model(order, site, "exchange"),
                                         sim::info_of(site));
}
std::uint64_t ModelWord::add(std::uint64_t value, std::memory_order order,
                             const Site& site) noexcept {
  sim::KeepEffects keep;
  return ModelAccess::of(*this).fetch_add(value, sim::model(order, site, "add"),
                                          sim::info_of(site));
}
std::uint64_t ModelWord::bit_and(std::uint64_t value, std::memory_order order,
                                 const Site& site) noexcept {
  sim::KeepEffects keep;
  return ModelAccess::of(*this).fetch_and(value, sim::model(order, site, "and"),
                                          sim::info_of(site));
}
std::uint64_t ModelWord::bit_or(std::uint64_t value, std::memory_order order,
                                const Site& site) noexcept {
  sim::KeepEffects keep;
  return ModelAccess::of(*this).fetch_or(value, sim::model(order, site, "or"), sim::info_of(site));
}
bool ModelWord::compare_exchange(std::uint64_t& expected, std::uint64_t value,
                                 std::memory_order success, std::memory_order failure, bool weak,
                                 const Site& site) noexcept {
  sim::KeepEffects keep;
  const rl::memory_order done = sim::model(success, site, "compare_exchange");
  // Relacy does not support a failure order that is stronger than the success order.
  const rl::memory_order not_done = done == rl::mo_relaxed
                                        ? rl::mo_relaxed
                                        : sim::model(failure, site, "failed compare_exchange");
  Model& word = ModelAccess::of(*this);
  return weak ? word.compare_exchange(rl::bool_t<true>(), expected, value, done, not_done,
                                      sim::info_of(site))
              : word.compare_exchange(rl::bool_t<false>(), expected, value, done, not_done,
                                      sim::info_of(site));
}
std::uint64_t ModelWord::latest() noexcept { return ModelAccess::of(*this).debug_value(); }

ModelVariable::ModelVariable(int value) noexcept {
  static_assert(sizeof(ModelVar) <= sizeof(storage_) && alignof(ModelVar) <= 8);
  ::new (storage_) ModelVar(value);
}
ModelVariable::~ModelVariable() { reinterpret_cast<ModelVar*>(storage_)->~ModelVar(); }
int ModelVariable::read(const Site& site) const noexcept {
  return (*reinterpret_cast<const ModelVar*>(storage_))(sim::info_of(site)).load();
}
void ModelVariable::write(int value, const Site& site) noexcept {
  (*reinterpret_cast<ModelVar*>(storage_))(sim::info_of(site)).store(value);
}

void model_fence(std::memory_order order, const Site& site) noexcept {
  sim::KeepEffects keep;
  if (const auto fence = sim::model(order, site, "fence"); fence != rl::mo_relaxed) {
    rl::atomic_thread_fence(fence, sim::info_of(site));
  }
}

void spin_pause() noexcept {
  sim::KeepEffects keep;
  rl::ctx().yield(1, RL_INFO);
}

// --- what base/ asks of the system ---------------------------------------------------------------

// The kernel compares `expected` with the latest value. If it is an older value, the wake-up of the
// new value is still to come, or its thread saw no sleeper.
bool futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                Nanoseconds deadline) noexcept {
  sim::KeepEffects keep;
  rl::context& context = rl::ctx();
  context.sched();
  if (word.peek() != expected) return true;
  sim::Run& run = *sim::run;
  const auto nobody_left = [&run] { return run.is_shell() && run.others == 0; };
  if (nobody_left()) return false;
  const unsigned self = rl::thread_index();
  const bool timed = deadline != Deadline::kForeverTime;
  run.asleep_on[self] = &word;
  const auto reason = context.park_current_thread(timed, run.spurious, false, RL_INFO);
  run.asleep_on[self] = nullptr;
  if (reason != rl::unpark_reason_timeout) return !nobody_left();
  run.now[self] = std::max(run.now[self], deadline);
  return false;
}

void futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  sim::KeepEffects keep;
  rl::ctx().sched();
  const unsigned first = rl::rand(sim::kMostThreads);
  for (unsigned i = 0; i < sim::kMostThreads && count != 0; ++i) {
    const unsigned thread = (first + i) % sim::kMostThreads;
    if (sim::run->asleep_on[thread] != &word) continue;
    sim::wake_up(static_cast<int>(thread));
    --count;
  }
}

Parker& ParkerPool::acquire() {
  LockGuard lock(sim::run->parkers_mutex);
  Parker* const parker = sim::run->parkers;
  if (parker == nullptr) return *new Parker;
  sim::run->parkers = parker->next_free_;
  return *parker;
}
void ParkerPool::release(Parker& parker) noexcept {
  LockGuard lock(sim::run->parkers_mutex);
  parker.next_free_ = sim::run->parkers;
  sim::run->parkers = &parker;
}

std::uint64_t this_thread() noexcept { return rl::thread_index() + 1; }

}  // namespace base
}  // namespace halyard::inline v0

// assert() fails the run, with its history.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned line,
                              const char* function) noexcept {
  rl::ctx().fail_test(assertion, rl::test_result_user_assert_failed, {function, file, line});
  __builtin_unreachable();
}
