// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory: allocation, subspans, mapping.
#include <algorithm>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace buffer {
namespace {

using hal::Buffer;
using hal::MemoryType;

constexpr MemoryType kTypes[] = {MemoryType::kDeviceLocal, MemoryType::kHostVisible,
                                 MemoryType::kHostLocal};

bool aligned(const Buffer& buffer, std::uint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(buffer.map().value().bytes().data()) % alignment == 0;
}

void buffer_has_the_size_and_type_asked_for(Context& t) {
  for (const MemoryType type : kTypes) {
    for (const std::uint64_t size : {1u, 63u, 64u, 4097u, 1u << 20}) {
      const Buffer buffer = t.device().allocate({.size = size, .memory = type}).value();
      VERIFY_EQ(buffer.size(), size);
      VERIFY_EQ(buffer.memory_type(), type);
    }
  }
}

void default_alignment_is_64_or_more(Context& t) {
  for (const std::uint64_t size : {1u, 5u, 64u, 1000u, 1u << 20}) {
    VERIFY(aligned(t.buffer(size), 64));
  }
}

void asked_alignments_hold(Context& t) {
  for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (int i = 0; i < 3; ++i) {
      const auto buffer = t.device().allocate(
          {.size = 100, .memory = MemoryType::kHostVisible, .alignment = alignment});
      VERIFY_OK(buffer);
      VERIFY(aligned(buffer.value(), alignment));
    }
  }
}

void buffer_of_no_bytes_is_allowed(Context& t) {
  for (const MemoryType type : kTypes) {
    const Buffer buffer = t.device().allocate({.size = 0, .memory = type}).value();
    VERIFY(static_cast<bool>(buffer));
    VERIFY_EQ(buffer.size(), 0u);
    VERIFY_OK(buffer.subspan(0));
  }
  const Buffer buffer = t.device().allocate({.size = 0, .memory = MemoryType::kHostLocal}).value();
  VERIFY_OK(buffer.map());
  VERIFY(buffer.map().value().bytes().empty());
}

void host_memory_is_mapped_and_device_memory_says_if_not(Context& t) {
  VERIFY_OK(t.device().allocate({.size = 64, .memory = MemoryType::kHostVisible}).value().map());
  VERIFY_OK(t.device().allocate({.size = 64, .memory = MemoryType::kHostLocal}).value().map());
  const auto mapping =
      t.device().allocate({.size = 64, .memory = MemoryType::kDeviceLocal}).value().map();
  if (!mapping.ok()) VERIFY_CODE(mapping, StatusCode::kPermissionDenied);
}

void buffers_do_not_overlap(Context& t) {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < 200; ++i) {
    buffers.push_back(t.buffer(1 + i * 13, static_cast<std::uint8_t>(i)));
  }
  for (std::size_t i = 0; i < 200; ++i) {
    VERIFY(contents(buffers[i]) == ByteVector(1 + i * 13, static_cast<std::byte>(i)));
  }
}

void freed_memory_is_allocated_again(Context& t) {
  // Allocates four times the device's memory, one block at a time, without touching it.
  const hal::DeviceInfo& info = t.device().info();
  const std::uint64_t memory = std::max<std::uint64_t>(info.memory_size, 4 << 20);
  const std::uint64_t size = std::min(memory / 4, info.limits.max_buffer_size);
  for (std::uint64_t done = 0; done < 4 * memory; done += size) {
    VERIFY_OK(t.device().allocate({.size = size}));
  }
}

void too_much_memory_is_resource_exhausted(Context& t) {
  for (const MemoryType type : kTypes) {
    for (const std::uint64_t size : {std::uint64_t{1} << 62, ~std::uint64_t{0} / 2,
                                     ~std::uint64_t{0} - 1, ~std::uint64_t{0}}) {
      VERIFY_CODE(t.device().allocate({.size = size, .memory = type}),
                  StatusCode::kResourceExhausted);
    }
  }
  const Status status = t.device().allocate({.size = std::uint64_t{1} << 62}).status();
  VERIFY(status.message().find("4611686018427387904") != std::string_view::npos);
  VERIFY_OK(t.device().allocate({.size = 64}));
}

