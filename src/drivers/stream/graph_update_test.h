// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphUpdateTest: tests whether an executable graph runs with its latest parameters. Some
// libraries launched updated nodes with their old parameters, or hung (ROCm/clr#42,
// ROCm/rocm-systems#8776). An Api with such graphs has a member updates_graphs; if it is false,
// graphs are built again instead of updated (graph_instance.h).
//
// The test uses a fill and a copy, since a kernel needs an image for the device.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/atomic.h"
#include "base/format.h"
#include "drivers/stream/device_api.h"
#include "halyard/base/clock.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

// Used once, within the guard of a device.
template <class Api>
class GraphUpdateTest {
 public:
  explicit GraphUpdateTest(const Api& api) noexcept : api_(api) {}
  // Objects of a graph that hangs are leaked.
  ~GraphUpdateTest() {
    if (hangs_) return;
    if (has_executable_) api_.destroy(executable_);
    if (has_graph_) api_.destroy(graph_);
    if (has_stream_) api_.destroy(stream_);
    if (memory_.pointer != nullptr) api_.free_host(memory_.pointer);
  }
  GraphUpdateTest(const GraphUpdateTest&) = delete;
  GraphUpdateTest& operator=(const GraphUpdateTest&) = delete;

  // Errors, such as no memory, are not a result of the test.
  Result<bool> passes() noexcept {
    HALYARD_RETURN_IF_ERROR(api_.allocate_host(memory_, kWords * sizeof(std::uint32_t)));
    HALYARD_RETURN_IF_ERROR(api_.create_stream(stream_, 0));
    has_stream_ = true;
    HALYARD_RETURN_IF_ERROR(api_.create_graph(graph_));
    has_graph_ = true;
    typename Api::GraphNode fill{}, copy{};
    HALYARD_RETURN_IF_ERROR(api_.add_fill(graph_, {}, fill, at(0), 1, 4, 4));
    HALYARD_RETURN_IF_ERROR(api_.add_copy(graph_, {&fill, 1}, copy, at(1), at(2), 4));
    HALYARD_RETURN_IF_ERROR(api_.instantiate(graph_, executable_));
    has_executable_ = true;
    HALYARD_ASSIGN_OR_RETURN(const bool first, launch({1, kFirst, kFirst, 0, 0, kSecond}));
    if (!first) return false;
    if (!api_.set_fill(executable_, fill, at(3), 2, 4, 4).ok()) return false;
    if (!api_.set_copy(executable_, copy, at(4), at(5), 4).ok()) return false;
    return launch({0, 0, kFirst, 2, kSecond, kSecond});
  }

 private:
  static constexpr std::uint32_t kWords = 6, kFirst = 0x11111111, kSecond = 0x22222222;
  static constexpr Nanoseconds kHangs = 2'000'000'000;

  std::uint64_t at(std::uint32_t word) const noexcept {
    return memory_.address + word * sizeof(std::uint32_t);
  }

  // Launches the graph. Returns whether the words are as expected afterwards.
  Result<bool> launch(const std::uint32_t (&expected)[kWords]) noexcept {
    const std::uint32_t before[kWords] = {0, 0, kFirst, 0, 0, kSecond};
    std::memcpy(memory_.pointer, &before[0], sizeof before);
    HALYARD_RETURN_IF_ERROR(api_.launch(stream_, executable_));
    const Nanoseconds until = Clock::steady().now() + kHangs;
    for (;;) {
      const timeline::Abandoned end = api_.stop(stream_);
      if (end == timeline::Abandoned::kStopped) break;
      hangs_ = end == timeline::Abandoned::kStillRunning || Clock::steady().now() > until;
      if (hangs_) return false;
      base::spin_yield();
    }
    return std::memcmp(memory_.pointer, &expected[0], sizeof expected) == 0;
  }

  const Api api_;
  HostMemory memory_;
  typename Api::Stream stream_{};
  typename Api::Graph graph_{};
  typename Api::ExecutableGraph executable_{};
  bool has_stream_ = false, has_graph_ = false, has_executable_ = false;
  bool hangs_ = false;
};

}  // namespace halyard::inline v0::stream
