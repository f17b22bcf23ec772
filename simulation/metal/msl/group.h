// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Group: runs the threads of threadgroups, one group after the other. Threads run one at a time.
// Each runs until it waits at a barrier or in a simdgroup function, has used up its share of steps,
// or returns. A kernel that never waits runs on one stack, as a loop.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulation/fiber.h"
#include "simulation/metal/msl/compiler.h"
#include "simulation/metal/msl/launch.h"
#include "simulation/metal/msl/library_image.h"
#include "simulation/metal/msl/memory_check.h"
#include "simulation/metal/msl/race_check.h"
#include "simulation/metal/msl/worker.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim::msl {

class Group {
 public:
  Group(const FunctionImage& function, const Launch& launch, Observer* observer, Code::Entry entry,
        const Code& code);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Returns false, with the reason in the outcome, if the launch lacks an argument that the
  // function needs.
  bool bind();
  // Runs the group at this place. Returns false if the launch has ended with a fault.
  bool run(Size place);
  Outcome& outcome() noexcept { return outcome_; }

  // Called on a worker's stack: runs threads that have not begun, until one of them waits or none
  // is left.
  void run_threads(Worker& worker);

  // Handles a processor's fault on a worker's stack: ends the launch and does not return.
  [[noreturn]] void trap(Worker& worker, const char* what, std::uint64_t address);
  // The worker that is running now; null if there is none.
  static Worker* running() noexcept;

 private:
  enum class State : std::uint8_t { kNew, kReady, kBarrier, kSimdBarrier, kMeeting, kDone };
  struct Thread {
    State state = State::kNew;
    std::uint32_t flags = 0;
    std::uint32_t width = 0;  // of a meeting
    std::uint64_t site = 0;
    std::uint64_t value = 0;
    std::uint32_t size = 0;
    std::uint64_t mask = 0;  // the lanes that took part
    Worker* worker = nullptr;
  };
  static constexpr std::size_t kValueBytes = 256;  // of a lane, see shim/abi.h
  struct Variable {
    std::uint64_t key, begin, end;
  };

  static const __hy_host kHost;
  static void host_step(__hy_state* state);
  static void host_access(__hy_state* state, unsigned long address, unsigned long size, int write,
                          unsigned long site);
  static void host_atomic(__hy_state* state, unsigned long address, unsigned size, int write,
                          unsigned long site);
  static int host_exchange_fails(__hy_state* state);
  static void host_barrier(__hy_state* state, unsigned flags, int scope, unsigned long site);
  static void host_fence(__hy_state* state, unsigned flags, int scope);
  static unsigned long host_variable(__hy_state* state, unsigned long key, unsigned size,
                                     unsigned alignment);
  static unsigned long host_exchange(__hy_state* state, unsigned long value, unsigned size,
                                     unsigned width, unsigned long site, unsigned long mask);
  static void host_inactive(__hy_state* state, unsigned lane, unsigned long site);

  void begin(Size place);
  bool schedule();
  bool meet();           // completes meetings; true if there was one
  bool pass_barriers();  // lets threads pass; true if any did
  void enter(std::uint32_t thread);
  void wait(Worker& worker, State state);
  // fail() records the fault that ends the launch; leave() then abandons the thread. At that point
  // the thread's stack holds nothing that owns memory.
  bool fail(const Worker& worker, Fault fault, std::string text, std::uint64_t address);
  [[noreturn]] void leave(Worker& worker);
  // Returns true if the launch continues.
  bool report(std::uint32_t thread, Fault fault, std::string text, std::uint64_t address,
              std::uint64_t site);
  bool look(Worker& worker, std::uint64_t address, std::uint64_t size, bool write, bool atomic,
            std::uint64_t site);
  void set_quantum(Worker& worker);
  Accessor accessor(std::uint32_t thread, bool threadgroup_memory) const;
  std::string thread_name(std::uint32_t group, std::uint32_t thread) const;
  std::uint64_t allocate(std::uint32_t size, std::uint32_t alignment, std::string name);
  void set_inputs(Call& call, std::uint32_t thread) const;

  const FunctionImage& function_;
  const Launch& launch_;
  Observer* const observer_;
  const Code::Entry entry_;
  Outcome outcome_;
  bool failed_ = false;

  Size groups_, place_, size_;
  std::uint32_t group_index_ = 0;
  std::uint32_t count_ = 0;  // threads of this group
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> order_;
  std::uint32_t started_ = 0;  // of order_
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  Fiber main_;
  Random random_;
  Call call_;

  std::byte* arena_ = nullptr;  // memory of the group
  std::uint64_t arena_used_ = 0;
  std::vector<Variable> variables_;
  MemoryCheck memory_;
  RaceCheck races_;
  std::uint32_t epochs_[2] = {0, 0};  // of threadgroup memory, of device memory
  std::vector<std::uint32_t> simd_epochs_[2];
  // The lanes' values in the last meeting. They stay valid long enough: the next meeting completes
  // only when no thread can run, so every lane has read them by then.
  std::vector<std::byte> values_;
  std::vector<std::pair<std::uint64_t, Fault>> reported_;
  std::uint32_t exchanges_ = 0;
};

}  // namespace halyard::inline v0::sim::msl
