// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs programs that make every call of the metal driver to Metal, and fails each call and each
// allocation: once, from the n-th on, and (calls only) with all later calls to Metal. Each time,
// all work ends, the error names the failed call, Metal is not misused, and no object of Metal
// leaks. tests/call_sites covers the calls outside this driver.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/native_call.h"
#include "call_sites/faults.h"
#include "drivers/metal/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "simulation/metal/framework/process.h"

namespace halyard::metal {
namespace {

using namespace std::chrono_literals;
using base::CallSite;
using hal::MemoryType;
using halyard::testing::Fault;
using halyard::testing::Faults;
using Reach = Fault::Reach;

constexpr std::chrono::seconds kPatience{20};  // a longer wait hangs
constexpr std::uint32_t kWords = 1024;

// The expected result of a failing call. A call has several if the result depends on its purpose.
struct Outcome {
  std::string_view site;
  bool reported;         // some such failures cause an error; otherwise Halyard has a fallback
  std::string_view why;  // part of the message, or the fallback
  StatusCode code = StatusCode::kOk;
};
constexpr auto kExhausted = StatusCode::kResourceExhausted;

constexpr Outcome kOutcomes[] = {
    {"array.resize", true, "memory", kExhausted},
    {"block_pool.allocate", true, "memory", kExhausted},
    {"metal.MTLCopyAllDevices", false, "the default device is asked for"},
    {"metal.MTLCreateSystemDefaultDevice", true, "there is no device", StatusCode::kNotFound},
    {"metal.MTLSharedEventListener", true, "MTLSharedEventListener failed", kExhausted},
    {"metal.blitCommandEncoder", true, "blitCommandEncoder failed", kExhausted},
    {"metal.commandBufferWithUnretainedReferences", true, "commandBuffer failed", kExhausted},
    {"metal.computeCommandEncoderWithDispatchType", true, "computeCommandEncoder failed",
     kExhausted},
    {"metal.initWithBytes", true, "no memory for a source of", kExhausted},
    {"metal.initWithBytes", true, "no memory for an executable", kExhausted},
    {"metal.initWithBytes", true, "newFunctionWithName failed", kExhausted},
    {"metal.newArgumentEncoderWithBufferIndex", true, "newArgumentEncoderWithBufferIndex failed",
     kExhausted},
    {"metal.newBufferWithBytesNoCopy", true, "newBufferWithBytesNoCopy failed", kExhausted},
    {"metal.newBufferWithLength", true, "no memory for", kExhausted},
    {"metal.newBufferWithLength_of_heap", true, "no memory for", kExhausted},
    {"metal.newCommandQueueWithMaxCommandBufferCount", true, "newCommandQueue failed", kExhausted},
    {"metal.newComputePipelineStateWithFunction", true,
     "newComputePipelineStateWithFunction failed", kExhausted},
    {"metal.newFence", true, "newFence failed", kExhausted},
    {"metal.newFunctionWithName", true, "newFunctionWithName failed", kExhausted},
    {"metal.newFunctionWithName", true, "has no entry", StatusCode::kDataLoss},
    {"metal.newHeapWithDescriptor", true, "no memory for", kExhausted},
    {"metal.newLibraryWithSource", true, "newLibraryWithSource failed", kExhausted},
    {"metal.newSharedEvent", true, "newSharedEvent failed", kExhausted},
};

Status wrong(std::string_view what) { return Status(StatusCode::kInternal, what); }

Status holds(const hal::Buffer& buffer, std::uint32_t word) {
  HALYARD_ASSIGN_OR_RETURN(hal::Mapping mapping, buffer.map());
  const bool does = std::ranges::all_of(mapping.as<std::uint32_t>(),
                                        [&](std::uint32_t its) { return its == word; });
  return does ? Status() : wrong("the words are others");
}

hal::BufferInfo info(std::uint64_t size, MemoryType type) { return {.size = size, .memory = type}; }
hal::BufferInfo visible() { return info(kWords * 4, MemoryType::kHostVisible); }

// ---- Programs, each with its own runtime. They return their first error.

Status find_devices() {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_metal_driver(registry));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<hal::DeviceInfo> listed, registry.enumerate());
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("metal://"));
  return listed.size() == 1 ? Status() : wrong("there are not one device");
}

// Without a device, the default device is also requested.
Status find_none() {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_metal_driver(registry));
  const Status refused = registry.open("metal://").status();
  return refused.code() == StatusCode::kNotFound ? Status() : wrong("a device was opened");
}

