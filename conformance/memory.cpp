// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imported host memory, a device's memory statistics, and the modes of mapping.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace memory {
namespace {

using hal::Buffer;
using hal::MapMode;
using hal::Mapping;

// Host memory of the test, and the number of calls of its `released`. Imports share it, because
// `released` may run on another thread after the case has returned.
struct Host {
  struct Lent {
    alignas(64) std::array<std::byte, 4096> bytes{};
    std::atomic<int> released{0};
  };
  const std::shared_ptr<Lent> lent = std::make_shared<Lent>();
  std::array<std::byte, 4096>& bytes = lent->bytes;
  std::atomic<int>& released = lent->released;

  Result<Buffer> import(const Context& t, std::size_t device = 0) {
    return import(t, device, bytes);
  }
  Result<Buffer> import(const Context& t, std::size_t device, std::span<std::byte> part) {
    return t.device(device).import_memory(part, [lent = lent] { ++lent->released; });
  }
};

void imported_memory_is_the_callers_bytes(Context& t) {
  Host host;
  host.bytes[7] = std::byte{42};
  {
    const Buffer buffer = host.import(t).value();
    VERIFY_EQ(buffer.size(), host.bytes.size());
    VERIFY_EQ(buffer.memory_type(), hal::MemoryType::kHostLocal);
    const Mapping mapping = buffer.map().value();
    VERIFY(mapping.bytes().data() == host.bytes.data());
    VERIFY_EQ(mapping.bytes()[7], std::byte{42});
  }
  VERIFY_UNTIL(host.released == 1);
}

void device_work_reads_and_writes_imported_memory(Context& t) {
  Host source, target;
  std::ranges::copy(ramp(source.bytes.size()), source.bytes.begin());
  {
    const Buffer from = source.import(t).value(), to = target.import(t).value();
    t.finish([&](const hal::SubmitInfo& info) { return t.queue().copy(from, to, info); });
  }
  VERIFY(source.bytes == target.bytes);
  VERIFY_UNTIL(source.released == 1 && target.released == 1);
}

void imported_memory_is_released_after_its_last_submission(Context& t) {
  Host host;
  const hal::Semaphore gate = t.semaphore(), done = t.semaphore();
  {
    const Buffer buffer = host.import(t).value();
    const Buffer part = buffer.subspan(64, 64).value();
    check(t.queue().fill(part, 0x11, 1, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  VERIFY_EQ(host.released.load(), 0);
  check(gate.signal(1));
  check(done.wait(1, kWatchdog));
  VERIFY_UNTIL(host.released == 1);
  VERIFY_EQ(host.bytes[64], std::byte{0x11});
  VERIFY_EQ(host.bytes[63], std::byte{0});
  VERIFY_EQ(host.bytes[128], std::byte{0});
}

void memory_of_work_nobody_waits_for_is_released(Context& t) {
  Host host;
  constexpr std::size_t kCount = 200, kSize = hal::Device::kImportAlignment;
  const std::span bytes = std::span(host.bytes).first<kCount * kSize>();
  for (std::size_t i = 0; i < kCount; ++i) {
    const Buffer buffer = host.import(t, 0, bytes.subspan(kSize * i, kSize)).value();
    check(t.queue().fill(buffer, 0x33, 1, {}));
  }
  VERIFY_UNTIL((check(t.queue().flush()), host.released == kCount));
  VERIFY(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0x33}; }));
}

void recording_keeps_imported_memory(Context& t) {
  Host host;
  hal::Recorder recorder(t.device());
  recorder.fill(host.import(t).value(), 0x22, 1);
  hal::CommandBuffer commands = recorder.finish().value();
  VERIFY_EQ(host.released.load(), 0);
  check(t.compute().execute_and_wait(commands, {}, kWatchdog));
  VERIFY_EQ(host.bytes[4095], std::byte{0x22});
  commands = {};
  VERIFY_UNTIL(host.released == 1);
}

void import_that_fails_releases_nothing(Context& t) {
  Host host;
  const auto import = [&](std::byte* data) {
    return t.device().import_memory({data, 64}, [&] { ++host.released; });
  };
  VERIFY_CODE(import(nullptr), StatusCode::kInvalidArgument);
  VERIFY_CODE(import(host.bytes.data() + 1), StatusCode::kInvalidArgument);
  VERIFY_CODE(import(host.bytes.data() + 8), StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Device().import_memory(host.bytes, [&] { ++host.released; }),
              StatusCode::kInvalidArgument);
  VERIFY_EQ(host.released.load(), 0);
}

void callable_of_a_failed_import_is_destroyed(Context& t) {
  const auto token = std::make_shared<int>(0);
  VERIFY_CODE(t.device().import_memory({static_cast<std::byte*>(nullptr), 64}, [token] {}),
              StatusCode::kInvalidArgument);
  VERIFY_EQ(token.use_count(), 1);
}

void same_memory_can_be_imported_by_two_devices(Context& t) {
  Host host;
  {
    const Buffer first = host.import(t, 0).value(), second = host.import(t, 1).value();
    t.finish([&](const hal::SubmitInfo& i) { return t.compute(0).fill(first, 0x33, 1, i); });
    VERIFY_EQ(contents(second).back(), std::byte{0x33});
  }
  VERIFY_UNTIL(host.released == 2);
}

// The hardware determines whose memory a device can use. The answer of can_access() must hold.
void device_uses_the_memory_that_it_can_access_and_refuses_other(Context& t) {
  for (const std::size_t user : {0u, 1u}) {
    VERIFY(t.device(user).can_access(t.device(user)));
    VERIFY(!t.device(user).can_access({}));
    const std::size_t owner = 1 - user;
    const Buffer theirs = t.buffer(64, 0, owner);
    if (t.device(user).can_access(t.device(owner))) {
      t.finish([&](const hal::SubmitInfo& i) { return t.queue(user).fill(theirs, 7, 1, i); });
      VERIFY(contents(theirs) == ByteVector(64, std::byte{7}));
      continue;
    }
    const Buffer own = t.buffer(64, 0, user);
    VERIFY_CODE(t.queue(user).fill(theirs, 7, 1, {}), StatusCode::kPermissionDenied);
    VERIFY_CODE(hal::Recorder(t.device(user)).fill(theirs, 7).finish(),
                StatusCode::kPermissionDenied);
    VERIFY_CODE(hal::Recorder(t.device(user)).copy(theirs, own).finish(),
                StatusCode::kPermissionDenied);
    t.finish([&](const hal::SubmitInfo& i) { return t.queue(user).copy(theirs, own, i); });
  }
}

void memory_can_be_imported_again_after_its_release(Context& t) {
  Host host;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    {
      const Buffer buffer = host.import(t).value();
      t.finish([&](const hal::SubmitInfo& info) { return t.queue().fill(buffer, i, 1, info); });
    }
    VERIFY_UNTIL(host.released == i);
    VERIFY(std::ranges::all_of(host.bytes, [i](std::byte byte) { return byte == std::byte{i}; }));
  }
}

