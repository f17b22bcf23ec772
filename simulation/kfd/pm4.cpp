// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <utility>

#include "simulation/kfd/abi.h"
#include "simulation/kfd/compute_queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint32_t kNopAlone = 0x3fff;  // the count of a NOP without a body
constexpr std::uint32_t kIndirectValid = 1u << 23, kIndirectWords = 0xfffff;
constexpr std::size_t kMostIndirect = 2;  // a ring's buffer may call one more

struct Length {
  std::uint32_t opcode, words;
};
// Packets of one length. ACQUIRE_MEM has two, by the generation; others vary.
constexpr Length kLengths[] = {
    {pm4::kDispatchDirect, 5}, {pm4::kDispatchIndirect, 4}, {pm4::kWaitRegMem, 7},
    {pm4::kIndirectBuffer, 4}, {pm4::kCopyData, 6},         {pm4::kEventWrite, 2},
    {pm4::kReleaseMem, 8},     {pm4::kWaitRegMem64, 9},     {pm4::kPredExec, 2},
};

}  // namespace

bool ComputeQueue::reads(const Buffer& buffer) const {
  for (const Stream& stream : indirect_) {
    if (stream.available() != 0 && stream.overlaps(buffer.address, buffer.size)) return true;
  }
  return pipeline_.runs_code_in(buffer.address, buffer.end());
}

bool ComputeQueue::advance() {
  const auto advance_pipeline = [&] {
    if (pipeline_.empty()) return false;
    const PipelineItem item = pipeline_.take(system_.random);
    if (const auto* const end = std::get_if<EndOfPipe>(&item)) {
      end_of_pipe(*end);
    } else {
      run(std::get<Dispatch>(item));
    }
    return true;
  };
  const auto advance_packets = [&] {
    while (!indirect_.empty() && indirect_.back().available() == 0) indirect_.pop_back();
    const Progress progress = indirect_.empty() ? advance_ring() : run_packet(indirect_.back());
    return progress != Progress::kWaits;
  };
  // Changed seldom, so that both long pipelines and empty ones are seen.
  if (system_.random.one_in(16)) favors_pipeline_ = !favors_pipeline_;
  return favors_pipeline_ ? advance_pipeline() || advance_packets()
                          : advance_packets() || advance_pipeline();
}

Progress ComputeQueue::run_packet(Stream& stream) {
  const std::uint32_t header = stream.peek(1, system_.options.fetch_ahead)[0];
  const std::uint64_t at = stream.address_of(stream.position());
  const std::uint32_t type = header >> 30, opcode = header >> 8 & 0xff,
                      count = header >> 16 & 0x3fff;
  if (type == 2) {  // a filler word
    consume(stream, 1);
    return Progress::kDone;
  }
  if (type != 3) {
    return fail("unknown-packet", join("the word ", hex(header), " at ", hex(at),
                                       " is not a header of a type 3 packet"));
  }
  const std::uint64_t words = opcode == pm4::kNop && count == kNopAlone ? 1 : count + 2;
  if (words > stream.available()) {
    return fail(indirect_.empty() ? "read-past-write-pointer" : "read-past-indirect-buffer",
                join("the packet ", hex(header), " at ", hex(at), " has ", words, " words, ",
                     stream.available(), " are left"));
  }
  const bool is_ring = indirect_.empty();
  const Words packet = stream.peek(words, system_.options.fetch_ahead);
  // The packet may push another stream, which moves `stream`.
  const std::size_t depth = indirect_.size();
  const Progress progress = execute(opcode, packet, stream);
  if (progress == Progress::kDone) consume(is_ring ? stream : indirect_[depth - 1], words);
  return progress;
}

