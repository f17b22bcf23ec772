// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What encoders record: passes of commands, and the waits and signals between them. A command
// keeps the resources' memory, not the program's objects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "simulation/metal/framework/device.h"
#include "simulation/metal/framework/event.h"
#include "simulation/metal/framework/pipeline.h"
#include "simulation/metal/framework/resource.h"

namespace halyard::inline v0::sim::metal {

using ResourcePointer = std::shared_ptr<Resource>;

struct Size3 {
  std::uint64_t width = 1, height = 1, depth = 1;
  std::uint64_t product() const { return width * height * depth; }
};

// Apple, "Metal Feature Set Tables": entries in the buffer argument table of a kernel.
inline constexpr std::size_t kBufferSlots = 31;
inline constexpr std::size_t kThreadgroupSlots = 31;

// What is set for one [[buffer(n)]]: a resource, or bytes that were copied.
struct Binding {
  ResourcePointer resource;
  std::uint64_t offset = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool is_set() const { return resource != nullptr || bytes != nullptr; }
};

struct Dispatch {
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<Binding> bindings;  // by slot; those after the last that is set are absent
  std::vector<std::uint32_t> threadgroup_lengths;
  Size3 grid;  // threads, or groups
  bool is_in_groups = true;
  Size3 group;
  ResourcePointer indirect;  // the number of groups is three uint32_t at this offset
  std::uint64_t indirect_offset = 0;
  bool lacks_pipeline = false;  // an indirect command that Options::wants_direct_dispatch fails
};
struct Copy {
  ResourcePointer source;
  std::uint64_t source_offset = 0;
  ResourcePointer target;
  std::uint64_t target_offset = 0;
  std::uint64_t length = 0;
};
struct Fill {
  ResourcePointer target;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint8_t value = 0;
};
struct Synchronize {
  ResourcePointer resource;
};
// All dispatches before it end before those after it begin; with resources, only those that use
// one of them.
struct Barrier {
  std::vector<ResourcePointer> resources;
};
using Command = std::variant<Dispatch, Copy, Fill, Synchronize, Barrier>;

// useResource:, useHeap: of an encoder. Holds for the commands after the first `from`.
struct Use {
  ResourcePointer resource;
  Access access = kReadAccess;
  std::size_t from = 0;
};

// As MTLCommandEncoderErrorState.
enum class PassState : std::uint8_t {
  kUnknown = 0,
  kCompleted = 1,
  kAffected = 2,
  kPending = 3,
  kFaulted = 4
};

// What one encoder has recorded.
struct Pass {
  bool is_compute = false;
  bool is_concurrent = false;
  bool is_barrier = false;  // barrierAfterQueueStages: it waits for all earlier passes of the queue
  std::string label;
  std::vector<std::string> signposts;
  std::vector<Command> commands;
  std::vector<Use> uses;
  std::vector<std::shared_ptr<Fence>> waits, updates;
  PassState state = PassState::kPending;
  // Where the times of begin and end go, in nanoseconds: counter samples at stage boundaries.
  std::vector<std::function<void(std::uint64_t)>> begin_samples, end_samples;
  // Every resource that a command names, once, with what is done to it. Made by end().
  struct Touch {
    ResourcePointer resource;
    Access access = kNoAccess;
  };
  std::vector<Touch> touched;

  void end();
};

struct EventWait {
  std::shared_ptr<Event> event;
  std::uint64_t value = 0;
};
struct EventSignal {
  std::shared_ptr<Event> event;
  std::uint64_t value = 0;
};
struct Item {
  std::variant<std::unique_ptr<Pass>, EventWait, EventSignal> what;
  bool is_done = false;
};

// Adds the resources that a dispatch names, with the access that its function declares.
void touch(const Dispatch& dispatch, std::vector<Pass::Touch>& touched);

// True if one of the passes must wait for the other because Metal tracks a resource that both use.
bool have_hazard(const Pass& a, const Pass& b);

// Reports what is wrong with a dispatch as the encoder sees it: slots that are not set, offsets
// that the device's family does not align to, group sizes. False if nothing of it can run.
bool check(const Dispatch& dispatch, const Device& device);

// Executes the commands of a pass as a device would. The State is not locked. `resident`: what
// residency sets of the queue and of the command buffer hold. Returns the fault that ended it.
Error execute(Pass& pass, const std::vector<ResourcePointer>& resident);

}  // namespace halyard::inline v0::sim::metal