void exported_memory_is_one_with_its_import(Context& t) {
  hal::BufferInfo info{.size = 1000, .memory = hal::MemoryType::kHostVisible};
  info.exportable = true;
  Result<Buffer> exported = t.device().allocate(info);
  if (exported.status().code() == StatusCode::kUnimplemented) {
    throw Skip{std::string(exported.status().message())};
  }
  const int descriptor = exported.value().export_descriptor().value();
  const Buffer imported = t.device().import_descriptor(descriptor, info).value();
  t.finish([&](const hal::SubmitInfo& i) { return t.queue().fill(imported, 7, 1, i); });
  VERIFY(contents(*exported) == ByteVector(1000, std::byte{7}));
  t.finish([&](const hal::SubmitInfo& i) { return t.queue().fill({*exported, 3}, 8, 1, i); });
  exported = Buffer();
  VERIFY_EQ(contents(imported)[2], std::byte{7});
  VERIFY_EQ(contents(imported)[3], std::byte{8});
}

void export_and_import_of_what_is_no_shared_memory_are_refused(Context& t) {
  const Buffer buffer = t.buffer(64);
  VERIFY_CODE(buffer.export_descriptor(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(buffer.subspan(8).value().export_descriptor(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(Buffer().export_descriptor(), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.device().import_descriptor(-1, {.size = 64}), StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Device().import_descriptor(0, {.size = 64}), StatusCode::kInvalidArgument);
}

void statistics_count_what_lives(Context& t) {
  const hal::MemoryStatistics before = t.device().memory_statistics();
  {
    const Buffer first = t.device().allocate({.size = 1000}).value();
    const Buffer second = t.device().allocate({.size = 24}).value();
    const Buffer part = first.subspan(10, 10).value();
    const hal::MemoryStatistics now = t.device().memory_statistics();
    VERIFY_EQ(now.bytes - before.bytes, 1024u);
    VERIFY_EQ(now.allocations - before.allocations, 2u);
    VERIFY_EQ(now.total_allocations - before.total_allocations, 2u);
    VERIFY(now.peak_bytes >= before.bytes + 1024);
  }
  const hal::MemoryStatistics after = t.device().memory_statistics();
  VERIFY_EQ(after.bytes, before.bytes);
  VERIFY_EQ(after.allocations, before.allocations);
  VERIFY_EQ(after.total_allocations - before.total_allocations, 2u);
  VERIFY(after.peak_bytes >= before.bytes + 1024);
}

void statistics_count_memory_that_only_a_submission_uses(Context& t) {
  const hal::Semaphore gate = t.semaphore(), done = t.semaphore();
  const std::uint64_t before = t.device().memory_statistics().bytes;
  check(t.queue().fill(t.device().allocate({.size = 256}).value(), 0, 4,
                       {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_EQ(t.device().memory_statistics().bytes, before + 256);
  check(gate.signal(1));
  check(done.wait(1, kWatchdog));
  VERIFY_UNTIL(t.device().memory_statistics().bytes == before);
}

void statistics_keep_imported_memory_apart(Context& t) {
  Host host;
  const hal::MemoryStatistics before = t.device().memory_statistics();
  {
    const Buffer buffer = host.import(t).value();
    const hal::MemoryStatistics now = t.device().memory_statistics();
    VERIFY_EQ(now.imported_bytes - before.imported_bytes, host.bytes.size());
    VERIFY_EQ(now.bytes, before.bytes);
    VERIFY_EQ(now.total_allocations, before.total_allocations);
  }
  VERIFY_EQ(t.device().memory_statistics().imported_bytes, before.imported_bytes);
}

void devices_count_their_own_memory(Context& t) {
  const std::uint64_t before = t.device(1).memory_statistics().bytes;
  const Buffer buffer = t.device(0).allocate({.size = 64}).value();
  VERIFY_EQ(t.device(1).memory_statistics().bytes, before);
}

void device_address_of_a_part_is_its_offset_further(Context& t) {
  const Buffer buffer = t.buffer(256);
  const std::uint64_t address = buffer.device_address();
  // 0: memory of this device has no address, and no part of it has one.
  VERIFY_EQ(buffer.subspan(48).value().device_address(), address != 0 ? address + 48 : 0);
  VERIFY_EQ(Buffer().device_address(), 0u);
}

void every_mode_maps_and_tells_its_mode(Context& t) {
  const Buffer buffer = t.buffer(64, 5);
  for (const MapMode mode :
       {MapMode::kReadWrite, MapMode::kRead, MapMode::kWrite, MapMode::kDiscard}) {
    const Mapping mapping = buffer.map(0, hal::kWholeSize, mode).value();
    VERIFY_EQ(mapping.mode(), mode);
    VERIFY_EQ(mapping.bytes().size(), 64u);
  }
  VERIFY_CODE(buffer.map(0, hal::kWholeSize, static_cast<MapMode>(9)),
              StatusCode::kInvalidArgument);
}

void mapping_for_writing_keeps_what_is_not_written(Context& t) {
  const Buffer buffer = t.buffer(64, 5);
  {
    const Mapping mapping = buffer.map(0, hal::kWholeSize, MapMode::kWrite).value();
    mapping.bytes()[3] = std::byte{9};
    VERIFY_OK(mapping.flush());
  }
  ByteVector expected(64, std::byte{5});
  expected[3] = std::byte{9};
  VERIFY(contents(buffer) == expected);
}

void flushed_writes_are_read_by_the_device_and_its_writes_after_invalidate(Context& t) {
  const Buffer source = t.buffer(256), target = t.buffer(256);
  const Mapping in = source.map(0, hal::kWholeSize, MapMode::kDiscard).value();
  const Mapping out = target.map(0, hal::kWholeSize, MapMode::kRead).value();
  for (std::uint8_t round = 1; round < 20; ++round) {
    std::ranges::fill(in.bytes(), std::byte{round});
    check(in.flush());
    t.finish([&](const hal::SubmitInfo& i) { return t.queue().copy(source, target, i); });
    check(out.invalidate());
    VERIFY(std::ranges::all_of(out.bytes(), [&](std::byte b) { return b == std::byte{round}; }));
  }
}

void flush_and_invalidate_check_their_range(Context& t) {
  const Mapping mapping = t.buffer(64).map(16, 32).value();
  VERIFY_OK(mapping.flush(0, 32));
  VERIFY_OK(mapping.flush(32));
  VERIFY_OK(mapping.invalidate(31, 1));
  VERIFY_CODE(mapping.flush(33), StatusCode::kOutOfRange);
  VERIFY_CODE(mapping.flush(0, 33), StatusCode::kOutOfRange);
  VERIFY_CODE(mapping.invalidate(32, 1), StatusCode::kOutOfRange);
  VERIFY_CODE(mapping.invalidate(~std::uint64_t{0} - 1, 4), StatusCode::kOutOfRange);
}

void flush_of_a_reader_and_invalidate_of_a_writer_are_refused(Context& t) {
  const Buffer buffer = t.buffer(64);
  VERIFY_CODE(buffer.map(0, 64, MapMode::kRead)->flush(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(buffer.map(0, 64, MapMode::kWrite)->invalidate(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(buffer.map(0, 64, MapMode::kDiscard)->invalidate(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(Mapping().flush(), StatusCode::kInvalidArgument);
  VERIFY_CODE(Mapping().invalidate(), StatusCode::kInvalidArgument);
}

#define CASE(name) {"memory", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"memory", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(imported_memory_is_the_callers_bytes),
    CASE_ON_EVERY_QUEUE(device_work_reads_and_writes_imported_memory),
    CASE_ON_EVERY_QUEUE(imported_memory_is_released_after_its_last_submission),
    CASE_ON_EVERY_QUEUE(memory_of_work_nobody_waits_for_is_released),
    CASE(recording_keeps_imported_memory),
    CASE(import_that_fails_releases_nothing),
    CASE(callable_of_a_failed_import_is_destroyed),
    CASE(same_memory_can_be_imported_by_two_devices),
    CASE_ON_EVERY_QUEUE(device_uses_the_memory_that_it_can_access_and_refuses_other),
    CASE_ON_EVERY_QUEUE(memory_can_be_imported_again_after_its_release),
    CASE(exported_memory_is_one_with_its_import),
    CASE(export_and_import_of_what_is_no_shared_memory_are_refused),
    CASE(statistics_count_what_lives),
    CASE_ON_EVERY_QUEUE(statistics_count_memory_that_only_a_submission_uses),
    CASE(statistics_keep_imported_memory_apart),
    CASE(devices_count_their_own_memory),
    CASE(device_address_of_a_part_is_its_offset_further),
    CASE(every_mode_maps_and_tells_its_mode),
    CASE(mapping_for_writing_keeps_what_is_not_written),
    CASE_ON_EVERY_QUEUE(flushed_writes_are_read_by_the_device_and_its_writes_after_invalidate),
    CASE(flush_and_invalidate_check_their_range),
    CASE(flush_of_a_reader_and_invalidate_of_a_writer_are_refused),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace memory

std::span<const Case> memory_cases() noexcept { return memory::kCases; }

}  // namespace halyard::inline v0::conformance
