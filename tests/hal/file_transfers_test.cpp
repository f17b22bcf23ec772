// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FileTransfers: how a transfer is split into requests, and how their results end it.
#include "hal/files/file_transfers.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string>

#include "base/failing_calls.h"
#include "hal/fake_driver.h"
#include "hal/fake_files.h"

namespace halyard::hal {
namespace {

using ::testing::ElementsAre;
using testing::FakeFiles;
using ::testing::Pair;

constexpr std::uint32_t kChunk = FileTransfers::kChunk;
constexpr std::int32_t kAll = kChunk;

struct Transfer : FileTransfer {
  Transfer(bool writes, std::uint64_t from, std::uint64_t bytes)
      : memory(bytes, writes ? std::byte{7} : std::byte{0xee}) {
    write = writes;
    data = memory.data();
    offset = from;
    length = bytes;
    ended = [](FileTransfer& self, int code) noexcept {
      EXPECT_FALSE(static_cast<Transfer&>(self).outcome) << "a transfer ends once";
      static_cast<Transfer&>(self).outcome = code;
    };
  }
  std::vector<std::byte> memory;
  std::optional<int> outcome;
};

class FileTransfersTest : public ::testing::Test {
 protected:
  FileTransfersTest() {
    auto made = std::make_unique<FakeFiles>();
    files = made.get();
    transfers.set_backend(std::move(made));
    files->contents.resize(1000);
    for (std::size_t i = 0; i < 1000; ++i) files->contents[i] = static_cast<std::byte>(i % 251);
  }
  void run() {
    while (transfers.step()) {
    }
  }

  testing::StepSource source;
  FileTransfers transfers{source};
  FakeFiles* files = nullptr;
};

TEST_F(FileTransfersTest, AShortRequestContinuesWhereItStopped) {
  files->results = {3, 1, 5};
  Transfer read(false, 100, 20);
  transfers.start(read);
  run();
  EXPECT_EQ(read.outcome, 0);
  EXPECT_TRUE(std::equal(read.memory.begin(), read.memory.end(), files->contents.begin() + 100));
  EXPECT_THAT(files->started,
              ElementsAre(Pair(100, 20), Pair(103, 17), Pair(104, 16), Pair(109, 11)));
}

TEST_F(FileTransfersTest, AnInterruptedRequestIsMadeAgain) {
  files->results = {-EINTR, -EAGAIN, 4, -EINTR};
  Transfer write(true, 998, 10);
  transfers.start(write);
  run();
  EXPECT_EQ(write.outcome, 0);
  EXPECT_EQ(files->contents.size(), 1008u);
  EXPECT_EQ(files->contents[997], static_cast<std::byte>(997 % 251));
  EXPECT_EQ(files->contents[1007], std::byte{7});
}

TEST_F(FileTransfersTest, ARequestThatNeverMovesAByteFails) {
  files->results.assign(FileTransfers::kMaxAttempts - 1, -EAGAIN);
  files->results.push_back(1);  // a byte moves: the count of attempts restarts
  files->results.insert(files->results.end(), FileTransfers::kMaxAttempts - 1, -EAGAIN);
  Transfer patient(false, 0, 10);
  transfers.start(patient);
  run();
  EXPECT_EQ(patient.outcome, 0);

  files->results.assign(FileTransfers::kMaxAttempts, -EAGAIN);
  Transfer read(false, 0, 10);
  transfers.start(read);
  run();
  EXPECT_EQ(read.outcome, EAGAIN);

  files->results.assign(FileTransfers::kMaxAttempts, 0);
  Transfer write(true, 0, 10);
  transfers.start(write);
  run();
  EXPECT_EQ(write.outcome, EIO);
}

TEST_F(FileTransfersTest, AReadAtTheEndReportsIt) {
  Transfer read(false, 990, 11);
  transfers.start(read);
  run();
  EXPECT_EQ(read.outcome, FileTransfer::kEndOfFile);
}

TEST_F(FileTransfersTest, AnErrorStopsTheTransferAndNoOther) {
  files->results = {kAll, kAll, -EIO};
  Transfer large(true, 0, 10 * std::uint64_t{kChunk});
  transfers.start(large);
  run();
  EXPECT_EQ(large.outcome, EIO);
  EXPECT_EQ(files->started.size(), files->room);
  EXPECT_FALSE(transfers.in_flight());

  Transfer small(false, 5, 5);
  transfers.start(small);
  run();
  EXPECT_EQ(small.outcome, 0);
}

TEST_F(FileTransfersTest, TheFirstOfTwoErrorsIsTheOneThatCounts) {
  files->results = {-ENOSPC, -EIO};
  Transfer write(true, 0, 2 * std::uint64_t{kChunk});
  transfers.start(write);
  run();
  EXPECT_EQ(write.outcome, ENOSPC);
}

TEST_F(FileTransfersTest, ATransferEndsWithTheLastOfItsRequestsInAnyOrder) {
  files->newest_first = true;
  files->results = {kAll, -EIO, -EINTR};
  Transfer write(true, 0, 3 * std::uint64_t{kChunk});
  transfers.start(write);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(transfers.step());
    EXPECT_FALSE(write.outcome) << "the kernel still reads its memory";
    EXPECT_TRUE(transfers.in_flight());
  }
  EXPECT_TRUE(transfers.step());
  EXPECT_EQ(write.outcome, EIO);
}

TEST_F(FileTransfersTest, ALargeTransferDoesNotDelayOthers) {
  files->room = 1;
  Transfer large(true, 0, 3 * std::uint64_t{kChunk} + 1);
  Transfer small(false, 5, 5);
  transfers.start(large);
  transfers.start(small);
  run();
  EXPECT_EQ(large.outcome, 0);
  EXPECT_EQ(small.outcome, 0);
  EXPECT_THAT(files->started, ElementsAre(Pair(0, kChunk), Pair(5, 5), Pair(kChunk, kChunk),
                                          Pair(2 * kChunk, kChunk), Pair(3 * kChunk, 1)));
}

TEST_F(FileTransfersTest, OnlyAStepThatWaitsIsInterrupted) {
  Transfer first(false, 0, 5);
  Transfer second(false, 5, 5);
  transfers.start(first);
  EXPECT_EQ(files->interrupts, 0);
  files->on_wait = [&] {
    files->on_wait = {};
    transfers.start(second);
  };
  run();
  EXPECT_EQ(files->interrupts, 1);
  EXPECT_EQ(second.outcome, 0);
  EXPECT_EQ(source.wakes[static_cast<int>(base::Shell::kFile)], 2);
}

TEST_F(FileTransfersTest, ATransferOfNothingNeedsNoRequest) {
  Transfer none(true, 5, 0);
  transfers.start(none);
  EXPECT_TRUE(transfers.step());
  EXPECT_EQ(none.outcome, 0);
  EXPECT_FALSE(transfers.step());
  EXPECT_TRUE(files->started.empty());
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    for (const int end : ends_) close(end);
  }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

TEST(UringBackend, WithoutMemoryForItsEntriesGivesBackItsRings) {
  if (make_uring_backend() == nullptr) GTEST_SKIP() << "this kernel has no io_uring for us";
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.ends_with("[io_uring]");
    return count;
  };
  const std::size_t before = mappings();
  {
    const halyard::testing::FailingCalls second("uring.map", 2);
    EXPECT_EQ(make_uring_backend(), nullptr);
    EXPECT_EQ(second.failed(), 1);
  }
  EXPECT_EQ(mappings(), before);
}

