// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/queue.h"

#include <utility>

#include "simulation/kfd/abi.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {

Queue::Queue(System& system, Device& device, QueueSettings settings, unsigned unit)
    : system_(system),
      device_(device),
      settings_(std::move(settings)),
      unit_(unit),
      last_bell_(load64(settings_.doorbell)) {}

std::string Queue::name() const {
  static constexpr const char* kTypes[] = {"PM4", "SDMA", "AQL", "SDMA", "SDMA"};
  return join("queue ", settings_.id, " (", kTypes[settings_.type], " on ", device_.node.name, ")");
}

bool Queue::read_doorbell() {
  const std::uint64_t bell = load64(settings_.doorbell);
  if (bell == std::exchange(last_bell_, bell)) return false;
  // A doorbell of AQL is the index of the last packet.
  const std::uint64_t end = settings_.type == abi::kAql ? bell + 1 : bell;
  const std::uint64_t written = load64(settings_.write_pointer);
  if (end > written) {
    fail("doorbell-before-write-pointer",
         join("its doorbell announces ", hex(end), ", its write pointer is ", hex(written)));
  } else if (end < end_) {
    fail("doorbell-backwards", join("its doorbell announces ", hex(end), " after ", hex(end_)));
  } else if ((end - read_) * unit_ > settings_.ring_bytes) {
    fail("ring-overflow", join("its doorbell announces ", hex(end), ", but it has read only up to ",
                               hex(read_), " of a ring of ", settings_.ring_bytes, " bytes"));
  } else {
    end_ = end;
    announce(end);
  }
  return true;
}

bool Queue::step() {
  if (is_stopped_ || !is_active_ || device_.health != Health::kWorking) return false;
  const bool is_rung = read_doorbell();
  if (is_stopped_) return true;
  return advance() || is_rung;
}

std::string Queue::waits_for() const {
  const std::uint64_t written = load64(settings_.write_pointer);
  if (!has_work() && written == end_ && !is_stopped_) return {};
  if (is_stopped_) return join(name(), " has stopped");
  if (device_.health != Health::kWorking) return join(name(), " is on a device that faulted");
  if (!is_active_) return join(name(), " is switched off");
  if (has_work()) return join(name(), " ", waits_for_.empty() ? "has work" : waits_for_);
  return join(name(), " has a write pointer of ", hex(written),
              ", and its doorbell announced only ", hex(end_));
}

Progress Queue::fail(std::string_view rule, std::string_view text) {
  is_stopped_ = true;
  system_.report.add(std::string(rule), join(name(), ": ", text));
  return Progress::kStopped;
}

Progress Queue::wait(std::string text) {
  waits_for_ = std::move(text);
  return Progress::kWaits;
}

std::byte* Queue::reach(std::uint64_t address, std::uint64_t bytes, Access access,
                        std::string_view what) {
  const Buffer* const buffer = device_.space.find(address, bytes);
  const bool may = buffer != nullptr && (access != Access::kWrite || buffer->is_writable()) &&
                   (access != Access::kExecute || buffer->is_executable());
  if (may) return buffer->bytes + (address - buffer->address);
  const char* const why = buffer == nullptr          ? "is not mapped for the device"
                          : access == Access::kWrite ? "is in a buffer without WRITABLE"
                                                     : "is in a buffer without EXECUTABLE";
  fail("access", join(what, " at ", hex(address), " ", why));
  system_.page_fault(device_, address, access);
  return nullptr;
}

void Queue::write32(std::byte* at, std::uint64_t address, std::uint32_t value) {
  store32(at, value);
  system_.device_writes[address] = value;
}

void Queue::write64(std::byte* at, std::uint64_t address, std::uint64_t value) {
  store64(at, value);
  system_.device_writes[address] = value;
}

void Queue::set_read_pointer(std::uint64_t value) {
  read_ = value;
  store64(settings_.read_pointer, value);
}

void Queue::consume(Stream& stream, std::uint64_t count) {
  const std::uint64_t changed = stream.consume(count);
  if (changed == Stream::kUnchanged) return;
  // Hardware executes the words that it has fetched, and continues.
  system_.report.add(
      "patched-after-fetch",
      join(name(), ": the word at ", hex(stream.address_of(changed)),
           " was changed after the queue had fetched it: words after a wait that may "
           "change must be in an indirect buffer of their own"));
}

bool compares(unsigned function, std::uint64_t value, std::uint64_t reference) {
  switch (function) {
    case 0:
      return true;
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    default:
      return value > reference;
  }
}

}  // namespace halyard::inline v0::sim::kfd
