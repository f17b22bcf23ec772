// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests to /dev/kfd: their numbers, sizes and arguments.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "simulation/kfd/system.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

using abi::Request;

// _IOC_WRITE and _IOC_READ of asm-generic/ioctl.h, as bits 31:30 of a number.
constexpr unsigned kToKernel = 1, kFromKernel = 2, kBoth = 3;

struct Known {
  Request request;
  unsigned direction;
  std::size_t bytes;
};
constexpr Known kKnown[] = {
    {Request::kGetVersion, kFromKernel, sizeof(abi::GetVersion)},
    {Request::kCreateQueue, kBoth, sizeof(abi::CreateQueue)},
    {Request::kDestroyQueue, kBoth, sizeof(abi::DestroyQueue)},
    {Request::kGetClockCounters, kBoth, sizeof(abi::GetClockCounters)},
    {Request::kUpdateQueue, kToKernel, sizeof(abi::UpdateQueue)},
    {Request::kCreateEvent, kBoth, sizeof(abi::CreateEvent)},
    {Request::kDestroyEvent, kToKernel, sizeof(abi::EventId)},
    {Request::kSetEvent, kToKernel, sizeof(abi::EventId)},
    {Request::kResetEvent, kToKernel, sizeof(abi::EventId)},
    {Request::kWaitEvents, kBoth, sizeof(abi::WaitEvents)},
    {Request::kSetScratchBackingVa, kBoth, sizeof(abi::Address)},
    {Request::kSetTrapHandler, kToKernel, sizeof(abi::SetTrapHandler)},
    {Request::kGetProcessAperturesNew, kBoth, sizeof(abi::GetProcessAperturesNew)},
    {Request::kAcquireVm, kToKernel, sizeof(abi::AcquireVm)},
    {Request::kAllocMemory, kBoth, sizeof(abi::AllocMemory)},
    {Request::kFreeMemory, kToKernel, sizeof(abi::FreeMemory)},
    {Request::kMapMemory, kBoth, sizeof(abi::MapMemory)},
    {Request::kUnmapMemory, kBoth, sizeof(abi::MapMemory)},
    {Request::kAvailableMemory, kBoth, sizeof(abi::AvailableMemory)},
    {Request::kRuntimeEnable, kBoth, sizeof(abi::RuntimeEnable)},
};

// The bytes of an argument, which a caller with an older header gives only a part of.
class Argument {
 public:
  Argument(const void* from, std::size_t bytes) { std::memcpy(bytes_, from, bytes); }
  template <class T>
  T& as() {
    static_assert(sizeof(T) <= sizeof(bytes_));
    return *reinterpret_cast<T*>(bytes_);
  }
  const void* data() const { return bytes_; }

 private:
  alignas(8) std::byte bytes_[sizeof(abi::CreateQueue)] = {};
};

}  // namespace

int System::request(unsigned long number, void* argument, std::unique_lock<std::mutex>& lock) {
  const auto request = static_cast<Request>(number & 0xff);
  const unsigned direction = number >> 30 & 3;
  const std::size_t bytes = number >> 16 & 0x3fff;
  const auto* const known = std::ranges::find(kKnown, request, &Known::request);
  if ((number >> 8 & 0xff) != 'K' || known == std::end(kKnown)) {
    return refuse(-ENOTTY, "unknown-request", join("request ", hex(number), " is not known"));
  }
  const bool is_old = request == Request::kCreateQueue && bytes == abi::kOldCreateQueueBytes;
  if ((bytes != known->bytes && !is_old) || direction != known->direction) {
    return refuse(-EINVAL, "request-size",
                  join("request ", hex(number), " has ", bytes, " bytes and direction ", direction,
                       ", not ", known->bytes, " and ", known->direction));
  }
  if (argument == nullptr) return refuse(-EFAULT, "request-null", "a request has no argument");
  Argument args(argument, bytes);
  const auto run = [&]() -> int {
    int error = 0;
    switch (request) {
      case Request::kGetVersion:
        args.as<abi::GetVersion>() = {abi::kMajor, abi::kMinor};
        return 0;
      case Request::kCreateQueue:
        return create_queue(args.as<abi::CreateQueue>());
      case Request::kDestroyQueue:
        return destroy_queue(args.as<abi::DestroyQueue>());
      case Request::kGetClockCounters:
        return get_clock_counters(args.as<abi::GetClockCounters>());
      case Request::kUpdateQueue:
        return update_queue(args.as<abi::UpdateQueue>());
      case Request::kCreateEvent:
        return create_event(args.as<abi::CreateEvent>());
      case Request::kDestroyEvent:
      case Request::kSetEvent:
      case Request::kResetEvent: {
        const std::uint32_t id = args.as<abi::EventId>().event_id;
        const bool is_done = request == Request::kDestroyEvent ? events.destroy(id)
                             : request == Request::kSetEvent   ? events.set(id)
                                                               : events.reset(id);
        changed.notify_all();
        if (is_done) return 0;
        return refuse(-EINVAL, "unknown-event",
                      join("event ", id, " does not exist, or is not one that the host sets"));
      }
      case Request::kWaitEvents:
        return wait_events(args.as<abi::WaitEvents>(), lock);
      case Request::kSetScratchBackingVa:
        bound_device(args.as<abi::Address>().gpu_id, "SET_SCRATCH_BACKING_VA", error);
        return error;
      case Request::kSetTrapHandler:
        bound_device(args.as<abi::SetTrapHandler>().gpu_id, "SET_TRAP_HANDLER", error);
        return error;
      case Request::kGetProcessAperturesNew:
        return get_process_apertures(args.as<abi::GetProcessAperturesNew>());
      case Request::kAcquireVm:
        return acquire_vm(args.as<abi::AcquireVm>());
      case Request::kAllocMemory:
        return alloc_memory(args.as<abi::AllocMemory>());
      case Request::kFreeMemory:
        return free_memory(args.as<abi::FreeMemory>());
      case Request::kMapMemory:
        return map_memory(args.as<abi::MapMemory>());
      case Request::kUnmapMemory:
        return unmap_memory(args.as<abi::MapMemory>());
      case Request::kAvailableMemory:
        return available_memory(args.as<abi::AvailableMemory>());
      case Request::kRuntimeEnable:
        // Only a debugger makes a difference.
        args.as<abi::RuntimeEnable>().capabilities_mask = 0;
        return 0;
    }
    return -ENOTTY;
  };
  const int result = run();
  if ((direction & kFromKernel) != 0) std::memcpy(argument, args.data(), bytes);
  return result;
}

}  // namespace halyard::inline v0::sim::kfd