TEST(UringBackend, AWaitEndsWithARequestOrAnInterruptBeforeOrDuringIt) {
  const std::unique_ptr<FileBackend> backend = make_uring_backend();
  if (backend == nullptr) GTEST_SKIP() << "this kernel has no io_uring for us";
  Pipe slow;  // its read ends when the test writes
  std::byte byte{};
  FileRequest request{
      .descriptor = slow.read_end(), .write = false, .data = &byte, .offset = 0, .length = 1};
  backend->start(request);
  FileRequest* ended[FileBackend::kMaxRequests];
  for (int i = 0; i < 3; ++i) {
    backend->interrupt();
    EXPECT_EQ(backend->reap(ended, true), 0u);
  }
  std::thread other([&] { backend->interrupt(); });
  EXPECT_EQ(backend->reap(ended, true), 0u);
  other.join();
  EXPECT_EQ(backend->reap(ended, false), 0u) << "it must not wait here";
  ASSERT_EQ(write(slow.write_end(), "x", 1), 1);
  ASSERT_EQ(backend->reap(ended, true), 1u);
  EXPECT_EQ(ended[0], &request);
  EXPECT_EQ(request.result, 1);
  EXPECT_EQ(byte, std::byte{'x'});
}

TEST(UringBackend, TakesAsManyRequestsAsItSays) {
  const std::unique_ptr<FileBackend> backend = make_uring_backend();
  if (backend == nullptr) GTEST_SKIP() << "this kernel has no io_uring for us";
  Pipe slow;
  std::byte bytes[FileBackend::kMaxRequests] = {};
  FileRequest requests[FileBackend::kMaxRequests];
  for (std::size_t round = 0; round < 3; ++round) {  // wraps around the rings
    for (std::size_t i = 0; i < backend->capacity(); ++i) {
      requests[i] = {.descriptor = slow.read_end(), .data = &bytes[i], .length = 1};
      backend->start(requests[i]);
    }
    FileRequest* ended[FileBackend::kMaxRequests];
    EXPECT_EQ(backend->reap(ended, false), 0u);
    const std::vector<char> text(backend->capacity(), 'y');
    ASSERT_EQ(write(slow.write_end(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    for (std::size_t left = backend->capacity(); left != 0;) left -= backend->reap(ended, true);
    EXPECT_EQ(std::ranges::count(bytes, std::byte{'y'}), FileBackend::kMaxRequests);
    std::ranges::fill(bytes, std::byte{0});
  }
}

}  // namespace
}  // namespace halyard::hal