Progress ComputeQueue::execute(std::uint32_t opcode, Words words, const Stream& stream) {
  for (const Length& each : kLengths) {
    if (each.opcode == opcode && each.words != words.size()) {
      return fail("packet-length", join("the packet ", hex(words[0]), " has ", words.size(),
                                        " words instead of ", each.words));
    }
  }
  switch (opcode) {
    case pm4::kNop:
      return Progress::kDone;
    case pm4::kDispatchDirect:
      return dispatch({words[1], words[2], words[3]}, words[4]);
    case pm4::kDispatchIndirect:
      return dispatch_indirect(words);
    case pm4::kPredExec:
      // Words for some XCCs only; here all XCCs are one.
      if (!device_.node.is_gfx9() || indirect_.empty()) break;
      return Progress::kDone;
    case pm4::kWriteData:
      return write_data(words);
    case pm4::kWaitRegMem:
      return wait_reg_mem(words);
    case pm4::kWaitRegMem64:
      return wait_reg_mem64(words);
    case pm4::kIndirectBuffer:
      return begin_indirect(address_of(words, 1), words[3]);
    case pm4::kCopyData:
      return copy_data(words);
    case pm4::kEventWrite:
      return event_write(words);
    case pm4::kReleaseMem:
      return release_mem(words);
    case pm4::kAcquireMem:
      return acquire_mem(words);
    case pm4::kSetShReg:
      return set_registers(words);
    case pm4::kSetUconfigReg:
      return words.size() > 2 ? Progress::kDone : fail("packet-length", "SET_UCONFIG_REG is empty");
    default:
      break;
  }
  return fail("unknown-opcode", join("opcode ", hex(opcode), " at ",
                                     hex(stream.address_of(stream.position())), " is not known"));
}

Progress ComputeQueue::begin_indirect(std::uint64_t address, std::uint32_t control) {
  const std::uint64_t words = control & kIndirectWords;
  if ((control & kIndirectValid) == 0 || words == 0 || address % 4 != 0) {
    return fail("indirect-buffer",
                join("INDIRECT_BUFFER of ", words, " words at ", hex(address), " with control ",
                     hex(control), ": it needs bit 23, words and an address of words"));
  }
  if (indirect_.size() == kMostIndirect) {
    return fail("indirect-buffer", "indirect buffers are nested too deep");
  }
  if (device_.space.find(address, 4 * words) == nullptr) {
    fail("indirect-buffer-unmapped", join("INDIRECT_BUFFER of ", words, " words at ", hex(address),
                                          " is not in memory that is mapped for the device"));
    system_.page_fault(device_, address, Access::kRead);
    return Progress::kStopped;
  }
  Stream& stream = indirect_.emplace_back(device_.space.bytes(address, 4 * words), address, words);
  stream.set_end(words);
  stream.peek(1, system_.options.fetch_ahead);
  return Progress::kDone;
}

Progress ComputeQueue::wait_reg_mem(Words words) {
  const unsigned function = words[1] & 7, space = words[1] >> 4 & 3, operation = words[1] >> 6 & 3;
  if (function == 7 || (words[1] & ~0x377u) != 0) {
    return fail("wait-reg-mem", join("WAIT_REG_MEM has the control word ", hex(words[1])));
  }
  if (space == 0) {  // registers: only the flush of the host's writes
    const bool is_flush =
        operation == 1 && words[2] == pm4::kHdpFlushRequest && words[3] == pm4::kHdpFlushDone;
    if (is_flush) return Progress::kDone;
    return fail("wait-reg-mem", join("WAIT_REG_MEM of registers ", hex(words[2]), " and ",
                                     hex(words[3]), ", which is not the HDP flush"));
  }
  if (space != 1 || operation != 0 || words[2] % 4 != 0) {
    return fail("wait-reg-mem", join("WAIT_REG_MEM has the control word ", hex(words[1]),
                                     " and the address ", hex(address_of(words, 2))));
  }
  const std::uint64_t address = address_of(words, 2);
  const std::byte* const at = reach(address, 4, Access::kRead, "the word of a wait");
  if (at == nullptr) return Progress::kStopped;
  const std::uint32_t value = load32(at) & words[5];
  if (compares(function, value, words[4])) return Progress::kDone;
  return wait(join("waits for the word at ", hex(address), ", which is ", value, ": function ",
                   function, ", reference ", words[4]));
}

