// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call_sites/workload_device.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/format.h"
#include "base/sanitizers.h"
#include "hal/device/registry.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/dlpack.h"

namespace halyard::testing {

using hal::MemoryType;

Status wrong(std::string_view what) { return Status(StatusCode::kInternal, what); }

bool all_are(std::span<const std::byte> bytes, std::uint32_t word) {
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    if (std::memcmp(&bytes[at], &word, 4) != 0) return false;
  }
  return true;
}

Status holds(const hal::Buffer& buffer, std::uint32_t word) {
  HALYARD_ASSIGN_OR_RETURN(hal::Mapping mapping, buffer.map());
  return all_are(mapping.bytes(), word) ? Status() : wrong("the bytes are others");
}

hal::BufferInfo host_visible(std::uint64_t size) {
  return {.size = size, .memory = MemoryType::kHostVisible};
}

// Uses whole slabs, staging, transfers, pools and further queues of a device.
Status use_memory(std::string_view uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_RETURN_IF_ERROR(registry.enumerate().status());
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer small, device.allocate(host_visible(1024)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer large, device.allocate(host_visible(3u << 20)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  HALYARD_RETURN_IF_ERROR(queue.fill(large, kPattern, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(
      device.queue(hal::QueueKind::kCopy)
          .copy({large, 1u << 20, 1024}, small, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  const std::vector<std::byte> zeroes(512);
  HALYARD_RETURN_IF_ERROR(
      queue.update(small, 512, zeroes, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(3, kPatience));
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping, small.map());
  if (!all_are(mapping.bytes().first(512), kPattern) || !all_are(mapping.bytes().last(512), 0)) {
    return wrong("the bytes are others");
  }

  HALYARD_ASSIGN_OR_RETURN(
      const hal::Pool pool,
      device.create_pool({.memory = MemoryType::kHostVisible, .slab_size = 8192}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore own, device.create_semaphore());
    HALYARD_ASSIGN_OR_RETURN(const hal::Buffer block,
                             queue.allocate(pool, host_visible(4096), {.signal = {{own, 1}}}));
    HALYARD_RETURN_IF_ERROR(
        queue.fill(block, kPattern, 4, {.wait = {{own, 1}}, .signal = {{own, 2}}}));
    HALYARD_RETURN_IF_ERROR(own.wait(2, kPatience));
    HALYARD_RETURN_IF_ERROR(holds(block, kPattern));
    HALYARD_RETURN_IF_ERROR(queue.deallocate(block, {.signal = {{own, 3}}}));
    HALYARD_RETURN_IF_ERROR(own.wait(3, kPatience));
  }
  HALYARD_RETURN_IF_ERROR(pool.trim());

  HALYARD_ASSIGN_OR_RETURN(const hal::Queue urgent,
                           device.create_queue({.priority = hal::QueuePriority::kHigh}));
  std::vector<hal::Semaphore> many;
  for (int i = 0; i < 8; ++i) {  // more than a submission or a wait has inline space for
    HALYARD_ASSIGN_OR_RETURN(many.emplace_back(), device.create_semaphore());
  }
  std::vector<hal::Point> points;
  for (const hal::Semaphore& semaphore : many) points.emplace_back(semaphore, 1);
  HALYARD_RETURN_IF_ERROR(urgent.barrier({.wait = points, .signal = {{done, 4}}}));
  HALYARD_ASSIGN_OR_RETURN(const hal::Fence fence, hal::Fence::create(points));
  HALYARD_RETURN_IF_ERROR(urgent.barrier({.signal = points}));
  HALYARD_RETURN_IF_ERROR(fence.wait(kPatience));
  HALYARD_RETURN_IF_ERROR(done.wait(4, kPatience));
  return urgent.wait_idle(kPatience);
}

// Imports the user's memory, which is released exactly once, unless the import was refused.
Status lend_memory(std::string_view uri) {
  struct Lent {
    alignas(hal::Device::kImportAlignment) std::byte bytes[64]{};
    std::atomic<int> released{0};
  };
  const auto mine = std::make_shared<Lent>();  // until it is released
  const std::span<std::byte> bytes(mine->bytes);
  bool taken = false;
  const auto use = [&]() -> Status {
    hal::DriverRegistry registry;
    HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
    HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
    HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
    HALYARD_ASSIGN_OR_RETURN(hal::Buffer lent,
                             device.import_memory(bytes, [mine] { ++mine->released; }));
    taken = true;
    HALYARD_RETURN_IF_ERROR(
        device.queue().fill(std::move(lent), kPattern, 4, {.signal = {{done, 1}}}));
    HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
    return all_are(bytes, kPattern) ? Status() : wrong("the bytes are others");
  };
  const Status status = use();
  const int released = mine->released;
  // Work on a lost GPU cannot be stopped, so the memory that it uses is leaked.
  const bool is_gpu = uri.starts_with("cuda") || uri.starts_with("hip");
  if (is_gpu && status.code() == StatusCode::kDeviceLost && released == 0) {
    return status;
  }
  return released == (taken ? 1 : 0) ? status : wrong("it is not released once");
}

Status run_kernel(const Workplace& workplace, std::string_view uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  hal::Recorder recorder(device);
  recorder.fill(hal::slot(0), 5)
      .barrier()
      .dispatch(add, {.items = 1024}, {hal::slot(0)}, {3u, 1024u});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  HALYARD_RETURN_IF_ERROR(queue.execute(commands, {.bindings = {x}, .signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(queue.dispatch(add, {.items = 1024}, {x}, {4u, 1024u},
                                         {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(2, kPatience));
  return holds(x, 12);
}

// A graph, its replay with other slots, and a graph that is rebuilt for other slots.
Status replay_graphs(const Workplace& workplace, std::string_view uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_all_drivers(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(workplace.kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function add, executable.function("add"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer y, device.allocate(host_visible(4096)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer z, device.allocate(host_visible(4096)));
  hal::Recorder recorder(device);
  // This many dependencies of one command need an empty node in between.
  for (std::uint64_t i = 0; i < 20; ++i) recorder.fill(hal::BufferRange{z, 4 * i, 4}, 5);
  recorder.barrier()
      .fill(hal::slot(0), 5)
      .barrier()
      .dispatch(add, {.items = 1024}, {hal::slot(1)}, {3u, 1024u})
      .barrier()
      .copy(hal::slot(1, 0, 4), hal::BufferRange{z, 0, 4});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  const hal::BufferRange tables[][2] = {{x, x}, {y, y}, {{x, 0, 0}, y}};
  std::uint64_t value = 0;
  for (const auto& table : tables) {
    HALYARD_RETURN_IF_ERROR(
        device.queue().execute(commands, {.bindings = table, .signal = {{done, ++value}}}));
    HALYARD_RETURN_IF_ERROR(done.wait(value, kPatience));
  }
  HALYARD_RETURN_IF_ERROR(holds(x, 8));
  return holds(y, 11);
}

}  // namespace halyard::testing
