// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transfers between files and buffers: which bytes, in what order, and failures.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace file {
namespace {

using hal::Buffer;
using hal::File;
using hal::FileAccess;
using hal::FileCreation;
using hal::Semaphore;
using hal::SubmitInfo;

// A temporary file of a case; removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const std::byte> bytes = {}) {
    path_ = (std::filesystem::temp_directory_path() / "halyard-XXXXXX").string();
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) check(Status(StatusCode::kUnavailable, "no temporary file " + path_));
    close(descriptor);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  File open(FileAccess access = FileAccess::kReadWrite) const {
    return File::open(path_, access).value();
  }
  ByteVector bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const auto* const data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }

 private:
  std::string path_;
};

void read_fills_its_range_and_nothing_beside_it(Context& t) {
  const ByteVector bytes = ramp(1000);
  const TemporaryFile file(bytes);
  const Buffer target = t.buffer(64, 0xee);
  const File from = file.open(FileAccess::kRead);
  t.finish(
      [&](const SubmitInfo& info) { return t.queue().read(from, 333, {target, 5, 50}, info); });
  ByteVector expected(64, std::byte{0xee});
  std::copy_n(bytes.begin() + 333, 50, expected.begin() + 5);
  VERIFY(contents(target) == expected);
}

void write_changes_its_range_of_the_file_and_nothing_beside_it(Context& t) {
  const TemporaryFile file(ByteVector(64, std::byte{0xee}));
  const ByteVector bytes = ramp(100);
  const Buffer source = t.buffer(100);
  set_contents(source, bytes);
  const File to = file.open(FileAccess::kWrite);
  t.finish([&](const SubmitInfo& info) { return t.queue().write({source, 7, 20}, to, 30, info); });
  ByteVector expected(64, std::byte{0xee});
  std::copy_n(bytes.begin() + 7, 20, expected.begin() + 30);
  VERIFY(file.bytes() == expected);
}

void write_beyond_the_end_makes_the_file_longer(Context& t) {
  const TemporaryFile file(ByteVector(3, std::byte{1}));
  const File to = file.open();
  VERIFY_EQ(to.size().value(), 3u);
  const Buffer source = t.buffer(4, 2);
  t.finish([&](const SubmitInfo& info) { return t.queue().write(source, to, 5, info); });
  VERIFY_EQ(to.size().value(), 9u);
  const auto byte = [](int value) { return static_cast<std::byte>(value); };
  VERIFY((file.bytes() == ByteVector{byte(1), byte(1), byte(1), byte(0), byte(0), byte(2), byte(2),
                                     byte(2), byte(2)}));
}

void transfer_of_no_bytes_completes_wherever_it_points(Context& t) {
  const TemporaryFile file;
  const File empty = file.open();
  const Buffer buffer = t.buffer(8, 0xee);
  for (const std::uint64_t offset : {0u, 12345u}) {
    t.finish(
        [&](const SubmitInfo& info) { return t.queue().read(empty, offset, {buffer, 8}, info); });
    t.finish([&](const SubmitInfo& info) {
      return t.queue().write({buffer, 3, 0}, empty, offset, info);
    });
  }
  VERIFY_EQ(empty.size().value(), 0u);
  VERIFY(contents(buffer) == ByteVector(8, std::byte{0xee}));
}