Progress ComputeQueue::wait_reg_mem64(Words words) {
  const unsigned function = words[1] & 7;
  const std::uint64_t address = address_of(words, 2);
  if (function == 7 || (words[1] & ~0x307u) != 1u << 4 || address % 8 != 0) {
    return fail("wait-reg-mem", join("WAIT_REG_MEM64 has the control word ", hex(words[1]),
                                     " and the address ", hex(address)));
  }
  const std::byte* const at = reach(address, 8, Access::kRead, "the word of a wait");
  if (at == nullptr) return Progress::kStopped;
  const std::uint64_t value = load64(at) & address_of(words, 6), reference = address_of(words, 4);
  if (compares(function, value, reference)) return Progress::kDone;
  return wait(join("waits for the 64-bit word at ", hex(address), ", which is ", value,
                   ": function ", function, ", reference ", reference));
}

Progress ComputeQueue::release_mem(Words words) {
  const std::uint32_t event = words[1] & 0x3f, index = words[1] >> 8 & 15;
  const bool is_end =
      index == 5 && (event == pm4::kCacheFlushAndInvTs || event == pm4::kBottomOfPipeTs);
  if (!is_end && !(index == 6 && event == pm4::kCsDone)) {
    return fail("release-without-end-of-pipe",
                join("RELEASE_MEM has event ", event, " with index ", index,
                     ", which does not come after earlier dispatches"));
  }
  const std::uint32_t data = words[2] >> 29, interrupt = words[2] >> 24 & 7;
  if (data > 3 || interrupt > 3 || (words[2] >> 16 & 3) > 1) {
    return fail("release-mem", join("RELEASE_MEM has the selectors ", hex(words[2])));
  }
  EndOfPipe end{.address = address_of(words, 3),
                .value = address_of(words, 5),
                .bytes = data == 0   ? 0u
                         : data == 1 ? 4u
                                     : 8u,
                .is_clock = data == 3,
                .interrupts = interrupt == 1 || interrupt == 2,
                .context = words[7]};
  if (end.bytes != 0) {
    if (end.address % end.bytes != 0) {
      return fail("unaligned",
                  join("RELEASE_MEM writes ", end.bytes, " bytes at ", hex(end.address)));
    }
    const std::byte* const at =
        reach(end.address, end.bytes, Access::kWrite, "the word of RELEASE_MEM");
    if (at == nullptr) return Progress::kStopped;
    end.before = end.bytes == 4 ? load32(at) : load64(at);
  }
  pipeline_.push(end);
  return Progress::kDone;
}

void ComputeQueue::end_of_pipe(const EndOfPipe& end) {
  if (end.bytes != 0) {
    std::byte* const at = reach(end.address, end.bytes, Access::kWrite, "the word of RELEASE_MEM");
    if (at == nullptr) return;
    const std::uint64_t now = end.bytes == 4 ? load32(at) : load64(at);
    const auto written = system_.device_writes.find(end.address);
    const bool is_devices = written != system_.device_writes.end() && written->second == now;
    if (now != end.before && !is_devices) {
      system_.report.add("slot-written-by-host-and-device",
                         join(name(), ": the word at ", hex(end.address), " changed from ",
                              end.before, " to ", now, " while a RELEASE_MEM to it was in flight"));
    }
    const std::uint64_t value = end.is_clock ? system_.ticks() : end.value;
    if (end.bytes == 4) {
      write32(at, end.address, static_cast<std::uint32_t>(value));
    } else {
      write64(at, end.address, value);
    }
  }
  if (end.interrupts) system_.events.interrupt(end.context);
}

Progress ComputeQueue::acquire_mem(Words words) {
  const std::size_t expected = device_.node.is_gfx9() ? 7 : 8;
  if (words.size() != expected) {
    return fail("packet-length",
                join("ACQUIRE_MEM has ", words.size(), " words instead of ", expected));
  }
  // GCR_CNTL, GLI_INV. Of other caches nothing is simulated.
  if (!device_.node.is_gfx9() && (words[7] & 3) != 0) device_.code.invalidate_instructions();
  return Progress::kDone;
}

