// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/events.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "simulation/kfd/memory.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

// KFD_FIRST_NONSIGNAL_EVENT_ID: events without a slot have numbers from here.
constexpr std::uint32_t kFirstWithoutSlot = abi::kEventLimit;

bool has_slot(std::uint32_t type) { return type == abi::kSignalEvent || type == abi::kDebugEvent; }

}  // namespace

void Events::set_page(std::byte* page) {
  page_ = page;
  std::memset(page, 0xff, std::size_t{8} * abi::kEventLimit);
}

int Events::create(std::uint32_t type, bool auto_reset) {
  // Number 0 is not given: a queue's interrupt without a context has it.
  std::uint32_t id = has_slot(type) ? 1 : kFirstWithoutSlot;
  while (events_.contains(id)) ++id;
  if (has_slot(type) && id >= abi::kEventLimit) return -ENOSPC;
  events_[id] = {.type = type, .auto_reset = auto_reset};
  if (has_slot(type)) store64(slot(id), abi::kUnsignaled);
  return static_cast<int>(id);
}

bool Events::set(std::uint32_t id) {
  const auto found = events_.find(id);
  if (found == events_.end() || found->second.type != abi::kSignalEvent) return false;
  found->second.is_set = true;
  return true;
}

bool Events::reset(std::uint32_t id) {
  const auto found = events_.find(id);
  if (found == events_.end() || found->second.type != abi::kSignalEvent) return false;
  found->second.is_set = false;
  return true;
}

void Events::interrupt(std::uint32_t context) {
  if (page_ == nullptr) return;
  const auto is_signaled = [&](std::uint32_t id) {
    const auto found = events_.find(id);
    return found != events_.end() && has_slot(found->second.type) &&
           load64(slot(id)) != abi::kUnsignaled;
  };
  const auto signal = [&](std::uint32_t id) {
    store64(slot(id), abi::kUnsignaled);
    events_[id].is_set = true;
  };
  if (context != 0 && is_signaled(context)) return signal(context);
  if (context != 0) {
    const bool exists = events_.contains(context) && has_slot(events_[context].type);
    report_.add(exists ? "interrupt-without-slot" : "interrupt-without-event",
                exists ? join("an interrupt named event ", context,
                              ", whose slot in the event page nothing had written")
                       : join("an interrupt named event ", context, ", which does not exist"));
  }
  for (const auto& [id, event] : events_) {
    if (is_signaled(id)) signal(id);
  }
}

void Events::set_all(std::uint32_t type, const abi::EventData& data) {
  for (auto& [id, event] : events_) {
    if (event.type != type) continue;
    event.is_set = true;
    event.data = data;
  }
}

void Events::memory_exception(const abi::MemoryException& data) {
  set_all(abi::kMemoryEvent, {.memory = data});
}

void Events::hardware_exception(const abi::HwException& data) {
  set_all(abi::kHwExceptionEvent, {.hardware = data});
}

bool Events::are_known(std::span<const abi::EventData> waited) const {
  return std::ranges::all_of(
      waited, [&](const abi::EventData& each) { return events_.contains(each.event_id); });
}

bool Events::collect(std::span<abi::EventData> waited, bool all) {
  const auto is_set = [&](const abi::EventData& each) { return events_[each.event_id].is_set; };
  const auto set = static_cast<std::size_t>(std::ranges::count_if(waited, is_set));
  if (all ? set != waited.size() : set == 0) return false;
  for (abi::EventData& each : waited) {
    Event& event = events_[each.event_id];
    if (!event.is_set) continue;
    if (event.type == abi::kMemoryEvent) each.memory = event.data.memory;
    if (event.type == abi::kHwExceptionEvent) each.hardware = event.data.hardware;
    if (event.auto_reset) event.is_set = false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::kfd
