// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/world/plan.h"

#include <fmt/format.h>

#include <iterator>

#include "base/format.h"

namespace halyard::inline v0::sim {
namespace {

constexpr const char* kNames[] = {"barrier",      "fill",           "update",
                                  "execute",      "dispatch",       "host call",
                                  "file",         "event",          "pool",
                                  "signal",       "wait",           "query",
                                  "on_reach",     "wait idle",      "flush",
                                  "renew",        "drop handle",    "fail",
                                  "cancel",       "drop semaphore", "drop submission",
                                  "close device", "lose device"};
constexpr const char* kHandleNames[] = {"the device", "the pool",   "the cells",
                                        "the tokens", "the look",   "the stage",
                                        "the event",  "the kernel", "the file"};
static_assert(std::size(kHandleNames) == kHandles);
constexpr const char* kDrivers[] = {"sim", "cpu", "serial", "cuda", "hip", "metal"};

NodeKind pick_kind(Random& random, bool faulty, bool loses_devices) {
  static constexpr NodeKind kCommon[] = {
      NodeKind::kBarrier, NodeKind::kFill,     NodeKind::kUpdate,   NodeKind::kExecute,
      NodeKind::kExecute, NodeKind::kDispatch, NodeKind::kHostCall, NodeKind::kPool,
      NodeKind::kFile,    NodeKind::kEvent,    NodeKind::kSignal,   NodeKind::kSignal,
      NodeKind::kWait,    NodeKind::kWait,     NodeKind::kQuery,    NodeKind::kOnReach,
  };
  static constexpr NodeKind kRare[] = {NodeKind::kWaitIdle, NodeKind::kFlush, NodeKind::kRenewQueue,
                                       NodeKind::kDropHandle};
  static constexpr NodeKind kFaults[] = {NodeKind::kFail,           NodeKind::kCancel,
                                         NodeKind::kCancel,         NodeKind::kDropSemaphore,
                                         NodeKind::kDropSubmission, NodeKind::kCloseDevice,
                                         NodeKind::kLoseDevice};
  if (random.one_in(10)) return kRare[random.below(std::size(kRare))];
  if (faulty && random.one_in(6)) {
    return kFaults[random.below(std::size(kFaults) - (loses_devices ? 0 : 1))];
  }
  return kCommon[random.below(std::size(kCommon))];
}

}  // namespace

Plan::Plan(std::uint64_t from) : seed(from), async(from % 4 == 3) {
  Random random(Random::mix(seed ^ 0x706c616e));
  driver = random.one_in(4) ? Driver::kCpu : random.one_in(8) ? Driver::kSerial : Driver::kSim;
  if (is_over_cuda(seed)) driver = Driver::kCuda;
  if (is_over_hip(seed)) driver = Driver::kHip;
  if (is_over_metal(seed)) driver = Driver::kMetal;
  faulty = random.one_in(2);
  devices = static_cast<std::uint32_t>(random.between(1, 3));
  workers = static_cast<std::uint32_t>(random.between(1, 2));
  created = random.one_in(2) ? 0 : static_cast<std::uint32_t>(random.between(1, 2));
  spurious = random.one_in(2);
  semaphores = static_cast<std::uint32_t>(random.between(1, 5));
  threads = static_cast<std::uint32_t>(random.between(1, 4));
  pool_size = 4096 * random.between(1, 4);

  options.marks_every_submission = random.one_in(2);
  options.own_domains = random.one_in(4);
  options.one_way = options.own_domains && devices == 2;
  options.max_in_flight = random.one_in(2) ? 64 : static_cast<std::uint32_t>(random.between(1, 4));
  options.busy = random.one_in(4) ? 64 : 0;
  if (random.one_in(4)) options.max_backlog = static_cast<std::uint32_t>(random.between(1, 4));
  options.native.longest_packet = static_cast<Nanoseconds>(random.below(3) * 2'000);
  options.native.longest_notice = random.one_in(2) ? 0 : 3'000;
  if (faulty && driver == Driver::kSim) {
    if (random.one_in(3)) options.native.notices_lost = 64;
    if (random.one_in(3)) {
      options.native.failing_call = random.between(12, 150);
      options.native.fails_for_good = random.one_in(2);
      options.faulty_device = static_cast<std::uint32_t>(random.below(devices));
    }
  }

  // Drawn from a separate generator, so that all other draws of a seed stay the same.
  if (Random(Random::mix(seed ^ 0x73746f70)).one_in(2)) options.native.stops_late = 128;

  if (has_gpu()) draw_gpu();
  if (async) {
    loses_devices = faulty && (driver == Driver::kSim || has_gpu());
    tight = loses_devices && random.one_in(2);
    options.allocations_fail = true;
    if (!faulty) options.max_backlog = SimDriverOptions().max_backlog;
    // A device with memory for more than a slab (hal::PoolInfo::slab_size) has all tensors in one
    // slab; with less, each slab is one tensor's.
    options.native.device_memory = tight              ? 1024 * random.between(2, 16)
                                   : random.one_in(2) ? std::uint64_t{1} << 20
                                                      : std::uint64_t{1} << 23;
    if (driver == Driver::kMetal) {
      // The driver's argument blocks are in device memory besides the tensors. Without heaps, as a
      // heap of 64 MiB is larger than the tensor that must not fit.
      gpu.metal.heaps = false;
      gpu.scarce = tight;
      gpu.device_memory = tight ? options.native.device_memory : std::uint64_t{1} << 25;
      return;
    }
    gpu.device_memory = options.native.device_memory;
    gpu.scarce = false;
    return;
  }
  producers.resize(semaphores);
  const std::uint64_t count = random.between(4, 30);
  for (std::uint32_t k = 0; k < count; ++k) {
    Node node;
    node.kind = pick_kind(random, faulty, driver == Driver::kSim || has_gpu());
    node.thread = static_cast<std::uint32_t>(random.below(threads));
    node.queue = static_cast<std::uint32_t>(random.below(queues()));
    node.delay = random.one_in(3) ? static_cast<Nanoseconds>(random.below(4'000)) : 0;
    node.any = random.one_in(3);
    node.fails = faulty && random.one_in(8);
    node.and_wait = random.one_in(6);
    node.chained = random.one_in(3);
    node.waits_for_room = random.one_in(3);
    node.patience = random.one_in(4) ? 0 : static_cast<Nanoseconds>(random.below(60'000));
    const bool signals = node.kind <= NodeKind::kSignal;
    const bool waits = node.kind != NodeKind::kSignal && node.kind <= NodeKind::kOnReach;
    for (std::uint64_t i = waits ? random.below(4) : 0; i != 0; --i) {
      const auto s = static_cast<std::uint32_t>(random.below(semaphores));
      if (producers[s].empty()) continue;
      // The value of a producer, or the value below, which perhaps no node signals.
      std::uint64_t value = producers[s][random.below(producers[s].size())].value;
      if (random.one_in(4)) value -= random.below(2);
      if (value != 0) node.waits.push_back({s, value});
    }
    if (!waits) node.waits.clear();
    if (node.kind >= NodeKind::kWait && node.kind <= NodeKind::kOnReach && node.waits.empty()) {
      node.kind = NodeKind::kQuery;
    }
    for (std::uint64_t i = signals ? (node.kind == NodeKind::kSignal ? 1 : random.between(1, 2))
                                   : 0;
         i != 0; --i) {
      const auto s = static_cast<std::uint32_t>(random.below(semaphores));
      const std::uint64_t last = producers[s].empty() ? 0 : producers[s].back().value;
      if (!producers[s].empty() && producers[s].back().node == k) continue;
      // Sometimes the value of another producer. The later of the two is refused or changes
      // nothing.
      node.signals.push_back({s, last + random.between(last == 0 ? 1 : 0, 2)});
      producers[s].push_back({node.signals.back().value, k});
    }
    const bool of_device =
        node.kind == NodeKind::kLoseDevice || node.kind == NodeKind::kCloseDevice;
    node.handle = static_cast<Handle>(random.below(kHandles));
    node.other = of_device ? static_cast<std::uint32_t>(random.below(devices))
                           : static_cast<std::uint32_t>(random.below(k + 1));
    loses_devices |= node.kind == NodeKind::kLoseDevice;
    nodes.push_back(std::move(node));
  }
  if (faulty) {
    Random more(Random::mix(seed ^ 0x67697665));
    for (Node& node : nodes) node.gives_up = node.kind == NodeKind::kPool && more.one_in(3);
  } else {
    // Without faults no host thread needs handles of its submissions, and pools may be small.
    Random more(Random::mix(seed ^ 0x6d6f7265));
    tight_pools = !small_backlog() && more.one_in(2);
    pool_size = 4096 * more.between(1, 2);
    for (Node& node : nodes) {
      // The engine checks for dropped buffers only every 10 ms, which would count here as a lost
      // wake-up.
      if (tight_pools && node.kind == NodeKind::kPool) node.chained = false;
      if (node.kind == NodeKind::kQuery && more.one_in(4)) node.kind = NodeKind::kDropSubmission;
    }
  }
  loses_devices |=
      options.native.failing_call != 0 || gpu.failing_call != 0 || gpu.failing_kernel != 0;
}

// Draws devices of cuda://, hip:// or metal://, sometimes with one device of another driver.
void Plan::draw_gpu() {
  Random random(Random::mix(seed ^ 0x63756461));
  const Driver one_of[] = {driver, driver, Driver::kCpu, Driver::kSim};
  beside = devices > 1 ? one_of[random.below(4)] : driver;
  options.one_way = false;  // only between sim:// devices
  gpu.devices = beside == driver ? devices : devices - 1;
  gpu.library = driver == Driver::kHip     ? GpuLibrary::kHip
                : driver == Driver::kMetal ? GpuLibrary::kMetal
                                           : GpuLibrary::kCuda;
  gpu.adversarial = random.one_in(2);
  gpu.host_delay = random.one_in(2) ? 20'000 : 0;
  gpu.poll_time = seed / (driver == Driver::kHip ? kHipEvery : kCudaEvery) % 5 == 0
                      ? 2000
                      : 0;  // without, threads sleep more often
  if (driver == Driver::kMetal) draw_metal(random);
  if (faulty) return draw_gpu_fault(random);
  constexpr const char* kModes[] = {"host_callback", "event", "flag"};
  gpu.completion_mode = kModes[random.below(3)];
  constexpr int kVersions[] = {715, 700, 603, 506};
  if (driver == Driver::kHip) gpu.hip_version = kVersions[random.below(4)];
}

void Plan::draw_gpu_fault(Random& random) {
  gpu.faulty_device = static_cast<std::uint32_t>(random.below(gpu.devices));
  switch (random.below(5)) {
    case 0:
    case 1:
      gpu.failing_call = random.one_in(4) ? random.between(1, 30) : random.between(30, 300);
      gpu.fails_for_good = random.one_in(2);
      break;
    case 2:
      gpu.failing_kernel = random.between(1, 6);
      break;
    case 3:
      gpu.device_memory = 4096 * random.between(1, 4) + 64;
      gpu.scarce = true;
      break;
    default:
      break;  // only by nodes of the plan
  }
}

void Plan::draw_metal(Random& random) {
  MetalOptions& metal = gpu.metal;
  metal.devices = static_cast<std::uint32_t>(random.between(1, gpu.devices));
  metal.discrete = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << metal.devices));
  metal.removable = random.one_in(2);
  metal.heaps = random.one_in(2);
  constexpr std::uint32_t kSplits[] = {1, 2, 3, 64};
  metal.split = kSplits[random.below(4)];
  // The values of Internal, Timeout, PageFault, AccessRevoked, OutOfMemory and InvalidResource in
  // Apple's documentation of MTLCommandBufferError.Code.
  constexpr int kErrors[] = {1, 2, 3, 4, 8, 9};
  metal.error = kErrors[random.below(6)];
  metal.nil_object = random.one_in(2);
}

Result<std::vector<hal::Device>> Plan::open(hal::DriverRegistry& registry,
                                            std::vector<NativeDevice*>& natives) const {
  SimDriverOptions with_devices = options;
  with_devices.devices = &natives;
  check(hal::register_all_drivers(registry));
  if (has_gpu()) {
    with_devices.native.failing_call = 0;
    check(registry.add(make_sim_driver(with_devices)));
    natives.resize(gpu.devices);
    std::string uri = fmt::format("{}://?devices={}&poll_time={}",
                                  kDrivers[static_cast<int>(driver)], gpu.devices, gpu.poll_time);
    uri += driver == Driver::kMetal
               ? fmt::format("&heaps={:d}&split={}", gpu.metal.heaps, gpu.metal.split)
               : fmt::format("&completion_mode={}", gpu.completion_mode);
    HALYARD_ASSIGN_OR_RETURN(std::vector<hal::Device> opened, registry.open_all(uri));
    if (beside == driver) return opened;
    const std::string other =
        beside == Driver::kCpu ? fmt::format("cpu://?workers={}", workers) : "sim://";
    HALYARD_ASSIGN_OR_RETURN(std::vector<hal::Device> last, registry.open_all(other));
    opened.push_back(std::move(last.front()));
    if (natives.size() < opened.size()) natives.push_back(nullptr);
    return opened;
  }
  check(registry.add(make_sim_driver(with_devices)));
  constexpr const char* kUris[] = {"sim://?devices={}", "cpu://?devices={}&workers={}",
                                   "serial://?devices={}"};
  return registry.open_all(
      fmt::format(fmt::runtime(kUris[static_cast<int>(driver)]), devices, workers));
}

std::string Plan::describe() const {
  std::string text = fmt::format(
      "{} device(s) of {}, {} queue(s), {} semaphore(s), {} thread(s){}{}{}{}{}{}\n", devices,
      kDrivers[static_cast<int>(driver)], queues(), semaphores, threads,
      small_backlog() ? fmt::format(", backlog of {}", options.max_backlog) : "",
      spurious ? ", spurious wake-ups" : "", tight_pools ? ", small pools" : "",
      options.marks_every_submission ? "" : ", markers",
      options.one_way       ? ", one waits"
      : options.own_domains ? ", own domains"
                            : "",
      options.native.failing_call != 0
          ? fmt::format(", call {} of device {} fails{}", options.native.failing_call,
                        options.faulty_device, options.native.fails_for_good ? " for good" : "")
          : "");
  if (has_gpu()) {
    text += fmt::format(
        "  {} device(s) of {}, {}{}{}{}\n", gpu.devices,
        driver == Driver::kHip     ? fmt::format("hip {}", gpu.hip_version)
        : driver == Driver::kMetal ? fmt::format("{} MTLDevice(s)", gpu.metal.devices)
                                   : "cuda",
        driver == Driver::kMetal
            ? fmt::format("discrete {:b}{}{}, {} in a buffer", gpu.metal.discrete,
                          gpu.metal.removable ? ", removable" : "",
                          gpu.metal.heaps ? ", heaps" : "", gpu.metal.split)
            : gpu.completion_mode,
        beside == driver ? "" : fmt::format(", one of {}", kDrivers[static_cast<int>(beside)]),
        gpu.adversarial ? ", adversarial" : "",
        gpu.failing_call != 0
            ? fmt::format(", call {} of device {} fails{}", gpu.failing_call, gpu.faulty_device,
                          gpu.metal.nil_object ? " as an object"
                          : gpu.fails_for_good ? " for good"
                                               : "")
        : gpu.failing_kernel != 0 ? fmt::format(", kernel {} has a fault", gpu.failing_kernel)
        : gpu.scarce              ? fmt::format(", {} bytes of memory", gpu.device_memory)
                                  : "");
  }
  const auto points = [&](const char* what, const std::vector<PlannedPoint>& list) {
    for (const PlannedPoint& point : list) {
      text += fmt::format(" {} s{}:{}", what, point.semaphore, point.value);
    }
  };
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const Node& node = nodes[k];
    text += fmt::format("  {:2} thread {} {}", k, node.thread, kNames[static_cast<int>(node.kind)]);
    if (is_submission(node) ||
        (node.kind >= NodeKind::kWaitIdle && node.kind <= NodeKind::kDropHandle))
      text += fmt::format(" on queue {}", node.queue);
    if (node.kind == NodeKind::kDropHandle) {
      text += fmt::format(": {}", kHandleNames[static_cast<int>(node.handle)]);
    }
    if (node.kind == NodeKind::kCancel || node.kind == NodeKind::kDropSubmission ||
        node.kind == NodeKind::kCloseDevice || node.kind == NodeKind::kLoseDevice) {
      text += fmt::format(" {}", node.other);
    }
    if (node.gives_up) text += ", given up";
    points("waits", node.waits);
    points("signals", node.signals);
    text += '\n';
  }
  return text;
}

}  // namespace halyard::inline v0::sim
