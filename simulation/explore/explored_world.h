// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine under exploration: its native queues are in memory, and it has no shells unless a
// program runs a shell as a thread. Remaining work of the shells is done when all threads have
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.h"
#include "base/parker.h"
#include "base/work_source.h"
#include "simulation/explore/plain.h"
#include "simulation/explore/program.h"
#include "timeline/engine.h"
#include "timeline/notify_list.h"
#include "timeline/registration.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::sim {

// The operation of a submission: reads its arguments, which the submitter has written, and `reads`,
// if set. The device does not access it after its release.
struct Payload : timeline::Operation {
  Payload() = default;
  Payload(int the_number, std::uint32_t the_depth, const Plain* to_read, Plain* to_write)
      : number(the_number), depth(the_depth), reads(to_read), writes(to_write) {}
  ~Payload() { arguments.write(0); }
  int number = 0;  // in a log
  std::uint32_t depth = 1;
  const Plain* reads = nullptr;
  Plain* writes = nullptr;
  Plain arguments{1};
};

// A device with a single native queue. It runs entries as they are issued or, if `stepped`, when
// step() is called; in the latter case every submission writes the sequence.
class ExploredLane final : public timeline::NativeQueue {
 public:
  ExploredLane(timeline::QueueCapabilities capabilities, bool stepped, std::uint64_t number)
      : capabilities_(capabilities), stepped_(stepped), number_(number) {}

  const timeline::QueueCapabilities& capabilities() const noexcept override {
    return capabilities_;
  }
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;
  Status mark() noexcept override;
  timeline::Progress poll() noexcept override { return {visible(), {}}; }
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override;
  // If the lane is stepped, its next runnable entry counts as running and is not stopped.
  timeline::Abandoned abandon(const Status&, Nanoseconds) noexcept override;

  // The device runs the next entry. Returns false if there is no entry or its waits are not
  // reached.
  bool step();
  bool can_step() const;
  // Adds the lane's contents to the hash of a state; `name_of` maps the number of an operation.
  void add_state(const std::function<void(std::uint64_t)>& add,
                 const std::function<std::uint64_t(int)>& name_of) const;
  bool ignores_waits = false;
  std::vector<int>* log = nullptr;  // executed numbers; ~number: a part, not the last
  std::uint64_t issued() const noexcept { return issued_.peek(); }

 private:
  std::uint64_t visible() const noexcept;
  void run(std::uint64_t sequence);
  void advance(std::uint64_t sequence);

  const timeline::QueueCapabilities capabilities_;
  const bool stepped_;
  const std::uint64_t number_;  // of its queue
  bool abandoned_ = false;
  bool stopping_ = false;  // an entry runs although it is abandoned
  struct Entry {
    std::vector<timeline::Edge> waits;
    int number;
    timeline::CommandSpan commands;
    bool is_part;  // further ones follow
    const Payload* payload;
  };
  std::vector<Entry> entries_;  // written before issued_
  base::Atomic<std::uint64_t> issued_{0};
  base::Atomic<std::uint64_t> progress_{0};
  base::Atomic<std::uint64_t> marked_{0};
  timeline::NotifyList armed_;
};

class ExploredWork final : public base::WorkSource {
 public:
  Clock& clock() noexcept override { return Clock::steady(); }
  void wake(base::Shell shell) noexcept override {
    woken[static_cast<int>(shell)] = true;
    if (has_shell) parker_.wake();
  }
  Status ensure(base::Shell) noexcept override { return {}; }
  Status start_thread(void (*)(void*), void*) noexcept override {
    return Status(StatusCode::kUnimplemented, "a program's threads are all there from the start");
  }
  void pause(unsigned) noexcept override { base::spin_pause(); }
  bool park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept override;
  unsigned spin_turns() noexcept override { return 0; }

  // The body of a shell. Runs until park() reports that no thread is left to wake it.
  void run_shell(timeline::Engine& engine);
  bool has_shell = false;
  bool woken[base::kShellCount] = {};

 private:
  base::Parker parker_;
};

class ExploredWorld {
 public:
  // Without native edges, a value must be reached before its waiter is issued.
  explicit ExploredWorld(bool native_edges = true) : engine(work, domains(native_edges)) {}
  ~ExploredWorld();

  struct ExploredQueue final : timeline::LaneSource {
    Result<timeline::NativeQueue*> open_lane() override;
    ExploredLane& native() { return *lanes.back(); }
    timeline::Queue* operator->() const { return queue.get(); }

    std::unique_ptr<timeline::Device> device;
    timeline::QueueCapabilities capabilities;
    bool stepped = false;
    std::uint64_t number = 0;
    std::vector<int>* log = nullptr;
    std::vector<std::unique_ptr<ExploredLane>> lanes;
    Ref<timeline::Queue> queue;
  };
  ExploredQueue& queue(timeline::QueueCapabilities capabilities = {}, bool stepped = false);
  HandleRef<timeline::Semaphore> semaphore();
  // The world keeps a user's reference.
  timeline::Submission& submit(ExploredQueue& queue, std::vector<timeline::Point> waits,
                               std::vector<timeline::Point> signals, const Plain* reads = nullptr,
                               Plain* writes = nullptr);
  // A submission of `depth` native commands. Returns null if it is refused.
  timeline::Submission* try_submit(ExploredQueue& queue, const std::vector<timeline::Point>& waits,
                                   const std::vector<timeline::Point>& signals, int number,
                                   std::uint32_t depth = 1, const Plain* reads = nullptr,
                                   Plain* writes = nullptr);
  // Does all pending work of shells and devices.
  void settle();

  ExploredWork work;
  timeline::Engine engine;
  std::vector<std::unique_ptr<ExploredQueue>> queues;

 private:
  static timeline::DomainMatrix domains(bool native_edges);
  std::vector<timeline::Submission*> submissions_;
};

}  // namespace halyard::inline v0::sim