Status use_memory() {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_metal_driver(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("metal://?heaps=1"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer from_heap,
                           device.allocate(info(kWords * 4, MemoryType::kDeviceLocal)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Pool pool,
                           device.create_pool({.memory = MemoryType::kDeviceLocal,
                                               .slab_size = std::uint64_t{40} << 20}));
  HALYARD_ASSIGN_OR_RETURN(
      const hal::Buffer large,
      device.allocate(info(std::uint64_t{20} << 20, MemoryType::kDeviceLocal)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer local,
                           device.allocate(info(kWords * 4, MemoryType::kHostLocal)));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(visible()));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  HALYARD_RETURN_IF_ERROR(queue.fill(from_heap, 0x0505'0505, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(queue.copy({from_heap, 0, 4096}, {large, 4096, 4096},
                                     {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(
      queue.copy({large, 4096, 4096}, x, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  // Done by kernels: a pattern of two bytes, and a range of partial words.
  HALYARD_RETURN_IF_ERROR(
      queue.fill(local, 0x0706, 2, {.wait = {{done, 3}}, .signal = {{done, 4}}}));
  HALYARD_RETURN_IF_ERROR(
      device.queue(hal::QueueKind::kCopy)
          .copy({x, 5, 7}, {local, 1, 7}, {.wait = {{done, 4}}, .signal = {{done, 5}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(5, kPatience));
  HALYARD_RETURN_IF_ERROR(holds(x, 0x0505'0505));
  HALYARD_ASSIGN_OR_RETURN(hal::Mapping mapping, local.map());
  const std::span<const std::byte> bytes = mapping.bytes();
  return bytes[0] == std::byte{6} && bytes[1] == std::byte{5} && bytes[8] == std::byte{6}
             ? Status()
             : wrong("the bytes are others");
}

// The user's memory is released exactly once, unless the import was refused.
Status lend_memory() {
  alignas(16384) static std::byte bytes[16384];  // whole pages of Apple's
  static std::atomic<int> released;
  released = 0;
  bool taken = false;
  const auto use = [&]() -> Status {
    hal::DriverRegistry registry;
    HALYARD_RETURN_IF_ERROR(register_metal_driver(registry));
    HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("metal://"));
    HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
    HALYARD_ASSIGN_OR_RETURN(hal::Buffer lent, device.import_memory(bytes, [] { ++released; }));
    taken = true;
    HALYARD_RETURN_IF_ERROR(device.queue().fill(std::move(lent), 9, 1, {.signal = {{done, 1}}}));
    HALYARD_RETURN_IF_ERROR(done.wait(1, kPatience));
    return std::ranges::all_of(bytes, [](std::byte its) { return its == std::byte{9}; })
               ? Status()
               : wrong("the bytes are others");
  };
  const Status status = use();
  return released == (taken ? 1 : 0) ? status : wrong("it is not released once");
}

Status run_kernels(const std::string& uri) {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_metal_driver(registry));
  static const std::string kernels =
      (std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/metal_kernels.hyx")
          .string();
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open(uri));
  HALYARD_ASSIGN_OR_RETURN(const hal::Executable executable, device.load(kernels));
  HALYARD_ASSIGN_OR_RETURN(const hal::Function blend, executable.function("blend"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(visible()));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer y, device.allocate(visible()));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  const hal::Queue queue = device.queue();
  hal::Recorder recorder(device);
  recorder.fill(x, 5)
      .fill(hal::slot(0), 1)
      .barrier()
      .dispatch(blend, {.items = kWords}, {x, hal::slot(0)}, {7u, kWords})
      .barrier()
      .dispatch(blend, {.items = kWords}, {x, hal::slot(0)}, {1u, kWords});
  HALYARD_ASSIGN_OR_RETURN(const hal::CommandBuffer commands, recorder.finish());
  // y = (1 * 3 + 5 + 7) * 3 + 5 + 1, and twice more from the sum.
  HALYARD_RETURN_IF_ERROR(queue.execute(commands, {.bindings = {y}, .signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(
      queue.execute(commands, {.bindings = {y}, .wait = {{done, 1}}, .signal = {{done, 2}}}));
  HALYARD_RETURN_IF_ERROR(queue.dispatch(blend, {.items = kWords}, {x, y}, {4u, kWords},
                                         {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  HALYARD_RETURN_IF_ERROR(done.wait(3, kPatience));
  HALYARD_RETURN_IF_ERROR(holds(y, 51 * 3 + 5 + 4));
  return blend.resources().status();
}
Status run_kernels_whole() { return run_kernels("metal://"); }
Status run_kernels_in_parts() { return run_kernels("metal://?split=1"); }

// A command buffer fails, and the host releases work that waits for it on the device.
Status lose_device() {
  hal::DriverRegistry registry;
  HALYARD_RETURN_IF_ERROR(register_metal_driver(registry));
  HALYARD_ASSIGN_OR_RETURN(const hal::Device device, registry.open("metal://"));
  HALYARD_ASSIGN_OR_RETURN(const hal::Buffer x, device.allocate(visible()));
  HALYARD_ASSIGN_OR_RETURN(const hal::Semaphore done, device.create_semaphore());
  sim::metal::fail_next(0, 3);
  HALYARD_RETURN_IF_ERROR(device.queue().fill(x, 1, 4, {.signal = {{done, 1}}}));
  HALYARD_RETURN_IF_ERROR(device.queue(hal::QueueKind::kCopy)
                              .fill(x, 2, 4, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  const Status lost = done.wait(2, kPatience);
  return lost.code() == StatusCode::kDeviceLost ? Status() : lost;
}

struct Program {
  std::string_view name;
  Status (*run)();
  bool has_device = true;
};
constexpr Program kPrograms[] = {
    {"find_devices", find_devices},     {"find_none", find_none, false},
    {"use_memory", use_memory},         {"lend_memory", lend_memory},
    {"run_kernels", run_kernels_whole}, {"run_kernels_in_parts", run_kernels_in_parts},
    {"lose_device", lose_device},
};

class MetalCallSites : public ::testing::Test {
 protected:
  struct Ran {
    Status status;
    std::vector<const CallSite*> failed;
    bool allocation = false;
    std::vector<std::uint64_t> calls;  // of each site
  };

  // Runs a program with this fault, as its own process.
  Ran run(const Program& program, const Fault& fault) {
    sim::metal::Options options;
    options.prints = options.aborts = false;
    options.adversities = sim::metal::Adversities::all();
    options.adversities.small_pipelines = false;
    options.wait_timeout =
        2 * std::chrono::nanoseconds(kPatience).count();  // a wait on the device hangs before
    if (!program.has_device) options.devices.clear();
    sim::metal::begin_process(options);
    faults_.plan(fault);
    Ran ran;
    ran.status = program.run();
    ran.failed = faults_.take_failed();
    ran.allocation = faults_.take_failed_allocation();
    for (std::size_t i = 0; i < base::call_sites().size(); ++i) {
      ran.calls.push_back(faults_.calls(i));
    }
    // Blocks are released shortly after their call, together with the objects that they retain.
    const Nanoseconds until = Clock::steady().now() + 20'000'000'000;
    while (sim::metal::live_objects("*") != 0 && Clock::steady().now() < until) sched_yield();
    const sim::metal::EndOfProcess end = sim::metal::end_process();
    const std::string what = fault.to_string() + ", in " + std::string(program.name);
    EXPECT_EQ(end.leaks, "") << what;
    // After the loss, the event already has the value when a running buffer signals it.
    if (!end.misuse.starts_with("event-not-larger") || program.run != lose_device) {
      EXPECT_EQ(end.misuse, "") << what;
    }
    EXPECT_EQ(judge(ran), "") << what;
    return ran;
  }

  // A problem if the status does not match the failed calls, otherwise empty.
  static std::string judge(const Ran& ran) {
    if (ran.status.ok() || (ran.allocation && ran.status.code() == kExhausted)) return "";
    for (const CallSite* site : ran.failed) {
      for (const Outcome& outcome : kOutcomes) {
        if (outcome.site != site->name || !outcome.reported || ran.status.code() != outcome.code ||
            !ran.status.message().contains(outcome.why)) {
          continue;
        }
        reported_.insert(site->name);
        return "";
      }
    }
    return "of another reason: " + ran.status.to_string();
  }

  // Calls to Metal, and allocations of the lists that the driver uses while it encodes.
  static bool is_tried(const CallSite& site) {
    return site.area() == "metal" || site.area() == "array" || site.area() == "block_pool";
  }

  static inline std::set<std::string_view> reported_;
  Faults faults_;  // until no thread uses it
};

TEST_F(MetalCallSites, EachMayFail) {
  const auto sites = base::call_sites();
  std::set<std::string_view> reached;
  int runs = 0;
  for (const Program& program : kPrograms) {
    const Ran whole = run(program, {});
    ASSERT_TRUE(whole.status.ok()) << program.name << ": " << whole.status.to_string();
    for (std::size_t i = 0; i < sites.size(); ++i) {
      const CallSite& site = *sites[i];
      if (!is_tried(site) || whole.calls[i] == 0) continue;
      reached.insert(site.name);
      if (site.error == 0) continue;
      for (std::uint64_t call = 1; call <= whole.calls[i]; ++call) {
        for (const Reach reach : {Reach::kOnce, Reach::kFromThenOn, Reach::kSticky}) {
          (void)run(program, {.site = &site, .call = call, .reach = reach});
          ++runs;
        }
        if (HasFailure()) return;
      }
    }
  }
  for (const CallSite* site : sites) {
    if (!is_tried(*site)) continue;
    EXPECT_TRUE(reached.contains(site->name)) << site->name << " is never reached";
    if (site->error == 0) {
      EXPECT_NE(site->never_fails, "") << site->name;
      continue;
    }
    const auto* const outcome = std::ranges::find(kOutcomes, site->name, &Outcome::site);
    ASSERT_NE(outcome, std::end(kOutcomes)) << site->name << ": what comes of it?";
    EXPECT_EQ(reported_.contains(site->name), outcome->reported) << site->name;
  }
  std::printf("call sites %zu, failed %d times\n", reached.size(), runs);
}

TEST_F(MetalCallSites, EachAllocationMayFail) {
  int runs = 0;
  std::set<const void*> callers;
  for (const Program& program : kPrograms) {
    (void)faults_.take_callers();
    (void)run(program, {});
    for (const void* const caller : faults_.take_callers()) {
      for (const Reach reach : {Reach::kOnce, Reach::kFromThenOn}) {
        (void)run(program, {.caller = caller, .reach = reach});
        ++runs;
      }
      callers.insert(caller);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(callers.size(), 0u);
  std::printf("allocations %zu, failed %d times\n", callers.size(), runs);
}

}  // namespace
}  // namespace halyard::metal