void alignment_that_is_no_power_of_two_is_refused(Context& t) {
  for (const std::uint64_t alignment :
       {std::uint64_t{3}, std::uint64_t{96}, std::uint64_t{8192}, ~std::uint64_t{0}}) {
    VERIFY_CODE(t.device().allocate({.size = 64, .alignment = alignment}),
                StatusCode::kInvalidArgument);
  }
}

void unknown_memory_type_is_refused(Context& t) {
  VERIFY_CODE(t.device().allocate({.size = 64, .memory = static_cast<MemoryType>(77)}),
              StatusCode::kInvalidArgument);
}

// ---- Subspans

void subspan_is_a_part_of_the_same_memory(Context& t) {
  const ByteVector bytes = ramp(100);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(bytes));
  const Buffer part = buffer.subspan(10, 20).value();
  VERIFY_EQ(part.size(), 20u);
  VERIFY_EQ(part.memory_type(), buffer.memory_type());
  VERIFY(contents(part) == ByteVector(bytes.begin() + 10, bytes.begin() + 30));
  VERIFY_EQ(buffer.subspan(10).value().size(), 90u);
  VERIFY_EQ(buffer.subspan(100).value().size(), 0u);
}

void subspan_of_a_subspan_counts_from_it(Context& t) {
  const ByteVector bytes = ramp(100);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(bytes));
  const Buffer part = buffer.subspan(10, 50).value().subspan(5, 20).value();
  VERIFY(contents(part) == ByteVector(bytes.begin() + 15, bytes.begin() + 35));
}

void subspan_keeps_the_memory(Context& t) {
  Buffer buffer = t.buffer(4096, 0x5a);
  const Buffer part = buffer.subspan(1000, 100).value();
  buffer = {};
  const Buffer other = t.buffer(4096, 0x11);
  VERIFY(contents(part) == ByteVector(100, std::byte{0x5a}));
}

void subspan_beyond_the_end_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(100);
  VERIFY_CODE(buffer.subspan(101), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.subspan(0, 101), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.subspan(50, 51), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.subspan(50, ~std::uint64_t{0} - 20), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.subspan(~std::uint64_t{0}, 2), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.subspan(50, 50).value().subspan(0, 51), StatusCode::kOutOfRange);
}

// ---- Mapping

void mapped_part_begins_at_its_offset(Context& t) {
  const ByteVector bytes = ramp(100);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(bytes));
  const auto mapping = buffer.map(40, 8).value();
  VERIFY_EQ(mapping.bytes().size(), 8u);
  VERIFY(std::ranges::equal(mapping.bytes(), std::span(bytes).subspan(40, 8)));
  VERIFY_EQ(buffer.map(90).value().bytes().size(), 10u);
}

void writes_through_a_mapping_keep_their_neighbours(Context& t) {
  ByteVector expected = ramp(100);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
  std::ranges::fill(buffer.map(30, 10).value().bytes(), std::byte{0xee});
  std::fill_n(expected.begin() + 30, 10, std::byte{0xee});
  VERIFY(contents(buffer) == expected);
}

void mapping_has_typed_elements(Context& t) {
  const Buffer buffer = t.buffer(26);
  const auto mapping = buffer.map().value();
  VERIFY_EQ(mapping.as<double>().size(), 3u);
  VERIFY_EQ(mapping.as<std::uint16_t>().size(), 13u);
  mapping.as<double>()[2] = 1.25;
  VERIFY_EQ(buffer.map(16).value().as<double>()[0], 1.25);
}

void mapping_keeps_the_memory(Context& t) {
  hal::Mapping mapping;
  {
    const Buffer buffer = t.buffer(4096, 0x5a);
    mapping = buffer.map().value();
  }
  const Buffer other = t.buffer(4096, 0x11);
  VERIFY(std::ranges::all_of(mapping.bytes(), [](auto b) { return b == std::byte{0x5a}; }));
}

