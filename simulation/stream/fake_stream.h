// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects behind the handles of the fake library: contexts, streams, events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/thread.h"
#include "halyard/base/ref.h"
#include "simulation/stream/fake_library.h"

namespace halyard::inline v0::stream::fake {

void note_violation(const char* what) noexcept;
// First check, in the current context, of calls that an active capture may forbid.
Code enter_unsafe() noexcept;
// Marks the calling thread as running host functions, which must not call the library.
void enter_host_functions() noexcept;
void leave_host_functions() noexcept;

// A host function that a stream waits for.
struct HostCall {
  enum class State : std::uint8_t { kNone, kQueued, kRunning, kDone };

  HostFunction function = nullptr;
  void* argument = nullptr;
  base::Parker* waiter = nullptr;
  base::Atomic<State> state{State::kNone};
  HostCall* next = nullptr;
};

class Context {
 public:
  explicit Context(unsigned the_ordinal) noexcept : ordinal(the_ordinal) {}
  // Ends its thread.
  ~Context();

  // Starts the thread that runs host functions, if it does not run yet.
  Code start_host_thread() noexcept;
  void post(HostCall& call) noexcept;
  // Returns false if it runs or has run.
  bool withdraw(HostCall& call) noexcept;

  const unsigned ordinal;
  unsigned holders = 0;  // under the lock of all contexts
  base::Atomic<bool> faulted{false};
  base::Atomic<std::uint32_t> objects{0};  // streams, events, modules, memory

 private:
  void serve() noexcept;
  HostCall* take() noexcept;

  base::Parker& parker_ = base::ParkerPool::acquire();
  base::Mutex mutex_;  // guards the rest
  base::Thread thread_;
  HostCall* first_ = nullptr;
  HostCall* last_ = nullptr;
  base::Atomic<bool> ends_{false};
};

// Packets that name the event own it, so it may be destroyed while it is pending.
class Event final : public RefCounted {
 public:
  struct Waiter {
    base::Parker* parker = nullptr;
    Waiter* next = nullptr;
  };

  explicit Event(Context& its_context) noexcept : context(its_context) {}

  // Begins a record. Each record is a new generation.
  std::uint64_t begin_record() noexcept;
  std::uint64_t recorded() noexcept;
  bool passed(std::uint64_t generation) const noexcept {
    return passed_.load(std::memory_order_seq_cst) >= generation;
  }
  void pass(std::uint64_t generation) noexcept;
  // Between add() and remove(), `waiter` is woken whenever a generation passes.
  void add(Waiter& waiter) noexcept;
  void remove(Waiter& waiter) noexcept;

  Context& context;

 private:
  base::Atomic<std::uint64_t> passed_{0};
  base::Mutex mutex_;  // guards the rest
  std::uint64_t recorded_ = 0;
  Waiter* waiters_ = nullptr;
};

struct Packet {
  enum class Kind : std::uint8_t { kFill, kCopy, kLaunch, kRecord, kWait, kHostCall };

  Kind kind = Kind::kFill;
  Address target = 0;
  Address source = 0;  // of a launch: the address of the groups, or 0
  std::uint64_t size = 0;
  std::uint32_t pattern = 0;
  std::uint32_t pattern_size = 0;
  Function function;
  std::uint32_t groups[3] = {};
  base::Array<std::byte> arguments;
  Ref<Event> event;
  std::uint64_t generation = 0;
  HostFunction host_function = nullptr;
  void* argument = nullptr;
  std::unique_ptr<Packet> next;
};

class Stream {
 public:
  Stream(Context& its_context, bool unstoppable) noexcept
      : context(its_context), unstoppable_(unstoppable) {}
  // Stops, and ends its thread.
  ~Stream();

  Code start() noexcept;
  // Allocates a packet to fill and push(); null if out of memory.
  std::unique_ptr<Packet> packet(Packet::Kind kind) noexcept;
  void push(std::unique_ptr<Packet> packet) noexcept;
  bool drained() noexcept;
  // Returns false if the stream still runs.
  bool stop() noexcept;
  bool unstoppable() const noexcept { return unstoppable_; }

  Context& context;

 private:
  void serve() noexcept;
  // Returns false if the stream has been stopped meanwhile.
  bool run(Packet& packet) noexcept;
  bool launch(Packet& packet) noexcept;
  bool wait_for(Event& event, std::uint64_t generation) noexcept;
  bool call_host(const Packet& packet) noexcept;
  bool stopped() const noexcept { return stop_.load(std::memory_order_seq_cst); }

  const bool unstoppable_;
  base::Parker& parker_ = base::ParkerPool::acquire();  // its thread sleeps here
  base::Thread thread_;
  base::Atomic<bool> stop_{false};
  base::Mutex turn_;  // its thread holds it while it runs a packet
  Event::Waiter waiter_;
  HostCall host_call_;

  base::Mutex mutex_;  // guards the rest
  std::unique_ptr<Packet> first_;
  Packet* last_ = nullptr;
  std::unique_ptr<Packet> free_;
};

}  // namespace halyard::inline v0::stream::fake
