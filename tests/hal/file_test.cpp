// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files in queues: the system's files over both backends, and stepped over a faulty backend.
#include "hal/files/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hal/fake_driver.h"
#include "hal/fake_files.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using testing::FakeFiles;

// A file without a name, which exists while a handle or this object does.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("halyard", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_GE(descriptor_, 0);
  }
  ~MemoryFile() { close(descriptor_); }
  File open() const { return File::import_descriptor(descriptor_).value(); }
  void seal(int what) const { ASSERT_EQ(fcntl(descriptor_, F_ADD_SEALS, what), 0); }
  std::byte byte(std::uint64_t offset) const {
    std::byte value{};
    EXPECT_EQ(pread(descriptor_, &value, 1, static_cast<off_t>(offset)), 1);
    return value;
  }

 private:
  const int descriptor_;
};

enum class Kind { kUring, kBlocking };

class EachBackend : public testing::FakeWorld, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    std::unique_ptr<FileBackend> backend =
        GetParam() == Kind::kUring ? make_uring_backend() : std::make_unique<BlockingBackend>();
    if (backend == nullptr) GTEST_SKIP() << "this kernel has no io_uring for us";
    registry.files().set_backend(std::move(backend));
  }
  std::span<std::byte> bytes(const Buffer& of) { return of.map().value().bytes(); }

  MemoryFile memory;
  File file = memory.open();
  Semaphore s = device.create_semaphore().value();
};

