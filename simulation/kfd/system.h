// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state behind SimulatedKfd: devices with their queues and memory, events, descriptors. `mutex`
// guards all of it; functions here are called with it locked, unless they say otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/kfd/events.h"
#include "simulation/kfd/kernel_code.h"
#include "simulation/kfd/memory.h"
#include "simulation/kfd/report.h"
#include "simulation/kfd/simulated_kfd.h"
#include "simulation/kfd/topology.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim::kfd {

class Queue;

enum class Health : std::uint8_t {
  kWorking,
  kHung,     // queues do nothing, and no event says so
  kFaulted,  // after a page fault
  kLost,     // after a reset
};

struct Device {
  Device(unsigned device_index, const Node& device_node, File& file);
  ~Device();

  const unsigned index;
  const Node& node;
  Backing doorbells;
  Backing registers;  // the page that MMIO_REMAP maps: the HDP flush registers
  AddressSpace space;
  KernelCodeCache code;
  bool has_vm = false;
  Health health = Health::kWorking;
  std::vector<std::unique_ptr<Queue>> queues;
};

// How an access failed: the reasons of a memory event.
enum class Access : std::uint8_t { kRead, kWrite, kExecute };

struct System {
  explicit System(Options given);
  ~System();

  // The file that a descriptor was opened for.
  enum class DescriptorKind : std::uint8_t { kKfd, kRender };
  struct Descriptor {
    DescriptorKind kind = DescriptorKind::kKfd;
    unsigned device = 0;
  };

  // requests.cpp: the checks that every request has in common.
  int request(unsigned long number, void* argument, std::unique_lock<std::mutex>& lock);
  // device_requests.cpp
  int get_clock_counters(abi::GetClockCounters& args);
  int get_process_apertures(abi::GetProcessAperturesNew& args);
  int acquire_vm(abi::AcquireVm& args);
  int available_memory(abi::AvailableMemory& args);
  // memory_requests.cpp
  int alloc_memory(abi::AllocMemory& args);
  int free_memory(abi::FreeMemory& args);
  int map_memory(abi::MapMemory& args);
  int unmap_memory(abi::MapMemory& args);
  // queue_requests.cpp
  int create_queue(abi::CreateQueue& args);
  int update_queue(abi::UpdateQueue& args);
  int destroy_queue(abi::DestroyQueue& args);
  // event_requests.cpp
  int create_event(abi::CreateEvent& args);
  int wait_events(abi::WaitEvents& args, std::unique_lock<std::mutex>& lock);

  // Reports a violation, and returns the error of a request that it makes fail.
  int refuse(int error, std::string_view rule, std::string text);
  Device* find_device(std::uint32_t gpu_id);
  // The device whose address space the request needs. Reports and sets `error` if it is unknown or
  // has none.
  Device* bound_device(std::uint32_t gpu_id, std::string_view request, int& error);
  Buffer* find_buffer(std::uint64_t handle);

  bool step();
  std::uint64_t nanoseconds() const;
  std::uint64_t ticks() const { return nanoseconds() / 10; }  // of 100 MHz
  void page_fault(Device& device, std::uint64_t address, Access access);
  void reset_device(Device& device);
  void report_leaks();

  const Options options;
  Report report;
  Random random;
  File file;
  Events events;
  const std::map<std::string, std::string> files = sysfs_files();
  std::vector<std::unique_ptr<Device>> devices;
  std::map<std::uint64_t, std::unique_ptr<Buffer>> buffers;  // by handle
  std::map<std::uint64_t, std::uint64_t> device_writes;  // the last value a queue wrote, by address
  std::map<std::uint64_t, HostKernel> host_kernels;
  std::map<int, Descriptor> descriptors;
  Backing event_page;  // if the program brought none
  std::uint64_t event_page_handle = 0;
  std::uint32_t next_buffer = 1, next_queue = 0;
  int next_descriptor = 1 << 20;  // not one of the system's
  unsigned processor_threads = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable changed;
};

}  // namespace halyard::inline v0::sim::kfd
