// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: nodes that submit work, and their handles.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "halyard/hal/pool.h"
#include "simulation/world/world.h"

namespace halyard::inline v0::sim {
namespace {

Scheduler& scheduler() { return *Scheduler::current(); }

template <class T>
void drop(T& handle) {
  const T last = std::exchange(handle, {});  // other threads see a valid handle or null
}

// Copies the handle. Returns false if it was dropped.
template <class T>
bool copy(const T& handle, T& to) {
  to = handle;
  return static_cast<bool>(to);
}

}  // namespace

// --- handles -------------------------------------------------------------------------------------

// Copies the wanted handles, which stay valid until the node is done, even if the world drops its
// own.
bool World::take(std::uint32_t k, std::initializer_list<Handle> wanted, Handles& handles) const {
  const std::uint32_t queue = plan_.nodes[k].queue, d = plan_.device_of(queue);
  const auto take_one = [&](Handle handle) {
    switch (handle) {
      case Handle::kDevice:
        return copy(devices_[d], handles.device);
      case Handle::kPool:
        return copy(pools_[d], handles.pool);
      case Handle::kCells:
        return copy(cells_of_[2 * d], handles.cells);
      case Handle::kTokens:
        return copy(cells_of_[2 * d + 1], handles.tokens);
      case Handle::kLook:
        return copy(looks_[d], handles.recording);
      case Handle::kStage:
        return copy(stages_[d], handles.recording);
      case Handle::kEvent:
        return copy(events_[d], handles.event);
      case Handle::kKernel:
        return copy(kernel_looks_[d], handles.kernel);
      case Handle::kFile:
        return copy(file_, handles.file);
    }
    return false;
  };
  return (handles.queue || copy(queues_[queue], handles.queue)) &&
         std::ranges::all_of(wanted, take_one);
}

void World::drop_handle(std::uint32_t device, Handle handle) {
  switch (handle) {
    case Handle::kDevice:
      return drop(devices_[device]);
    case Handle::kPool:
      return drop(pools_[device]);
    case Handle::kCells:
      return drop(cells_of_[2 * device]);
    case Handle::kTokens:
      return drop(cells_of_[2 * device + 1]);
    case Handle::kLook:
      return drop(looks_[device]);
    case Handle::kStage:
      return drop(stages_[device]);
    case Handle::kEvent:
      return drop(events_[device]);
    case Handle::kKernel:
      if (!kernel_looks_.empty()) drop(kernel_looks_[device]);
      return;
    case Handle::kFile:
      return drop(file_);
  }
}

// Drops the device's handles in any order, while other threads continue.
void World::close_device(std::uint32_t device) {
  ++faults_;
  closed_ = true;
  if (!natives_.empty()) natives_[device] = nullptr;
  std::vector<std::function<void()>> drops;
  for (std::size_t i = 0; i < kHandles; ++i) {
    const auto handle = static_cast<Handle>(i);
    if (handle == Handle::kFile) continue;
    drops.emplace_back([this, device, handle] { drop_handle(device, handle); });
  }
  for (std::uint32_t i = 0; i < plan_.queues_per_device(); ++i) {
    const std::uint32_t queue = device * plan_.queues_per_device() + i;
    drops.emplace_back([this, queue] { drop(queues_[queue]); });
  }
  for (std::uint32_t s = device; s < plan_.semaphores; s += plan_.devices) {
    drops.emplace_back([this, s] {
      dropped_[s] = true;
      drop(semaphores_[s]);
    });
  }
  for (std::size_t left = drops.size(); left != 0; --left) {
    std::swap(drops[left - 1], drops[random_.below(left)]);
    drops[left - 1]();
  }
}

// --- work ----------------------------------------------------------------------------------------

// Signals the node's points from the host. Also called if a submission was refused because a value
// was already passed, so that other nodes do not wait for the rest in vain, and if a handle that
// the node needs was dropped.
void World::signal(std::uint32_t k) {
  by_host_[k] = true;
  shared_->cells[k].written = token(k);
  for (const PlannedPoint& point : plan_.nodes[k].signals) {
    const hal::Semaphore semaphore = semaphores_[point.semaphore];
    if (!semaphore) continue;
    const bool posts = (k + point.value) % 3 == 0;  // as native callbacks must
    (void)(posts ? semaphore.post(point.value) : semaphore.signal(point.value));
  }
}

bool World::send(std::uint32_t k, const hal::Queue& queue, bool writes,
                 std::vector<PlannedPoint> waits, std::vector<PlannedPoint> signals,
                 hal::Point extra_wait, hal::Point extra_signal, const Call& call) {
  std::vector<hal::Semaphore> keep;
  std::vector<hal::Point> wait_points, signal_points;
  const auto convert = [&](const std::vector<PlannedPoint>& planned,
                           std::vector<hal::Point>& points) {
    for (const PlannedPoint& point : planned) {
      keep.push_back(semaphores_[point.semaphore]);
      if (!keep.back()) return false;
      points.emplace_back(keep.back(), point.value);
    }
    return true;
  };
  if (!convert(waits, wait_points) || !convert(signals, signal_points)) return false;
  if (extra_wait.semaphore() != nullptr) wait_points.push_back(extra_wait);
  if (extra_signal.semaphore() != nullptr) signal_points.push_back(extra_signal);
  if (plan_.forgets && k % 4 == 0) wait_points.emplace_back(never_, 1);

  Record& record = *records_.emplace_back(std::make_unique<Record>());
  record.node = k;
  record.queue = queue.object();
  record.writes = writes;
  record.waits = std::move(waits);
  record.signals = std::move(signals);
  record.after_node = extra_wait.semaphore() != nullptr;
  hal::Submission handle;
  const Status status = call(hal::Points(wait_points.data(), wait_points.size()),
                             hal::Points(signal_points.data(), signal_points.size()), &handle);
  record.accepted = handle.object() != nullptr;
  if (!record.accepted) {
    note(k, "refused", status);
    check(!status.ok(), "accepted, but there is no handle", k);
    const bool full = status.code() == StatusCode::kResourceExhausted && plan_.small_backlog();
    const Node& node = plan_.nodes[k];
    const bool planted = plan_.may_refuse(plan_.device_of(node.queue));
    if (full) check(!node.waits_for_room || node.and_wait || planted, status.to_string(), k);
    // Another node has set or reset the event that they have in common.
    const bool unset = status.code() == StatusCode::kFailedPrecondition &&
                       node.kind == NodeKind::kEvent && node.chained && record.after_node;
    const bool passed = status.code() == StatusCode::kInvalidArgument;
    record.cause = status;
    if (passed || full || unset) signal(k);
    return false;
  }
  record.handle = std::move(handle);
  record.lives = true;
  return true;
}

// Returns false if a handle that the node needs was dropped; its queue may be about to be renewed.
bool World::take_for_submission(std::uint32_t k, Handles& handles) const {
  switch (plan_.nodes[k].kind) {
    case NodeKind::kFill:
    case NodeKind::kUpdate:
      return take(k, {Handle::kCells}, handles);
    case NodeKind::kDispatch:
      if (!take(k, {Handle::kCells, Handle::kTokens}, handles)) return false;
      if (handles.queue.kind() == hal::QueueKind::kCompute) {
        (void)take(k, {Handle::kDevice}, handles);  // optional
        return take(k, {Handle::kKernel}, handles);
      }
      return take(k, {Handle::kLook}, handles);
    case NodeKind::kExecute:
      return take(k, {Handle::kCells, Handle::kTokens, Handle::kLook}, handles);
    default:
      return take(k, {}, handles);
  }
}

void World::submit(std::uint32_t k) {
  submitted_[k] = true;
  const Node& node = plan_.nodes[k];
  Handles handles;
  if (!take_for_submission(k, handles)) return signal(k);
  const hal::Queue& queue = handles.queue;
  const std::uint32_t value = token(k);
  const bool writes = node.kind != NodeKind::kBarrier;
  (void)send(k, queue, writes, node.waits, node.signals, {}, {},
             [&](hal::Points waits, hal::Points signals, hal::Submission* handle) -> Status {
               const Deadline room = node.waits_for_room ? kForever : kNow;
               const hal::SubmitInfo info{
                   .wait = waits, .signal = signals, .submission = handle, .room = room};
               switch (node.kind) {
                 case NodeKind::kBarrier:
                   if (node.and_wait) {
                     using std::chrono::nanoseconds;
                     return queue.barrier_and_wait(info, nanoseconds(node.patience));
                   }
                   return queue.barrier(info);
                 case NodeKind::kFill:
                   return queue.fill(cell(handles, k, 0), value, 4, info);
                 case NodeKind::kUpdate:
                   return queue.update(handles.cells, k * sizeof(Cell),
                                       {reinterpret_cast<const std::byte*>(&value), 4}, info);
                 case NodeKind::kDispatch:
                   if (handles.kernel) return dispatch(k, handles, info);
                   [[fallthrough]];
                 case NodeKind::kExecute: {
                   const std::vector<std::uint32_t> from = inputs(k);
                   std::vector<hal::BufferRange> table;
                   for (std::size_t i = 0; i < kInputs; ++i) {
                     table.push_back(i < from.size() ? cell(handles, from[i], 0)
                                                     : token_range(handles, k));
                     table.push_back(cell(handles, k, 1 + i));
                   }
                   table.push_back(token_range(handles, k));
                   table.push_back(cell(handles, k, 0));
                   return queue.execute(handles.recording, {.bindings = table,
                                                            .wait = waits,
                                                            .signal = signals,
                                                            .submission = handle,
                                                            .room = room});
                 }
                 default:
                   return queue.host_call(
                       [this, k] { return host_call(k); }, info,
                       node.any ? hal::HostCallMode::kMayBlock : hal::HostCallMode::kShort);
               }
             });
}

Status World::host_call(std::uint32_t k) {
  for (const PlannedPoint& point : plan_.nodes[k].waits) {
    check(justified(point), "a host call runs before what it waits for", k);
  }
  check(shared_->cells[k].written == 0, "a host call runs twice", k);
  shared_->cells[k].written = token(k);
  if (!plan_.nodes[k].fails) return {};
  ++faults_;
  return Status(StatusCode::kDataLoss, fmt::format("planted by node {}", k));
}

// Allocates a buffer from the pool after the node's waits, writes and reads it, and deallocates or
// drops it.
void World::use_pool(std::uint32_t k) {
  const Node& node = plan_.nodes[k];
  const bool drops = node.chained;
  Handles handles;
  if (!take(k, {Handle::kDevice, Handle::kPool, Handle::kCells, Handle::kTokens, Handle::kStage},
            handles)) {
    return signal(k);
  }
  const hal::Queue& queue = handles.queue;
  const Deadline room = node.waits_for_room ? kForever : kNow;
  const hal::Semaphore own = handles.device.create_semaphore(0, "pool").value();
  if (node.gives_up && node.any) own.give_up(1);
  hal::Buffer buffer;
  const bool allocated =
      send(k, queue, false, node.waits, {}, {}, {own, 1},
           [&](hal::Points waits, hal::Points signals, hal::Submission* handle) -> Status {
             Result<hal::Buffer> result = queue.allocate(
                 handles.pool, {.size = 64 + 1024 * (k % 4)},
                 {.wait = waits, .signal = signals, .submission = handle, .room = room});
             if (!result.ok()) return result.status();
             buffer = std::move(*result);
             return {};
           });
  if (!allocated) return;
  handles.pool = {};
  if (node.any) scheduler().sleep_for(1'000);
  const bool used = send(
      k, queue, true, {}, drops ? node.signals : std::vector<PlannedPoint>(), {own, 1},
      drops ? hal::Point() : hal::Point(own, 2),
      [&](hal::Points waits, hal::Points signals, hal::Submission* handle) -> Status {
        const hal::BufferRange table[] = {token_range(handles, k), buffer, cell(handles, k, 0)};
        return queue.execute(handles.recording, {.bindings = table,
                                                 .wait = waits,
                                                 .signal = signals,
                                                 .submission = handle,
                                                 .room = room});
      });
  if (node.gives_up) own.give_up(1);
  if (!used || drops) return;
  const Call deallocate = [&](hal::Points waits, hal::Points signals, hal::Submission* handle) {
    return queue.deallocate(buffer,
                            {.wait = waits, .signal = signals, .submission = handle, .room = room});
  };
  const bool given_back = send(k, queue, false, {}, node.signals, {own, 2}, {}, deallocate);
  // Other nodes may wait for the memory.
  if (!given_back && plan_.tight_pools)
    (void)send(k, queue, false, {}, {}, {own, 2}, {}, deallocate);
}

// After the node's waits, writes the token to its place in the file, and reads it back into the
// cell.
void World::use_file(std::uint32_t k) {
  const Node& node = plan_.nodes[k];
  Handles handles;
  if (!take(k, {Handle::kDevice, Handle::kFile, Handle::kCells, Handle::kTokens}, handles)) {
    return signal(k);
  }
  const hal::Queue& queue = handles.queue;
  const Deadline room = node.waits_for_room ? kForever : kNow;
  const hal::Semaphore own = handles.device.create_semaphore(0, "file").value();
  const std::uint64_t offset = std::uint64_t{4} * k;
  const bool written = send(
      k, queue, false, node.waits, {}, {}, {own, 1},
      [&](hal::Points waits, hal::Points signals, hal::Submission* handle) {
        return queue.write(token_range(handles, k), handles.file, offset,
                           {.wait = waits, .signal = signals, .submission = handle, .room = room});
      });
  if (!written) return;
  (void)send(k, queue, true, {}, node.signals, {own, 1}, {},
             [&](hal::Points waits, hal::Points signals, hal::Submission* handle) {
               return queue.read(
                   handles.file, offset, cell(handles, k, 0),
                   {.wait = waits, .signal = signals, .submission = handle, .room = room});
             });
}

// The nodes that can satisfy the waits, up to kInputs.
std::vector<std::uint32_t> World::inputs(std::uint32_t k) const {
  std::vector<std::uint32_t> from;
  for (const PlannedPoint& point : plan_.nodes[k].waits) {
    for (const Plan::Producer& producer : plan_.producers[point.semaphore]) {
      if (producer.value >= point.value && from.size() < kInputs) from.push_back(producer.node);
    }
  }
  return from;
}

hal::BufferRange World::cell(const Handles& handles, std::uint32_t k) {
  return {handles.cells, k * sizeof(Cell), sizeof(Cell)};
}

hal::BufferRange World::cell(const Handles& handles, std::uint32_t k, std::size_t word) {
  return {handles.cells, k * sizeof(Cell) + 4 * word, 4};
}

hal::BufferRange World::token_range(const Handles& handles, std::uint32_t k) {
  return {handles.tokens, k * std::uint64_t{4}, 4};
}

}  // namespace halyard::inline v0::sim