Progress ComputeQueue::write_data(Words words) {
  if (words.size() < 5) return fail("packet-length", "WRITE_DATA has no data");
  const std::uint32_t target = words[1] >> 8 & 15;
  const std::uint64_t address = address_of(words, 2);
  const bool is_single = (words[1] >> 16 & 1) != 0;  // all words to one address
  if ((target != 5 && target != 2) || is_single || address % 4 != 0) {
    return fail("write-data", join("WRITE_DATA has the control word ", hex(words[1]),
                                   " and the address ", hex(address)));
  }
  const Words data = words.subspan(4);
  std::byte* const at = reach(address, 4 * data.size(), Access::kWrite, "the target of WRITE_DATA");
  if (at == nullptr) return Progress::kStopped;
  for (std::size_t i = 0; i != data.size(); ++i) write32(at + 4 * i, address + 4 * i, data[i]);
  return Progress::kDone;
}

Progress ComputeQueue::copy_data(Words words) {
  const std::uint32_t source = words[1] & 15, target = words[1] >> 8 & 15;
  const unsigned bytes = (words[1] >> 16 & 1) != 0 ? 8 : 4;
  const std::uint64_t from = address_of(words, 2), to = address_of(words, 4);
  const bool from_memory = source == 1 || source == 2;
  if ((!from_memory && source != 5 && source != 9) || (target != 1 && target != 2 && target != 5) ||
      (from_memory && from % bytes != 0) || to % bytes != 0) {
    return fail("copy-data", join("COPY_DATA has the control word ", hex(words[1])));
  }
  std::uint64_t value = source == 9 ? system_.ticks() : from;
  if (from_memory) {
    const std::byte* const at = reach(from, bytes, Access::kRead, "the source of COPY_DATA");
    if (at == nullptr) return Progress::kStopped;
    value = bytes == 4 ? load32(at) : load64(at);
  }
  std::byte* const at = reach(to, bytes, Access::kWrite, "the target of COPY_DATA");
  if (at == nullptr) return Progress::kStopped;
  if (bytes == 4) {
    write32(at, to, static_cast<std::uint32_t>(value));
  } else {
    write64(at, to, value);
  }
  return Progress::kDone;
}

Progress ComputeQueue::event_write(Words words) {
  if (words[1] != (pm4::kCsPartialFlush | 4u << 8)) {
    return fail("event-write", join("EVENT_WRITE of ", hex(words[1]), " is not CS_PARTIAL_FLUSH"));
  }
  if (!pipeline_.has_dispatch()) return Progress::kDone;
  return wait("waits for its dispatches");
}

Progress ComputeQueue::set_registers(Words words) {
  const std::uint32_t first = words.size() > 1 ? words[1] & 0xffff : 0;
  const std::size_t count = words.size() - 2;
  if (words.size() < 3 || first + count > pm4::kShRegisters) {
    return fail("set-sh-reg",
                join("SET_SH_REG of ", words.size(), " words from register ", hex(first)));
  }
  for (std::size_t i = 0; i != count; ++i) {
    registers_[first + i] = words[2 + i];
    is_set_[first + i] = true;
  }
  return Progress::kDone;
}

Progress ComputeQueue::dispatch_indirect(Words words) {
  const std::uint64_t address = address_of(words, 1);
  if (address % 4 != 0) return fail("unaligned", join("DISPATCH_INDIRECT at ", hex(address)));
  const std::byte* const at = reach(address, 12, Access::kRead, "the extents of a dispatch");
  if (at == nullptr) return Progress::kStopped;
  return dispatch({load32(at), load32(at + 4), load32(at + 8)}, words[3]);
}

Pm4Queue::Pm4Queue(System& system, Device& device, QueueSettings settings)
    : ComputeQueue(system, device, std::move(settings), 4),
      ring_(settings_.ring_words, settings_.ring, settings_.ring_bytes / 4) {}

Progress Pm4Queue::advance_ring() {
  if (ring_.available() == 0) return Progress::kWaits;
  const Progress progress = run_packet(ring_);
  if (progress == Progress::kDone) set_read_pointer(ring_.position());
  return progress;
}

}  // namespace halyard::inline v0::sim::kfd
