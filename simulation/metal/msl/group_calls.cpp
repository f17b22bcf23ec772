// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that kernels call, on the stacks of their threads.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "simulation/metal/msl/group.h"

namespace halyard::inline v0::sim::msl {
namespace {

constexpr long kQuantum = 1 << 16;  // basic blocks that a thread runs in one turn

}  // namespace

const __hy_host Group::kHost = {&host_step,           &host_access,   &host_atomic,
                                &host_exchange_fails, &host_barrier,  &host_fence,
                                &host_variable,       &host_exchange, &host_inactive};

std::string Group::thread_name(std::uint32_t group, std::uint32_t thread) const {
  return "thread " + std::to_string(thread) + " of group " + std::to_string(group);
}

bool Group::fail(const Worker& worker, Fault fault, std::string text, std::uint64_t address) {
  outcome_.fault = fault;
  outcome_.report = {fault,
                     "kernel " + function_.info.name + ", " +
                         thread_name(group_index_, worker.thread) + ": " + std::move(text),
                     address, group_index_, worker.thread};
  failed_ = true;
  return false;
}

void Group::leave(Worker& worker) {
  worker.broken = true;
  Fiber::switch_to(worker.fiber(), main_, true);
  std::abort();  // never entered again
}

void Group::trap(Worker& worker, const char* what, std::uint64_t address) {
  (void)fail(worker, Fault::kTrap, what, address);
  leave(worker);
}

bool Group::report(std::uint32_t thread, Fault fault, std::string text, std::uint64_t address,
                   std::uint64_t site) {
  const std::pair<std::uint64_t, Fault> key{site, fault};
  if (std::ranges::find(reported_, key) != reported_.end()) return true;
  reported_.push_back(key);
  Report r{fault,
           "kernel " + function_.info.name + ", " + thread_name(group_index_, thread) + ": " + text,
           address, group_index_, thread};
  if (observer_ != nullptr && observer_->report(r)) return true;
  outcome_.fault = fault;
  outcome_.report = std::move(r);
  failed_ = true;
  return false;
}

void Group::set_quantum(Worker& worker) {
  long quantum = kQuantum;
  if (launch_.seed != 0) quantum = static_cast<long>(random_.between(1, kQuantum));
  if (launch_.budget != 0) {
    const std::uint64_t left =
        launch_.budget > outcome_.steps ? launch_.budget - outcome_.steps : 0;
    quantum = std::min(quantum, static_cast<long>(std::min<std::uint64_t>(left, kQuantum)));
  }
  outcome_.steps += static_cast<std::uint64_t>(quantum);
  worker.base().state.quantum = quantum;
}

void Group::host_step(__hy_state* state) {
  Worker& worker = Worker::of(state);
  Group& self = *worker.group;
  if (self.launch_.budget != 0 && self.outcome_.steps >= self.launch_.budget) {
    (void)self.fail(
        worker, Fault::kBudget,
        "the launch does not end within " + std::to_string(self.launch_.budget) + " steps", 0);
    self.leave(worker);
  }
  self.set_quantum(worker);
  self.wait(worker, State::kReady);
}

Accessor Group::accessor(std::uint32_t thread, bool threadgroup_memory) const {
  const std::uint32_t simdgroup = thread / launch_.simd_width;
  const int space = threadgroup_memory ? 0 : 1;
  return {group_index_, static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(simdgroup),
          epochs_[space], simd_epochs_[space][simdgroup]};
}

bool Group::look(Worker& worker, std::uint64_t address, std::uint64_t size, bool write, bool atomic,
                 std::uint64_t site) {
  if (address >= worker.stack_begin() && address < worker.stack_top()) return true;
  const MemoryCheck::Region* region = memory_.find(address, size, write);
  const char* const verb = write ? "writes " : "reads ";
  const auto bytes = [&] { return verb + std::to_string(size) + " bytes "; };
  if (region == nullptr)
    return fail(worker, Fault::kOutOfBounds, bytes() + memory_.nearest(address), address);
  if (region->residency == Residency::kNotDeclared) {
    if (!report(worker.thread, Fault::kNotDeclared,
                bytes() + "of memory that no useResource, useHeap or residency set names", address,
                site))
      return false;
  } else if (write && region->residency == Residency::kRead) {
    const std::string text = bytes() + "of " + region->name + ", which is only to be read";
    // The library's constants are in read-only memory, so the thread cannot continue.
    if (region->code) return fail(worker, Fault::kReadOnly, text, address);
    if (!report(worker.thread, Fault::kReadOnly, text, address, site)) return false;
  }
  if (!launch_.check_races || region->code) {
    if (!launch_.check_races && region->residency == Residency::kReadWrite) {
      worker.base().state.range_begin = region->begin;
      worker.base().state.range_end = region->end;
    }
    return true;
  }
  const Conflict conflict =
      races_.access(accessor(worker.thread, region->threadgroup), address, size, write, atomic);
  if (!conflict.found) return true;
  const std::string text =
      std::string(verb) + "byte " + std::to_string(conflict.address - region->begin) + " of " +
      region->name + ", which " + thread_name(conflict.other.group, conflict.other.thread) +
      (conflict.many ? " and others" : "") + (conflict.other_writes ? " wrote" : " read") +
      ", and nothing orders the two";
  return report(worker.thread, Fault::kRace, text, address, site);
}

void Group::host_access(__hy_state* state, unsigned long address, unsigned long size, int write,
                        unsigned long site) {
  Worker& worker = Worker::of(state);
  if (!worker.group->look(worker, address, size, write != 0, false, site))
    worker.group->leave(worker);
}

void Group::host_atomic(__hy_state* state, unsigned long address, unsigned size, int write,
                        unsigned long site) {
  Worker& worker = Worker::of(state);
  Group& self = *worker.group;
  if (size == 8 && !self.launch_.has_64_bit_atomics) {
    (void)self.fail(worker, Fault::kUnsupported, "an atomic of 64 bits, which the device lacks",
                    address);
    self.leave(worker);
  }
  // Another thread may run first.
  if (self.launch_.seed != 0 && self.random_.one_in(16)) self.wait(worker, State::kReady);
  if ((self.launch_.check_bounds || self.launch_.check_races) &&
      !self.look(worker, address, size, write != 0, true, site))
    self.leave(worker);
}

int Group::host_exchange_fails(__hy_state* state) {
  Group& self = *Worker::of(state).group;
  return self.launch_.fail_weak_exchange && ++self.exchanges_ % 2 == 1 ? 1 : 0;
}

void Group::host_barrier(__hy_state* state, unsigned flags, int scope, unsigned long site) {
  Worker& worker = Worker::of(state);
  Thread& thread = worker.group->threads_[worker.thread];
  thread.site = site;
  thread.flags = flags;
  worker.group->wait(worker, scope == 0 ? State::kBarrier : State::kSimdBarrier);
}

// thread_scope_device is 3, thread_scope_system 4 (shim/host.h).
void Group::host_fence(__hy_state* state, unsigned flags, int scope) {
  Group& self = *Worker::of(state).group;
  if (self.launch_.check_races && (flags & 1) != 0 && scope >= 3)
    self.races_.fence(self.group_index_);
}

unsigned long Group::host_variable(__hy_state* state, unsigned long key, unsigned size,
                                   unsigned alignment) {
  Worker& worker = Worker::of(state);
  Group& self = *worker.group;
  for (const Variable& variable : self.variables_) {
    if (variable.key == key) return variable.begin;
  }
  const std::uint64_t begin = self.allocate(
      size, alignment, "a threadgroup variable of " + std::to_string(size) + " bytes");
  if (begin == 0) {
    (void)self.fail(worker, Fault::kUnsupported, "too much threadgroup memory", 0);
    self.leave(worker);
  }
  self.variables_.push_back({key, begin, begin + size});
  return begin;
}

unsigned long Group::host_exchange(__hy_state* state, unsigned long value, unsigned size,
                                   unsigned width, unsigned long site, unsigned long mask) {
  Worker& worker = Worker::of(state);
  Group& self = *worker.group;
  const std::uint32_t first = worker.thread / self.launch_.simd_width * self.launch_.simd_width;
  Thread& thread = self.threads_[worker.thread];
  thread.site = site;
  thread.width = width;
  thread.value = value;
  thread.size = size;
  self.wait(worker, State::kMeeting);
  *reinterpret_cast<std::uint64_t*>(mask) = thread.mask;
  return reinterpret_cast<std::uint64_t>(self.values_.data() + std::size_t{first} * kValueBytes);
}

void Group::host_inactive(__hy_state* state, unsigned lane, unsigned long site) {
  Worker& worker = Worker::of(state);
  if (!worker.group->report(worker.thread, Fault::kInactiveLane,
                            "uses a value of lane " + std::to_string(lane) +
                                " of its simdgroup, which does not take part in the function",
                            0, site))
    worker.group->leave(worker);
}

}  // namespace halyard::inline v0::sim::msl
