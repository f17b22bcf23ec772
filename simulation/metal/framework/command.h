// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorded form of a command buffer: passes of commands, and the waits and signals between
// them. A command keeps its resources' memory alive, but not the program's objects.
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

// The argument for one [[buffer(n)]]: a resource, or copied bytes.
struct Binding {
  ResourcePointer resource;
  std::uint64_t offset = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool is_set() const { return resource != nullptr || bytes != nullptr; }
};

struct Dispatch {
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<Binding> bindings;  // by slot, up to the last that is set
  std::vector<std::uint32_t> threadgroup_lengths;
  Size3 grid;  // threads, or groups
  bool is_in_groups = true;
  Size3 group;
  ResourcePointer indirect;  // the number of groups is three uint32_t at this offset
  std::uint64_t indirect_offset = 0;
  bool lacks_pipeline = false;  // fails by Options::wants_direct_dispatch
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
// All earlier dispatches end before any later dispatch begins. With resources, this holds only for
// dispatches that use one of them.
struct Barrier {
  std::vector<ResourcePointer> resources;
};
using Command = std::variant<Dispatch, Copy, Fill, Synchronize, Barrier>;

// useResource: or useHeap: of an encoder. It applies to all commands except the first `from`.
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

// The commands that one encoder has recorded.
struct Pass {
  bool is_compute = false;
  bool is_concurrent = false;
  bool is_barrier = false;  // barrierAfterQueueStages: waits for all earlier passes of the queue
  std::string label;
  std::vector<std::string> signposts;
  std::vector<Command> commands;
  std::vector<Use> uses;
  std::vector<std::shared_ptr<Fence>> waits, updates;
  PassState state = PassState::kPending;
  // Receive the times of begin and end, in nanoseconds, for counter samples at stage boundaries.
  std::vector<std::function<void(std::uint64_t)>> begin_samples, end_samples;
  // Every resource that a command names, once, with its access. Computed by end().
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

// Checks a dispatch when it is encoded, and reports unset slots, offsets that are misaligned for
// the device's family, and wrong group sizes. Returns false if it cannot run.
bool check(const Dispatch& dispatch, const Device& device);

// Executes the commands of a pass as a device would. `resident`: the contents of the residency sets
// of the queue and the command buffer. Returns the fault that ended the pass. The caller does not
// hold State::mutex.
Error execute(Pass& pass, const std::vector<ResourcePointer>& resident);

}  // namespace halyard::inline v0::sim::metal
