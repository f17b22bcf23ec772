// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A FileBackend over one file in memory, whose results the test chooses: short, failing, late or in
// another order.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "hal/files/file_backend.h"

namespace halyard::hal::testing {

class FakeFiles final : public FileBackend {
 public:
  std::vector<std::byte> contents;
  std::size_t room = 4;
  // The results of the next requests to end: a number of bytes at most, 0, or a negative errno.
  std::deque<std::int32_t> results;
  bool held = false;          // no request ends
  bool newest_first = false;  // requests end one at a time, the latest first
  std::function<void()> on_wait;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> started;  // offset, length
  int interrupts = 0;

  std::size_t capacity() const noexcept override { return room; }
  void start(FileRequest& request) noexcept override {
    started.emplace_back(request.offset, request.length);
    requests_.push_back(&request);
  }
  std::size_t reap(std::span<FileRequest*, kMaxRequests> ended, bool wait) noexcept override {
    if (wait && on_wait) on_wait();
    if (held) return 0;
    if (newest_first) std::ranges::reverse(requests_);
    const std::size_t count = newest_first ? 1 : requests_.size();
    for (std::size_t i = 0; i < count; ++i) {
      ended[i] = requests_.front();
      requests_.pop_front();
      ended[i]->result = run(*ended[i]);
    }
    if (newest_first) std::ranges::reverse(requests_);
    return count;
  }
  void interrupt() noexcept override { ++interrupts; }

 private:
  std::int32_t run(const FileRequest& request) {
    std::uint64_t length = request.length;
    if (!results.empty()) {
      const std::int32_t result = results.front();
      results.pop_front();
      if (result <= 0) return result;
      length = std::min<std::uint64_t>(length, static_cast<std::uint32_t>(result));
    }
    if (request.write) {
      contents.resize(std::max<std::size_t>(contents.size(), request.offset + length));
      std::memcpy(contents.data() + request.offset, request.data, length);
    } else {
      const std::uint64_t start = std::min<std::uint64_t>(request.offset, contents.size());
      length = std::min<std::uint64_t>(length, contents.size() - start);
      std::memcpy(request.data, contents.data() + start, length);
    }
    return static_cast<std::int32_t>(length);
  }

  std::deque<FileRequest*> requests_;
};

}  // namespace halyard::hal::testing
