// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random graphs of copies among devices of several drivers, which do not use each other's memory,
// compared with a model on the host. A seed determines the graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "hal/device/registry.h"
#include "halyard/halyard.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

constexpr int kCopies = 120;

class CopyGraph : public ::testing::TestWithParam<unsigned> {
 protected:
  struct Place {
    Device device;
    Buffer buffer;
    std::vector<std::byte> model;
    Semaphore written;            // by the last copy to it; empty: none
    std::vector<Semaphore> read;  // by copies since
  };
  struct Copy {
    Queue queue;
    BufferRange source, target;
    std::vector<Semaphore> waits;
    Semaphore end;
  };

  CopyGraph() {
    check(register_all_drivers(registry_));
    for (const char* uri :
         {"cpu://?workers=2", "serial://", "stream://", "serial://?devices=2&peers=0"}) {
      auto opened = registry_.open_all(uri);
      if (opened.status().code() == StatusCode::kNotFound) continue;  // not in this build
      for (Device& device : opened.value()) devices_.push_back(std::move(device));
    }
  }
  ~CopyGraph() override {
    places_.clear();
    copies_.clear();
    devices_.clear();
    const Status status = registry_.shutdown(60s);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  void make_places() {
    constexpr MemoryType kTypes[] = {MemoryType::kDeviceLocal, MemoryType::kHostVisible,
                                     MemoryType::kHostLocal};
    for (const Device& device : devices_) {
      for (const std::uint64_t size : {1000ul + draw(1000), 100'000 + draw(100'000),
                                       std::uint64_t{2} << 20, (std::uint64_t{3} << 20) + 77}) {
        const Buffer buffer = device.allocate({.size = size, .memory = kTypes[draw(3)]}).value();
        const Semaphore end = device.create_semaphore().value();
        check(device.queue().fill(buffer, static_cast<std::uint32_t>(places_.size()), 1,
                                  {.signal = {{end, 1}}}));
        places_.push_back({device,
                           buffer,
                           std::vector<std::byte>(size, static_cast<std::byte>(places_.size())),
                           end,
                           {}});
        // Distinct contents for each place.
        const std::vector<std::byte> head = [&] {
          std::vector<std::byte> bytes(900);
          for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
          return bytes;
        }();
        Place& place = places_.back();
        const Semaphore next = device.create_semaphore().value();
        check(device.queue().update(buffer, 50, head, {.wait = {{end, 1}}, .signal = {{next, 1}}}));
        std::ranges::copy(head, place.model.begin() + 50);
        place.written = next;
      }
    }
  }

  // Adds a copy to the graph and runs it in the model.
  void add_copy() {
    Place& from = places_[draw(places_.size())];
    Place* to = &from;
    while (to == &from) to = &places_[draw(places_.size())];
    const std::uint64_t most = std::min(from.buffer.size(), to->buffer.size());
    const std::uint64_t length = draw(4) == 0 ? most : draw(most + 1);
    const std::uint64_t source = draw(from.buffer.size() - length + 1);
    const std::uint64_t target = draw(to->buffer.size() - length + 1);
    const Device& on = draw(2) == 0 ? from.device : to->device;
    Copy copy{draw(2) == 0 ? on.queue() : on.queue(QueueKind::kCopy),
              {from.buffer, source, length},
              {to->buffer, target, length},
              {from.written, to->written},
              on.create_semaphore().value()};
    for (const Semaphore& read : to->read) copy.waits.push_back(read);
    std::copy_n(from.model.begin() + static_cast<std::ptrdiff_t>(source), length,
                to->model.begin() + static_cast<std::ptrdiff_t>(target));
    from.read.push_back(copy.end);
    to->written = copy.end;
    to->read.clear();
    copies_.push_back(std::move(copy));
  }

  void submit(const Copy& copy) {
    std::vector<Point> waits;
    for (const Semaphore& wait : copy.waits) waits.emplace_back(wait, 1);
    const Status status =
        copy.queue.copy(copy.source, copy.target, {.wait = waits, .signal = {{copy.end, 1}}});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  void compare() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      const Status status = place.written.wait(1, 60s);
      ASSERT_TRUE(status.ok()) << status.to_string();
      const Buffer read =
          place.device.allocate({.size = place.buffer.size(), .memory = MemoryType::kHostLocal})
              .value();
      const Semaphore end = place.device.create_semaphore().value();
      check(place.device.queue().copy(place.buffer, read, {.signal = {{end, 1}}}));
      check(end.wait(1, 60s));
      const std::span<const std::byte> bytes = read.map().value().bytes();
      ASSERT_EQ(bytes.size(), place.model.size());
      EXPECT_EQ(std::memcmp(bytes.data(), place.model.data(), bytes.size()), 0) << "place " << i;
    }
  }

  std::mt19937_64 random_{GetParam()};
  DriverRegistry registry_;
  std::vector<Device> devices_;
  std::vector<Place> places_;
  std::vector<Copy> copies_;
};

TEST_P(CopyGraph, GivesWhatTheModelGives) {
  if (devices_.size() < 2) GTEST_SKIP() << "one driver only";
  make_places();
  for (int i = 0; i < kCopies; ++i) add_copy();
  // In any order: a wait may be submitted before its signal.
  std::ranges::shuffle(copies_, random_);
  const std::size_t half = copies_.size() / 2;
  std::thread other([&] {
    for (std::size_t i = 0; i < half; ++i) submit(copies_[i]);
  });
  for (std::size_t i = half; i < copies_.size(); ++i) submit(copies_[i]);
  other.join();
  compare();
  for (const Device& device : devices_) {
    EXPECT_TRUE(device.queue().wait_idle(60s).ok());
    EXPECT_TRUE(device.queue(QueueKind::kCopy).wait_idle(60s).ok());
  }
}

// Some copies are cancelled: dependent copies fail, and everything ends.
TEST_P(CopyGraph, EndsWhereCopiesAreCancelled) {
  if (devices_.size() < 2) GTEST_SKIP() << "one driver only";
  make_places();
  for (int i = 0; i < kCopies; ++i) add_copy();
  std::ranges::shuffle(copies_, random_);
  for (const Copy& copy : copies_) {
    std::vector<Point> waits;
    for (const Semaphore& wait : copy.waits) waits.emplace_back(wait, 1);
    Submission submission;
    check(copy.queue.copy(copy.source, copy.target,
                          {.wait = waits, .signal = {{copy.end, 1}}, .submission = &submission}));
    if (draw(10) == 0 && submission.cancel()) {
      EXPECT_EQ(copy.end.wait(1, 60s).code(), StatusCode::kCancelled);
    }
  }
  for (const Copy& copy : copies_) {
    const StatusCode code = copy.end.wait(1, 60s).code();
    EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kCancelled) << to_string(code);
  }
  for (const Device& device : devices_) {
    EXPECT_TRUE(device.queue().wait_idle(60s).ok()) << device.dump_timelines();
    EXPECT_TRUE(device.queue(QueueKind::kCopy).wait_idle(60s).ok()) << device.dump_timelines();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CopyGraph, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace halyard::hal