void read_happens_after_its_wait(Context& t) {
  const TemporaryFile file(ByteVector(8, std::byte{1}));
  const Buffer target = t.buffer(8, 0xee);
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().read(file.open(), 0, target, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_EQ(contents(target)[0], std::byte{0xee});
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(contents(target)[7], std::byte{1});
}

void transfers_stand_in_order_with_device_work(Context& t) {
  const TemporaryFile file(ByteVector(4096, std::byte{1}));
  const File both = file.open();
  const Buffer buffer = t.buffer(4096);
  const Buffer result = t.buffer(4096);
  const Semaphore s = t.semaphore();
  const auto step = [&s](std::uint64_t value) {
    return std::pair{hal::Point(s, value), hal::Point(s, value + 1)};
  };
  // The last step first, so that only the semaphore orders the steps.
  const auto [w4, s5] = step(4);
  VERIFY_OK(t.queue().copy(buffer, result, {.wait = {w4}, .signal = {s5}}));
  const auto [w3, s4] = step(3);
  VERIFY_OK(t.queue().read(both, 2048, {buffer, 0, 2048}, {.wait = {w3}, .signal = {s4}}));
  const auto [w2, s3] = step(2);
  VERIFY_OK(t.queue().write({buffer, 0, 2048}, both, 2048, {.wait = {w2}, .signal = {s3}}));
  const auto [w1, s2] = step(1);
  VERIFY_OK(t.queue().fill({buffer, 0, 1024}, 2, 1, {.wait = {w1}, .signal = {s2}}));
  VERIFY_OK(t.queue().read(both, 0, buffer, {.signal = {{s, 1}}}));
  VERIFY_OK(s.wait(5, kWatchdog));
  const ByteVector bytes = contents(result);
  VERIFY_EQ(std::ranges::count(bytes, std::byte{2}), 1024);
  VERIFY_EQ(bytes[1023], std::byte{2});
  VERIFY_EQ(std::ranges::count(bytes, std::byte{1}), 3072);
}

void read_may_be_submitted_before_the_write_that_makes_its_bytes(Context& t) {
  const TemporaryFile file;
  const File both = file.open();
  const Buffer source = t.buffer(100, 7);
  const Buffer target = t.buffer(100);
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().read(both, 900, target, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().write(source, both, 900, {.signal = {{s, 1}}}));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY(contents(target) == ByteVector(100, std::byte{7}));
}

void read_beyond_the_end_fails_naming_file_offset_and_length(Context& t) {
  const TemporaryFile file(ByteVector(100));
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().read(file.open(), 60, t.buffer(41), {.signal = {{done, 1}}}));
  const Status status = done.wait(1, kWatchdog);
  VERIFY_CODE(status, StatusCode::kOutOfRange);
  for (const std::string_view part :
       {std::string_view(file.path()), std::string_view("41 bytes"), std::string_view("offset 60"),
        std::string_view("100 bytes")}) {
    VERIFY(status.message().find(part) != std::string_view::npos);
  }
}

void failed_read_reaches_its_dependents_and_no_other_work(Context& t) {
  const TemporaryFile file;
  const Buffer buffer = t.buffer(8, 0xee);
  const Buffer other = t.buffer(8);
  const std::vector<Semaphore> s = t.semaphores(4);
  VERIFY_OK(t.queue().fill(buffer, 1, 1, {.wait = {{s[0], 1}}, .signal = {{s[1], 1}}}));
  VERIFY_OK(t.queue(1).barrier({.wait = {{s[1], 1}}, .signal = {{s[2], 1}}}));
  VERIFY_OK(t.queue().read(file.open(), 0, t.buffer(8), {.signal = {{s[0], 1}}}));
  VERIFY_OK(t.queue().fill(other, 3, 1, {.signal = {{s[3], 1}}}));
  VERIFY_CODE(s[2].wait(1, kWatchdog), StatusCode::kOutOfRange);
  VERIFY_OK(s[3].wait(1, kWatchdog));
  VERIFY_EQ(contents(buffer)[0], std::byte{0xee});
}

void file_and_queue_go_on_after_a_failed_transfer(Context& t) {
  const TemporaryFile file(ByteVector(10, std::byte{4}));
  const File both = file.open();
  const Buffer target = t.buffer(10);
  const Semaphore failed = t.semaphore();
  VERIFY_OK(t.queue().read(both, 1, target, {.signal = {{failed, 1}}}));
  VERIFY_CODE(failed.wait(1, kWatchdog), StatusCode::kOutOfRange);
  t.finish([&](const SubmitInfo& info) { return t.queue().read(both, 0, target, info); });
  VERIFY(contents(target) == ByteVector(10, std::byte{4}));
}

