// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compute queues: the packets of PM4, the pipeline behind them, and the two rings that feed them.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "simulation/kfd/packets.h"
#include "simulation/kfd/pipeline.h"
#include "simulation/kfd/queue.h"

namespace halyard::inline v0::sim::kfd {

class ComputeQueue : public Queue {
 public:
  ComputeQueue(System& system, Device& device, QueueSettings settings, unsigned unit)
      : Queue(system, device, std::move(settings), unit),
        favors_pipeline_(system.random.one_in(2)) {}
  bool reads(const Buffer& buffer) const override;

 protected:
  bool advance() final;
  bool has_work() const override { return !indirect_.empty() || !pipeline_.empty(); }

  // Executes the next packet of the ring.
  virtual Progress advance_ring() = 0;
  virtual void end_dispatch(const Dispatch&) {}

  // Executes the next packet of `stream`, at an indirect depth of `indirect_`.
  Progress run_packet(Stream& stream);
  Progress begin_indirect(std::uint64_t address, std::uint32_t control);
  // Checks a dispatch and puts it into the pipeline.
  Progress begin_dispatch(Dispatch dispatch);

  Pipeline pipeline_;
  std::vector<Stream> indirect_;  // of indirect buffers, the innermost last

 private:
  using Words = std::span<const std::uint32_t>;
  Progress execute(std::uint32_t opcode, Words words, const Stream& stream);
  Progress wait_reg_mem(Words words);
  Progress wait_reg_mem64(Words words);
  Progress release_mem(Words words);
  Progress acquire_mem(Words words);
  Progress write_data(Words words);
  Progress copy_data(Words words);
  Progress event_write(Words words);
  Progress set_registers(Words words);
  Progress dispatch(std::array<std::uint32_t, 3> groups, std::uint32_t initiator);
  Progress dispatch_indirect(Words words);
  void end_of_pipe(const EndOfPipe& end);
  // Runs all of it; the queue stops if it faults. (dispatch.cpp)
  void run(const Dispatch& dispatch);
  std::uint64_t register64(std::uint32_t index) const {
    return registers_[index] | std::uint64_t{registers_[index + 1]} << 32;
  }

  std::array<std::uint32_t, pm4::kShRegisters> registers_{};
  std::bitset<pm4::kShRegisters> is_set_;
  bool favors_pipeline_;  // over packets, which run concurrently on hardware
};

// A ring of PM4 packets. Pointers count words.
class Pm4Queue final : public ComputeQueue {
 public:
  Pm4Queue(System& system, Device& device, QueueSettings settings);

 private:
  bool has_work() const override { return ring_.available() != 0 || ComputeQueue::has_work(); }
  void announce(std::uint64_t end) override { ring_.set_end(end); }
  Progress advance_ring() override;

  Stream ring_;
};

// A ring of AQL packets. Pointers count packets.
class AqlQueue final : public ComputeQueue {
 public:
  AqlQueue(System& system, Device& device, QueueSettings settings);

 private:
  bool has_work() const override { return next_ != end_ || ComputeQueue::has_work(); }
  void announce(std::uint64_t end) override { end_ = end; }
  Progress advance_ring() override;
  void end_dispatch(const Dispatch& dispatch) override;

  struct Packet;
  Progress execute(const Packet& packet);
  Progress kernel_dispatch(const Packet& packet);
  Progress barrier(const Packet& packet, bool any);
  Progress barrier_value(const Packet& packet);
  Progress vendor(const Packet& packet);
  // Decrements a signal, and wakes its waiters. 0 is no signal.
  void complete(std::uint64_t signal);
  // The packet is no longer needed: its slot may be reused.
  void retire(std::uint64_t index);
  std::byte* slot(std::uint64_t index) const;

  std::uint64_t next_ = 0, end_ = 0, retired_ = 0;
  std::deque<bool> is_retired_;  // of packets from retired_ to next_
};

}  // namespace halyard::inline v0::sim::kfd
