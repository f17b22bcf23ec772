// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of hardware devices: staged copies, transfers, reuse.
#include <algorithm>

#include "conformance/bytes.h"
#include "conformance/hcq.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace hcq_memory {
namespace {

using hcq::Allocator;
using hcq::Memory;
using hcq::Signal;

// Blocks the timeline of a device until it is opened or destroyed.
class Gate {
 public:
  explicit Gate(const Hardware& h) : signal_(h.signal()) {
    hcq::ComputeQueue q;
    q.wait(signal_, 1).signal(h.device().next_timeline());
    check(q.submit(h.device()));
  }
  ~Gate() { open(); }
  void open() const { signal_.set(1); }

 private:
  Signal signal_;
};

Allocator small_slots(const Hardware& h, std::uint64_t size, std::uint32_t count) {
  return Allocator::create(h.device(), {.batch_size = size, .batch_count = count}).value();
}

// ---- Copies to and from the host

void odd_sizes_go_both_ways_through_few_slots(Context& t) {
  const Hardware h(t);
  Allocator allocator = small_slots(h, 1 << 20, 4);
  const ByteVector data = ramp((5 << 20) + 123);
  const Memory memory = allocator.allocate(data.size()).value();
  VERIFY_OK(allocator.copy_in(memory.buffer(), data.data(), data.size(), kWatchdog));
  ByteVector back(data.size());
  VERIFY_OK(allocator.copy_out(back.data(), memory.buffer(), back.size(), kWatchdog));
  VERIFY(back == data);
}

void copied_in_source_may_be_rewritten_at_once(Context& t) {
  Hardware h(t);
  const Memory memory = h.allocator().allocate(256).value();
  for (unsigned i = 0; i < 256; ++i) {
    auto byte = static_cast<std::uint8_t>(i);
    VERIFY_OK(h.allocator().copy_in({memory.buffer().va_addr + i, 1}, &byte, 1, kWatchdog));
    byte = 0xee;
  }
  std::uint8_t back[256];
  VERIFY_OK(h.allocator().copy_out(back, memory.buffer(), 256, kWatchdog));
  for (unsigned i = 0; i < 256; ++i) VERIFY_EQ(back[i], i);
}

void copy_in_waits_only_once_all_slots_are_in_use(Context& t) {
  const Hardware h(t);
  Allocator allocator = small_slots(h, 100, 4);
  const ByteVector data = ramp(500);
  const Memory memory = allocator.allocate(500).value();
  const Gate gate(h);
  VERIFY_OK(allocator.copy_in(memory.buffer(), data.data(), 400, kNow));
  const Status status = allocator.copy_in(memory.buffer(), data.data(), 500, kAWhile);
  VERIFY_CODE(status, StatusCode::kDeadlineExceeded);
  VERIFY(status.message().find("copy_in of 500 bytes ended after 0") != std::string_view::npos);
  gate.open();
  VERIFY_OK(allocator.copy_in(memory.buffer(), data.data(), 500, kWatchdog));
  ByteVector back(500);
  VERIFY_OK(allocator.copy_out(back.data(), memory.buffer(), 500, kWatchdog));
  VERIFY(back == data);
}

void copy_out_ends_at_its_deadline(Context& t) {
  const Hardware h(t);
  Allocator allocator = small_slots(h, 100, 4);
  const ByteVector data = ramp(900);
  const Memory memory = allocator.allocate(900).value();
  VERIFY_OK(allocator.copy_in(memory.buffer(), data.data(), 900, kWatchdog));
  VERIFY_OK(h.device().synchronize(kWatchdog));
  ByteVector back(900);
  {
    const Gate gate(h);
    VERIFY_CODE(allocator.copy_out(back.data(), memory.buffer(), 900, kAWhile),
                StatusCode::kDeadlineExceeded);
  }
  VERIFY_OK(allocator.copy_out(back.data(), memory.buffer(), 900, kWatchdog));
  VERIFY(back == data);
}

void threads_share_the_slots(Context& t) {
  const Hardware h(t);
  Allocator allocator = small_slots(h, 64, 3);
  Threads threads;
  for (std::uint32_t i = 0; i < t.threads(4); ++i) {
    threads.start([&, i] {
      ByteVector data = ramp(1000);
      for (std::uint32_t n = 0; n < t.rounds(20); ++n) {
        data[500] = static_cast<std::byte>(20 * i + n);
        const Memory memory = allocator.allocate(1000).value();
        VERIFY_OK(allocator.copy_in(memory.buffer(), data.data(), 1000, kWatchdog));
        ByteVector back(1000);
        VERIFY_OK(allocator.copy_out(back.data(), memory.buffer(), 1000, kWatchdog));
        VERIFY(back == data);
      }
    });
  }
}

// ---- Transfers

void transfers_across_devices_are_ordered(Context& t) {
  Hardware h(t);
  const Words a(h, std::vector<std::uint32_t>(50'000, 1), 0);
  const Words b(h, std::vector<std::uint32_t>(50'000, 2), 1);
  const Words c(h, std::vector<std::uint32_t>(50'000, 3), 0);
  Gate gate(h);
  VERIFY_OK(Allocator::transfer(b.buffer(), h.device(1), a.buffer(), h.device(0), 200'000));
  VERIFY_OK(Allocator::transfer(c.buffer(), h.device(0), b.buffer(), h.device(1), 200'000));
  VERIFY_CODE(h.device(1).synchronize(kAWhile), StatusCode::kDeadlineExceeded);
  gate.open();
  VERIFY(c.read() == a.read());
}

void threads_transfer_in_both_directions_at_once(Context& t) {
  Hardware h(t);
  const Words a(h, {1}, 0), b(h, {2}, 1);
  const std::uint32_t each = t.rounds(200);
  Threads threads;
  threads.start([&] {
    for (std::uint32_t i = 0; i < each; ++i) {
      VERIFY_OK(Allocator::transfer(b.buffer(), h.device(1), a.buffer(), h.device(0), 4));
    }
  });
  for (std::uint32_t i = 0; i < each; ++i) {
    VERIFY_OK(Allocator::transfer(a.buffer(), h.device(0), b.buffer(), h.device(1), 4));
  }
  threads.join();
  VERIFY_OK(h.device(0).synchronize(kWatchdog));
  VERIFY_OK(h.device(1).synchronize(kWatchdog));
  VERIFY_EQ(a.read(0), b.read(0));
}

// ---- Reuse

void freed_memory_is_handed_out_again_oldest_first(Context& t) {
  Hardware h(t);
  Memory a = h.allocator().allocate(1000).value();
  Memory b = h.allocator().allocate(1000).value();
  const std::uint64_t first = a.buffer().va_addr, second = b.buffer().va_addr;
  a = Memory();
  b = Memory();
  const Memory c = h.allocator().allocate(1000).value();
  const Memory d = h.allocator().allocate(990).value();
  VERIFY_EQ(c.buffer().va_addr, first);
  VERIFY_EQ(d.buffer().va_addr, second);
  VERIFY_EQ(d.buffer().size, 990u);
}

void memory_freed_in_flight_waits_for_its_work(Context& t) {
  Hardware h(t);
  Memory memory = h.allocator().allocate(1000).value();
  const std::uint64_t address = memory.buffer().va_addr;
  const Gate gate(h);
  memory = Memory();
  const Memory other = h.allocator().allocate(1000).value();
  VERIFY(other.buffer().va_addr != address);
  gate.open();
  VERIFY_OK(h.device().synchronize(kWatchdog));
  const Memory again = h.allocator().allocate(1000).value();
  VERIFY_EQ(again.buffer().va_addr, address);
}

void statistics_count_use_and_trim_gives_back(Context& t) {
  Hardware h(t);
  Allocator& allocator = h.allocator();
  Memory memory = allocator.allocate(4096).value();
  VERIFY_EQ(allocator.statistics().in_use, 4096u);
  memory = Memory();
  VERIFY_EQ(allocator.statistics().in_use, 0u);
  VERIFY_EQ(allocator.statistics().cached, 4096u);
  VERIFY_EQ(allocator.trim(), 4096u);
  VERIFY_EQ(allocator.statistics().cached, 0u);
}

void memory_outlives_its_allocator(Context& t) {
  const Hardware h(t);
  Memory memory;
  {
    Allocator allocator = small_slots(h, 64, 2);
    memory = allocator.allocate(64).value();
    const ByteVector data = ramp(64);
    VERIFY_OK(allocator.copy_in(memory.buffer(), data.data(), 64, kWatchdog));
  }
  Allocator other = small_slots(h, 64, 2);
  ByteVector back(64);
  VERIFY_OK(other.copy_out(back.data(), memory.buffer(), 64, kWatchdog));
  VERIFY(back == ramp(64));
}

// ---- Refused uses

void impossible_memory_is_resource_exhausted_with_its_size(Context& t) {
  Hardware h(t);
  for (const std::uint64_t size : {(std::uint64_t{1} << 62) + 1, ~std::uint64_t{0}}) {
    const Status status = h.allocator().allocate(size).status();
    VERIFY_CODE(status, StatusCode::kResourceExhausted);
    VERIFY(status.message().find(fmt::format("no memory for {} bytes", size)) !=
           std::string_view::npos);
  }
  VERIFY_OK(h.allocator().allocate(64));
  VERIFY_CODE(Allocator::create(h.device(), {.batch_size = ~std::uint64_t{0}}),
              StatusCode::kResourceExhausted);
}

void wrong_options_and_sizes_are_refused_and_named(Context& t) {
  Hardware h(t);
  const Status none = Allocator::create(h.device(), {.batch_size = 0}).status();
  VERIFY_CODE(none, StatusCode::kInvalidArgument);
  VERIFY(none.message().find("allocator: 32 batches of 0 bytes") != std::string_view::npos);
  VERIFY_CODE(Allocator::create(h.device(), {.batch_count = 0}), StatusCode::kInvalidArgument);
  const Memory memory = h.allocator().allocate(8).value();
  const Memory larger = h.allocator().allocate(9).value();
  std::uint8_t bytes[9] = {};
  const Status status = h.allocator().copy_in(memory.buffer(), bytes, 9);
  VERIFY_CODE(status, StatusCode::kOutOfRange);
  VERIFY(status.message().find("allocator: copy_in of 9 bytes, the buffer has 8") !=
         std::string_view::npos);
  VERIFY_CODE(h.allocator().copy_out(bytes, memory.buffer(), 9), StatusCode::kOutOfRange);
  VERIFY_CODE(Allocator::transfer(memory.buffer(), h.device(1), larger.buffer(), h.device(0), 9),
              StatusCode::kOutOfRange);
  VERIFY_CODE(Allocator::transfer(larger.buffer(), h.device(1), memory.buffer(), h.device(0), 9),
              StatusCode::kOutOfRange);
}

#define CASE(name) {"hcq_memory", #name, name}
constexpr Case kCases[] = {
    CASE(odd_sizes_go_both_ways_through_few_slots),
    CASE(copied_in_source_may_be_rewritten_at_once),
    CASE(copy_in_waits_only_once_all_slots_are_in_use),
    CASE(copy_out_ends_at_its_deadline),
    CASE(threads_share_the_slots),
    CASE(transfers_across_devices_are_ordered),
    CASE(threads_transfer_in_both_directions_at_once),
    CASE(freed_memory_is_handed_out_again_oldest_first),
    CASE(memory_freed_in_flight_waits_for_its_work),
    CASE(statistics_count_use_and_trim_gives_back),
    CASE(memory_outlives_its_allocator),
    CASE(impossible_memory_is_resource_exhausted_with_its_size),
    CASE(wrong_options_and_sizes_are_refused_and_named),
};
#undef CASE

}  // namespace
}  // namespace hcq_memory

std::span<const Case> hcq_memory_cases() noexcept { return hcq_memory::kCases; }

}  // namespace halyard::inline v0::conformance
