// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the suites `hcq_...`: the hardware queues of a driver, by hcq's public interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/context.h"
#include "halyard/hcq/allocator.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/graph.h"
#include "halyard/hcq/queue.h"

namespace halyard::inline v0::conformance {

// Two devices of the same driver as the case's devices, with as many workers. Throws Skip if the
// driver has no hardware queues in hcq.
class Hardware {
 public:
  explicit Hardware(Context& t);

  hcq::Device& device(std::size_t index = 0) const { return *devices_[index]; }
  hcq::Allocator& allocator(std::size_t index = 0);
  // A kernel of the suite.
  hcq::Program program(std::string_view kernel) const;
  hcq::Signal signal(std::uint64_t initial = 0) const {
    return devices_[0]->create_signal(initial).value();
  }

  // A number for custom commands, 0 at first. It outlives the devices, so commands that a case
  // leaves queued may still use it.
  std::atomic<std::uint64_t>& cell() { return cells_.emplace_back(0); }

  // Binds the queue to its device if the case's variant has bound queues.
  void prepare(hcq::CommandQueue& q, std::size_t device = 0) const {
    if (bound_) check(q.bind(*devices_[device]));
  }
  // Prepares and submits the queue.
  Status submit(hcq::CommandQueue& q, std::size_t device = 0) const {
    prepare(q, device);
    return q.submit(*devices_[device]);
  }

 private:
  bool bound_;
  std::deque<std::atomic<std::uint64_t>> cells_;
  Result<hcq::Program> (*load_)(std::span<const std::byte> hyx, std::string_view name,
                                std::string_view kernel) = nullptr;
  std::vector<std::unique_ptr<hcq::Device>> devices_;
  std::optional<hcq::Allocator> allocators_[2];
};

// Calls body(Hardware&, make); make() returns an empty queue of the kind that the case varies over.
template <class F>
void with_queue(Context& t, F&& body) {
  Hardware h(t);
  if (t.kind() == hal::QueueKind::kCompute) {
    body(h, [] { return hcq::ComputeQueue(); });
  } else {
    body(h, [] { return hcq::CopyQueue(); });
  }
}

// 32-bit words in the memory of a device, written before the constructor returns.
class Words {
 public:
  Words(Hardware& h, const std::vector<std::uint32_t>& values, std::size_t device = 0);

  hcq::Buffer buffer() const noexcept { return memory_.buffer(); }
  hcq::Buffer part(std::size_t first, std::size_t count) const noexcept {
    return {buffer().va_addr + 4 * first, 4 * count};
  }
  std::uint64_t address() const noexcept { return buffer().va_addr; }
  // Reads after all work on the device's timeline.
  std::vector<std::uint32_t> read() const;
  std::uint32_t read(std::size_t index) const { return read()[index]; }

 private:
  hcq::Allocator& allocator_;
  hcq::Memory memory_;
};

// The suite's kernel `increment` over all of `words`.
inline hcq::ArgsState incrementing(const hcq::Program& increment, const hcq::Buffer& words) {
  return increment.fill_kernargs({words}, {static_cast<std::uint32_t>(words.size / 4)});
}

// The address of an object of the host, as a word of a custom command.
template <class T>
std::uint64_t address_of(T& object) {
  return reinterpret_cast<std::uintptr_t>(&object);
}

// Waits on the host; past the watchdog's time it records a failure with both values.
#define VERIFY_SIGNALLED(signal, value) VERIFY_OK((signal).wait((value), kWatchdog))

}  // namespace halyard::inline v0::conformance
