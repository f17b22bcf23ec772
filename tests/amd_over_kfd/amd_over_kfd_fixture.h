// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of words from the encoders of the amd driver, on queues of the simulated kernel driver.
// At the end of each test there must be no violation that the test did not take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/amd/aql.h"
#include "drivers/amd/pm4.h"
#include "drivers/amd/sdma.h"
#include "halyard/base/result.h"
#include "sim_gfx/gfx_assembler.h"
#include "sim_kfd/kfd_fixture.h"
#include "simulation/hip/gfx/program.h"

namespace halyard::testing {

constexpr std::uint32_t kLanes = 64, kShared = 512, kPrivate = 16;

// out[i] = in[i ^ 1] + 1, by LDS, a barrier and scratch. Arguments: in, out. Each group has 64
// work-items.
inline GfxSource exchange() {
  return {.body = R"(s_load_b128 s[4:7], s[0:1], 0
v_and_b32 v1, 0x3ff, v0
v_lshlrev_b32 v1, 2, v1
v_lshl_add_u32 v2, s2, 8, v1
s_waitcnt lgkmcnt(0)
global_load_b32 v3, v2, s[4:5]
s_waitcnt vmcnt(0)
ds_store_b32 v1, v3
s_waitcnt lgkmcnt(0)
s_barrier
v_xor_b32 v4, 4, v1
ds_load_b32 v5, v4
s_waitcnt lgkmcnt(0)
scratch_store_b32 off, v5, off offset:4
s_waitcnt_vscnt null, 0
scratch_load_b32 v6, off, off offset:4
s_waitcnt vmcnt(0)
v_add_nc_u32 v6, 1, v6
global_store_b32 v2, v6, s[6:7])",
          .lds = kShared,
          .scratch = kPrivate,
          .directives = ".amdhsa_enable_private_segment 1"};
}

// in[0] = the work-items along x, in[1] = those of a workgroup, as the dispatch packet has them.
inline GfxSource packet_reader() {
  return {.body = R"(s_load_b64 s[6:7], s[2:3], 0
s_load_b32 s8, s[0:1], 12
s_load_b32 s9, s[0:1], 4
s_waitcnt lgkmcnt(0)
s_and_b32 s9, s9, 0xffff
v_mov_b32 v1, s8
v_mov_b32 v2, s9
v_mov_b32 v3, 0
global_store_b64 v3, v[1:2], s[6:7])",
          .directives = ".amdhsa_user_sgpr_dispatch_ptr 1"};
}

// Blocks of lists, in a buffer of the device.
class DeviceBlocks final : public hcq::WordList::BlockMemory {
 public:
  explicit DeviceBlocks(const KfdBuffer& memory) : memory_(memory) {}
  Result<hcq::DeviceSpan> allocate(std::size_t size, std::size_t alignment) override {
    const std::uint64_t begin = (used_ + alignment - 1) / alignment * alignment;
    used_ = begin + size;
    EXPECT_LE(used_, memory_.size);
    return hcq::DeviceSpan{memory_.host + begin, memory_.address + begin, size};
  }

 private:
  KfdBuffer memory_;
  std::uint64_t used_ = 0;
};

// The words of a single command.
class CommandWords : public hcq::WordList {
 public:
  explicit CommandWords(BlockMemory* blocks = nullptr) : WordList(blocks) { begin_command(); }
};

// The segments of a list, where the device reads them.
struct Segments {
  KfdBuffer memory;
  std::vector<std::uint64_t> offsets;

  // Changes a field. Only there: the list keeps its value.
  void write(const hcq::FieldPlace& place, std::uint64_t value) {
    ASSERT_FALSE(place.in_block);
    std::byte* const at = memory.host + offsets[place.part] + place.offset;
    std::uint64_t number = 0;
    std::memcpy(&number, at, place.bytes);
    number = hcq::merge_field(place, number, value);
    std::memcpy(at, &number, place.bytes);
  }
};

class AmdOverKfdTest : public KfdTest {
 protected:
  AmdOverKfdTest() { begin(); }
  // After start(), too.
  void begin() {
    signals_ = allocate(4096);
    input_ = allocate(4096);
    output_ = allocate(4096);
    arguments_ = allocate(4096);
    arguments_.quad(0) = input_.address;
    arguments_.quad(8) = output_.address;
    for (std::uint32_t i = 0; i != input_.size / 4; ++i) input_.word(4 * i) = 100 + i;
    page_ = {};
  }
  amd::Generation generation() const { return amd::generation_of(node().name).value(); }

  // The address of the signal with a number, and its value.
  std::uint64_t signal(unsigned number) const { return signals_.address + 64 * number; }
  std::uint32_t& value(unsigned number) { return signals_.word(64 * number); }
  std::uint64_t& time(unsigned number) { return signals_.quad(64 * number); }

  amd::Mailbox create_event() {
    const bool is_first = page_.size == 0;
    if (is_first) page_ = allocate(0x8000, abi::kGtt | abi::kUncached | abi::kWritable);
    abi::CreateEvent args{.event_page_offset = is_first ? page_.handle : 0, .auto_reset = 1};
    EXPECT_EQ(request(abi::Request::kCreateEvent, 3, args), 0);
    return {page_.address + 8 * args.event_id, args.event_id};
  }
  // Whether the event was raised since the last call.
  bool take_event(const amd::Mailbox& mailbox) {
    abi::EventData data{.memory = {}, .event_id = mailbox.event};
    abi::WaitEvents args{reinterpret_cast<std::uint64_t>(&data), 1, 0, 0, 7};
    EXPECT_EQ(request(abi::Request::kWaitEvents, 3, args), 0);
    return args.wait_result == abi::kComplete;
  }

