// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: a user queue of a device. It reads its doorbell, fetches the packets before the write
// pointer and executes them in order. A packet that is wrong stops the queue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/kfd/stream.h"
#include "simulation/kfd/system.h"

namespace halyard::inline v0::sim::kfd {

struct QueueSettings {
  std::uint32_t id = 0, type = 0;
  std::uint64_t ring = 0;
  std::uint32_t ring_bytes = 0;
  std::byte* ring_words = nullptr;
  std::uint64_t write_pointer_address = 0;
  std::byte* write_pointer = nullptr;
  std::byte* read_pointer = nullptr;
  std::byte* doorbell = nullptr;
  std::vector<Buffer*> buffers;  // whose mappings must stay
};

// What became of an attempt to execute something.
enum class Progress : std::uint8_t { kDone, kWaits, kStopped };

class Queue {
 public:
  // The pointers count units of `unit` bytes.
  Queue(System& system, Device& device, QueueSettings settings, unsigned unit);
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const QueueSettings& settings() const { return settings_; }
  // Does a piece of work. Returns false if nothing can be done.
  bool step();
  // Why work is left, one sentence, or empty if none is.
  std::string waits_for() const;
  // Whether the queue may still read a buffer for work that it has begun.
  virtual bool reads(const Buffer& buffer) const = 0;
  // After UPDATE_QUEUE with percentage 0 the queue does nothing.
  void set_active(bool active) { is_active_ = active; }

  static std::unique_ptr<Queue> create(System& system, Device& device, QueueSettings settings);

 protected:
  // Executes the next packet, or part of what was begun.
  virtual bool advance() = 0;
  // Whether anything is left to do of what the doorbell announced.
  virtual bool has_work() const = 0;
  // Called after the doorbell announced more.
  virtual void announce(std::uint64_t end) = 0;

  // Reports a violation and stops the queue.
  Progress fail(std::string_view rule, std::string_view text);
  // The bytes at an aligned address for `access`. On failure reports it, raises a page fault, stops
  // the queue and returns null.
  std::byte* reach(std::uint64_t address, std::uint64_t bytes, Access access,
                   std::string_view what);
  // Records why the queue cannot go on now.
  Progress wait(std::string text);
  void write32(std::byte* at, std::uint64_t address, std::uint32_t value);
  void write64(std::byte* at, std::uint64_t address, std::uint64_t value);
  void set_read_pointer(std::uint64_t value);
  // Reports words that were changed after the fetch.
  void consume(Stream& stream, std::uint64_t count);
  std::string name() const;

  System& system_;
  Device& device_;
  const QueueSettings settings_;

 private:
  bool read_doorbell();

  const unsigned unit_;
  std::uint64_t last_bell_;
  std::uint64_t end_ = 0, read_ = 0;  // in units: announced, and reported as read
  bool is_stopped_ = false, is_active_ = true;
  std::string waits_for_;
};

// The comparison functions of PM4 and SDMA waits: 0 always, 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 >.
bool compares(unsigned function, std::uint64_t value, std::uint64_t reference);

}  // namespace halyard::inline v0::sim::kfd
