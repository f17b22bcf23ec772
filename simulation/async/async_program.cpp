// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/async/async_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simulation/async/async_program_awaits.h"
#include "simulation/world/hosts.h"
#include "timeline/engine.h"

namespace halyard::inline v0::sim {
namespace {

using async::map;
using async::zip;

Scheduler& scheduler() { return *Scheduler::current(); }

// kMuch: more elements than any device of a plan has memory for. kTooMuch: more than a buffer may
// have.
constexpr std::uint64_t kMuch = std::uint64_t{1} << 24, kTooMuch = std::uint64_t{1} << 40;

}  // namespace

AsyncProgram::AsyncProgram(const Plan& plan)
    : plan_(plan),
      random_(Random::mix(plan.seed ^ 0x6173796e63)),
      lost_(plan.devices),
      failed_calls_(plan.devices) {
  failed_calls_[plan.options.faulty_device] += plan.options.native.failing_call != 0;
  queues_ = random_.between(1, 3);
  sizes_[0] = random_.between(1, 40);
  sizes_[1] = random_.between(100, 200);
  slots_.resize(random_.between(2, 8));
}

AsyncProgram::~AsyncProgram() = default;

void AsyncProgram::check(bool condition, std::string_view what) const {
  if (!condition) scheduler().fail(what);
}

void AsyncProgram::note(const Tree& tree, std::string_view what) const {
  if (scheduler().tracing()) scheduler().trace(fmt::format("tree {}: {}", tree.number, what));
}

std::string AsyncProgram::dump() {
  return plan_.describe() + (registry_ ? registry_->engine().dump_timelines() : "");
}

std::uint64_t AsyncProgram::program() const noexcept {
  std::uint64_t hash = 0;
  for (const Tree& tree : trees_) {
    for (const std::uint64_t what : {std::uint64_t{tree.device}, std::uint64_t{tree.size},
                                     static_cast<std::uint64_t>(tree.outcome)}) {
      hash = Random::mix(hash ^ what);
    }
  }
  return hash;
}

// Returns false if a planted failure was hit.
bool AsyncProgram::open() {
  registry_ = std::make_unique<hal::DriverRegistry>();
  if (plan_.has_gpu()) {
    gpu_ = GpuProcess::begin(plan_.gpu, plan_.seed);
  }
  const bool may_fail = plan_.opening_may_fail();
  Result<std::vector<hal::Device>> devices = plan_.open(*registry_, natives_);
  if (devices.ok()) {
    devices_ = *std::move(devices);
    Result<async::Runtime> runtime = async::Runtime::create(
        devices_, {.queues = queues_, .policy = policies_[random_.below(policies_.size())]});
    if (runtime.ok()) {
      runtime_ = *std::move(runtime);
      const std::uint64_t three = 3 * 256 * ((sizes_[1] * sizeof(Element) + 255) / 256);
      for (const hal::Device& device : devices_) {
        small_pools_.push_back(device.create_pool({.slab_size = three, .max_size = three}).value());
      }
      return true;
    }
    check(may_fail, runtime.status().to_string());
  } else {
    check(may_fail, devices.status().to_string());
  }
  return false;
}

void AsyncProgram::run() {
  std::vector<std::shared_ptr<std::uint64_t>> memory_used;
  if (open()) {
    for (const NativeDevice* native : natives_) {
      if (native != nullptr) memory_used.push_back(native->memory_used());
    }
    run_hosts(plan_.threads, [this](std::uint32_t host) { live(host); });
  }
  drop_handles();
  check(registry_->shutdown(kForever).ok(), "shutdown");
  check_failures();
  kept_ =
      may_keep() && registry_->engine().dump_timelines().find("kept for good") != std::string::npos;
  if (gpu_ != nullptr) gpu_->drain();
  registry_.reset();
  errands_.clear();
  if (gpu_ != nullptr) {
    gpu_->end(may_have_kept());
    faults_ += gpu_->faults();
  }
  for (const auto& used : memory_used) {
    check(*used == 0 || kept_, "a device's memory was not given back");
  }
}

void AsyncProgram::live(std::uint32_t host) {
  Actor actor{Random(Random::mix(plan_.seed ^ 0x686f7374 ^ host)), {}, true};
  actor.devices.resize(plan_.devices);
  std::ranges::copy(runtime_.devices(), actor.devices.begin());
  for (std::uint64_t left = actor.random.between(2, 20); left != 0; --left) act(actor);
}

void AsyncProgram::act(Actor& actor) {
  Random& random = actor.random;
  switch (random.below(32)) {
    case 0:
    case 1: {
      const Array last = std::exchange(slots_[any_slot(random)], {});
      break;
    }
    case 2:
    case 3:
      convert(actor);
      break;
    case 4: {
      const Array& from = slots_[any_slot(random)];
      if (const auto* const shared = std::get_if<Shared>(&from.handle)) {
        const Array last =
            std::exchange(slots_[any_slot(random)], Array{*shared, from.contents, from.users});
      }
      break;
    }
    case 5:
      // Callbacks that destroy each other's registrations would deadlock.
      if (actor.may_block && !errands_.empty()) {
        (void)errands_[random.below(errands_.size())].destroy();
      }
      break;
    case 6:
      drop_device(actor);
      break;
    case 7:
    case 8:
      if (plan_.loses_devices) break_something(actor);
      break;
    case 9:
      if (actor.may_block) scheduler().sleep_for(static_cast<Nanoseconds>(random.below(20'000)));
      break;
    case 10:
      drop_recording(actor);
      break;
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
      use_recording(actor);
      break;
    case 17:
    case 18:
      hold_something(actor);
      break;
    case 19:
    case 20:
      run_children(actor);
      break;
    case 21:
      if (actor.may_block) request_stop();
      break;
    case 22:
      use_small_pool(actor);
      break;
    default:
      await_tree(actor);
  }
}

// Coroutines resume on this thread.
void AsyncProgram::request_stop() {
  std::stop_source stop = std::exchange(stop_, {});
  base::schedule_point(&stop_, base::Touch::kWrite);
  stop.request_stop();
}

// Changes the kind of owner of the tensor in a slot.
void AsyncProgram::convert(Actor& actor) {
  Random& random = actor.random;
  const std::size_t slot = any_slot(random);
  Array array = std::exchange(slots_[slot], {});
  if (auto* const tensor = std::get_if<Tensor>(&array.handle)) {
    if (random.one_in(2)) {
      array.handle = std::move(*tensor) | async::share;
    } else {
      array.handle = std::move(*tensor) | async::partition(kTile);
    }
  } else if (auto* const partition = std::get_if<Partition>(&array.handle)) {
    array.handle = std::move(*partition) | async::unpartition;
  } else if (auto* const shared = std::get_if<Shared>(&array.handle)) {
    const auto* const storage = shared->storage();
    if (std::optional<Tensor> unwrapped = std::move(*shared).try_unwrap()) {
      for (const Array& other : slots_) {
        const auto* const share = std::get_if<Shared>(&other.handle);
        check(share == nullptr || share->storage() != storage, "a tensor that others share");
      }
      array.handle = *std::move(unwrapped);
    }
  }
  const Array last = std::exchange(slots_[slot], std::move(array));
}

void AsyncProgram::drop_device(Actor& actor) {
  Random& random = actor.random;
  if (random.one_in(4)) {
    const async::Runtime last = std::exchange(runtime_, {});
  } else if (random.one_in(4)) {
    const async::Device last = std::exchange(actor.devices[random.below(plan_.devices)], {});
  }
}

void AsyncProgram::lose(std::uint32_t device) {
  lost_[device] = true;
  if (!plan_.is_gpu(device)) return natives_[device]->fault("a host");
  // The library may report the fault of a device in a call for another.
  if (plan_.gpu.shares_faults()) std::fill_n(lost_.begin(), plan_.gpu.devices, true);
  gpu_->fault(device);
}

// Plants a fault: loses a device, fails a launch, fails a load of kernels, or has an operation
// allocate more memory than there is. A further operation uses the tensor that the failed
// allocation would have returned.
void AsyncProgram::break_something(Actor& actor) {
  if (devices_.empty()) return;  // of an errand that resumes at the end
  Random& random = actor.random;
  ++faults_;
  auto device = static_cast<std::uint32_t>(random.below(plan_.breakable_devices()));
  switch (random.below(6)) {
    case 0:
      return lose(device);
    case 1:
    case 2:
    case 3:
      if (plan_.is_gpu(device)) break;
      ++failed_calls_[device];
      return natives_[device]->fail_next(random.one_in(3) ? "load" : "launch");
    default:
      break;
  }
  Array& slot = slots_[any_slot(random)];
  const bool exists = std::holds_alternative<Tensor>(slot.handle) && slot.contents.empty();
  if (exists) device = slot.users->front()->device;
  if (!actor.devices[device].status().ok()) return;
  Tree& tree = plant(actor, device, 0);
  const auto succeeds = [this](int) { check(false, "memory that is not there was written"); };
  const auto drop = [](Tensor&&) { return 0; };
  if (exists) {
    Array array = std::exchange(slot, {});
    tree.operands = *array.users;
    await(actor, tree, Filled{std::get<Tensor>(std::move(array.handle)), 1} | map(drop), succeeds);
  } else {
    tree.allocates_much = true;
    const std::uint64_t size = random.one_in(2) ? kMuch : kTooMuch;
    await(actor, tree, async::zeros<Element>({size}) | map(any_destination(random, tree, {})),
          succeeds);
  }
}

void AsyncProgram::await_tree(Actor& actor) {
  Random& random = actor.random;
  Place place{static_cast<std::uint32_t>(random.below(plan_.devices)), sizes_[random.below(2)]};
  if (!random.one_in(3)) place = recorded_place(random).value_or(place);
  if (!actor.devices[place.device].status().ok()) return;
  Tree& tree = plant(actor, place.device, place.size);
  auto [operation, contents] = grow(random, tree, random.below(4));
  const Destination keep = any_destination(random, tree, contents);
  switch (random.below(5)) {
    case 0:
      return await(actor, tree, std::move(operation), keep);
    case 1:
      return await(actor, tree, std::move(operation) | async::share, keep);
    case 2:
      return await(actor, tree, std::move(operation) | async::partition(kTile), keep);
    case 3: {
      tree.allocates = true;
      Draft other = grow(random, tree, random.below(3));
      return await(actor, tree,
                   zip(std::move(operation), async::to_host(std::move(other.operation))),
                   [this, &tree, keep,
                    expected = std::move(other.contents)](std::tuple<Tensor, Contents> both) {
                     check_contents(tree, std::get<1>(both), expected);
                     keep(std::get<0>(std::move(both)));
                   });
    }
    default:
      tree.allocates = true;
      return await(
          actor, tree, async::to_host(std::move(operation)),
          [this, &tree, contents](const Contents& read) { check_contents(tree, read, contents); });
  }
}

}  // namespace halyard::inline v0::sim