  // Assembles a kernel and loads it into the device's memory.
  amd::Kernel load(const GfxSource& source) {
    // The assembler takes most of a test's time.
    static std::map<std::string, std::vector<std::byte>> objects;
    const std::string text = gfx_module_text({source});
    std::vector<std::byte>& object = objects[text];
    if (object.empty()) object = assemble_gfx(text);
    const gfx::Loaded loaded = gfx::CodeObject::load(object, "gfx1100");
    check(loaded.status == gfx::LoadStatus::kOk ? Status()
                                                : Status(StatusCode::kDataLoss, loaded.log));
    const auto image = loaded.code->image();
    code_ = allocate((image.size() + 4095) / 4096 * 4096);
    std::memcpy(code_.host, image.data(), image.size());
    loaded.code->relocate(std::span(code_.host, image.size()), code_.address);
    const auto& kernel = loaded.code->program().code[0];
    // The descriptor is where the image has one with this entry and these registers.
    for (std::uint64_t at = 0; at + 64 <= image.size(); at += 64) {
      const auto read = amd::read_kernel_descriptor(std::span(code_.host + at, 64));
      if (read.ok() && read->rsrc1 == kernel.descriptor.rsrc1 &&
          read->rsrc2 == kernel.descriptor.rsrc2 &&
          at + static_cast<std::uint64_t>(read->entry_offset) == kernel.entry_offset) {
        return {*read, code_.address + at};
      }
    }
    check(Status(StatusCode::kNotFound, "the image has no descriptor"));
    return {};
  }
  // A kernel that a host function stands for, with its arguments' address in registers.
  amd::Kernel host_kernel(kfd::HostKernel function) {
    code_ = allocate(4096);
    code_.quad(16) = 256;
    code_.word(48) = 0xbf0080;
    code_.word(52) = 2u << 1;
    code_.word(56) = 1u << 3;
    kfd_->set_host_kernel(code_.address + 256, std::move(function));
    return {amd::read_kernel_descriptor(std::span(code_.host, 64)).value(), code_.address};
  }
  amd::Launch launch(const hcq::Operand& groups) const {
    return {
        .groups = {groups, 1, 1}, .group_size = {kLanes, 1, 1}, .arguments = arguments_.address};
  }
  amd::Scratch scratch(std::uint32_t lane_bytes = kPrivate) {
    amd::Scratch result =
        amd::size_scratch(generation(),
                          {.units = node().compute_units() / node().num_xcc,
                           .shader_engines = node().array_count / node().simd_arrays_per_engine,
                           .scratch_slots = 32},
                          lane_bytes)
            .value();
    result.address = allocate((result.size + 4095) / 4096 * 4096).address;
    return result;
  }
  // That the kernel exchange() has written the output of so many groups, and nothing else.
  void expect_output(std::uint32_t groups) {
    for (std::uint32_t i = 0; i != output_.size / 4; ++i) {
      ASSERT_EQ(output_.word(4 * i), i < groups * kLanes ? 101 + (i ^ 1) : 0) << i;
    }
  }

  KfdQueue create_aql() {
    KfdQueue queue = create(abi::kAql);
    for (std::uint64_t at = 0; at != queue.ring.size; at += 64) {
      amd::invalidate_packet(queue.ring.host + at);
    }
    return queue;
  }
  // Writes into the ring what executes `words`, which the device's memory has at `address`.
  void append(KfdQueue& queue, std::span<const std::uint32_t> words, std::uint64_t address) {
    if (queue.type == abi::kPm4) {
      const auto packet = amd::indirect_buffer(address, words.size()).value();
      write(queue, {packet.begin(), packet.end()});
    } else if (queue.type == abi::kAql) {
      amd::AqlPacket packet;
      if (amd::is_aql_packet(words)) {
        std::memcpy(packet.data(), words.data(), sizeof packet);
      } else {
        packet = amd::indirect_packet(address, words.size()).value();
      }
      amd::publish_packet(queue.ring.host + queue.put++ * 64 % queue.ring.size, packet);
    } else {
      queue.put =
          amd::write_sdma_indirect(queue.put, ring_words(queue), address, words.size()).value();
    }
  }
  std::span<std::uint32_t> ring_words(KfdQueue& queue) {
    return {&queue.ring.word(0), queue.ring.size / 4};
  }
  // Places the segments in memory and gives them to the queue, one after the other.
  Segments submit(KfdQueue& queue, const hcq::WordList& list) {
    Segments segments{allocate(16384), {}};
    std::uint64_t end = 0;
    for (std::size_t i = 0; i != list.segment_count(); ++i) {
      const std::span<const std::uint32_t> words = list.segment(i);
      EXPECT_LE(end + words.size_bytes(), segments.memory.size);
      std::memcpy(segments.memory.host + end, words.data(), words.size_bytes());
      segments.offsets.push_back(end);
      // After a wait or an AQL packet that ends the list there is an empty segment.
      if (!words.empty()) append(queue, words, segments.memory.address + end);
      end = (end + words.size_bytes() + 63) / 64 * 64;
    }
    ring(queue);
    return segments;
  }

  KfdBuffer signals_, input_, output_, arguments_, code_, page_;
};

// The only place of a role in a list.
inline const hcq::FieldPlace& place_of(const hcq::WordList& list, hcq::FieldRole role) {
  const hcq::FieldPlace* found = nullptr;
  for (const hcq::FieldPlace& each : list.places()) {
    if (each.field.role != role) continue;
    EXPECT_EQ(found, nullptr);
    found = &each;
  }
  check(found != nullptr ? Status() : Status(StatusCode::kNotFound, "no field of this role"));
  return *found;
}

}  // namespace halyard::testing
