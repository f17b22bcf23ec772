// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphUpdateTest: whether an executable graph runs with the parameters that it was given last.
// Libraries have launched updated nodes with their old ones, or hung (ROCm/clr#42,
// ROCm/rocm-systems#8776). An Api whose graphs may do so has a member updates_graphs; where that is
// false, graphs are built again instead (graph_instance.h).
//
// A fill and a copy are asked: a kernel needs an image for the device.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/atomic.h"
#include "base/format.h"
#include "drivers/stream/device_api.h"
#include "halyard/base/clock.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

// Within the guard of a device. Once.
template <class Api>
class GraphUpdateTest {
 public:
  explicit GraphUpdateTest(const Api& api) noexcept : api_(api) {}
  // What hangs is kept for good.
  ~GraphUpdateTest() {
    if (hangs_) return;
    if (has_executable_) api_.destroy(executable_);
    if (has_graph_) api_.destroy(graph_);
    if (has_stream_) api_.destroy(stream_);
    if (memory_.pointer != nullptr) api_.free_host(memory_.pointer);
  }
  GraphUpdateTest(const GraphUpdateTest&) = delete;
  GraphUpdateTest& operator=(const GraphUpdateTest&) = delete;

  // An error, such as no memory, says nothing of updates.
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

  // Whether the words are as expected afterwards.
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
