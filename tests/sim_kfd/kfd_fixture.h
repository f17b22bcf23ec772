// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of the simulated kernel driver: buffers, queues and words. At the end of each test
// there must be no violation that the test did not take.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "simulation/kfd/abi.h"
#include "simulation/kfd/simulated_kfd.h"
#include "simulation/kfd/topology.h"

namespace halyard::testing {

namespace kfd = sim::kfd;
namespace abi = sim::kfd::abi;

// _IOC of asm-generic/ioctl.h.
constexpr unsigned long kfd_number(abi::Request request, unsigned direction, std::size_t bytes) {
  return static_cast<unsigned long>(direction) << 30 | bytes << 16 | 'K' << 8 |
         static_cast<unsigned long>(request);
}

struct KfdBuffer {
  std::byte* host = nullptr;
  std::uint64_t address = 0, size = 0, handle = 0;

  std::uint32_t& word(std::uint64_t byte) { return *reinterpret_cast<std::uint32_t*>(host + byte); }
  std::uint64_t& quad(std::uint64_t byte) { return *reinterpret_cast<std::uint64_t*>(host + byte); }
};

struct KfdQueue {
  std::uint32_t id = 0, type = 0;
  KfdBuffer ring, pointers, end_of_pipe, save;
  std::uint64_t* doorbell = nullptr;
  std::uint64_t put = 0;  // in the units of the write pointer

  std::uint64_t& write_pointer() { return pointers.quad(56); }
  std::uint64_t& read_pointer() { return pointers.quad(128); }
};

class KfdTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kMemory = abi::kGtt | abi::kUncached | abi::kCoherent |
                                           abi::kWritable | abi::kExecutable | abi::kNoSubstitute;

  KfdTest() { start({}); }
  ~KfdTest() override { EXPECT_THAT(rules(), ::testing::IsEmpty()) << texts_; }

  void start(kfd::Options options, unsigned device = 0) {
    if (kfd_ != nullptr) {
      EXPECT_THAT(rules(), ::testing::IsEmpty()) << texts_;
    }
    options.print = false;
    kfd_ = std::make_unique<kfd::SimulatedKfd>(std::move(options));
    descriptor_ = kfd_->open("/dev/kfd", O_RDWR).value();
    use(device);
  }
  // Makes a device ready. What follows is for this one.
  void use(unsigned device) {
    device_ = device;
    doorbells_ = nullptr;
    const std::string path = "/dev/dri/renderD" + std::to_string(node().drm_render_minor);
    render_ = kfd_->open(path.c_str(), O_RDWR).value();
    abi::AcquireVm vm{static_cast<std::uint32_t>(render_), node().gpu_id};
    ASSERT_EQ(request(abi::Request::kAcquireVm, 1, vm), 0);
  }
  const kfd::Node& node() const { return kfd::nodes()[device_]; }

  template <class T>
  int request(abi::Request number, unsigned direction, T& args) {
    return kfd_->ioctl(descriptor_, kfd_number(number, direction, sizeof(T)), &args);
  }