void file_that_was_cut_short_meanwhile_fails_the_read(Context& t) {
  const TemporaryFile file(ByteVector(100));
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(
      t.queue().read(file.open(), 0, t.buffer(100), {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  std::filesystem::resize_file(file.path(), 99);
  VERIFY_OK(gate.signal(1));
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kOutOfRange);
}

void transfer_against_the_access_is_refused_and_signals_nothing(Context& t) {
  const TemporaryFile file(ByteVector(8, std::byte{1}));
  const Buffer buffer = t.buffer(8, 2);
  const Semaphore s = t.semaphore();
  const hal::Point signals[] = {{s, 1}};
  const SubmitInfo info{.signal = signals};
  VERIFY_CODE(t.queue().write(buffer, file.open(FileAccess::kRead), 0, info),
              StatusCode::kPermissionDenied);
  VERIFY_CODE(t.queue().read(file.open(FileAccess::kWrite), 0, buffer, info),
              StatusCode::kPermissionDenied);
  VERIFY_OK(s.signal(1));
  VERIFY_EQ(file.bytes()[0], std::byte{1});
  VERIFY_EQ(contents(buffer)[0], std::byte{2});
}

void range_beyond_buffer_or_largest_offset_is_refused(Context& t) {
  const TemporaryFile file(ByteVector(100));
  const File both = file.open();
  const Buffer buffer = t.buffer(16);
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 63) - 1;
  VERIFY_CODE(t.queue().read(both, 0, {buffer, 8, 9}, {}), StatusCode::kOutOfRange);
  VERIFY_CODE(t.queue().write({buffer, 17}, both, 0, {}), StatusCode::kOutOfRange);
  VERIFY_CODE(t.queue().read(both, kLast - 15, buffer, {}), StatusCode::kOutOfRange);
  VERIFY_CODE(t.queue().write(buffer, both, hal::kWholeSize, {}), StatusCode::kOutOfRange);
  VERIFY_EQ(both.size().value(), 100u);
}

void empty_handles_are_refused(Context& t) {
  const TemporaryFile file(ByteVector(8));
  const Buffer buffer = t.buffer(8);
  VERIFY_CODE(t.queue().read({}, 0, buffer, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue().read(file.open(), 0, Buffer(), {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue().write(buffer, {}, 0, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Queue().read(file.open(), 0, buffer, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Queue().write(buffer, file.open(), 0, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(File().size(), StatusCode::kInvalidArgument);
}

void opening_what_is_no_regular_file_says_why(Context& t) {
  const TemporaryFile file;
  const Result<File> missing = File::open(file.path() + ".not");
  VERIFY_CODE(missing, StatusCode::kNotFound);
  VERIFY_EQ(missing.status().native_error(), "ENOENT");
  VERIFY(missing.status().message().find(file.path() + ".not") != std::string_view::npos);
  for (const FileAccess access : {FileAccess::kRead, FileAccess::kWrite, FileAccess::kReadWrite}) {
    VERIFY_CODE(File::open(std::filesystem::temp_directory_path().string(), access),
                StatusCode::kInvalidArgument);
    VERIFY_CODE(File::open("/dev/null", access), StatusCode::kInvalidArgument);
  }
  const std::string pipe = file.path() + ".pipe";
  VERIFY_EQ(mkfifo(pipe.c_str(), 0600), 0);
  VERIFY_CODE(File::open(pipe), StatusCode::kInvalidArgument);
  VERIFY_CODE(File::open(pipe, FileAccess::kWrite), StatusCode::kInvalidArgument);
  unlink(pipe.c_str());
}

void opening_makes_and_empties_a_file_only_when_told(Context& t) {
  const TemporaryFile file(ByteVector(5, std::byte{1}));
  const std::string path = file.path() + ".new";
  VERIFY_CODE(File::open(path, FileAccess::kReadWrite), StatusCode::kNotFound);
  VERIFY_OK(File::open(path, FileAccess::kReadWrite, FileCreation::kIfMissing));
  VERIFY_OK(File::open(path));
  unlink(path.c_str());
  VERIFY_EQ(File::open(file.path(), FileAccess::kWrite, FileCreation::kIfMissing)->size().value(),
            5u);
  VERIFY_CODE(File::open(file.path(), FileAccess::kRead, FileCreation::kEmpty),
              StatusCode::kInvalidArgument);
  VERIFY_EQ(file.open().size().value(), 5u);
  VERIFY_EQ(File::open(file.path(), FileAccess::kWrite, FileCreation::kEmpty)->size().value(), 0u);
}

void imported_descriptor_stays_the_callers_and_keeps_its_position(Context& t) {
  const TemporaryFile file(ramp(100));
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  const File imported = File::import_descriptor(descriptor).value();
  VERIFY_EQ(imported.access(), FileAccess::kRead);
  const Buffer target = t.buffer(10);
  t.finish([&](const SubmitInfo& info) { return t.queue().read(imported, 20, target, info); });
  VERIFY_EQ(lseek(descriptor, 0, SEEK_CUR), 0);
  VERIFY_EQ(close(descriptor), 0);
  t.finish([&](const SubmitInfo& info) { return t.queue().read(imported, 30, target, info); });
  VERIFY_EQ(contents(target)[0], ramp(100)[30]);
}

void descriptor_that_would_not_do_as_told_is_refused(Context& t) {
  const TemporaryFile file(ByteVector(8));
  for (const int flag : {O_APPEND, O_NONBLOCK, O_PATH}) {
    const int descriptor = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC | flag);
    VERIFY_CODE(File::import_descriptor(descriptor), StatusCode::kInvalidArgument);
    VERIFY_EQ(close(descriptor), 0);
    VERIFY_CODE(File::import_descriptor(descriptor), StatusCode::kInvalidArgument);
  }
}

void dropped_file_stays_open_for_what_was_submitted(Context& t) {
  const TemporaryFile file(ByteVector(8, std::byte{9}));
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const Buffer target = t.buffer(8);
  VERIFY_OK(t.queue().read(file.open(), 0, target, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  unlink(file.path().c_str());
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(contents(target)[7], std::byte{9});
}

void transfer_whose_wait_fails_moves_no_byte(Context& t) {
  const TemporaryFile file(ByteVector(8, std::byte{1}));
  const File both = file.open();
  const Buffer buffer = t.buffer(8, 0xee);
  const std::vector<Semaphore> s = t.semaphores(3);
  VERIFY_OK(t.queue().read(both, 0, buffer, {.wait = {{s[0], 1}}, .signal = {{s[1], 1}}}));
  VERIFY_OK(t.queue().write(buffer, both, 0, {.wait = {{s[0], 1}}, .signal = {{s[2], 1}}}));
  s[0].fail(Status(StatusCode::kDataLoss, "the cause of it"));
  for (const Semaphore& each : {s[1], s[2]}) {
    const Status status = each.wait(1, kWatchdog);
    VERIFY_CODE(status, StatusCode::kDataLoss);
    VERIFY_EQ(status.message(), "the cause of it");
  }
  VERIFY_OK(t.queue().wait_idle(kWatchdog));
  VERIFY(contents(buffer) == ByteVector(8, std::byte{0xee}));
  VERIFY(file.bytes() == ByteVector(8, std::byte{1}));
}

void cancelled_read_touches_nothing(Context& t) {
  const TemporaryFile file(ByteVector(8, std::byte{1}));
  const Buffer target = t.buffer(8, 0xee);
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  hal::Submission submission;
  VERIFY_OK(
      t.queue().read(file.open(), 0, target,
                     {.wait = {{gate, 1}}, .signal = {{done, 1}}, .submission = &submission}));
  VERIFY(submission.cancel());
  VERIFY_OK(gate.signal(1));
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
  VERIFY_OK(t.queue().wait_idle(kWatchdog));
  VERIFY_EQ(contents(target)[0], std::byte{0xee});
}

void wait_idle_waits_for_transfers_too(Context& t) {
  const TemporaryFile file;
  const File to = file.open();
  const Buffer source = t.buffer(1 << 20, 5);
  VERIFY_OK(t.queue().write(source, to, 0, {}));
  VERIFY_OK(t.queue().wait_idle(kWatchdog));
  VERIFY_EQ(std::ranges::count(file.bytes(), std::byte{5}), 1 << 20);
}

void hundreds_of_transfers_are_in_flight_at_once(Context& t) {
  constexpr std::uint64_t kCount = 300;
  constexpr std::uint64_t kEach = 3001;
  const ByteVector bytes = ramp(kCount * kEach);
  const TemporaryFile file(bytes);
  const TemporaryFile copied;
  const File from = file.open(FileAccess::kRead);
  const File to = copied.open(FileAccess::kWrite);
  const Buffer buffer = t.buffer(kCount * kEach);
  const std::vector<Semaphore> s = t.semaphores(kCount);
  std::vector<hal::Point> all;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const hal::BufferRange range(buffer, i * kEach, kEach);
    VERIFY_OK(t.queue().read(from, i * kEach, range, {.signal = {{s[i], 1}}}));
    VERIFY_OK(t.queue().write(range, to, i * kEach, {.wait = {{s[i], 1}}, .signal = {{s[i], 2}}}));
    all.emplace_back(s[i], 2);
  }
  VERIFY_OK(hal::wait_all(all, kWatchdog));
  VERIFY(contents(buffer) == bytes);
  VERIFY(copied.bytes() == bytes);
}

void large_transfer_arrives_whole(Context& t) {
  constexpr std::uint64_t kSize = (std::uint64_t{9} << 20) + 13;
  const ByteVector bytes = ramp(kSize);
  const TemporaryFile file;
  const File both = file.open();
  const Buffer source = t.buffer(kSize);
  const Buffer target = t.buffer(kSize);
  set_contents(source, bytes);
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().write(source, both, 3, {.signal = {{s, 1}}}));
  VERIFY_OK(t.queue().read(both, 3, target, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY_EQ(both.size().value(), kSize + 3);
  VERIFY(contents(target) == bytes);
}

void all_queues_of_two_devices_share_a_file(Context& t) {
  constexpr std::uint64_t kEach = 10'000;
  const TemporaryFile file;
  const File both = file.open();
  const std::vector<hal::Queue> queues = t.queues();
  const std::vector<Semaphore> s = t.semaphores(queues.size());
  std::vector<hal::Point> all;
  std::vector<Buffer> sources;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    sources.push_back(t.buffer(kEach, static_cast<std::uint8_t>(i + 1), i / 2));
    VERIFY_OK(queues[i].write(sources[i], both, i * kEach, {.signal = {{s[i], 1}}}));
    all.emplace_back(s[i], 1);
  }
  VERIFY_OK(hal::wait_all(all, kWatchdog));
  const ByteVector bytes = file.bytes();
  VERIFY_EQ(bytes.size(), queues.size() * kEach);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    VERIFY_EQ(std::ranges::count(bytes, static_cast<std::byte>(i + 1)), kEach);
    VERIFY_EQ(bytes[i * kEach], static_cast<std::byte>(i + 1));
  }
}

void memory_of_a_pool_is_read_and_written_before_anybody_has_waited(Context& t) {
  const TemporaryFile file(ramp(4096));
  const File both = file.open();
  const hal::Pool pool = t.device().default_pool(hal::MemoryType::kHostVisible);
  const Semaphore s = t.semaphore();
  const Buffer x = t.queue()
                       .allocate(pool, {.size = 2048, .memory = pool.memory_type()},
                                 {.wait = {{s, 1}}, .signal = {{s, 2}}})
                       .value();
  VERIFY_OK(t.queue().read(both, 0, x, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(t.queue().write(x, both, 2048, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{s, 4}}, .signal = {{s, 5}}}));
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(5, kWatchdog));
  const ByteVector bytes = file.bytes();
  VERIFY(std::equal(bytes.begin(), bytes.begin() + 2048, bytes.begin() + 2048));
}

void transfer_with_memory_of_a_pool_that_is_not_there_fails(Context& t) {
  const TemporaryFile file(ByteVector(8));
  const hal::Pool pool = t.device().default_pool(hal::MemoryType::kHostVisible);
  const Semaphore never = t.semaphore();
  const Semaphore done = t.semaphore();
  const Buffer x =
      t.queue()
          .allocate(pool, {.size = 8, .memory = pool.memory_type()}, {.wait = {{never, 1}}})
          .value();
  VERIFY_OK(t.queue().read(file.open(), 0, x, {.signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kFailedPrecondition);
}

#define CASE(name) {"file", #name, name, Vary::kQueueKinds}
#define ONE_CASE(name) {"file", #name, name, Vary::kNothing}
constexpr Case kCases[] = {
    CASE(read_fills_its_range_and_nothing_beside_it),
    CASE(write_changes_its_range_of_the_file_and_nothing_beside_it),
    CASE(write_beyond_the_end_makes_the_file_longer),
    CASE(transfer_of_no_bytes_completes_wherever_it_points),
    CASE(read_happens_after_its_wait),
    CASE(transfers_stand_in_order_with_device_work),
    CASE(read_may_be_submitted_before_the_write_that_makes_its_bytes),
    CASE(read_beyond_the_end_fails_naming_file_offset_and_length),
    CASE(failed_read_reaches_its_dependents_and_no_other_work),
    CASE(file_and_queue_go_on_after_a_failed_transfer),
    CASE(file_that_was_cut_short_meanwhile_fails_the_read),
    CASE(transfer_against_the_access_is_refused_and_signals_nothing),
    CASE(range_beyond_buffer_or_largest_offset_is_refused),
    ONE_CASE(empty_handles_are_refused),
    ONE_CASE(opening_what_is_no_regular_file_says_why),
    ONE_CASE(opening_makes_and_empties_a_file_only_when_told),
    ONE_CASE(imported_descriptor_stays_the_callers_and_keeps_its_position),
    ONE_CASE(descriptor_that_would_not_do_as_told_is_refused),
    CASE(dropped_file_stays_open_for_what_was_submitted),
    CASE(transfer_whose_wait_fails_moves_no_byte),
    CASE(cancelled_read_touches_nothing),
    CASE(wait_idle_waits_for_transfers_too),
    CASE(hundreds_of_transfers_are_in_flight_at_once),
    CASE(large_transfer_arrives_whole),
    ONE_CASE(all_queues_of_two_devices_share_a_file),
    CASE(memory_of_a_pool_is_read_and_written_before_anybody_has_waited),
    CASE(transfer_with_memory_of_a_pool_that_is_not_there_fails),
};
#undef ONE_CASE
#undef CASE

}  // namespace
}  // namespace file

std::span<const Case> file_cases() noexcept { return file::kCases; }

}  // namespace halyard::inline v0::conformance
