// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events of a process: amdkfd/kfd_events.c. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "simulation/kfd/abi.h"
#include "simulation/kfd/report.h"

namespace halyard::inline v0::sim::kfd {

class Events {
 public:
  explicit Events(Report& report) : report_(report) {}

  // The slots of signal events, 8 bytes each: a queue writes one before it interrupts.
  void set_page(std::byte* page);
  bool has_page() const { return page_ != nullptr; }

  // Returns the number of the new event, or a negated errno.
  int create(std::uint32_t type, bool auto_reset);
  bool destroy(std::uint32_t id) { return events_.erase(id) != 0; }
  // Return false if there is no such event, or if the host may not set it.
  bool set(std::uint32_t id);
  bool reset(std::uint32_t id);

  // A queue's interrupt with a context: the number of an event, or 0, for which every slot is read.
  void interrupt(std::uint32_t context);
  void memory_exception(const abi::MemoryException& data);
  void hardware_exception(const abi::HwException& data);

  bool are_known(std::span<const abi::EventData> waited) const;
  // True if the events waited for are set: then those are copied, and reset if they reset
  // themselves.
  bool collect(std::span<abi::EventData> waited, bool all);
  std::size_t count() const { return events_.size(); }

 private:
  struct Event {
    std::uint32_t type = 0;
    bool auto_reset = false, is_set = false;
    abi::EventData data{.memory = {}};
  };
  std::byte* slot(std::uint32_t id) const { return page_ + std::size_t{8} * id; }
  void set_all(std::uint32_t type, const abi::EventData& data);

  Report& report_;
  std::map<std::uint32_t, Event> events_;
  std::byte* page_ = nullptr;
};

}  // namespace halyard::inline v0::sim::kfd