void mapping_beyond_the_end_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(100);
  VERIFY_CODE(buffer.map(101), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.map(0, 101), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.map(99, 2), StatusCode::kOutOfRange);
  VERIFY_CODE(buffer.map(8, ~std::uint64_t{0} - 4), StatusCode::kOutOfRange);
}

void two_mappings_see_each_other(Context& t) {
  const Buffer buffer = t.buffer(64);
  const auto a = buffer.map().value();
  const auto b = buffer.subspan(32).value().map().value();
  a.bytes()[40] = std::byte{7};
  VERIFY_EQ(b.bytes()[8], std::byte{7});
}

void host_writes_before_a_submission_are_seen_by_it(Context& t) {
  const Buffer from = t.buffer(4096);
  const Buffer to = t.buffer(4096);
  for (std::uint8_t round = 1; round <= 20; ++round) {
    std::ranges::fill(from.map().value().bytes(), std::byte{round});
    t.finish([&](const hal::SubmitInfo& info) { return t.queue().copy(from, to, info); });
    VERIFY(contents(to) == ByteVector(4096, std::byte{round}));
  }
}

void host_writes_before_a_signal_are_seen_by_who_waits_for_it(Context& t) {
  const Buffer from = t.buffer(4096);
  const Buffer to = t.buffer(4096);
  const hal::Semaphore gate = t.semaphore();
  const hal::Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().copy(from, to, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  std::ranges::fill(from.map().value().bytes(), std::byte{9});
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(contents(to) == ByteVector(4096, std::byte{9}));
}

void handles_of_one_buffer_are_equal(Context& t) {
  const Buffer buffer = t.buffer(64);
  Buffer copy = buffer;
  VERIFY(copy == buffer);
  VERIFY(!(t.buffer(64) == buffer));
  const Buffer moved = std::move(copy);
  VERIFY(moved == buffer);
  VERIFY(!copy);  // NOLINT(bugprone-use-after-move): empty, by contract
}

void memory_comes_and_goes_on_many_threads(Context& t) {
  Threads threads;
  for (std::uint8_t i = 1; i <= 4; ++i) {
    threads.start([&, i] {
      std::vector<Buffer> kept(8);
      for (std::size_t round = 0; round < 200; ++round) {
        Buffer& slot = kept[round * 5 % 8];
        if (slot) VERIFY(contents(slot) == ByteVector(slot.size(), std::byte{i}));
        slot = t.buffer(1 + round * 97 % 5000, i);
      }
    });
  }
}

#define CASE(name) {"buffer", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"buffer", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(buffer_has_the_size_and_type_asked_for),
    CASE(default_alignment_is_64_or_more),
    CASE(asked_alignments_hold),
    CASE(buffer_of_no_bytes_is_allowed),
    CASE(host_memory_is_mapped_and_device_memory_says_if_not),
    CASE(buffers_do_not_overlap),
    CASE(freed_memory_is_allocated_again),
    CASE(too_much_memory_is_resource_exhausted),
    CASE(alignment_that_is_no_power_of_two_is_refused),
    CASE(unknown_memory_type_is_refused),
    CASE(subspan_is_a_part_of_the_same_memory),
    CASE(subspan_of_a_subspan_counts_from_it),
    CASE(subspan_keeps_the_memory),
    CASE(subspan_beyond_the_end_is_out_of_range),
    CASE(mapped_part_begins_at_its_offset),
    CASE(writes_through_a_mapping_keep_their_neighbours),
    CASE(mapping_has_typed_elements),
    CASE(mapping_keeps_the_memory),
    CASE(mapping_beyond_the_end_is_out_of_range),
    CASE(two_mappings_see_each_other),
    CASE_ON_EVERY_QUEUE(host_writes_before_a_submission_are_seen_by_it),
    CASE_ON_EVERY_QUEUE(host_writes_before_a_signal_are_seen_by_who_waits_for_it),
    CASE(handles_of_one_buffer_are_equal),
    CASE(memory_comes_and_goes_on_many_threads),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace buffer

std::span<const Case> buffer_cases() noexcept { return buffer::kCases; }

}  // namespace halyard::inline v0::conformance
