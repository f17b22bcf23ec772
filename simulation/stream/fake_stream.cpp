// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/fake_stream.h"

#include <cstring>
#include <new>
#include <utility>

#include "drivers/cpu/work.h"
#include "kernel/cpu_run.h"

namespace halyard::inline v0::stream::fake {
namespace {

template <class T>
T* at(Address address) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

Code start_thread(base::Thread& thread, const char* name, void (*body)(void*),
                  void* argument) noexcept {
  return thread.start(name, body, argument) == 0 ? Code::kSuccess : Code::kOperatingSystem;
}

// Destroys a list of packets without recursion, as it may be long.
void drop(std::unique_ptr<Packet> list) noexcept {
  while (list != nullptr) list = std::move(list->next);
}

}  // namespace

// --- contexts ------------------------------------------------------------------------------------

Context::~Context() {
  ends_.store(true, std::memory_order_seq_cst);
  parker_.wake();
  if (thread_.started()) thread_.join();
  base::ParkerPool::release(parker_);
}

Code Context::start_host_thread() noexcept {
  base::LockGuard lock(mutex_);
  if (thread_.started()) return Code::kSuccess;
  return start_thread(
      thread_, "hy-stream-host", [](void* self) { static_cast<Context*>(self)->serve(); }, this);
}

void Context::post(HostCall& call) noexcept {
  call.next = nullptr;
  call.state.store(HostCall::State::kQueued, std::memory_order_relaxed);
  {
    base::LockGuard lock(mutex_);
    (first_ == nullptr ? first_ : last_->next) = &call;
    last_ = &call;
  }
  parker_.wake();
}

bool Context::withdraw(HostCall& call) noexcept {
  base::LockGuard lock(mutex_);
  if (call.state.load(std::memory_order_relaxed) != HostCall::State::kQueued) return false;
  HostCall* before = nullptr;
  for (HostCall* it = first_; it != &call; it = it->next) before = it;
  (before == nullptr ? first_ : before->next) = call.next;
  if (last_ == &call) last_ = before;
  call.state.store(HostCall::State::kNone, std::memory_order_relaxed);
  return true;
}

HostCall* Context::take() noexcept {
  base::LockGuard lock(mutex_);
  HostCall* const call = first_;
  if (call == nullptr) return nullptr;
  first_ = call->next;
  call->state.store(HostCall::State::kRunning, std::memory_order_relaxed);
  return call;
}

void Context::serve() noexcept {
  enter_host_functions();
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();
    if (HostCall* const call = take()) {
      call->function(call->argument);
      base::Parker& waiter = *call->waiter;
      call->state.store(HostCall::State::kDone, std::memory_order_seq_cst);
      waiter.wake();
    } else if (ends_.load(std::memory_order_seq_cst)) {
      return leave_host_functions();
    } else {
      (void)parker_.park(epoch, Deadline::kForeverTime);
    }
  }
}

// --- events --------------------------------------------------------------------------------------

std::uint64_t Event::begin_record() noexcept {
  base::LockGuard lock(mutex_);
  // Undefined in HIP; markers are never used in this way.
  if (!passed(recorded_)) note_violation("an event is recorded again before it was reached");
  return ++recorded_;
}

std::uint64_t Event::recorded() noexcept {
  base::LockGuard lock(mutex_);
  return recorded_;
}

void Event::pass(std::uint64_t generation) noexcept {
  passed_.store(generation, std::memory_order_seq_cst);
  base::LockGuard lock(mutex_);
  for (const Waiter* it = waiters_; it != nullptr; it = it->next) it->parker->wake();
}

void Event::add(Waiter& waiter) noexcept {
  base::LockGuard lock(mutex_);
  waiter.next = std::exchange(waiters_, &waiter);
}

void Event::remove(Waiter& waiter) noexcept {
  base::LockGuard lock(mutex_);
  Waiter** it = &waiters_;
  while (*it != &waiter) it = &(*it)->next;
  *it = waiter.next;
}

// --- streams -------------------------------------------------------------------------------------

Stream::~Stream() {
  stop_.store(true, std::memory_order_seq_cst);
  parker_.wake();
  if (thread_.started()) thread_.join();
  base::ParkerPool::release(parker_);
  drop(std::move(first_));
  drop(std::move(free_));
}

