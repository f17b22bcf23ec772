// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/topology.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cpu_test_util.h"
#include "drivers/cpu/driver.h"
#include "drivers/cpu/ring.h"
#include "hcq/signal_object.h"

namespace halyard::cpu {
namespace {

namespace fs = std::filesystem;

// A machine's /sys/devices/system, for the duration of the test.
class Machine {
 public:
  Machine() { fs::create_directories(folder_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { fs::remove_all(folder_); }

  // Two nodes with two cores of two processors each; siblings differ by four, as usual on Linux.
  static void make_large(const Machine& machine) {
    for (unsigned i = 0; i < 8; ++i) {
      machine.write("cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list",
                    std::to_string(i % 4) + "," + std::to_string(i % 4 + 4));
    }
    machine.write("node/node0/cpulist", "0-1,4-5");
    machine.write("node/node1/cpulist", "2-3,6-7");
    machine.write("node/node2/cpulist", "");  // memory only
    machine.write("node/possible", "0-2");
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text << '\n';
  }
  Topology read(const Processors& allowed) const { return Topology::read(folder_, allowed); }

 private:
  const std::string folder_ = fs::temp_directory_path() / ("hy-sys-" + std::to_string(::getpid()));
};

constexpr unsigned kDefault = 0;
const Processors kAll = {0, 1, 2, 3, 4, 5, 6, 7};

TEST(Topology, ReadsCoresAndNodes) {
  const Machine machine;
  Machine::make_large(machine);
  const Topology topology = machine.read(kAll);
  EXPECT_EQ(topology.cores, (std::vector<Processors>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  ASSERT_EQ(topology.nodes.size(), 2u);
  EXPECT_EQ(topology.nodes[1].number, 1u);
  EXPECT_EQ(topology.nodes[1].processors, (Processors{2, 3, 6, 7}));
}

TEST(Topology, KnowsNoProcessorThatIsNotAllowed) {
  const Machine machine;
  Machine::make_large(machine);
  const Topology topology = machine.read({1, 4, 5});
  EXPECT_EQ(topology.cores, (std::vector<Processors>{{1, 5}, {4}}));
  ASSERT_EQ(topology.nodes.size(), 1u);
  EXPECT_EQ(topology.nodes[0].processors, (Processors{1, 4, 5}));
}

TEST(Topology, ProcessorsWithoutDataAreCores) {
  const Machine machine;
  machine.write("cpu/cpu1/topology/thread_siblings_list", "no list");
  const Topology topology = machine.read({0, 1});
  EXPECT_EQ(topology.cores, (std::vector<Processors>{{0}, {1}}));
  EXPECT_TRUE(topology.nodes.empty());
}

#if defined(HALYARD_POSIX)
TEST(Topology, OfASystemThatBindsNoThreadsIsRefusedByName) {
  for (const char* const affinity : {"core", "node"}) {
    const Status status =
        make_cpu_driver()
            ->open({.driver = "cpu", .path = "", .options = {{"affinity", affinity}}})
            .status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_NE(status.message().find("affinity"), std::string_view::npos) << status.to_string();
  }
}
#else
TEST(Topology, OfThisMachineHasACore) { EXPECT_FALSE(Topology::here().value().cores.empty()); }
#endif

TEST(Placement, CoreGivesEachWorkerOfEachDeviceACoreOfItsOwn) {
  const Machine machine;
  Machine::make_large(machine);
  const Topology topology = machine.read(kAll);
  const Placement all = place(topology, Affinity::kCore, 0, 1, kDefault).value();
  EXPECT_EQ(all.workers, 4u);
  EXPECT_EQ(all.processors, topology.cores);
  EXPECT_FALSE(all.node);
  const Placement second = place(topology, Affinity::kCore, 1, 2, kDefault).value();
  EXPECT_EQ(second.processors, (std::vector<Processors>{{2, 6}, {3, 7}}));
}

TEST(Placement, CoreRefusesMoreWorkersThanCores) {
  const Topology topology{.cores = {{0}, {1}}, .nodes = {}};
  EXPECT_EQ(place(topology, Affinity::kCore, 0, 1, 3).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(place(topology, Affinity::kCore, 0, 3, kDefault).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Placement, NodeSpreadsDevicesOverTheNodes) {
  const Machine machine;
  Machine::make_large(machine);
  const Topology topology = machine.read(kAll);
  // Two devices on node 0, one on node 1.
  const Placement third = place(topology, Affinity::kNode, 2, 3, kDefault).value();
  EXPECT_EQ(third.node, 0u);
  EXPECT_EQ(third.processors, (std::vector<Processors>(2, {0, 1, 4, 5})));
  const Placement second = place(topology, Affinity::kNode, 1, 3, kDefault).value();
  EXPECT_EQ(second.node, 1u);
  EXPECT_EQ(second.processors, (std::vector<Processors>(4, {2, 3, 6, 7})));
  EXPECT_EQ(place(topology, Affinity::kNode, 0, 1, 9).value().workers, 9u);
}

TEST(Placement, NodeNeedsNodes) {
  const Topology topology{.cores = {{0}}, .nodes = {}};
  EXPECT_EQ(place(topology, Affinity::kNode, 0, 1, 1).status().code(), StatusCode::kUnimplemented);
}

TEST(Placement, NoneLeavesItToTheSystem) {
  const Placement placement = place({}, Affinity::kNone, 0, 1, 3).value();
  EXPECT_EQ(placement.workers, 3u);
  EXPECT_TRUE(placement.processors.empty());
}

#if !defined(HALYARD_POSIX)
TEST(Placement, AWorkerRunsWhereItIsPlaced) {
  const Processors last = {Topology::here().value().cores.back().back()};
  hal::DeviceInfo info;
  info.workers = 1;
  const auto device =
      Device::create(info, {.workers = 1, .processors = {last}, .node = {}}).value();
  hcq::SignalObject sequence(0);
  const auto ring = cpu::Ring::create(device->group(), &sequence, 2).value();
  cpu_set_t set;
  ring->push(cpu::PacketKind::kCall, 1,
             reinterpret_cast<std::uint64_t>(+[](const std::uint64_t* words) {
               sched_getaffinity(0, sizeof(cpu_set_t), reinterpret_cast<cpu_set_t*>(words[0]));
             }),
             reinterpret_cast<std::uint64_t>(&set));
  device->group().bell(*ring);
  ASSERT_TRUE(sequence.wait(1, kForever).ok());
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(last[0], &set));
  device->close();
  ring->close();
}

TEST(Placement, AWorkerThatCannotRunThereIsRefused) {
  hal::DeviceInfo info;
  info.workers = 1;
  const Status status =
      Device::create(info, {.workers = 1, .processors = {{8191}}, .node = {}}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.native_error(), "EINVAL");
}
#endif

TEST(Placement, MemoryOfANodeIsBoundToIt) {
  const auto devices = make_cpu_driver()->open(
      {.driver = "cpu", .path = "", .options = {{"affinity", "node"}, {"workers", "1"}}});
  if (devices.status().code() == StatusCode::kUnimplemented) {
    GTEST_SKIP() << devices.status().message();
  }
  hal::DeviceImpl& device = *devices.value()[0];
  EXPECT_EQ(device.info().uri, "cpu://0?affinity=node&workers=1");
  const auto mode_of = [](const hal::Memory& memory) {
    int mode = -1;
    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, nullptr, 0, memory.device_address(), MPOL_F_ADDR),
              0);
    return mode;
  };
  const auto allocate = [&](hal::MemoryType type) {
    return device.allocate(std::uint64_t{2} << 20, 0, type).value();
  };
  EXPECT_EQ(mode_of(*allocate(hal::MemoryType::kDeviceLocal)), MPOL_BIND);
  EXPECT_EQ(mode_of(*allocate(hal::MemoryType::kHostVisible)), MPOL_BIND);
  EXPECT_EQ(mode_of(*allocate(hal::MemoryType::kHostLocal)), MPOL_DEFAULT);
  const auto page = device.allocate(4096, 64, hal::MemoryType::kDeviceLocal).value();
  EXPECT_EQ(mode_of(*page), MPOL_BIND);
}

TEST(Placement, AnUnknownAffinityIsRefusedAndNamed) {
  const Status status =
      make_cpu_driver()
          ->open({.driver = "cpu", .path = "", .options = {{"affinity", "socket"}}})
          .status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("affinity is 'socket'"), std::string_view::npos);
}

}  // namespace
}  // namespace halyard::cpu
