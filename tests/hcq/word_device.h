// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device of the tests that shares nothing with the CPU's: it executes words of its own from its
// own addresses, stores the values of signals without a notification, has a single queue, counts
// time in ticks, and launches kernels of any local size. It runs only when a test says so.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/format.h"
#include "halyard/hcq/device.h"
#include "hcq/encoded_list.h"
#include "hcq/hardware_queue.h"
#include "hcq/signal_pool.h"
#include "hcq/timeline.h"

namespace halyard::hcq {

// The device's address of memory for words and signals. Buffers have those of the process.
inline constexpr std::uint64_t kWindow = std::uint64_t{1} << 60;
inline constexpr DeviceClock kClock{.ticks_per_second = 100'000'000, .ticks = 50, .host = 7'000};

class TestMemory final : public WordList::BlockMemory {
 public:
  Result<DeviceSpan> allocate(std::size_t size, std::size_t alignment) override {
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    blocks_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(alignment, whole)));
    std::byte* const host = blocks_.back().get();
    std::memset(host, 0, whole);
    return DeviceSpan{host, kWindow + reinterpret_cast<std::uintptr_t>(host), whole};
  }

 private:
  struct Free {
    void operator()(std::byte* block) const noexcept { std::free(block); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
};

template <class T>
T& at(std::uint64_t address) {
  return *reinterpret_cast<T*>(address >= kWindow ? address - kWindow : address);
}

struct Launch {
  const std::uint64_t* arguments;
  std::array<std::uint32_t, 3> grid, local;
};
class TestImage final : public KernelImage {
 public:
  using Function = void (*)(const Launch& launch);
  explicit TestImage(Function f) noexcept : KernelImage("test"), function(f) {}
  const Function function;
};

enum Code : std::uint32_t { kNop, kWait, kSignal, kTime, kExec, kCopy, kAddOne };
// Words of each, with the code.
inline constexpr std::size_t kLengths[] = {1, 5, 5, 3, 11, 7, 3};

class TestEncoder final : public QueueEncoder {
 public:
  Status encode(WordList& words, const detail::Command& c, std::uint64_t address) override {
    const auto number = [&](FieldRole role, detail::Field field) {
      return Field{role, c.numbers[field]};
    };
    switch (c.kind) {
      case detail::CommandKind::kWait:
      case detail::CommandKind::kSignal:
        words.word(c.kind == detail::CommandKind::kWait ? kWait : kSignal);
        words.field64({FieldRole::kSignalAddress, address});
        words.field64(number(FieldRole::kSignal, detail::kValue));
        if (c.kind == detail::CommandKind::kWait) words.end_segment();
        return {};
      case detail::CommandKind::kTimestamp:
        words.word(kTime);
        words.field64({.role = FieldRole::kSignalAddress,
                       .operand = address,
                       .add = offsetof(SignalWords, time)});
        return {};
      case detail::CommandKind::kExec: {
        const auto& image = static_cast<const TestImage&>(c.program().image());
        const auto code = reinterpret_cast<std::uintptr_t>(image.function);
        words.word(kExec);
        words.words(std::array{static_cast<std::uint32_t>(code),
                               static_cast<std::uint32_t>(std::uint64_t{code} >> 32)});
        words.field64({FieldRole::kArguments, address});
        words.field32(number(FieldRole::kGridX, detail::kX));
        words.field32(number(FieldRole::kGridY, detail::kY));
        words.field32(number(FieldRole::kGridZ, detail::kZ));
        words.field32(number(FieldRole::kLocalX, detail::kLocalX));
        words.field32(number(FieldRole::kLocalY, detail::kLocalY));
        words.field32(number(FieldRole::kLocalZ, detail::kLocalZ));
        return {};
      }
      case detail::CommandKind::kCopy:
        words.word(kCopy);
        words.field64(number(FieldRole::kTarget, detail::kTarget));
        words.field64(number(FieldRole::kSource, detail::kSource));
        words.field64(number(FieldRole::kSize, detail::kBytes));
        return {};
      case detail::CommandKind::kBarrier:
        return {};
      default:
        return Status(StatusCode::kUnimplemented, "test: no functions of the host");
    }
  }
  Status encode_time(WordList& words, std::uint64_t address) override {
    words.word(kTime);
    words.words(
        std::array{static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32)});
    return {};
  }
  void fill(std::span<std::uint32_t> words) const noexcept override {
    std::ranges::fill(words, kNop);
  }
};

class TestRing final : public QueueRing {
 public:
  explicit TestRing(std::size_t capacity) noexcept : capacity_(capacity) {}
  std::size_t room() const noexcept override { return capacity_ - entries.size(); }
  void push(std::span<const DeviceSpan> segments) noexcept override {
    EXPECT_LE(segments.size(), room());
    entries.insert(entries.end(), segments.begin(), segments.end());
    ++bells;
  }

  std::deque<DeviceSpan> entries;
  int bells = 0;