Code Stream::start() noexcept {
  waiter_.parker = host_call_.waiter = &parker_;
  return start_thread(
      thread_, "hy-stream", [](void* self) { static_cast<Stream*>(self)->serve(); }, this);
}

std::unique_ptr<Packet> Stream::packet(Packet::Kind kind) noexcept {
  std::unique_ptr<Packet> packet;
  {
    base::LockGuard lock(mutex_);
    packet = std::move(free_);
    if (packet != nullptr) free_ = std::move(packet->next);
  }
  if (packet == nullptr) packet.reset(new (std::nothrow) Packet);
  if (packet != nullptr) packet->kind = kind;
  return packet;
}

void Stream::push(std::unique_ptr<Packet> packet) noexcept {
  {
    base::LockGuard lock(mutex_);
    Packet* const added = packet.get();
    (first_ == nullptr ? first_ : last_->next) = std::move(packet);
    last_ = added;
  }
  parker_.wake();
}

bool Stream::drained() noexcept {
  base::LockGuard lock(mutex_);
  return first_ == nullptr;
}

bool Stream::stop() noexcept {
  constexpr Nanoseconds kMoment = 1'000'000;
  if (unstoppable_ && !drained()) return false;
  stop_.store(true, std::memory_order_seq_cst);
  parker_.wake();
  if (!turn_.try_lock_until(Clock::steady().now() + kMoment)) return false;
  turn_.unlock();
  return true;
}

void Stream::serve() noexcept {
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();
    if (stopped()) return;
    Packet* next = nullptr;
    {
      base::LockGuard lock(mutex_);
      next = first_.get();
    }
    if (next == nullptr) {
      (void)parker_.park(epoch, Deadline::kForeverTime);
      continue;
    }
    {
      base::LockGuard turn(turn_);
      if (stopped() || !run(*next)) return;
    }
    next->event = {};
    // The packet stays in the stream until it has run and the turn has ended, so that a drained
    // stream stops at once.
    base::LockGuard lock(mutex_);
    std::unique_ptr<Packet> done = std::move(first_);
    first_ = std::move(done->next);
    done->next = std::move(free_);
    free_ = std::move(done);
  }
}

bool Stream::run(Packet& packet) noexcept {
  switch (packet.kind) {
    case Packet::Kind::kFill:
      cpu::fill_bytes(at<std::byte>(packet.target), packet.size, packet.pattern,
                      packet.pattern_size);
      return true;
    case Packet::Kind::kCopy:
      std::memcpy(at<std::byte>(packet.target), at<std::byte>(packet.source), packet.size);
      return true;
    case Packet::Kind::kLaunch:
      return launch(packet);
    case Packet::Kind::kRecord:
      packet.event->pass(packet.generation);
      return true;
    case Packet::Kind::kWait:
      return wait_for(*packet.event, packet.generation);
    case Packet::Kind::kHostCall:
      return call_host(packet);
  }
  return true;
}

bool Stream::launch(Packet& packet) noexcept {
  if (packet.source != 0) {
    std::memcpy(packet.groups, at<std::byte>(packet.source), sizeof packet.groups);
  }
  void* buffers[kernel::kMaxBindings];
  const std::size_t addresses = packet.function.binding_count * sizeof(Address);
  if (addresses != 0) std::memcpy(buffers, packet.arguments.data(), addresses);
  return kernel::run_workgroups(packet.function.entry, buffers, packet.arguments.data() + addresses,
                                packet.groups, stop_);
}

bool Stream::wait_for(Event& event, std::uint64_t generation) noexcept {
  event.add(waiter_);
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();
    if (stopped() || event.passed(generation)) break;
    (void)parker_.park(epoch, Deadline::kForeverTime);
  }
  event.remove(waiter_);
  return !stopped();
}

// Once the stream has stopped, none of its host functions runs.
bool Stream::call_host(const Packet& packet) noexcept {
  if (context.faulted.load(std::memory_order_seq_cst)) return true;  // never called then
  host_call_.function = packet.host_function;
  host_call_.argument = packet.argument;
  context.post(host_call_);
  for (;;) {
    const std::uint32_t epoch = parker_.prepare();
    if (host_call_.state.load(std::memory_order_seq_cst) == HostCall::State::kDone) break;
    if (stopped() && context.withdraw(host_call_)) break;
    (void)parker_.park(epoch, Deadline::kForeverTime);
  }
  return !stopped();
}

}  // namespace halyard::inline v0::stream::fake
