// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/world/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/format.h"
#include "halyard/hal/fence.h"
#include "halyard/hal/pool.h"
#include "simulation/world/hosts.h"
#include "timeline/engine.h"

namespace halyard::inline v0::sim {
namespace {

Scheduler& scheduler() { return *Scheduler::current(); }

// Waits for a fence over the points, and checks that a reached point is no longer pending.
Status wait_for_fence(hal::Points points, Deadline deadline) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Fence part,
                           hal::Fence::create({points.data() + 1, points.size() - 1}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Fence fence, hal::Fence::create({points.data(), 1}));
  HALYARD_RETURN_IF_ERROR(fence.extend(part));
  HALYARD_RETURN_IF_ERROR(fence.wait(deadline));
  HALYARD_ASSIGN_OR_RETURN(const bool reached, fence.query());
  if (!reached) scheduler().fail("a fence that was waited for is pending");
  return {};
}

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      random_(Random::mix(plan.seed ^ 0x776f726c64)),
      dropped_(plan.semaphores),
      words_(plan.semaphores),
      submitted_(plan.nodes.size()),
      passed_(plan.nodes.size()),
      may_be_lost_(plan.devices),
      by_host_(plan.nodes.size()),
      shared_(std::make_unique<Shared>(plan.nodes.size(), plan.driver == Plan::Driver::kMetal)),
      observers_(plan.nodes.size()) {
  for (std::uint32_t k = 0; k < plan.nodes.size(); ++k) {
    shared_->tokens[k] = token(k);
    if (plan.is_submission(plan.nodes[k]) && plan.nodes[k].kind != NodeKind::kBarrier) {
      to_run_.push_back(k);
    }
  }
  for (std::uint32_t d = 0; d < plan.devices; ++d) may_be_lost_[d] = plan.may_be_lost(d);
}

World::~World() = default;

void World::check(bool condition, std::string_view what, std::int64_t node) {
  if (condition) return;
  scheduler().fail(node < 0 ? std::string(what) : fmt::format("node {}: {}", node, what));
}

void World::note(std::uint32_t node, std::string_view what) {
  if (scheduler().tracing()) scheduler().trace(fmt::format("node {}: {}", node, what));
}

void World::note(std::uint32_t node, std::string_view what, const Status& status) {
  if (scheduler().tracing()) note(node, fmt::format("{}: {}", what, status.to_string()));
}

std::string World::dump() {
  return plan_.describe() + (registry_ ? registry_->engine().dump_timelines() : "");
}

// Returns false if a planted failure was hit.
bool World::open() {
  registry_ = std::make_unique<hal::DriverRegistry>();
  const auto has = [this](NodeKind kind) {
    return std::ranges::any_of(plan_.nodes, [&](const Node& n) { return n.kind == kind; });
  };
  if (has(NodeKind::kFile)) {
    auto files = std::make_unique<Files>(
        plan_.seed, plan_.nodes.size() * 4, 4, plan_.faulty, [this](std::size_t k) {
          for (const PlannedPoint& point : plan_.nodes[k].waits) {
            check(justified(point), "a file is written before what it waits for",
                  static_cast<std::int64_t>(k));
          }
        });
    files_ = files.get();
    registry_->files().set_backend(std::move(files));
    file_ = Files::open();
  }
  if (plan_.has_gpu()) {
    gpu_ = GpuProcess::begin(plan_.gpu, plan_.seed);
  }
  const bool may_fail = plan_.opening_may_fail();
  Result<std::vector<hal::Device>> devices = plan_.open(*registry_, natives_);
  if (!devices.ok()) {
    check(may_fail, devices.status().to_string());
    return false;
  }
  devices_ = std::move(*devices);
  for (hal::Device& device : devices_) {
    queues_.push_back(device.queue(hal::QueueKind::kCompute));
    queues_.push_back(device.queue(hal::QueueKind::kCopy));
    while (queues_.size() % plan_.queues_per_device() != 0) {
      Result<hal::Queue> queue = create_queue(device, static_cast<std::uint32_t>(queues_.size()));
      if (!queue.ok()) {
        check(may_fail, queue.status().to_string());
        return false;
      }
      queues_.push_back(std::move(*queue));
    }
    const auto import = [&](void* memory, std::size_t size) {
      return device.import_memory({static_cast<std::byte*>(memory), size},
                                  [this] { ++shared_->released; });
    };
    Result<hal::Buffer> cells = import(shared_->cells.get(), plan_.nodes.size() * sizeof(Cell));
    Result<hal::Buffer> tokens = import(shared_->tokens.get(), (plan_.nodes.size() + 3) * 4);
    cells_imported_ += cells.ok() + tokens.ok();
    if (!cells.ok() || !tokens.ok()) {
      check(may_fail, "memory is not imported");
      return false;
    }
    cells_of_.push_back(std::move(*cells));
    cells_of_.push_back(std::move(*tokens));
    Result<hal::Pool> pool = device.create_pool(
        {.slab_size = 4096,
         .max_size = plan_.faulty || plan_.tight_pools ? plan_.pool_size : hal::kWholeSize});
    check(pool.ok(), "no pool");
    pools_.push_back(std::move(*pool));

    if (has(NodeKind::kDispatch)) {
      if (const Status loaded = load_kernels(device); !loaded.ok()) {
        check(may_fail, loaded.to_string());
        return false;
      }
    }

    hal::Recorder look{device};
    for (std::uint32_t i = 0; i < kInputs; ++i)
      look.copy(hal::slot(2 * i), hal::slot(2 * i + 1, 0, 4));
    look.copy(hal::slot(2 * kInputs), hal::slot(2 * kInputs + 1, 0, 4));
    Result<hal::CommandBuffer> recorded_look = look.finish(), recorded_stage = record_stage(device);
    for (const Status& status : {recorded_look.status(), recorded_stage.status()}) {
      if (status.ok()) continue;
      // The hip driver runs a small graph before its first recording (HipApi::prepare_graphs).
      const auto number = static_cast<std::uint32_t>(&device - devices_.data());
      check(status.code() == StatusCode::kDeviceLost && plan_.is_gpu(number) &&
                plan_.may_be_lost(number),
            status.to_string());
      return false;
    }
    looks_.push_back(std::move(*recorded_look));
    stages_.push_back(std::move(*recorded_stage));
    events_.push_back(device.create_event().value());
  }
  for (std::uint32_t s = 0; s < plan_.semaphores; ++s) {
    semaphores_.push_back(
        devices_[s % devices_.size()].create_semaphore(0, fmt::format("s{}", s)).value());
  }
  if (plan_.forgets) never_ = devices_[0].create_semaphore(0, "never").value();
  return true;
}

void World::run() {
  if (open()) {
    abrupt_ = random_.one_in(3);
    run_hosts(plan_.threads, [this](std::uint32_t thread) { live(thread); });
    end_all();
  }
  // Also if open() failed: the handles made before that are dropped like all others.
  drop_handles();
  check(registry_->shutdown(kForever).ok(), "shutdown");
  kept_ =
      may_keep() && registry_->engine().dump_timelines().find("kept for good") != std::string::npos;
  check_records();
  observers_.clear();
  submissions_ = records_.size();
  if (files_ != nullptr) faults_ += files_->faults();
  records_.clear();
  if (gpu_ != nullptr) gpu_->drain();
  registry_.reset();
  if (gpu_ != nullptr) {
    gpu_->end(may_have_kept());
    faults_ += gpu_->faults();
  }
}

void World::live(std::uint32_t thread) {
  // The host thread's nodes in any order, mostly near the planned order.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  const std::uint64_t spread = random_.one_in(3) ? 1 : random_.between(1, 30);
  for (std::uint32_t k = 0; k < plan_.nodes.size(); ++k) {
    if (plan_.nodes[k].thread == thread) order.emplace_back(k + random_.below(spread), k);
  }
  std::ranges::sort(order);
  for (const auto& [at, k] : order) {
    if (plan_.nodes[k].delay != 0) scheduler().sleep_for(plan_.nodes[k].delay);
    perform(k);
  }
}

void World::perform(std::uint32_t k) {
  const Node& node = plan_.nodes[k];
  note(k, "begins");
  switch (node.kind) {
    case NodeKind::kBarrier:
    case NodeKind::kFill:
    case NodeKind::kUpdate:
    case NodeKind::kExecute:
    case NodeKind::kDispatch:
    case NodeKind::kHostCall:
      submit(k);
      break;
    case NodeKind::kFile:
      use_file(k);
      break;
    case NodeKind::kEvent:
      use_event(k);
      break;
    case NodeKind::kPool:
      use_pool(k);
      break;
    case NodeKind::kSignal:
      signal(k);
      break;
    case NodeKind::kWait:
      wait(k);
      break;
    case NodeKind::kQuery: {
      const std::uint32_t s = k % plan_.semaphores;
      const hal::Semaphore semaphore = semaphores_[s];
      if (!semaphore) break;
      const std::uint64_t before = words_[s].value;
      if (const Result<std::uint64_t> value = semaphore.query(); value.ok()) {
        check(*value >= before, "it was told a value that is past", k);
      } else {
        observed_.push_back({{{s, 1}}, std::string(value.status().message())});
      }
      break;
    }
    case NodeKind::kOnReach:
      observe(k);
      break;
    case NodeKind::kWaitIdle:
      wait_idle(k);
      break;
    case NodeKind::kFlush:
      if (const hal::Queue queue = queues_[node.queue]) (void)queue.flush();
      if (node.patience == 0) (void)hal::Device(devices_[k % devices_.size()]).dump_timelines();
      break;
    case NodeKind::kRenewQueue:
      renew_queue(k);
      break;
    case NodeKind::kFail: {
      const std::uint32_t s = node.other % plan_.semaphores;
      const hal::Semaphore semaphore = semaphores_[s];
      if (!semaphore) break;
      ++faults_;
      planted_.push_back({{{s, 1}}, fmt::format("planted by node {}", k)});
      semaphore.fail(Status(StatusCode::kDataLoss, planted_.back().message));
      const Result<std::uint64_t> value = semaphore.query();
      check(!value.ok(), "a semaphore that was failed has not failed", k);
      break;
    }
    case NodeKind::kCancel:
      cancel(k);
      break;
    case NodeKind::kDropSemaphore: {
      const std::uint32_t s = node.other % plan_.semaphores;
      if (!semaphores_[s]) break;
      ++faults_;
      dropped_[s] = true;
      const hal::Semaphore last = std::move(semaphores_[s]);
      break;
    }
    case NodeKind::kDropSubmission:
      for (const auto& record : records_) {
        if (record->node != node.other || !record->lives || record->in_use != 0) continue;
        // Its result can no longer be queried, so any result is accepted.
        record->lives = false;
        const hal::Submission last = std::move(record->handle);
        break;
      }
      break;
    case NodeKind::kDropHandle:
      drop_handle(plan_.device_of(node.queue), node.handle);
      break;
    case NodeKind::kCloseDevice:
      close_device(node.other);
      break;
    case NodeKind::kLoseDevice:
      if (plan_.is_gpu(node.other)) {
        for (std::uint32_t d = 0; d < plan_.gpu.devices; ++d) {
          may_be_lost_[d] = may_be_lost_[d] || d == node.other || plan_.gpu.shares_faults();
        }
        gpu_->fault(node.other);
        break;
      }
      if (natives_[node.other] == nullptr) break;  // closed, or of a driver without losses
      ++faults_;
      may_be_lost_[node.other] = true;
      natives_[node.other]->fault("by the plan");
      break;
  }
}

void World::wait(std::uint32_t k) {
  const Node& node = plan_.nodes[k];
  std::vector<hal::Semaphore> keep;
  std::vector<hal::Point> points;
  for (const PlannedPoint& point : node.waits) {
    keep.push_back(semaphores_[point.semaphore]);
    if (!keep.back()) return;
    points.emplace_back(keep.back(), point.value);
  }
  const Deadline deadline = std::chrono::nanoseconds(node.patience);
  const Status status = node.chained && !node.any
                            ? wait_for_fence({points.data(), points.size()}, deadline)
                        : points.size() == 1 ? keep[0].wait(node.waits[0].value, deadline)
                        : node.any ? hal::wait_any({points.data(), points.size()}, deadline)
                                   : hal::wait_all({points.data(), points.size()}, deadline);
  note(k, "ends", status);
  if (status.ok()) {
    const auto holds = [&](const PlannedPoint& point) { return justified(point); };
    const bool any = node.any && points.size() > 1;
    check(any ? std::ranges::any_of(node.waits, holds) : std::ranges::all_of(node.waits, holds),
          "a wait succeeds before any signal", k);
  } else if (status.code() != StatusCode::kDeadlineExceeded) {
    observed_.push_back({node.waits, std::string(status.message())});
  }
}

// Waits for the queue, and checks that every submission it accepted before has ended.
void World::wait_idle(std::uint32_t k) {
  const Node& node = plan_.nodes[k];
  const hal::Queue queue = queues_[node.queue];
  if (!queue) return;
  std::vector<Record*> before;
  for (const auto& record : records_) {
    if (record->queue == queue.object() && record->lives) before.push_back(record.get());
  }
  const Status status = queue.wait_idle(std::chrono::nanoseconds(node.patience));
  note(k, "ends", status);
  if (!status.ok())
    return check(status.code() == StatusCode::kDeadlineExceeded, status.to_string(), k);
  for (Record* record : before) {
    if (!record->lives) continue;
    ++record->in_use;
    const auto state = record->handle.object()->state();
    --record->in_use;
    check(state >= timeline::Submission::State::kComplete,
          fmt::format("idle, but the one of node {} is in state {}", record->node,
                      static_cast<int>(state)),
          k);
  }
}

void World::renew_queue(std::uint32_t k) {
  const std::uint32_t queue = plan_.nodes[k].queue;
  const hal::Device device = devices_[plan_.device_of(queue)];
  if (queue % plan_.queues_per_device() < 2 || !queues_[queue] || !device) return;
  {
    const hal::Queue last = std::move(queues_[queue]);
  }
  Result<hal::Queue> fresh = create_queue(device, queue);
  check(fresh.ok() || plan_.faulty, fresh.status().to_string(), k);
  if (fresh.ok()) queues_[queue] = std::move(*fresh);
}

Result<hal::Queue> World::create_queue(const hal::Device& device, std::uint32_t queue) {
  return device.create_queue(
      {.kind = queue % 2 == 0 ? hal::QueueKind::kCompute : hal::QueueKind::kCopy,
       .priority = static_cast<hal::QueuePriority>(queue % 3),
       .name = "created"});
}

void World::observe(std::uint32_t k) {
  const Node& node = plan_.nodes[k];
  Observer& observer = observers_[k];
  const hal::Semaphore semaphore = semaphores_[node.waits[0].semaphore];
  if (!semaphore) return;
  if (const hal::Device device = devices_[0]; device && node.chained) {
    observer.own = device.create_semaphore(0, "callback").value();
  }
  observer.registered = true;
  Result<hal::Registration> registration = semaphore.on_reach(
      node.waits[0].value, [this, k](const Status& status) { reached(k, status); });
  check(registration.ok(), registration.status().to_string(), k);
  if (node.any) {
    scheduler().sleep_for(node.patience);
    registration->reset();
    observer.dropped = true;
  } else {
    observer.registration = std::move(*registration);
  }
}

void World::reached(std::uint32_t k, const Status& status) {
  const Node& node = plan_.nodes[k];
  Observer& observer = observers_[k];
  note(k, "callback", status);
  check(!observer.dropped, "a callback runs after its registration is gone", k);
  check(++observer.calls == 1, "a callback is called twice", k);
  if (status.ok()) {
    check(justified(node.waits[0]), "a callback is called before any signal", k);
  } else {
    observed_.push_back({node.waits, std::string(status.message())});
  }
  if (!node.chained) return;
  const hal::Semaphore own = observer.own;
  if (!own || node.queue >= queues_.size()) return;  // the program ends
  const hal::Point point(own, 2);
  const hal::Queue queue = queues_[node.queue];
  if (!queue) return;
  observer.submitted = queue.barrier({.signal = {&point, 1}});
  observer.signalled = own.signal(1);  // refused if the barrier was faster, or has failed it
}

void World::cancel(std::uint32_t k) {
  for (const auto& owned : records_) {
    Record& record = *owned;
    if (record.node != plan_.nodes[k].other || !record.lives) continue;
    ++record.in_use;
    const bool cancelled = record.handle.cancel();
    --record.in_use;
    check(!(cancelled && record.cancelled), "a submission is cancelled twice", k);
    if (cancelled) {
      record.cancelled = true;
      ++faults_;
    }
    note(k, cancelled ? "cancelled" : "not cancelled");
    return;
  }
}

}  // namespace halyard::inline v0::sim
