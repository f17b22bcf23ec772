// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: recordings with barriers, dependencies and events, events that one submission sets and
// another waits for, and descriptor sets.
#include <cstring>
#include <utility>

#include "base/format.h"
#include "simulation/world/world.h"

namespace halyard::inline v0::sim {

// Records a chain of copies from slot 0 to slot 2, through one word of slot 1 after another. Each
// copy is ordered after the previous one by a randomly chosen means of recordings.
Result<hal::CommandBuffer> World::record_stage(const hal::Device& device) {
  constexpr std::uint64_t kBetween = 8;
  HALYARD_ASSIGN_OR_RETURN(const hal::Event event, device.create_event());
  hal::Recorder stage{device};
  stage.copy(hal::slot(0), hal::slot(1, 0, 4));
  for (std::uint64_t i = 1; i <= kBetween; ++i) {
    switch (random_.below(4)) {
      case 0:
        stage.barrier();
        break;
      case 1:
        stage.after({stage.last()});
        break;
      case 2:
        stage.reset_event(event);
        [[fallthrough]];
      default:
        stage.set_event(event).wait_event(event);
    }
    const hal::Slot from = hal::slot(1, 4 * (i - 1), 4);
    stage.copy(from, i == kBetween ? hal::slot(2, 0, 4) : hal::slot(1, 4 * i, 4));
  }
  return stage.finish();
}

// After the node's waits, a first recording copies the token to the last word of the cell and sets
// an event. A second recording waits for the event, then copies the token to its place. So it runs
// after the first, even if another producer has signalled the value that it waits for. All handles
// except the semaphore's are dropped at once.
void World::use_event(std::uint32_t k) {
  constexpr std::size_t kBetween = sizeof(Cell) / 4 - 1;
  const Node& node = plan_.nodes[k];
  Handles handles;
  if (!take(k, {Handle::kDevice, Handle::kCells, Handle::kTokens}, handles)) return signal(k);
  // Any queue of the device.
  const std::uint32_t queues = plan_.queues_per_device();
  hal::Queue second = queues_[plan_.device_of(node.queue) * queues + k % queues];
  if (!second) second = handles.queue;
  const hal::Semaphore own = handles.device.create_semaphore(0, "event").value();
  hal::CommandBuffer sets, waits_for_it;
  {
    const bool shared = node.chained && take(k, {Handle::kEvent}, handles);
    const hal::Event event =
        shared ? std::exchange(handles.event, {}) : handles.device.create_event().value();
    hal::Recorder first{handles.device}, then{handles.device};
    if (node.and_wait) first.set_event(event).reset_event(event);
    first.copy(hal::slot(0, 0, 4), hal::slot(1)).set_event(event);
    then.wait_event(event).copy(hal::slot(0, 0, 4), hal::slot(1));
    sets = first.finish().value();
    waits_for_it = then.finish().value();
  }
  handles.device = {};
  const Deadline room = node.waits_for_room ? kForever : kNow;
  const bool was_set =
      send(k, handles.queue, false, node.waits, {}, {}, {own, 1},
           [&](hal::Points waits, hal::Points signals, hal::Submission* handle) {
             const hal::BufferRange table[] = {token_range(handles, k), cell(handles, k, kBetween)};
             return handles.queue.execute(std::exchange(sets, {}), {.bindings = table,
                                                                    .wait = waits,
                                                                    .signal = signals,
                                                                    .submission = handle,
                                                                    .room = room});
           });
  if (!was_set) return;
  if (node.any) (void)own.signal(1);  // refused if the first submission was faster, or has failed
  (void)send(k, second, true, {}, node.signals, {own, 1}, {},
             [&](hal::Points waits, hal::Points signals, hal::Submission* handle) {
               const hal::BufferRange table[] = {cell(handles, k, kBetween), cell(handles, k, 0)};
               return second.execute(std::exchange(waits_for_it, {}), {.bindings = table,
                                                                       .wait = waits,
                                                                       .signal = signals,
                                                                       .submission = handle,
                                                                       .room = room});
             });
}

// Dispatches in a recording that has its bindings in a descriptor set. Both are dropped at once.
Status World::dispatch_by_sets(std::uint32_t k, const Handles& handles,
                               const LookConstants& constants, const hal::SubmitInfo& info) {
  const hal::Device& device = handles.device;
  HALYARD_ASSIGN_OR_RETURN(const hal::DescriptorSetLayout set_layout,
                           device.create_descriptor_set_layout(
                               {{.number = 7}, {.number = 3, .access = kernel::Access::kRead}}));
  HALYARD_ASSIGN_OR_RETURN(const hal::PipelineLayout layout,
                           device.create_pipeline_layout({set_layout}, sizeof constants));
  hal::Recorder recorder{device};
  if (plan_.nodes[k].and_wait) {
    recorder.push_descriptor_set(layout, 0, {{7, hal::slot(0)}, {3, handles.cells}});
  } else {
    HALYARD_ASSIGN_OR_RETURN(
        const hal::DescriptorSet set,
        device.create_descriptor_set(set_layout, {{3, handles.cells}, {7, cell(handles, k)}}));
    recorder.bind_descriptor_set(layout, 0, set);
  }
  recorder.push_constants(layout, 0, std::as_bytes(std::span(constants)));
  recorder.dispatch(handles.kernel, {.groups = kLookGroups});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer recording, recorder.finish());
  return handles.queue.execute(recording, {.bindings = {cell(handles, k)},
                                           .wait = info.wait,
                                           .signal = info.signal,
                                           .submission = info.submission,
                                           .room = info.room});
}

}  // namespace halyard::inline v0::sim
