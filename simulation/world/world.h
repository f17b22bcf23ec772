// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: runs a plan on its own runtime, and checks invariants during and after the run.
//
// Every node that does work writes its token into its cell, and reads the cells of the nodes that
// it waits for. The checks compare with these tokens, not with a second engine. At every point
// where another thread may run:
//
//   - The value of a semaphore is the value of a producer that has written its token. Neither the
//     value nor a failure is revoked.
//   - If a node has written its token, its waits were satisfied: for each (s, v), a producer of s
//     with a value of at least v has written its token. A barrier writes none; it counts as run if
//     it was submitted and its waits are satisfied.
//
// Other checks:
//
//   - A wait for (s, v), or a callback, succeeds only if such a producer has run.
//   - A complete submission has run. A submission that was cancelled, or that failed because of a
//     wait, has not run.
//   - A failure has a reason: a planted fault, or a failed semaphore among its waits.
//   - Without faults everything completes, and semaphores end at their largest value.
//   - With faults, after some time and before anything closes: a submission that has not ended
//     waits for a pending value, or comes after such a submission. A submission that has ended has
//     signalled or failed its semaphores, and these have called their callbacks.
//   - Each submission ends, each callback is called once, and every object is released.
//
// If two operations race, either order is accepted.
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

  // Called from a simulated thread. Fails the simulation if a check fails.
  void run();

  // Checks the invariants that hold at any time.
  void step();

  // A hash of the plan, which does not depend on the schedule.
  std::uint64_t program() const { return std::hash<std::string>()(plan_.describe()); }
  std::uint64_t submissions() const noexcept { return submissions_; }
  std::uint64_t faults() const noexcept { return faults_; }
  // True if memory may be leaked: lanes of a lost CUDA or HIP device cannot be stopped.
  bool may_keep() const noexcept { return gpu_ != nullptr && plan_.loses_devices; }
  // After run(): true if memory may have been leaked. Lanes of Metal always run to their end.
  bool may_have_kept() const noexcept {
    return may_keep() && (kept_ || plan_.driver != Plan::Driver::kMetal);
  }
  std::string dump();

 private:
  static constexpr std::size_t kInputs = 4;  // producers whose cells a node reads
  static constexpr std::uint32_t kLookGroups = kInputs + 1;
  struct Cell {
    std::uint32_t written;
    std::uint32_t seen[kInputs];
    std::uint32_t unused[11];  // 64 bytes: cells share no line
  };

  // Memory that devices write, so it lives until all are closed. With `pages`, the arrays are whole
  // pages: the metal driver imports pages.
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
    std::size_t released = 0;                          // imports that were released
  };

  // A submission that was accepted, or is being submitted.
  struct Record {
    std::uint32_t node;
    const hal::QueueObject* queue;  // its queue, which may have been renewed since
    bool accepted = false;
    bool writes = false;  // this submission writes the token
    bool cancelled = false;
    bool lives = false;  // its handle is held
    int in_use = 0;      // threads that use the handle, which must not be dropped now
    hal::Submission handle;
    std::vector<PlannedPoint> waits;
    std::vector<PlannedPoint> signals;
    bool after_node = false;  // also waits for an earlier submission of its node
    bool left = false;        // it had not ended before the devices were closed
    int state = 0;            // how it ended
    Status cause;             // or the reason of its refusal
  };
  struct Observer {
    std::uint32_t calls = 0;
    bool registered = false;
    bool dropped = false;
    hal::Registration registration;
    hal::Semaphore own;  // the callback signals 1, its submission 2
    Status submitted, signalled;
  };

  // The handles that a node uses, from the device of its queue.
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

  // Submits through `call`, and records the submission.
  using Call = std::function<Status(hal::Points waits, hal::Points signals, hal::Submission*)>;
  bool send(std::uint32_t node, const hal::Queue& queue, bool writes,
            std::vector<PlannedPoint> waits, std::vector<PlannedPoint> signals,
            hal::Point extra_wait, hal::Point extra_signal, const Call& call);

  std::uint32_t token(std::uint32_t node) const noexcept { return 0x1000 + node; }
  bool happened(std::uint32_t node) const noexcept;
  // A producer has signalled this value or a larger one.
  bool justified(const PlannedPoint& point);
  // A producer is on a CUDA or HIP device that may be lost. Work of another device that waits for
  // it in its stream has failed, but may still run.
  bool lost_at_source(const PlannedPoint& point) const;
  // A producer has signalled exactly this value.
  bool exact(const PlannedPoint& point);
  // Marks barriers that have happened until `holds` is true, and returns whether it is.
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
  // A message about a failed check, and its node.
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
  bool abrupt_ = false;  // drop handles while work is in flight
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
  std::vector<bool> submitted_;        // nodes submitted, or being submitted
  std::vector<bool> passed_;           // barriers that have happened
  std::vector<bool> may_be_lost_;      // devices
  std::vector<const hal::QueueObject*> lossy_queues_;
  std::vector<bool> by_host_;          // nodes that the host has signalled
  std::vector<hal::Buffer> cells_of_;  // two of each device: cells, tokens
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
    std::vector<PlannedPoint> points;  // one of their semaphores failed
    std::string message;
  };
  std::vector<Failure> planted_;                   // by the host
  std::vector<Failure> observed_;                  // failures that waits returned
  std::vector<std::uint32_t> waits_for_callback_;  // nodes whose callback must have been called
  std::size_t cells_imported_ = 0;
  bool kept_ = false;  // submissions were leaked, as their device may still run them
  std::uint64_t submissions_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace halyard::inline v0::sim
