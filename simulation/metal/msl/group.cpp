// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which threads run, barriers and meetings. What kernels call is in group_calls.cpp.
#include "simulation/metal/msl/group.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace halyard::inline v0::sim::msl {
namespace {

constexpr std::uint64_t kArena = 1 << 20;
constexpr std::uint64_t kGap = 64;  // between variables, to detect accesses past the end
constexpr int kPoison = 0xcb;       // fills the group's memory at its begin

constinit thread_local Worker* now_running = nullptr;

}  // namespace

Worker* Group::running() noexcept { return now_running; }

Group::Group(const FunctionImage& function, const Launch& launch, Observer* observer,
             Code::Entry entry, const Code& code)
    : function_(function),
      launch_(launch),
      observer_(observer),
      entry_(entry),
      random_(launch.seed),
      memory_(observer) {
  const auto divide = [](std::uint32_t a, std::uint32_t b) { return a / b + (a % b != 0 ? 1 : 0); };
  groups_ = {divide(launch.grid.x, launch.group.x), divide(launch.grid.y, launch.group.y),
             divide(launch.grid.z, launch.group.z)};
  void* const arena = ::mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) std::abort();
  arena_ = static_cast<std::byte*>(arena);
  const auto [begin, end] = code.range();
  memory_.add({begin, end, Residency::kRead, false, true, "constants of the library"});
}

Group::~Group() {
  ::munmap(arena_, kArena);
  for (std::unique_ptr<Worker>& worker : workers_) {
    if (std::ranges::find(idle_, worker.get()) == idle_.end()) worker->broken = true;
    Worker::give(std::move(worker));
  }
}

std::uint64_t Group::allocate(std::uint32_t size, std::uint32_t alignment, std::string name) {
  const std::uint64_t at = (arena_used_ + alignment - 1) / alignment * alignment;
  if (at + size + kGap > kArena) return 0;
  arena_used_ = at + size + kGap;
  const auto begin = reinterpret_cast<std::uint64_t>(arena_) + at;
  memory_.add({begin, begin + size, Residency::kReadWrite, true, false, std::move(name)});
  std::memset(reinterpret_cast<void*>(begin), kPoison, size);
  return begin;
}

bool Group::bind() {
  for (const PassedArgument& argument : function_.arguments) {
    if (!argument.active) continue;
    std::uint64_t& to = call_.arguments[argument.parameter];
    const auto lacks = [&](const char* kind) {
      outcome_.fault = Fault::kUnsupported;
      outcome_.report.fault = Fault::kUnsupported;
      outcome_.report.text = "kernel " + function_.info.name + ": nothing is bound to " + kind +
                             " " + std::to_string(argument.index) + " (" + argument.name + ")";
      return false;
    };
    if (argument.kind == ArgumentKind::kThreadgroup) {
      const auto found =
          std::ranges::find(launch_.threadgroups, argument.index, &ThreadgroupBinding::index);
      if (found == launch_.threadgroups.end()) return lacks("threadgroup");
      to = allocate(found->length, 16,
                    "threadgroup " + std::to_string(argument.index) + " (" + argument.name + ")");
      if (to == 0) return lacks("threadgroup");
    } else if (argument.kind == ArgumentKind::kBuffer) {
      const auto found = std::ranges::find(launch_.buffers, argument.index, &BufferBinding::index);
      if (found == launch_.buffers.end()) return lacks("buffer");
      to = found->address;
      memory_.add({found->address, found->address + found->length,
                   found->writable ? Residency::kReadWrite : Residency::kRead, false, false,
                   "buffer " + std::to_string(argument.index) + " (" + argument.name + ")"});
    } else {
      return lacks("texture");
    }
  }
  return true;
}

