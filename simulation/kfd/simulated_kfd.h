// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SimulatedKfd: AMD's kernel driver and its devices, in this process, with the interface through
// which a driver of hardware queues calls the system. The requests and their rules are those of
// Linux 6.12; the queues are of two devices:
//
//   - node 1, gfx1100: PM4, AQL and SDMA queues. Kernels run on the interpreter in
//     simulation/hip/gfx.
//   - node 2, gfx942: the same queues. Packets are checked and executed, but code is not: a
//   dispatch
//     only ends.
//
// Nothing runs by itself. step() does the next small piece of work of one queue; a seed chooses the
// queue. WAIT_EVENTS steps until its events are set. A ProcessorThread steps instead, for programs
// that wait by reading memory.
//
// What the vendor's documents forbid is reported as a violation, with a short name of the rule and
// a sentence, even if hardware would tolerate it. A queue whose packets are wrong stops, as
// hardware would hang.
//
// All functions may be called by several threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hcq/kernel_interface.h"

namespace halyard::inline v0::sim::kfd {

struct Violation {
  std::string rule;  // such as "unknown-opcode"
  std::string text;  // one sentence
};

// A dispatch, as a host function that stands for its kernel sees it.
struct HostLaunch {
  std::array<std::uint32_t, 3> groups{}, block{};
  std::span<const std::uint32_t> user_data;  // the scalar registers that the queue sets
  // The bytes at an address of the device, or null unless all of them are mapped.
  std::function<std::byte*(std::uint64_t address, std::uint64_t bytes)> memory;
};
using HostKernel = std::function<void(const HostLaunch&)>;

struct Options {
  std::uint64_t seed = 0;
  // Nanoseconds of the host's clock, from which the devices' clocks of 100 MHz are derived. Null:
  // CLOCK_MONOTONIC.
  std::function<std::uint64_t()> now;
  // Words that a queue fetches before it executes them. The real depth is not documented.
  unsigned fetch_ahead = 64;
  // Instructions of a wave after which a dispatch counts as a hang. 0: no limit.
  std::uint64_t max_instructions = 0;
  // Reports races in LDS, missing waits and registers that are read before they are written, which
  // a queue's registers may be the cause of. Kernels run slower.
  bool strict_kernels = true;
  bool print = true;  // violations to stderr, too
};

enum class Fault : std::uint8_t {
  kMemory,     // a page fault: memory events are set, the device's queues stop
  kHang,       // the device's queues stop, and nothing says so
  kException,  // a reset of the device: exception events are set, its queues are lost
};

class SimulatedKfd final : public hcq::KernelInterface {
 public:
  explicit SimulatedKfd(Options options = {});
  // Reports what is left open. Precondition: no other thread uses this.
  ~SimulatedKfd() override;

  Result<int> open(const char* path, int flags) override;
  void close(int descriptor) override;
  int ioctl(int descriptor, unsigned long request, void* argument) override;
  Result<void*> map(void* at, std::size_t bytes, int protection, int flags, int descriptor,
                    std::int64_t offset) override;
  int unmap(void* at, std::size_t bytes) override;
  Result<std::string> read_file(const char* path) override;
  Result<std::vector<std::string>> list(const char* directory) override;

  // Lets one queue do a piece of work. Returns false if no queue can.
  bool step();
  // Steps until no queue can do anything. Returns what each queue with work left waits for, one
  // sentence each: empty if all work is done.
  std::vector<std::string> run_until_idle();

  // Violations since the last call.
  std::vector<Violation> take_violations();
  // Makes `device`, an index from 0, fault now. `address` is that of a page fault.
  void inject(unsigned device, Fault fault, std::uint64_t address = 0);
  // Runs `kernel` for dispatches whose code is at `entry`, on every device, instead of that code.
  void set_host_kernel(std::uint64_t entry, HostKernel kernel);

 private:
  friend class ProcessorThread;
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// A thread that steps a simulated driver until it is destroyed. While there is one, WAIT_EVENTS
// sleeps for its timeout.
class ProcessorThread {
 public:
  explicit ProcessorThread(SimulatedKfd& kfd);
  ~ProcessorThread();
  ProcessorThread(const ProcessorThread&) = delete;
  ProcessorThread& operator=(const ProcessorThread&) = delete;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace halyard::inline v0::sim::kfd
