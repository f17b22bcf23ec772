// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: a plan carried out on a runtime of its own, and what must hold meanwhile and afterwards.
//
// Every node that does work writes its token into its cell, and looks at the cells of those that it
// waits for. The reference is no second engine but what happened. Wherever another thread may go
// on:
//
//   - a semaphore has the value of a producer that has written its token; it does not go back, nor
//     does a failure;
//   - a node that has written its token had its waits satisfied so: for each (s, v) a producer of s
//   with a
//     value of at least v has written its own. A barrier, which writes none, has run if it was
//     submitted and its waits are satisfied.
//
// Besides:
//
//   - a wait for (s, v), and a callback, end well only then;
//   - a submission that is complete has run; one that was cancelled, or failed for a wait, has not;
//   - a failure has a reason: a planted fault, or a failed semaphore that it waits for;
//   - without faults everything completes, and semaphores end at their largest value;
//   - with faults, when time has passed, and before anything closes: what has not ended waits for
//     what has neither been signalled nor failed, or is behind such; a submission that has ended
//     has signalled its semaphores how, and they their callbacks;
//   - each submission ends, each callback is called once, everything that was made is given back.
//
// Where two things race, either order is accepted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/device/registry.h"
#include "halyard/hal/command_buffer.h"
#include "halyard/hal/device.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/file.h"
#include "halyard/hal/queue.h"
#include "simulation/driver/native.h"
#include "simulation/files.h"
#include "simulation/world/plan.h"

namespace halyard::inline v0::sim {

class World {
 public:
  explicit World(const Plan& plan);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // From a simulated thread. Fails the simulation when something does not hold.
  void run();

  // Must hold at any time.
  void step();

  // What was run, but for the order.
  std::uint64_t program() const { return std::hash<std::string>()(plan_.describe()); }
  std::uint64_t submissions() const noexcept { return submissions_; }
  std::uint64_t faults() const noexcept { return faults_; }
  // Whether memory may be left: lanes of a lost CUDA or HIP device cannot be stopped, and stay for
  // good.
  bool may_keep() const noexcept { return gpu_ != nullptr && plan_.loses_devices; }
  // After run(): whether any was. Lanes of Metal are let run to their end.
  bool may_have_kept() const noexcept {
    return may_keep() && (kept_ || plan_.driver != Plan::Driver::kMetal);
  }
  std::string dump();

 private:
  static constexpr std::size_t kInputs = 4;  // producers that an execute looks at
  static constexpr std::uint32_t kLookGroups = kInputs + 1;
  struct Cell {
    std::uint32_t written;
    std::uint32_t seen[kInputs];
    std::uint32_t unused[11];  // 64 bytes: cells share no line
  };

  // What devices write, and so there until all are closed. With `pages` it has whole pages of its
  // own: drivers of Metal hand over pages.
  struct Shared {
    Shared(std::size_t nodes, bool pages)
        : cells(make<Cell>(nodes, pages)), tokens(make<std::uint32_t>(nodes + 3, pages)) {
      tokens[nodes] = kLookGroups;
      tokens[nodes + 1] = tokens[nodes + 2] = 1;
    }
    struct Deleter {
      std::align_val_t alignment;
      void operator()(void* memory) const { ::operator delete(memory, alignment); }
    };
    template <class T>
    static std::unique_ptr<T[], Deleter> make(std::size_t count, bool pages) {
      constexpr std::size_t kPage = 16384;
      const std::size_t alignment = pages ? kPage : alignof(std::max_align_t);
      const std::size_t size = (count * sizeof(T) + alignment - 1) / alignment * alignment;
      void* const memory = ::operator new(size, std::align_val_t{alignment});
      return {static_cast<T*>(std::memset(memory, 0, size)), {std::align_val_t{alignment}}};
    }
    std::unique_ptr<Cell[], Deleter> cells;
    std::unique_ptr<std::uint32_t[], Deleter> tokens;  // and the groups of a dispatch
    std::size_t released = 0;                          // imports of it that were given back
  };

  // A submission that was accepted, or is being submitted.
  struct Record {
    std::uint32_t node;
    const hal::QueueObject* queue;  // where it went: perhaps to one that was renewed meanwhile
    bool accepted = false;
    bool writes = false;  // this one writes the node's token
    bool cancelled = false;
    bool lives = false;  // its handle is held
    int in_use = 0;      // by threads that look at the handle: it is not dropped now
    hal::Submission handle;
    std::vector<PlannedPoint> waits;
    std::vector<PlannedPoint> signals;
    bool after_node = false;  // it waits for an earlier one of its node, too
    bool left = false;        // it had not ended when everything was to close
    int state = 0;            // how it ended
    Status cause;             // or why it was refused
  };
  struct Observer {
    std::uint32_t calls = 0;
    bool registered = false;
    bool dropped = false;
    hal::Registration registration;
    hal::Semaphore own;  // the callback signals 1, what it submits 2
    Status submitted, signalled;
  };

  // What a node works with, of the device of its queue.
  struct Handles {
    hal::Device device;
    hal::Queue queue;
    hal::Buffer cells, tokens;
    hal::CommandBuffer recording;
    hal::Event event;
    hal::Function kernel;
    hal::Pool pool;
    hal::File file;
  };