 private:
  const std::size_t capacity_;
};

class TestDevice final : public Device {
 public:
  struct Options {
    std::size_t ring = 64;
    HardwareQueueLimits limits{.in_flight = 8};
    std::uint64_t fence_limit = detail::Timeline::kNoLimit;
  };
  static std::unique_ptr<TestDevice> create() { return create(Options()); }
  static std::unique_ptr<TestDevice> create(const Options& options) {
    auto pool = Ref<SignalPool>::adopt(new SignalPool(std::make_unique<TestMemory>(), kClock));
    auto timeline = detail::Timeline::create(std::uint64_t{1} << 31, 0, *pool).value();
    return std::unique_ptr<TestDevice>(
        new TestDevice(std::move(timeline), std::move(pool), options));
  }
  ~TestDevice() override { free_abandoned(); }

  // Executes until nothing is queued or a wait holds. Wakes no thread.
  void run() {
    do {
      execute_ring();
      queue_->advance();  // as the driver does after an interrupt
    } while (!ring.entries.empty() && !held_up_);
  }
  SignalPool& signals() { return *pool_; }
  HardwareQueue& queue() { return *queue_; }
  bool idle() const { return ring.entries.empty(); }

  TestRing ring;
  std::uint64_t ticks = 50;     // grows with each time
  std::size_t refuse_from = 0;  // this submission from now on is refused; 0: none

 private:
  TestDevice(std::unique_ptr<detail::Timeline> timeline, Ref<SignalPool> pool,
             const Options& options)
      : Device(std::move(timeline), {.target = "test",
                                     .signal_bits = 32,
                                     .has_copy_queue = false,
                                     .takes_raw_words = true,
                                     .clock = kClock}),
        ring(options.ring),
        pool_(std::move(pool)) {
    auto fences = detail::Timeline::create(options.fence_limit, 0, *pool_).value();
    queue_ = HardwareQueue::create(
                 ring, encoder_, std::move(fences), [] { return std::make_unique<TestMemory>(); },
                 options.limits)
                 .value();
  }

  void execute_ring() {
    held_up_ = false;
    for (; !ring.entries.empty(); ring.entries.pop_front(), word_ = 0) {
      const DeviceSpan& segment = ring.entries.front();
      const auto* words = reinterpret_cast<const std::uint32_t*>(segment.host);
      for (; word_ < segment.size / 4; word_ += kLengths[words[word_]]) {
        held_up_ = !execute(words + word_);
        if (held_up_) return;
      }
    }
  }
  static std::uint64_t two(const std::uint32_t* words) {
    return words[0] | std::uint64_t{words[1]} << 32;
  }
  bool execute(const std::uint32_t* words) {
    switch (words[0]) {
      case kWait:
        return at<SignalWords>(two(words + 1)).value.load(std::memory_order_acquire) >=
               two(words + 3);
      case kSignal:
        at<SignalWords>(two(words + 1)).value.store(two(words + 3), std::memory_order_release);
        return true;
      case kTime:
        at<base::Atomic<std::uint64_t>>(two(words + 1))
            .store(ticks += 10, std::memory_order_release);
        return true;
      case kExec:
        reinterpret_cast<TestImage::Function>(two(words + 1))({&at<std::uint64_t>(two(words + 3)),
                                                               {words[5], words[6], words[7]},
                                                               {words[8], words[9], words[10]}});
        return true;
      case kCopy:
        std::memmove(&at<std::byte>(two(words + 1)), &at<std::byte>(two(words + 3)),
                     two(words + 5));
        return true;
      case kAddOne:
        ++at<std::uint64_t>(two(words + 1));
        return true;
      default:
        EXPECT_EQ(words[0], kNop);
        return true;
    }
  }

  Status submit(QueueType type, const detail::CommandList& list) override {
    HALYARD_ASSIGN_OR_RETURN(const Ref<detail::BoundList> bound, bind(list));
    return submit(type, *bound);
  }
  Status submit(QueueType type, detail::BoundList& list) override {
    EXPECT_EQ(type, QueueType::kCompute);
    if (refuse_from != 0 && --refuse_from == 0) {
      return Status(StatusCode::kResourceExhausted, "test: no room");
    }
    return queue_->submit(Ref<EncodedList>(&static_cast<EncodedList&>(list)));
  }
  Result<Ref<detail::BoundList>> bind(const detail::CommandList& list) override {
    HALYARD_ASSIGN_OR_RETURN(Ref<EncodedList> bound,
                             EncodedList::create(list, encoder_, std::make_unique<TestMemory>()));
    return Ref<detail::BoundList>(std::move(bound));
  }
  Buffer allocate_memory(MemoryType, std::uint64_t size) noexcept override {
    return {std::aligned_alloc(64, (size + 63) / 64 * 64), size};
  }
  void free_memory(MemoryType, const Buffer& memory) noexcept override {
    std::free(memory.pointer());
  }
  const void* peer_group() const noexcept override { return &kClock; }

  const Ref<SignalPool> pool_;
  TestEncoder encoder_;
  std::unique_ptr<HardwareQueue> queue_;
  std::size_t word_ = 0;  // in the first entry
  bool held_up_ = false;
};

}  // namespace halyard::hcq
