// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: a program over halyard/async.h, run on its own runtime, and the checks during and
// after the run. Its hosts draw their actions from the seed as they run: they grow trees of
// operations over the tensors in common slots, await them in every way the API has, and drop
// whatever can be dropped.
//
// A tensor has one owner or is only read, so its contents are known when its tree is built. The
// reference is a vector next to each tensor with these contents. It is independent of the library's
// order of submissions. The invariants:
//
//   - to_host returns the reference's result, whatever else happened meanwhile;
//   - an await that fails has a cause: exhausted memory, a fault of its device, a fault of an
//     operation of its own, or the failure for such a cause of another tree, which was to write
//     tensors that this tree uses, or to read tensors that it writes;
//   - each await ends; all memory returns to its pools when the tensors are gone, and to the
//     device when the devices are gone; nothing is allocated at the end.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hal/device/registry.h"
#include "halyard/async.h"
#include "simulation/async/async_operations.h"
#include "simulation/async/async_script.h"
#include "simulation/async/errand.h"
#include "simulation/driver/native.h"
#include "simulation/world/plan.h"

namespace halyard::inline v0::sim {

class AsyncProgram {
 public:
  explicit AsyncProgram(const Plan& plan);
  ~AsyncProgram();
  AsyncProgram(const AsyncProgram&) = delete;
  AsyncProgram& operator=(const AsyncProgram&) = delete;

  // Called on a simulated thread. Fails the simulation when an invariant is violated.
  void run();

  // A hash of the steps that ran, independent of their order.
  std::uint64_t program() const noexcept;
  std::uint64_t submissions() const noexcept { return trees_.size(); }
  std::uint64_t faults() const noexcept { return faults_; }
  std::string dump();
  // A lost device may leak the resources that it holds.
  bool may_keep() const noexcept { return gpu_ != nullptr && plan_.loses_devices; }
  // After run(): whether any has. Lanes of Metal are let run to their end.
  bool may_have_kept() const noexcept {
    return may_keep() && (kept_ || plan_.driver != Plan::Driver::kMetal);
  }

 private:
  static constexpr std::size_t kTile = 7;  // divides no size

  // A tree of operations that a host awaits, or drops before that.
  struct Tree {
    enum class Outcome : std::uint8_t { kUnknown, kDone, kCancelled, kFailed };
    std::uint32_t number;
    std::uint32_t device;
    std::uint32_t devices;        // a bit for each, including the sources of its tensors
    async::QueueRef queue;        // where it runs; held until then, as handles keep devices open
    async::Runtime runtime;       // or the runtime that chooses the place
    std::size_t size;             // of its tensors, in elements
    bool is_cell = false;         // it runs where another tree does, as a part of it
    std::stop_token stop{};       // of its await
    bool stopped = false;         // before its await began
    bool has_deadline = false;    // its await
    bool fails = false;           // one of its operations fails by itself
    bool allocates = false;       // it allocates memory, which may be exhausted
    bool allocates_much = false;  // it allocates more memory than there is
    Outcome outcome = Outcome::kUnknown;
    Status status{};
    std::vector<const Tree*> operands{};  // their work must complete before
  };
  using Users = std::vector<const Tree*>;
  // A tensor, with any kind of ownership, and its contents.
  struct Array {
    std::variant<std::monostate, Tensor, Shared, Partition> handle{};
    Contents contents{};  // empty: it got no memory
    // The tree that writes it, and the trees that have read it since. Its owners share this.
    std::shared_ptr<Users> users{};
  };
  // An operation, and the contents of the tensor that it returns.
  struct Draft {
    async::BoxedOperation<Tensor> operation;
    Contents contents;
  };
  // A function that puts its argument into a slot. map() calls it when the tree is submitted, so
  // other trees use that tensor before it is written.
  struct Destination {
    template <class Handle>
    int operator()(Handle handle) const {
      auto users = std::make_shared<Users>(1, tree);
      const Array last = std::exchange(program->slots_[slot],
                                       Array{std::move(handle), contents, std::move(users)});
      return 0;  // map() needs a value
    }
    AsyncProgram* program;
    const Tree* tree;
    std::size_t slot;
    Contents contents;
  };
  // An operation that is not part of a tree yet.
  struct Held {
    std::variant<std::monostate, async::BoxedOperation<Tensor>, async::SharedOperation<Shared>>
        operation{};
    Contents contents{};   // empty: there is no operation
    Tree* tree = nullptr;  // of the cell that it belongs to
  };
  struct Place {
    std::uint32_t device;
    std::size_t size;
  };
  struct Recording;  // and the operations that use one
  struct Replayed;
  struct Reading;
  struct Called;
  // A thread of control: a host, or an errand on a thread of the runtime.
  struct Actor {
    Random random;
    std::vector<async::Device> devices;  // empty: the actor has dropped that handle
    bool may_block;
  };