  bool open();
  void live(std::uint32_t thread);
  void perform(std::uint32_t node);
  void signal(std::uint32_t node);
  void submit(std::uint32_t node);
  Status load_kernels(const hal::Device& device);
  using LookConstants = std::array<std::uint32_t, 1 + kInputs>;
  Status dispatch(std::uint32_t node, const Handles& handles, const hal::SubmitInfo& info);
  Status dispatch_by_sets(std::uint32_t node, const Handles& handles,
                          const LookConstants& constants, const hal::SubmitInfo& info);
  Result<hal::CommandBuffer> record_stage(const hal::Device& device);
  void use_pool(std::uint32_t node);
  void use_file(std::uint32_t node);
  void use_event(std::uint32_t node);
  void wait(std::uint32_t node);
  void observe(std::uint32_t node);
  void wait_idle(std::uint32_t node);
  void renew_queue(std::uint32_t node);
  Result<hal::Queue> create_queue(const hal::Device& device, std::uint32_t queue);
  bool take(std::uint32_t node, std::initializer_list<Handle> wanted, Handles& handles) const;
  bool take_for_submission(std::uint32_t node, Handles& handles) const;
  void drop_handle(std::uint32_t device, Handle handle);
  void close_device(std::uint32_t device);
  void cancel(std::uint32_t node);
  void reached(std::uint32_t node, const Status& status);
  Status host_call(std::uint32_t node);

  // Submits through `call`, and keeps the record.
  using Call = std::function<Status(hal::Points waits, hal::Points signals, hal::Submission*)>;
  bool send(std::uint32_t node, const hal::Queue& queue, bool writes,
            std::vector<PlannedPoint> waits, std::vector<PlannedPoint> signals,
            hal::Point extra_wait, hal::Point extra_signal, const Call& call);

  std::uint32_t token(std::uint32_t node) const noexcept { return 0x1000 + node; }
  bool happened(std::uint32_t node) const noexcept;
  // A producer has signalled that value, or a larger one.
  bool justified(const PlannedPoint& point);
  // It was to come from a CUDA or HIP device that may be lost. Work of another one that waits for
  // it in its stream has failed, but cannot be kept from running.
  bool lost_at_source(const PlannedPoint& point) const;
  // A producer has signalled that value.
  bool exact(const PlannedPoint& point);
  // Whether it holds once it is known which barriers have happened.
  template <class F>
  bool find_out(const F& holds);
  std::vector<std::uint32_t> inputs(std::uint32_t node) const;
  static hal::BufferRange cell(const Handles& handles, std::uint32_t node);
  static hal::BufferRange cell(const Handles& handles, std::uint32_t node, std::size_t word);
  static hal::BufferRange token_range(const Handles& handles, std::uint32_t node);

  void end_all();
  void end_callbacks();
  bool ended(const Record& record) const;
  bool waits(const Record& record) const;
  bool left_behind(const Record& record) const;
  // What does not hold, and of which node.
  std::pair<std::string, std::int64_t> find_left_behind();
  void check_left_behind();
  void drop_handles();
  void check_values();
  void find_lossy_queues();
  void check_records();
  void check_inputs(std::uint32_t node);
  bool may_refuse(const Record& record) const;
  void check_refusal(const Record& record);
  bool explained(const Record& record, const Status& cause);
  bool caused(std::uint32_t semaphore, std::string_view message);
  void check(bool condition, std::string_view what, std::int64_t node = -1);
  void note(std::uint32_t node, std::string_view what);
  void note(std::uint32_t node, std::string_view what, const Status& status);

  const Plan& plan_;
  Random random_;
  bool abrupt_ = false;  // handles go while work is in flight
  bool closed_ = false;  // a device was closed by a node
  std::unique_ptr<hal::DriverRegistry> registry_;
  std::vector<NativeDevice*> natives_;
  std::unique_ptr<GpuProcess> gpu_;  // if plan_.has_gpu()
  std::vector<hal::Device> devices_;
  std::vector<hal::Queue> queues_;
  std::vector<hal::Semaphore> semaphores_;
  hal::Semaphore never_;  // Plan::forgets
  std::vector<bool> dropped_;
  struct Word {
    std::uint64_t value = 0;
    bool failed = false;
  };
  std::vector<Word> words_;            // of each semaphore, as it was last seen
  std::vector<std::uint32_t> to_run_;  // nodes whose tokens have not been seen
  std::vector<bool> submitted_;        // nodes that were, or are being
  std::vector<bool> passed_;           // barriers that have happened
  std::vector<bool> may_be_lost_;      // devices
  std::vector<const hal::QueueObject*> lossy_queues_;
  std::vector<bool> by_host_;          // nodes that the host has signalled
  std::vector<hal::Buffer> cells_of_;  // of each device: the same memory
  std::vector<hal::CommandBuffer> looks_, stages_;
  std::vector<hal::Event> events_;
  std::vector<hal::Function> kernel_looks_;  // of each device, if the plan has dispatches
  std::vector<hal::Pool> pools_;
  hal::File file_;
  Files* files_ = nullptr;  // the registry's
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Record>> records_;
  std::vector<Observer> observers_;
  struct Failure {
    std::vector<PlannedPoint> points;  // of one of these semaphores
    std::string message;
  };
  std::vector<Failure> planted_;                   // by the host
  std::vector<Failure> observed_;                  // what waits were told
  std::vector<std::uint32_t> waits_for_callback_;  // nodes whose callback must have been called
  std::size_t cells_imported_ = 0;
  bool kept_ = false;  // submissions stay for good, as their device may still run them
  std::uint64_t submissions_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace halyard::inline v0::sim
