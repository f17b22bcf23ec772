// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "world.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "drivers/cpu/executable.h"
#include "drivers/cpu/ring_group.h"
#include "hal/executable/executable.h"
#include "machine.h"

namespace halyard::bench {
namespace {

constexpr const char* kDevice = "cpu://?workers=1";
constexpr const char* kWorkerName = "hy-worker";

}  // namespace

World::World(bool quick) : quick_(quick) {
  std::string missing;
  const auto add = [](std::string& list, std::string_view name) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  };
#if defined(HALYARD_BENCH_OPENCL)
  std::string problem;
  opencl_ = open_opencl(problem);
  opencl_ != nullptr ? add(peers_text_, opencl_->name()) : add(missing, "OpenCL (" + problem + ")");
#else
  add(missing, "OpenCL");
#endif
#if defined(HALYARD_BENCH_TBB)
  for (TaskPeer& peer : tbb_peers()) {
    add(peers_text_, peer.name);
    task_peers_.push_back(std::move(peer));
  }
#else
  add(missing, "TBB");
#endif
#if defined(HALYARD_BENCH_TASKFLOW)
  for (TaskPeer& peer : taskflow_peers()) {
    add(peers_text_, peer.name);
    task_peers_.push_back(std::move(peer));
  }
#else
  add(missing, "Taskflow");
#endif
#if defined(HALYARD_BENCH_STDEXEC)
  add(peers_text_, "stdexec");
#else
  add(missing, "stdexec");
#endif
#if defined(HALYARD_BENCH_OPENMP)
  for (TaskPeer& peer : openmp_peers()) task_peers_.push_back(std::move(peer));
  add(peers_text_, "OpenMP");
#else
  add(missing, "OpenMP");
#endif
  if (!missing.empty()) peers_text_ += "; missing: " + missing;

  // Pools start their threads with their first work.
  std::uint32_t sum = 0;
  void* const buffers[] = {&sum};
  const Call call{[](const Workgroup*, void* const*, const void*) {}, buffers, nullptr};
  for (const TaskPeer& peer : task_peers_) {
    if (peer.spawn) (void)peer.spawn(call, 1000);
  }

  device_ = hal::open(kDevice).value();
  try {
    kernels_ = load(device_, "bench");
  } catch (const Unavailable& reason) {
    kernels_problem_ = reason.what();
  }
}

hal::Device World::open_all_cores() {
  const unsigned workers = std::max(2u, cpu::core_count()) - 1;
  return hal::open("cpu://?workers=" + std::to_string(workers)).value();
}

std::string World::kernel_file(std::string_view file) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path() / "kernels" / (std::string(file) + ".hyx")).string();
}

hal::Executable World::load(const hal::Device& device, std::string_view file) {
  auto kernels = device.load(kernel_file(file));
  if (!kernels.ok()) throw Unavailable("kernels: " + kernels.status().to_string());
  return *std::move(kernels);
}

hal::Device World::open_device(int core) {
  const std::vector<pid_t> before = threads_named(kWorkerName);
  hal::Device device = hal::open(kDevice).value();
  // A thread sets its name some time after it has started.
  for (const auto end = Clock::now() + std::chrono::seconds(5); Clock::now() < end;) {
    for (const pid_t thread : threads_named(kWorkerName)) {
      if (std::find(before.begin(), before.end(), thread) != before.end()) continue;
      pin_thread(thread, core);
      return device;
    }
    std::this_thread::yield();
  }
  throw Unavailable("the worker thread of a new device is not to be found");
}

hal::Function World::function(std::string_view name) const {
  if (!kernels_) throw Unavailable(kernels_problem_);
  return kernels_.function(name).value();
}

hcq::Kernel World::entry(const hal::Function& function) {
  return static_cast<const cpu::Executable&>(function.executable()->impl()).entry(function.index());
}

Words::Words(const hal::Device& device, std::size_t count)
    : buffer_(device
                  .allocate({.size = count * sizeof(std::uint32_t),
                             .memory = hal::MemoryType::kHostVisible})
                  .value()),
      mapping_(buffer_.map().value()),
      words_(mapping_.as<std::uint32_t>().data()) {
  std::fill_n(words_, count, 0u);
}

}  // namespace halyard::bench