  // Memory at an address that the CPU and the device share, or at `address` for the device alone.
  KfdBuffer allocate(std::uint64_t size, std::uint32_t flags = kMemory, std::uint64_t address = 0) {
    void* const at =
        kfd_->map(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
            .value();
    if (address == 0) address = reinterpret_cast<std::uint64_t>(at);
    KfdBuffer buffer{.address = address, .size = size};
    abi::AllocMemory alloc{
        .va_addr = address, .size = size, .gpu_id = node().gpu_id, .flags = flags};
    EXPECT_EQ(request(abi::Request::kAllocMemory, 3, alloc), 0);
    buffer.handle = alloc.handle;
    buffer.host =
        static_cast<std::byte*>(kfd_->map(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                          render_, static_cast<std::int64_t>(alloc.mmap_offset))
                                    .value());
    EXPECT_EQ(map(buffer), 0);
    return buffer;
  }
  int map(const KfdBuffer& buffer) {
    std::uint32_t id = node().gpu_id;
    abi::MapMemory args{buffer.handle, reinterpret_cast<std::uint64_t>(&id), 1, 0};
    return request(abi::Request::kMapMemory, 3, args);
  }
  int unmap(const KfdBuffer& buffer) {
    std::uint32_t id = node().gpu_id;
    abi::MapMemory args{buffer.handle, reinterpret_cast<std::uint64_t>(&id), 1, 0};
    return request(abi::Request::kUnmapMemory, 3, args);
  }
  int free(const KfdBuffer& buffer) {
    abi::FreeMemory args{buffer.handle};
    return request(abi::Request::kFreeMemory, 1, args);
  }

  // The arguments of CREATE_QUEUE with buffers as they must be.
  abi::CreateQueue prepare(KfdQueue& queue, std::uint32_t type, std::uint32_t ring_bytes = 4096) {
    queue.type = type;
    queue.ring = allocate(ring_bytes);
    queue.pointers = allocate(4096);
    abi::CreateQueue args{.ring_base_address = queue.ring.address,
                          .write_pointer_address = queue.pointers.address + 56,
                          .read_pointer_address = queue.pointers.address + 128,
                          .ring_size = ring_bytes,
                          .gpu_id = node().gpu_id,
                          .queue_type = type,
                          .queue_percentage = 100,
                          .queue_priority = 7};
    if (type == abi::kPm4 || type == abi::kAql) {
      queue.end_of_pipe = allocate(4096);
      queue.save = allocate(node().save_area_bytes());
      args.eop_buffer_address = queue.end_of_pipe.address;
      args.eop_buffer_size = 4096;
      args.ctx_save_restore_address = queue.save.address;
      args.ctx_save_restore_size = node().save_bytes();
      args.ctl_stack_size = node().control_stack_bytes();
    }
    return args;
  }
  KfdQueue create(std::uint32_t type, std::uint32_t ring_bytes = 4096) {
    KfdQueue queue;
    abi::CreateQueue args = prepare(queue, type, ring_bytes);
    EXPECT_EQ(request(abi::Request::kCreateQueue, 3, args), 0);
    queue.id = args.queue_id;
    if (doorbells_ == nullptr) {
      const auto offset = args.doorbell_offset & ~(abi::kDoorbellBytes - 1);
      doorbells_ = static_cast<std::byte*>(kfd_->map(nullptr, abi::kDoorbellBytes,
                                                     PROT_READ | PROT_WRITE, MAP_SHARED,
                                                     descriptor_, static_cast<std::int64_t>(offset))
                                               .value());
    }
    queue.doorbell = reinterpret_cast<std::uint64_t*>(
        doorbells_ + (args.doorbell_offset & (abi::kDoorbellBytes - 1)));
    return queue;
  }
  int destroy(const KfdQueue& queue) {
    abi::DestroyQueue args{queue.id};
    return request(abi::Request::kDestroyQueue, 3, args);
  }

  // Writes words of PM4 or SDMA behind those in the ring, without the pointer and the bell.
  void write(KfdQueue& queue, const std::vector<std::uint32_t>& words) {
    const std::uint64_t scale = queue.type == abi::kPm4 ? 1 : 4;
    for (const std::uint32_t word : words) {
      queue.ring.word(queue.put / scale * 4 % queue.ring.size) = word;
      queue.put += scale;
    }
  }
  void ring(KfdQueue& queue) {
    queue.write_pointer() = queue.put;
    *queue.doorbell = queue.type == abi::kAql ? queue.put - 1 : queue.put;
  }
  void push(KfdQueue& queue, const std::vector<std::uint32_t>& words) {
    write(queue, words);
    ring(queue);
  }
  std::vector<std::string> run() { return kfd_->run_until_idle(); }

  // The rules of the violations since the last call.
  std::vector<std::string> rules() {
    std::vector<std::string> names;
    texts_.clear();
    for (const kfd::Violation& each : kfd_->take_violations()) {
      names.push_back(each.rule);
      texts_ += each.rule + ": " + each.text + "\n";
    }
    return names;
  }

  static std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
  static std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

  std::unique_ptr<kfd::SimulatedKfd> kfd_;
  unsigned device_ = 0;
  int descriptor_ = -1, render_ = -1;
  std::byte* doorbells_ = nullptr;
  std::string texts_;  // of the violations that rules() returned last
};

}  // namespace halyard::testing