void Group::begin(Size place) {
  place_ = place;
  group_index_ = (place.z * groups_.y + place.y) * groups_.x + place.x;
  const auto extent = [](std::uint32_t grid, std::uint32_t group, std::uint32_t at) {
    return std::min(group, grid - at * group);
  };
  size_ = {extent(launch_.grid.x, launch_.group.x, place.x),
           extent(launch_.grid.y, launch_.group.y, place.y),
           extent(launch_.grid.z, launch_.group.z, place.z)};
  count_ = size_.x * size_.y * size_.z;
  threads_.assign(count_, Thread{});
  started_ = 0;
  order_.resize(count_);
  for (std::uint32_t i = 0; i < count_; ++i) order_[i] = i;
  if (launch_.seed != 0) {
    for (std::uint32_t i = count_; i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  }
  values_.resize(std::size_t{count_} * kValueBytes);
  const std::uint32_t simdgroups = (count_ + launch_.simd_width - 1) / launch_.simd_width;
  for (std::vector<std::uint32_t>& epochs : simd_epochs_) epochs.assign(simdgroups, 0);
  epochs_[0] = epochs_[1] = 0;
  if (arena_used_ != 0) {
    std::memset(arena_, kPoison, arena_used_);
    if (launch_.check_races) {
      const auto at = reinterpret_cast<std::uint64_t>(arena_);
      races_.forget(at, at + arena_used_);
    }
  }
  const auto three = [](std::uint32_t(&to)[3], Size s) { to[0] = s.x, to[1] = s.y, to[2] = s.z; };
  const auto set = [&](Input input) -> std::uint32_t(&)[3] {
    return call_.inputs[static_cast<std::size_t>(input)];
  };
  three(set(Input::kThreadgroupPositionInGrid), place);
  three(set(Input::kThreadsPerGrid), launch_.grid);
  three(set(Input::kGridSize), launch_.grid);
  three(set(Input::kGridOrigin), {0, 0, 0});
  three(set(Input::kThreadsPerThreadgroup), size_);
  three(set(Input::kDispatchThreadsPerThreadgroup), launch_.group);
  three(set(Input::kThreadgroupsPerGrid), groups_);
  const std::uint32_t whole = launch_.group.x * launch_.group.y * launch_.group.z;
  const auto groups_of = [](std::uint32_t n, std::uint32_t width) {
    return (n + width - 1) / width;
  };
  three(set(Input::kThreadsPerSimdgroup), {launch_.simd_width, 1, 1});
  three(set(Input::kSimdgroupsPerThreadgroup), {simdgroups, 1, 1});
  three(set(Input::kDispatchSimdgroupsPerThreadgroup),
        {groups_of(whole, launch_.simd_width), 1, 1});
  three(set(Input::kQuadgroupsPerThreadgroup), {groups_of(count_, 4), 1, 1});
  three(set(Input::kDispatchQuadgroupsPerThreadgroup), {groups_of(whole, 4), 1, 1});
}

void Group::set_inputs(Call& call, std::uint32_t thread) const {
  const std::uint32_t x = thread % size_.x, y = thread / size_.x % size_.y,
                      z = thread / size_.x / size_.y;
  const auto set = [&](Input input, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t(&to)[3] = call.inputs[static_cast<std::size_t>(input)];
    to[0] = a, to[1] = b, to[2] = c;
  };
  set(Input::kThreadPositionInGrid, place_.x * launch_.group.x + x, place_.y * launch_.group.y + y,
      place_.z * launch_.group.z + z);
  set(Input::kThreadPositionInThreadgroup, x, y, z);
  set(Input::kThreadIndexInThreadgroup, thread, 0, 0);
  set(Input::kThreadIndexInSimdgroup, thread % launch_.simd_width, 0, 0);
  set(Input::kSimdgroupIndexInThreadgroup, thread / launch_.simd_width, 0, 0);
  set(Input::kQuadgroupIndexInThreadgroup, thread / 4, 0, 0);
  set(Input::kThreadIndexInQuadgroup, thread % 4, 0, 0);
}

bool Group::run(Size place) {
  begin(place);
  for (const std::unique_ptr<Worker>& worker : workers_) worker->base().call = call_;
  while (true) {
    if (!schedule()) break;
    if (std::ranges::all_of(threads_, [](const Thread& t) { return t.state == State::kDone; }))
      return true;
    if (meet() || pass_barriers()) continue;
    break;
  }
  now_running = nullptr;
  return false;
}

// Runs every thread until it waits. Returns false after a fault.
bool Group::schedule() {
  bool any = true;
  while (any) {
    any = false;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint32_t thread = order_[i];
      if (threads_[thread].state != State::kNew && threads_[thread].state != State::kReady)
        continue;
      enter(thread);
      if (failed_) return false;
      any = any || threads_[thread].state == State::kReady;
    }
    any = any || started_ < count_;
  }
  if (launch_.seed != 0 && count_ > 1) {
    for (std::uint32_t i = count_; i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  }
  return true;
}

void Group::enter(std::uint32_t thread) {
  Worker* worker = threads_[thread].worker;
  if (threads_[thread].state == State::kNew) {
    if (idle_.empty()) {
      workers_.push_back(Worker::take());
      worker = workers_.back().get();
      worker->group = this;
      worker->base().state.host = &kHost;
      worker->base().state.width = launch_.simd_width;
      worker->base().call = call_;
    } else {
      worker = idle_.back();
      idle_.pop_back();
    }
  }
  now_running = worker;
  Fiber::switch_to(main_, worker->fiber());
}

void Group::run_threads(Worker& worker) {
  Worker::Base& base = worker.base();
  while (started_ < count_) {
    // The order may have changed since threads began: find the next thread that has not begun.
    std::uint32_t at = started_;
    while (at < count_ && threads_[order_[at]].state != State::kNew) ++at;
    if (at == count_) {
      at = 0;
      while (at < count_ && threads_[order_[at]].state != State::kNew) ++at;
      if (at == count_) break;
    }
    const std::uint32_t thread = order_[at];
    ++started_;
    Thread& self = threads_[thread];
    self.state = State::kReady;
    self.worker = &worker;
    worker.thread = thread;
    base.state.lane = thread % launch_.simd_width;
    base.state.range_begin = base.state.range_end = 0;
    set_quantum(worker);
    set_inputs(base.call, thread);
    entry_(&base.call);
    outcome_.steps -= static_cast<std::uint64_t>(std::max(0l, base.state.quantum));
    self.state = State::kDone;
    self.worker = nullptr;
  }
  idle_.push_back(&worker);
  Fiber::switch_to(worker.fiber(), main_);
}

void Group::wait(Worker& worker, State state) {
  threads_[worker.thread].state = state;
  Fiber::switch_to(worker.fiber(), main_);
}

// Completes one meeting in each simdgroup that has any: the meeting at the lowest address in the
// code, as hardware does that runs the threads that are furthest back first.
bool Group::meet() {
  bool any = false;
  const std::uint32_t width = launch_.simd_width;
  for (std::uint32_t first = 0; first < count_; first += width) {
    const std::uint32_t end = std::min(first + width, count_);
    std::uint64_t site = ~std::uint64_t{0};
    for (std::uint32_t i = first; i < end; ++i) {
      if (threads_[i].state == State::kMeeting) site = std::min(site, threads_[i].site);
    }
    if (site == ~std::uint64_t{0}) continue;
    any = true;
    std::uint64_t mask = 0;
    for (std::uint32_t i = first; i < end; ++i) {
      if (threads_[i].state == State::kMeeting && threads_[i].site == site)
        mask |= std::uint64_t{1} << (i - first);
    }
    for (std::uint32_t i = first; i < end; ++i) {
      if ((mask >> (i - first) & 1) == 0) continue;
      Thread& t = threads_[i];
      t.mask = t.width == 4 ? mask & std::uint64_t{15} << ((i - first) & ~3u) : mask;
      t.state = State::kReady;
      std::memcpy(values_.data() + std::size_t{i} * kValueBytes,
                  reinterpret_cast<const void*>(t.value), t.size);
    }
  }
  return any;
}

bool Group::pass_barriers() {
  bool any = false;
  const std::uint32_t width = launch_.simd_width;
  const auto pass = [&](std::uint32_t begin, std::uint32_t end, State state, std::uint32_t& flags) {
    bool all = true, same = true;
    std::uint32_t waiting = begin, done = 0;
    flags = ~0u;
    for (std::uint32_t i = begin; i < end; ++i) {
      const Thread& t = threads_[i];
      if (t.state == State::kDone) {
        ++done;
      } else if (t.state != state) {
        all = false;
      } else {
        if (flags != ~0u && t.site != threads_[waiting].site) same = false;
        if (flags == ~0u) waiting = i;
        flags &= t.flags;
      }
    }
    if (flags == ~0u || !all) return false;
    if (!same || done != 0) {
      const std::string what =
          state == State::kBarrier ? "threadgroup_barrier" : "simdgroup_barrier";
      const std::string text =
          what + (same ? ": " + std::to_string(done) + " of " + std::to_string(end - begin) +
                             " threads have returned and do not reach it"
                       : ": threads of the group wait at different barriers");
      if (!report(waiting, Fault::kDivergence, text, 0, threads_[waiting].site)) return false;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      if (threads_[i].state == state) threads_[i].state = State::kReady;
    }
    return true;
  };
  std::uint32_t flags = 0;
  for (std::uint32_t first = 0; first < count_ && !failed_; first += width) {
    if (!pass(first, std::min(first + width, count_), State::kSimdBarrier, flags)) continue;
    any = true;
    if ((flags & 2) != 0) ++simd_epochs_[0][first / width];
    if ((flags & 1) != 0) ++simd_epochs_[1][first / width];
  }
  if (any || failed_) return any && !failed_;
  if (pass(0, count_, State::kBarrier, flags)) {
    if ((flags & 2) != 0) ++epochs_[0];
    if ((flags & 1) != 0) ++epochs_[1];
    return true;
  }
  if (failed_) return false;
  // Some threads wait for the simdgroup, and others for the group.
  std::uint32_t waiting = 0;
  while (waiting < count_ && threads_[waiting].state == State::kDone) ++waiting;
  if (!report(waiting, Fault::kDivergence,
              "threads of the group wait at barriers of different scopes, which none can leave", 0,
              threads_[waiting].site))
    return false;
  for (Thread& t : threads_) {
    if (t.state == State::kSimdBarrier || t.state == State::kBarrier) t.state = State::kReady;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::msl