  bool open();
  void live(std::uint32_t host);
  void act(Actor& actor);
  void request_stop();
  void convert(Actor& actor);
  void drop_device(Actor& actor);
  void lose(std::uint32_t device);
  void break_something(Actor& actor);
  void await_tree(Actor& actor);

  Draft grow(Random& random, Tree& tree, std::uint64_t depth);
  Draft leaf(Random& random, Tree& tree);
  Draft compute(Random& random, Tree& tree, Draft draft, std::uint64_t depth);
  std::optional<Draft> from_slot(Random& random, Tree& tree);
  Destination any_destination(Random& random, const Tree& tree, Contents contents);
  std::size_t any_slot(Random& random) const { return random.below(slots_.size()); }

  void hold_something(Actor& actor);
  std::optional<Draft> from_held(Random& random, Tree& tree);
  void run_children(Actor& actor);
  void use_small_pool(Actor& actor);
  async::Task<> request(Actor& actor, std::uint32_t device, std::size_t& ended);
  static async::Task<> run_nursery(const AsyncProgram& program,
                                   std::vector<async::Task<>>& children, Random& random,
                                   const std::size_t& ended);
  OnDevice any_policy(std::uint32_t device);
  void record_something(Actor& actor);
  void drop_recording(Actor& actor);
  void use_recording(Actor& actor);
  Draft replay(Random& random, Tree& tree, Draft draft, std::uint64_t depth);
  std::optional<Place> recorded_place(Random& random) const;  // of a recording

  Tree& plant(Actor& actor, std::uint32_t device, std::size_t size);
  template <class Op>
  async::DeviceFuture<async::BoxedOperation<typename Op::Output>> place(Tree& tree, Op operation);
  template <class Op, class Take>
  void await(Actor& actor, Tree& tree, Op operation, Take take);
  template <class Op, class Take>
  static Errand::Started run_errand(Errand& errand, AsyncProgram& program, Tree& tree,
                                    std::uint64_t seed, async::DeviceFuture<Op> future, Take take);
  template <class Answer, class Take>
  void ended(Tree& tree, Answer answer, Take take);

  void drop_slots();
  void end_errands();
  void drop_handles();
  void wait_for_memory();
  void check_failures() const;
  bool inherits(const Tree& tree, StatusCode code) const;
  bool may_cause(const Tree& tree, StatusCode code) const;
  bool may_be_exhausted(const Tree& tree) const;
  template <class F>
  bool any_device(const Tree& tree, F&& holds) const;
  void check_contents(const Tree& tree, const Contents& read, const Contents& expected) const;
  void check(bool condition, std::string_view what) const;
  void note(const Tree& tree, std::string_view what) const;

  const Plan& plan_;
  Random random_;
  std::unique_ptr<GpuProcess> gpu_;  // if plan_.has_gpu()
  bool kept_ = false;
  std::unique_ptr<hal::DriverRegistry> registry_;
  std::vector<NativeDevice*> natives_;
  std::vector<hal::Device> devices_;
  std::vector<hal::Pool> small_pools_;  // of each device, for three arrays
  async::Runtime runtime_;
  std::size_t queues_;    // of each device
  std::size_t sizes_[2];  // of tensors, in elements
  std::vector<Array> slots_;
  std::array<std::shared_ptr<Recording>, 2> recordings_;
  std::array<Held, 3> held_;
  const std::array<async::Policy, 3> policies_{async::RoundRobin(), async::LocalityFirst(),
                                               async::LeastLoaded()};
  std::stop_source stop_;  // of errands
  std::deque<Tree> trees_;
  std::deque<Errand> errands_;
  std::vector<bool> lost_;                   // devices
  std::vector<std::uint32_t> failed_calls_;  // of each device, at most
  std::uint64_t faults_ = 0;
};

}  // namespace halyard::inline v0::sim
