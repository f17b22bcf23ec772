// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests for events: amdkfd/kfd_events.c.
#include <cerrno>
#include <chrono>
#include <span>

#include "simulation/kfd/system.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint64_t kPageBytes = std::uint64_t{8} * abi::kEventLimit;
constexpr std::uint32_t kInfinite = ~0u;

}  // namespace

int System::create_event(abi::CreateEvent& args) {
  const bool has_slot = args.event_type == abi::kSignalEvent || args.event_type == abi::kDebugEvent;
  if (args.event_type > abi::kMemoryEvent) {
    return refuse(-EINVAL, "event-type", join("CREATE_EVENT of type ", args.event_type));
  }
  if (args.event_page_offset != 0) {  // the program's own page
    const Buffer* const buffer = find_buffer(args.event_page_offset);
    if (events.has_page() || buffer == nullptr || (buffer->flags & abi::kGtt) == 0 ||
        buffer->size < kPageBytes) {
      return refuse(
          -EINVAL, "event-page",
          "CREATE_EVENT with a page that is not the first, or no GTT buffer of 0x8000 bytes");
    }
    events.set_page(buffer->bytes);
    event_page_handle = args.event_page_offset;
  } else if (!events.has_page()) {
    event_page = file.allocate(kPageBytes);
    if (event_page.bytes() == nullptr) return -ENOMEM;
    events.set_page(event_page.bytes());
  }
  const int id = events.create(args.event_type, args.auto_reset != 0);
  if (id < 0) return id;
  args.event_page_offset = has_slot ? abi::kMmapEvents : 0;
  args.event_id = args.event_trigger_data = static_cast<std::uint32_t>(id);
  if (has_slot) args.event_slot_index = args.event_id;
  return 0;
}

int System::wait_events(abi::WaitEvents& args, std::unique_lock<std::mutex>& lock) {
  auto* const data = reinterpret_cast<abi::EventData*>(args.events_ptr);
  if (data == nullptr || args.num_events == 0) {
    return refuse(-EINVAL, "wait-events", "WAIT_EVENTS for no events");
  }
  const std::span waited(data, args.num_events);
  if (!events.are_known(waited)) {
    return refuse(-EINVAL, "unknown-event", "WAIT_EVENTS for an event that does not exist");
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(args.timeout);
  args.wait_result = abi::kTimeout;
  while (true) {
    if (!events.are_known(waited)) {  // destroyed meanwhile
      args.wait_result = abi::kFail;
      return -EIO;
    }
    if (events.collect(waited, args.wait_for_all != 0)) {
      args.wait_result = abi::kComplete;
      return 0;
    }
    if (processor_threads == 0) {
      if (args.timeout != 0 && step()) continue;
      if (args.timeout != kInfinite) return 0;
      return refuse(-EINTR, "wait-for-ever",
                    "WAIT_EVENTS without a timeout, and no queue has anything left to do");
    }
    if (args.timeout == kInfinite) {
      changed.wait(lock);
    } else if (changed.wait_until(lock, deadline) == std::cv_status::timeout) {
      if (events.are_known(waited) && events.collect(waited, args.wait_for_all != 0)) {
        args.wait_result = abi::kComplete;
      }
      return 0;
    }
  }
}

}  // namespace halyard::inline v0::sim::kfd