TEST_P(EachBackend, WritesAndReadsBackAcrossChunks) {
  constexpr std::uint64_t kSize = 2 * std::uint64_t{FileTransfers::kChunk} + 5;
  const Buffer source = buffer(kSize);
  const Buffer target = buffer(kSize + 2);
  for (std::uint64_t i = 0; i < kSize; ++i) bytes(source)[i] = static_cast<std::byte>(i % 251);
  ASSERT_TRUE(queue.write(source, file, 7, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.read(file, 7, {target, 1, kSize}, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  ASSERT_TRUE(s.wait(2, 20s).ok());
  EXPECT_EQ(file.size().value(), kSize + 7);
  EXPECT_TRUE(std::ranges::equal(bytes(source), bytes(target).subspan(1, kSize)));
  EXPECT_EQ(bytes(target)[0], std::byte{0});
  EXPECT_EQ(bytes(target)[kSize + 1], std::byte{0});
}

TEST_P(EachBackend, OneAfterTheOtherAndManyAtOnceAllArrive) {
  constexpr std::uint64_t kCount = 200;
  const Buffer source = buffer(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) bytes(source)[i] = static_cast<std::byte>(i + 1);
  for (std::uint64_t i = 0; i < kCount / 2; ++i) {
    ASSERT_TRUE(queue.write({source, i, 1}, file, i, {.signal = {{s, i + 1}}}).ok());
    ASSERT_TRUE(s.wait(i + 1, 20s).ok());
  }
  for (std::uint64_t i = kCount / 2; i < kCount; ++i) {
    ASSERT_TRUE(queue.write({source, i, 1}, file, i, {}).ok());
  }
  ASSERT_TRUE(queue.wait_idle(20s).ok());
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(memory.byte(i), static_cast<std::byte>(i + 1));
  }
}

TEST_P(EachBackend, ReadBeyondTheEndFailsAndTheNextOneDoesNot) {
  const Buffer target = buffer(8);
  const Semaphore failed = device.create_semaphore().value();
  ASSERT_TRUE(queue.write(target, file, 0, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.read(file, 1, target, {.wait = {{s, 1}}, .signal = {{failed, 1}}}).ok());
  ASSERT_TRUE(queue.read(file, 0, target, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  EXPECT_ERROR(failed.wait(1, 20s), StatusCode::kOutOfRange,
               "read of 8 bytes at offset 1: beyond the end of 8 bytes");
  EXPECT_TRUE(s.wait(2, 20s).ok());
}

TEST_P(EachBackend, ARefusalOfTheSystemFailsWithTheErrorsName) {
  memory.seal(F_SEAL_GROW);
  ASSERT_TRUE(queue.write(buffer(8), file, 0, {.signal = {{s, 1}}}).ok());
  const Status status = s.wait(1, 20s);
  EXPECT_ERROR(status, StatusCode::kPermissionDenied, "queue fake://0 compute: file descriptor");
  EXPECT_EQ(status.native_error(), "EPERM");
}

TEST_P(EachBackend, ADeviceThatIsDroppedEndsItsTransfersFirst) {
  constexpr std::uint64_t kSize = 3 * std::uint64_t{FileTransfers::kChunk};
  {
    const Buffer source = buffer(kSize);
    std::ranges::fill(bytes(source), std::byte{5});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(queue.write(source, file, 0, {}).ok());
  }
  s = {};
  file = {};
  queue = {};
  device = {};
  const Status status = registry.shutdown(20s);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(control->live_memories, 0);
  EXPECT_EQ(memory.byte(0), std::byte{5});
  EXPECT_EQ(memory.byte(kSize - 1), std::byte{5});
}

// Runs in a process whose files may have 4096 bytes, and that handles no signal. The exit code of
// the process identifies the failed expectation.
class Limited final : public testing::FakeWorld {
 public:
  int run(Kind kind) {
    signal(SIGXFSZ, SIG_DFL);
    const struct rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (kind == Kind::kBlocking) {
      registry.files().set_backend(std::make_unique<BlockingBackend>());
    }
    const std::string path = ::testing::TempDir() + "halyard-limit-" + std::to_string(getpid());
    const File file = File::open(path, FileAccess::kReadWrite, FileCreation::kEmpty).value();
    unlink(path.c_str());
    const Buffer source = buffer(8192);
    const Semaphore across = device.create_semaphore().value();
    const Semaphore beyond = device.create_semaphore().value();
    const Semaphore within = device.create_semaphore().value();
    if (!queue.write(source, file, 0, {.signal = {{across, 1}}}).ok()) return 2;
    if (!queue.write({source, 0, 1}, file, 5000, {.signal = {{beyond, 1}}}).ok()) return 3;
    for (const Semaphore& failed : {across, beyond}) {
      const Status status = failed.wait(1, 20s);
      if (status.code() != StatusCode::kResourceExhausted) return 4;
      if (status.native_error() != "EFBIG") return 5;
    }
    if (!queue.write({source, 0, 4096}, file, 0, {.signal = {{within, 1}}}).ok()) return 6;
    if (!within.wait(1, 20s).ok()) return 7;
    return file.size().value() == 4096 ? 0 : 8;
  }

 private:
  void TestBody() override {}
};

class FileSizeLimit : public ::testing::TestWithParam<Kind> {};

TEST_P(FileSizeLimit, AWriteBeyondItIsAnErrorAndNoSignal) {
  if (GetParam() == Kind::kUring && make_uring_backend() == nullptr) {
    GTEST_SKIP() << "this kernel has no io_uring for us";
  }
  const pid_t child = fork();
  if (child == 0) _exit(Limited().run(GetParam()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFSIGNALED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

constexpr auto kName = [](const ::testing::TestParamInfo<Kind>& which) {
  return which.param == Kind::kUring ? "Uring" : "Blocking";
};
INSTANTIATE_TEST_SUITE_P(Files, FileSizeLimit, ::testing::Values(Kind::kUring, Kind::kBlocking),
                         kName);
INSTANTIATE_TEST_SUITE_P(Files, EachBackend, ::testing::Values(Kind::kUring, Kind::kBlocking),
                         kName);

class SteppedFile : public ::testing::Test {
 protected:
  SteppedFile() {
    auto made = std::make_unique<FakeFiles>();
    files = made.get();
    registry.files().set_backend(std::move(made));
  }
  ~SteppedFile() override {
    files->held = false;
    buffer = {};
    s = {};
    queue = {};
    device = {};
    for (int i = 0; i < 100 && control->open_devices != 0; ++i) step();
    EXPECT_EQ(control->open_devices, 0);
    EXPECT_EQ(control->live_memories, 0);
  }
  void step() {
    for (bool ran = true; ran;) {
      ran = false;
      for (int shell = 0; shell < base::kShellCount; ++shell) {
        ran |= registry.step(static_cast<base::Shell>(shell));
      }
    }
  }
  bool reached(std::uint64_t value) { return s.query().value() >= value; }

  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  testing::StepSource source;
  FakeFiles* files = nullptr;
  DriverRegistry registry{source};
  Device device = [this] {
    check(registry.add(std::make_unique<testing::FakeDriver>(control)));
    return registry.open("fake://").value();
  }();
  Queue queue = device.queue();
  MemoryFile memory;
  File file = memory.open();
  Buffer buffer = device.allocate({.size = 8, .memory = MemoryType::kHostVisible}).value();
  Semaphore s = device.create_semaphore().value();
};

TEST_F(SteppedFile, ASlowTransferStopsNothingElse) {
  files->held = true;
  ASSERT_TRUE(queue.write(buffer, file, 0, {.signal = {{s, 1}}}).ok());
  step();
  EXPECT_NE(registry.next_step(base::Shell::kFile), Deadline::kForeverTime);
  EXPECT_NE(device.dump_timelines().find("host work"), std::string::npos)
      << device.dump_timelines();
  const Semaphore other = device.create_semaphore().value();
  ASSERT_TRUE(queue.fill(buffer, 1, 1, {.signal = {{other, 1}}}).ok());
  ASSERT_TRUE(queue.host_call([] {}, {.wait = {{other, 1}}, .signal = {{other, 2}}}).ok());
  step();
  EXPECT_EQ(other.query().value(), 2u);
  EXPECT_FALSE(reached(1));
  files->held = false;
  step();
  EXPECT_TRUE(reached(1));
  EXPECT_EQ(registry.next_step(base::Shell::kFile), Deadline::kForeverTime);
}

TEST_F(SteppedFile, AWaitingThreadHelpsWithNoFile) {
  ASSERT_TRUE(queue.write(buffer, file, 0, {.signal = {{s, 1}}}).ok());
  EXPECT_ERROR(s.wait(1, 1ms), StatusCode::kDeadlineExceeded, "");
  EXPECT_TRUE(files->started.empty());
}

TEST_F(SteppedFile, AFullDiskFailsTheSubmissionAndItsDependents) {
  files->results = {-ENOSPC};
  const Semaphore after = device.create_semaphore().value();
  const Semaphore beside = device.create_semaphore().value();
  ASSERT_TRUE(queue.write(buffer, file, 16, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.barrier({.wait = {{s, 1}}, .signal = {{after, 1}}}).ok());
  ASSERT_TRUE(queue.write(buffer, file, 0, {.signal = {{beside, 1}}}).ok());
  step();
  const Status status = after.query().status();
  EXPECT_ERROR(status, StatusCode::kResourceExhausted, "write of 8 bytes at offset 16: No space");
  EXPECT_EQ(status.native_error(), "ENOSPC");
  EXPECT_EQ(beside.query().value(), 1u);
}

TEST_F(SteppedFile, ADamagedDiskIsDataLoss) {
  files->results = {-EIO};
  ASSERT_TRUE(queue.read(file, 0, buffer, {.signal = {{s, 1}}}).ok());
  step();
  EXPECT_ERROR(s.query().status(), StatusCode::kDataLoss, "read of 8 bytes");
  EXPECT_EQ(s.query().status().native_error(), "EIO");
}

TEST(FileOpen, SaysWhatCannotBe) {
  EXPECT_ERROR(File::open(std::string("/dev/null\0.txt", 14)).status(),
               StatusCode::kInvalidArgument,
               "file: open: /dev/null: a path of 14 bytes with a zero byte");
  EXPECT_ERROR(File::open("/dev/null", FileAccess::kRead, FileCreation::kEmpty).status(),
               StatusCode::kInvalidArgument, "kEmpty empties the file, and kRead cannot write");
}

TEST_F(SteppedFile, ADeviceStaysOpenUntilItsTransfersHaveEnded) {
  files->held = true;
  ASSERT_TRUE(queue.write(buffer, file, 0, {}).ok());
  buffer = {};
  s = {};
  queue = {};
  device = {};
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(control->open_devices, 1);
  EXPECT_EQ(control->live_memories, 1);
  files->held = false;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(control->open_devices, 0);
  EXPECT_EQ(files->contents.size(), 8u);
}

TEST_F(SteppedFile, MemoryThatTheHostDoesNotSeeIsUnimplemented) {
  const Buffer hidden = device.allocate({.size = 8}).value();
  EXPECT_ERROR(queue.read(file, 0, hidden, {}), StatusCode::kUnimplemented, "device-local");
  // For a pool's buffer this is known only once it has memory.
  const Buffer pooled = queue
                            .allocate(device.default_pool(MemoryType::kDeviceLocal), {.size = 8},
                                      {.signal = {{s, 1}}})
                            .value();
  const Semaphore failed = device.create_semaphore().value();
  ASSERT_TRUE(queue.write(pooled, file, 0, {.wait = {{s, 1}}, .signal = {{failed, 1}}}).ok());
  step();
  EXPECT_ERROR(failed.query().status(), StatusCode::kUnimplemented, "does not see");
  EXPECT_TRUE(files->started.empty());
}

}  // namespace
}  // namespace halyard::hal
